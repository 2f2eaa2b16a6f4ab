import numpy as np
import pytest
from keras import ops
from layer_contract import dtype_of

from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.masks import causal_mask, combine_masks, padding_mask

pytestmark = pytest.mark.every_backend


def array(mask):
    assert dtype_of(mask) == "bool"
    return ops.convert_to_numpy(mask)


def test_padding_mask_matches_the_published_example():
    mask = array(padding_mask(np.array([[1, 2, 3, 4, 0, 0, 0]])))
    np.testing.assert_array_equal(mask, [[[1, 1, 1, 1, 0, 0, 0]]])


def test_causal_mask_is_the_published_lower_triangle():
    lower_triangle = [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1],
    ]
    np.testing.assert_array_equal(array(causal_mask(5)), lower_triangle)


def test_padding_ids_are_masked_at_any_position():
    ids = np.array([[PADDING_ID, 7, PADDING_ID], [1, 2, 3]])
    np.testing.assert_array_equal(array(padding_mask(ids)), [[[0, 1, 0]], [[1, 1, 1]]])


def test_padding_and_causal_masks_are_broadcast():
    padded, causal = padding_mask(np.array([[5, 6, 0], [5, 0, 0]])), causal_mask(3)
    both = array(combine_masks(padded, causal))
    expected = [
        [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[1, 0, 0], [1, 0, 0], [1, 0, 0]],
    ]
    np.testing.assert_array_equal(both, expected)
    np.testing.assert_array_equal(array(combine_masks(causal, padded)), expected)


@pytest.mark.parametrize("position", range(3))
def test_none_masks_no_position(position):
    masks = [causal_mask(3), padding_mask(np.array([[5, 6, 0]]))]
    expected = array(combine_masks(*masks))
    masks.insert(position, None)
    np.testing.assert_array_equal(array(combine_masks(*masks)), expected)


def test_one_mask_is_returned_unchanged_and_no_masks_give_none():
    np.testing.assert_array_equal(array(combine_masks(causal_mask(3))), np.tri(3))
    assert combine_masks() is None
    assert combine_masks(None, None) is None


def test_three_masks_are_combined_by_logical_and():
    masks = [np.array(x, bool) for x in ([1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1])]
    np.testing.assert_array_equal(array(combine_masks(*masks)), [0, 1, 0, 0])


def test_the_causal_mask_of_ids_is_that_of_their_length():
    ids = np.array([[4, 0, 7], [4, 4, 4]])
    np.testing.assert_array_equal(array(causal_mask(ids)), array(causal_mask(3))[None])
    with pytest.raises(ValueError, match=r"pass the token ids"):
        causal_mask(None)


def test_a_causal_mask_of_hidden_states_is_refused():
    with pytest.raises(ValueError, match=r"kt\.causal_mask\(x\.shape\[1\]\)"):
        causal_mask(np.zeros((2, 3, 8)))

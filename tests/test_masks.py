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


def test_the_published_padding_mask_closes_the_last_three():
    mask = array(padding_mask(np.array([[1, 2, 3, 4, 0, 0, 0]])))
    np.testing.assert_array_equal(mask, [[[1, 1, 1, 1, 0, 0, 0]]])


def test_the_published_causal_mask_is_the_lower_triangle():
    lower_triangle = [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1],
    ]
    np.testing.assert_array_equal(array(causal_mask(5)), lower_triangle)


def test_padding_is_the_padding_id_wherever_it_stands():
    ids = np.array([[PADDING_ID, 7, PADDING_ID], [1, 2, 3]])
    np.testing.assert_array_equal(array(padding_mask(ids)), [[[0, 1, 0]], [[1, 1, 1]]])


def test_padding_and_causal_masks_broadcast_to_every_query_and_every_sentence():
    padded, causal = padding_mask(np.array([[5, 6, 0], [5, 0, 0]])), causal_mask(3)
    both = array(combine_masks(padded, causal))
    expected = [
        [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[1, 0, 0], [1, 0, 0], [1, 0, 0]],
    ]
    np.testing.assert_array_equal(both, expected)
    np.testing.assert_array_equal(array(combine_masks(causal, padded)), expected)


@pytest.mark.parametrize("place", range(3))
def test_none_is_an_open_mask(place):
    masks = [causal_mask(3), padding_mask(np.array([[5, 6, 0]]))]
    expected = array(combine_masks(*masks))
    masks.insert(place, None)
    np.testing.assert_array_equal(array(combine_masks(*masks)), expected)


def test_one_mask_is_itself_and_none_is_none():
    np.testing.assert_array_equal(array(combine_masks(causal_mask(3))), np.tri(3))
    assert combine_masks() is None
    assert combine_masks(None, None) is None


def test_three_masks_open_what_all_open():
    masks = [np.array(x, bool) for x in ([1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1])]
    np.testing.assert_array_equal(array(combine_masks(*masks)), [0, 1, 0, 0])

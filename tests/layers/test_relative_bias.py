import numpy as np
import pytest
from layer_contract import LayerContract, numpy

from keras_transformer.layers import RelativeBias

DISTANCES = (np.arange(6) - np.arange(4)[:, None]).astype("int32")


class TestAlibi(LayerContract):
    def inputs(self):
        return {"distances": DISTANCES}

    def make(self, **kwargs):
        return RelativeBias(3, "alibi", **kwargs)


class TestT5(TestAlibi):
    def make(self, **kwargs):
        return RelativeBias(3, "t5", **kwargs)


def test_slopes_of_the_paper():
    bias = numpy(RelativeBias(8, "alibi")(np.array([[-1, 3]])))
    np.testing.assert_allclose(bias[0, 0], -(0.5 ** np.arange(1, 9)))
    np.testing.assert_allclose(bias[0, 1], 3 * bias[0, 0])


@pytest.mark.parametrize("kind", ("t5", "t5_causal"))
def test_buckets_are_exact_for_small_distances_and_end_at_the_largest(kind):
    layer = RelativeBias(1, kind)
    layer.build((None, None))
    layer.table.set_weights([np.arange(32.0)[:, None]])
    exact = 8 if kind == "t5" else 16
    past = numpy(layer(-np.arange(1000)[None]))[0, :, 0]
    np.testing.assert_array_equal(past[:exact], np.arange(exact))
    assert (np.diff(past) >= 0).all() and past[128] == past[999] == 2 * exact - 1
    later = numpy(layer(np.arange(1, 1000)[None]))[0, :, 0]
    np.testing.assert_array_equal(later, past[1:] + 16 if kind == "t5" else 0 * past[1:])

"""Conversion of batches for `fit`."""

import keras
import numpy as np
import pytest
import tiny

import keras_transformer as kt


class Squares(keras.utils.PyDataset):
    """Batches of different sizes, whose number changes from epoch to epoch."""

    epoch = 0

    def __len__(self):
        return (3, 4, 2)[self.epoch]

    def __getitem__(self, index):
        assert index < len(self)
        x = np.arange(index + 1, dtype="float32")[:, None] + 10 * self.epoch
        return x, x**2

    def on_epoch_end(self):
        self.epoch += 1


tensorflow_only = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="other backends train on the batches themselves"
)


@tensorflow_only
@pytest.mark.slow
def test_every_epoch_yields_its_batches_in_order():
    dataset, expected = kt.as_dataset(Squares()), Squares()
    for epoch, indices in enumerate([[0, 1, 2], [0, 1, 2], [0, 1, 0]]):
        expected.epoch = epoch
        found = list(dataset.as_numpy_iterator())
        for batch, index in zip(found, indices, strict=True):
            np.testing.assert_array_equal(batch, expected[index])
    assert len(dataset) == 3


@tensorflow_only
def test_structure_and_dtypes_are_preserved():
    data = tiny.make_dataset()
    batches, _ = tiny.make_batches(data)
    (source, target_input), target = next(kt.as_dataset(batches).as_numpy_iterator())
    (expected_source, expected_input), expected = batches[0]
    np.testing.assert_array_equal(source, expected_source)
    np.testing.assert_array_equal(target_input, expected_input)
    np.testing.assert_array_equal(target, expected)
    assert source.dtype == "int32"
    # `fit` builds a model from the dimensions that are the same in all batches.
    (source, _), _ = kt.as_dataset(batches).element_spec
    assert source.shape == (None, None)
    x, _ = kt.as_dataset(Squares()).element_spec
    assert x.shape == (None, 1)


@tensorflow_only
def test_an_error_in_a_batch_is_raised():
    class Broken(Squares):
        def __getitem__(self, index):
            if index == 1:
                raise OSError("the disk is gone")
            return super().__getitem__(index)

    with pytest.raises(Exception, match="the disk is gone"):
        list(kt.as_dataset(Broken()))


@pytest.mark.skipif(keras.config.backend() == "tensorflow", reason="TensorFlow has a dataset")
def test_other_backends_train_on_the_batches_themselves():
    batches = Squares()
    assert kt.as_dataset(batches) is batches

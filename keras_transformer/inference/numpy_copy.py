"""Copies of a model for other libraries, kept equal to the model."""

import threading
import warnings

import numpy as np

from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.backends import backend_module
from keras_transformer.inference.model_search import forward, is_close, probe
from keras_transformer.models.ensemble import numpy_model, supports_numpy_search
from keras_transformer.models.lora import dense_layers


class ModelCopy:
    """Copies a model and copies it again when its weights have changed.

    Args:
        model: a model.
        make: function from the model to the copy.
    """

    def __init__(self, model, make):
        self._model = model
        self._make = make
        self._lock = threading.Lock()
        self._layers = dense_layers(model)
        self._adapted = None  # which of them have adapters
        self._changed = None  # function of the present weights, created on first use
        self._copy = None

    def get(self, check_weights):
        """Returns the copy; threads that call it together share one.

        Args:
            check_weights: whether to look for changed weights, which takes a millisecond on
                TensorFlow.
        """
        with self._lock:  # the other threads wait, because only one of them sees the change
            has_changed = check_weights and self._has_changed()
            if self._copy is None or has_changed:
                self._copy = self._make(self._model)
            return self._copy

    def _has_changed(self):
        # `enable_lora` adds weights. To list all weights anew would take a tenth of a sentence.
        adapted = [layer.lora_enabled for layer in self._layers]
        if self._adapted != adapted:
            self._changed = backend_module().change_detector(self._model.weights)
            self._adapted = adapted
        return self._changed()


class NumpyCopy(ModelCopy):
    """A copy for NumPy.

    Args:
        model: a model that `supports_numpy_search`.
    """

    def __init__(self, model):
        super().__init__(model, numpy_model)
        self._is_equal = None  # computed once

    @staticmethod
    def can_copy(model):
        """Returns whether NumPy computes the model, and on the model's device: a CPU."""
        return backend_module().describe_device().is_cpu and supports_numpy_search(model)

    def get(self, check_weights):
        """Returns the `NumpyTransformer`, see `ModelCopy`.

        Returns:
            The copy; or None, after a warning, if its logits differ from those of the model, as
            they do if the code of a layer was changed.
        """
        if self._is_equal is False:
            return None
        copy = super().get(check_weights)
        with self._lock:
            if self._is_equal is None:
                self._is_equal = self._compare(copy)
        return copy if self._is_equal else None

    def _compare(self, copy):
        request = probe(self._model)
        # A language model may hide the start token, but only where it is the first.
        request["target"] = np.maximum(request["target"], END_ID)
        expected, state = forward(self._model, request), copy.start(request["source"])
        tokens = enumerate(request["target"].T)
        logits = np.stack([copy.step(x, i, state).copy() for i, x in tokens], axis=1)
        is_equal = is_close(self._model, logits, expected)
        if not is_equal:
            warnings.warn(
                "Decoding with the model's own layers, which is slower than with NumPy: the "
                "code of a layer seems to be changed, because the logits differ from those of "
                f"its copy in NumPy by {np.abs(logits - expected).max():.2g}.",
                stacklevel=2,
            )
        return is_equal

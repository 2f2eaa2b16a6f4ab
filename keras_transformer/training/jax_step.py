"""The training step on JAX."""

import jax
import keras

from keras_transformer.training.accumulation import accumulation, with_words
from keras_transformer.training.device import Device, processor
from keras_transformer.training.metrics import loss_and_totals


class TrainingStep:
    """Trains and evaluates batch by batch, in functions compiled once for each shape.

    JAX wants functions without side effects: the variables go in and come out, and are written back
    to the model when the iteration ends.

    Args:
        model: a built model, called on `(source, target_input)`.
        optimizer: a built `keras.optimizers.Optimizer`. It may accumulate gradients, clip them,
            scale the loss or average the weights.
        label_smoothing: of the loss that is minimised.
    """

    def __init__(self, model, optimizer, label_smoothing=0.0):
        self.model = model
        self.optimizer = optimizer
        self.label_smoothing = label_smoothing
        self._train_batch = jax.jit(self._train_batch, donate_argnums=0)
        self._evaluate_batch = jax.jit(self._evaluate_batch)

    def train(self, batches, start=0):
        """Updates the weights, after each batch or after as many as the optimizer accumulates.

        Args:
            batches: a `LengthBuckets`, not reshuffled meanwhile.
            start: index of the first batch.

        Yields:
            The totals (see `loss_and_totals`) of each batch, computed before its update.
        """
        values = [[v.value for v in group] for group in self._variables()]
        try:
            for batch in with_words(batches, start, accumulation(self.optimizer)):
                values, totals = self._train_batch(values, *batch)
                yield totals
        finally:
            for group, new in zip(self._variables(), values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    variable.assign(value)

    def evaluate(self, batches):
        """Yields the totals (see `loss_and_totals`) of each batch, without dropout."""
        trainable, other, _ = ([v.value for v in group] for group in self._variables())
        for i in range(len(batches)):
            yield self._evaluate_batch(trainable, other, *batches[i])

    def _variables(self):
        model = self.model
        return model.trainable_variables, model.non_trainable_variables, self.optimizer.variables

    def _train_batch(self, values, inputs, target, words):
        trainable, other, optimizer = values

        def mean_loss(trainable):
            logits, new = self.model.stateless_call(trainable, other, inputs, training=True)
            loss, totals = loss_and_totals(target, logits, self.label_smoothing)
            # Outside of Keras's own calls its variables are read through such a scope.
            with keras.StatelessScope(zip(self.optimizer.variables, optimizer, strict=True)):
                return self.optimizer.scale_loss(loss / words), (new, totals)

        gradients, (other, totals) = jax.grad(mean_loss, has_aux=True)(trainable)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return [trainable, other, optimizer], totals

    def _evaluate_batch(self, trainable, other, inputs, target):
        logits, _ = self.model.stateless_call(trainable, other, inputs, training=False)
        return loss_and_totals(target, logits)[1]


def compile_inference(model, jit_compile):
    """The model without dropout as a compiled function.

    Args:
        model: a built model.
        jit_compile: must be True or None: JAX compiles with XLA, anew for each shape.

    Returns:
        A function from nested NumPy arrays to nested NumPy arrays.

    Raises:
        ValueError: if `jit_compile` is False.
    """
    if jit_compile is False:
        raise ValueError("JAX always compiles with XLA: leave out `jit_compile`. Received: False")

    @jax.jit
    def infer(trainable, other, inputs):
        return model.stateless_call(trainable, other, inputs)[0]

    def call(inputs):
        groups = (model.trainable_variables, model.non_trainable_variables)
        return jax.device_get(infer(*([v.value for v in group] for group in groups), inputs))

    return call


def describe_device():
    """The `Device` that JAX computes on."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        # XLA computes bfloat16 no faster than float32 on a processor.
        return Device(processor().name, bfloat16=False)
    capability = getattr(device, "compute_capability", None)  # of GPUs; others are TPUs
    return Device(device.device_kind, capability is None or float(capability) >= 8)


def make_deterministic():
    """Does nothing: on a processor XLA gives the same bits each time (on a GPU it need not)."""

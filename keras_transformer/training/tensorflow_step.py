"""The training step on TensorFlow."""

import tensorflow as tf

from keras_transformer.training.accumulation import accumulation, with_words
from keras_transformer.training.device import Device, processor
from keras_transformer.training.metrics import loss_and_totals

# A batch as `with_words` gives it, of any size: one trace for all shapes computes as fast as one
# for each, and a trace takes seconds.
_IDS = tf.TensorSpec((None, None), tf.int32)
_BATCH = ((_IDS, _IDS), _IDS, tf.TensorSpec((), tf.float32))


class TrainingStep:
    """Trains and evaluates batch by batch, in a graph each that is traced once.

    Args:
        model: a built model, called on `(source, target_input)`.
        optimizer: a built `keras.optimizers.Optimizer`. It may accumulate gradients, clip them,
            scale the loss or average the weights.
        label_smoothing: of the loss that is minimised.
        jit_compile: whether XLA compiles the training step, anew for each shape. None: on a GPU;
            on processors it is no faster.
    """

    def __init__(self, model, optimizer, label_smoothing=0.0, jit_compile=None):
        self.model = model
        self.optimizer = optimizer
        self.label_smoothing = label_smoothing
        if jit_compile is None:
            jit_compile = bool(tf.config.list_physical_devices("GPU"))
        self._train_batch = tf.function(self._train_batch, _BATCH, jit_compile=jit_compile)
        self._evaluate_batch = tf.function(self._evaluate_batch, _BATCH)

    def train(self, batches, start=0):
        """Updates the weights, after each batch or after as many as the optimizer accumulates.

        Args:
            batches: a `LengthBuckets`, not reshuffled meanwhile.
            start: index of the first batch.

        Yields:
            The totals (see `loss_and_totals`) of each batch, computed before its update.
        """
        for batch in _prefetched(batches, start, accumulation(self.optimizer)):
            yield self._train_batch(*batch)

    def evaluate(self, batches):
        """Yields the totals (see `loss_and_totals`) of each batch, without dropout."""
        for batch in _prefetched(batches):
            yield self._evaluate_batch(*batch)

    def _train_batch(self, inputs, target, words):
        with tf.GradientTape() as tape:
            logits = self.model(inputs, training=True)
            loss, totals = loss_and_totals(target, logits, self.label_smoothing)
            mean_loss = self.optimizer.scale_loss(loss / words)
        variables = self.model.trainable_variables
        # A word's gradients come one for each place where it stands. Made dense they are added up;
        # Keras's Adam would square them one by one.
        gradients = [tf.convert_to_tensor(x) for x in tape.gradient(mean_loss, variables)]
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return totals

    def _evaluate_batch(self, inputs, target, words):
        return loss_and_totals(target, self.model(inputs, training=False))[1]


def compile_inference(model, jit_compile):
    """The model without dropout as a graph, which is faster to call than `predict`.

    Args:
        model: a built model, called on a dictionary of integer tensors.
        jit_compile: whether XLA compiles the graph, anew for each shape. Otherwise one graph does
            for all shapes.

    Returns:
        A function from a dictionary of int32 or float32 NumPy arrays to nested NumPy arrays.
    """
    infer = tf.function(lambda inputs: model(inputs), jit_compile=jit_compile)
    # Called by its shapes, a graph need not be looked for among others: half a millisecond.
    graphs = {}

    def call(inputs):
        inputs = {name: tf.constant(x) for name, x in inputs.items()}
        shapes = tuple(x.shape if jit_compile else (None,) * x.ndim for x in inputs.values())
        if shapes not in graphs:
            specs = {
                name: tf.TensorSpec(shape, x.dtype)
                for (name, x), shape in zip(inputs.items(), shapes, strict=True)
            }
            graphs[shapes] = infer.get_concrete_function(specs)
        return tf.nest.map_structure(lambda x: x.numpy(), graphs[shapes](inputs))

    return call


def describe_device():
    """The `Device` that TensorFlow computes on."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return processor()
    details = tf.config.experimental.get_device_details(gpus[0])
    bfloat16 = details.get("compute_capability", (0, 0)) >= (8, 0)  # Ampere
    return Device(details.get("device_name", gpus[0].name), bfloat16)


def make_deterministic():
    """Makes every operation give the same bits each time."""
    tf.config.experimental.enable_op_determinism()


def _prefetched(batches, start=0, steps=1):
    """The batches as a `tf.data.Dataset` that prepares the next one meanwhile."""
    return tf.data.Dataset.from_generator(
        lambda: with_words(batches, start, steps), output_signature=_BATCH
    ).prefetch(2)

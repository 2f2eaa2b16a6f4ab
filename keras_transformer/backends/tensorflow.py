"""The training step on TensorFlow."""

import contextlib
import functools
import itertools
import os

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.backends.accumulation import accumulation
from keras_transformer.backends.device import Device, processor
from keras_transformer.backends.processes import lost_process
from keras_transformer.data.accumulation import with_words
from keras_transformer.data.prefetching import prefetched

# A batch as `with_words` gives it, of any size: one trace for all shapes computes as fast as one
# for each, and a trace takes seconds.
_IDS = tf.TensorSpec((None, None), tf.int32)
_BATCH = ((_IDS, _IDS), _IDS, tf.TensorSpec((), tf.float32))
_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)
_SEED = "seed_generator_state"  # how Keras names the variables of its random generators

# Keras's layers do not use AutoGraph either; without it a trace takes a fifth less time.
_graph = functools.partial(tf.function, autograph=False)


class TrainingStep:
    """Trains and evaluates batch by batch, in a graph each that is traced once.

    Made inside the scope of a `tf.distribute.Strategy` (see `distribution`), as model and optimizer
    then must be too, it splits the rows of each batch among the replicas.

    Args:
        model: a built model, called on `(source, target_input)`.
        optimizer: a built `keras.optimizers.Optimizer`. It may accumulate gradients, clip them,
            scale the loss or average the weights.
        loss: function from the target, (B, T), and the logits, (B, T, V), to the sum that is
            minimised and the totals, both summed over the batch: see `loss_and_totals`.
        jit_compile: whether XLA compiles the training step, anew for each shape. None: on a GPU;
            on one core of a processor it is slower.

    Attributes:
        alone: whether no other process takes part.
        chief: whether this process is the one that writes files.
    """

    def __init__(self, model, optimizer, loss, jit_compile=None):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self._strategy = tf.distribute.get_strategy()
        self.alone, self.chief = processes()
        self._replicas = self._strategy.num_replicas_in_sync
        self._seeds = [v for v in model.non_trainable_variables if v.path.endswith(_SEED)]
        if jit_compile is None:
            jit_compile = bool(tf.config.list_physical_devices("GPU"))
        alone = self._replicas == 1
        # XLA compiles for one device: what replicas tell each other stays outside.
        if jit_compile and not alone:
            self._gradients = _graph(self._gradients, jit_compile=True)
        self._train_batch = _graph(self._train_batch, _BATCH, jit_compile=jit_compile and alone)
        self._evaluate_batch = _graph(self._evaluate_batch, _BATCH)

    def train(self, batches, start=0):
        """Updates the weights, after each batch or after as many as the optimizer accumulates.

        Args:
            batches: a `LengthBuckets`, not reshuffled meanwhile.
            start: index of the first batch.

        Yields:
            The totals of each batch, computed before its update.
        """
        steps = accumulation(self.optimizer)
        counted = with_words(batches, start, steps, self._replicas)
        with contextlib.closing(prefetched(counted)) as ahead:
            for batch in ahead:
                yield self._train_batch(*batch)

    def evaluate(self, batches):
        """Yields the totals of each batch, without dropout."""
        with contextlib.closing(prefetched(with_words(batches, multiple=self._replicas))) as ahead:
            for batch in ahead:
                yield self._evaluate_batch(*batch)

    def any(self, flag):
        """Whether a flag, a bool, is set in any of the processes, each of which has to ask."""
        return bool(self._count(tf.constant(flag, tf.float32)) > 0)

    @_graph
    def _count(self, flag):
        def on_replica(flag):
            here = tf.identity(flag)  # on the replica's device
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, here)

        results = self._strategy.run(on_replica, (flag,))
        return self._strategy.experimental_local_results(results)[0]

    def _train_batch(self, inputs, target, words):
        (gradients, totals), seeds = self._on_replicas(self._gradients, inputs, target, words)
        # Outside of the replicas: each of them would clip the gradients before they are added up.
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        for variable, seed in zip(self._seeds, seeds, strict=True):
            variable.assign(seed)
        return totals

    def _gradients(self, inputs, target, words, replica):
        # No two replicas drop out the same.
        offset = tf.cast(tf.stack([replica, 0]), tf.int64)
        seeds = [(seed, seed.value + offset) for seed in self._seeds]
        with tf.GradientTape() as tape:
            with keras.StatelessScope(seeds) as scope:
                logits = self.model(inputs, training=True)
            loss, totals = self.loss(target, logits)
            mean_loss = self.optimizer.scale_loss(loss / words)
        gradients = tape.gradient(mean_loss, self.model.trainable_variables)
        # A word's gradients come one for each place where it stands. Made dense they are added up;
        # Keras's Adam would square them one by one.
        gradients = [tf.convert_to_tensor(x) for x in gradients]
        seeds = [scope.get_current_value(seed) - offset for seed in self._seeds]
        return (gradients, totals), seeds

    def _evaluate_batch(self, inputs, target, words):
        return self._on_replicas(self._totals, inputs, target, words)[0]

    def _totals(self, inputs, target, words, replica):
        return self.loss(target, self.model(inputs, training=False))[1], ()

    def _on_replicas(self, function, inputs, target, words):
        """Calls a function on the rows of each replica; sums up the first of its two results."""

        def on_replica(inputs, target, words):
            context = tf.distribute.get_replica_context()
            replica = context.replica_id_in_sync_group
            rows = tf.shape(target)[0] // self._replicas
            inputs, target = tf.nest.map_structure(
                lambda ids: ids[replica * rows : (replica + 1) * rows], (inputs, target)
            )
            results, kept = function(inputs, target, words, replica)
            return context.all_reduce(tf.distribute.ReduceOp.SUM, results), kept

        results = self._strategy.run(on_replica, (inputs, target, words))
        first = self._strategy.experimental_local_results
        return tf.nest.map_structure(lambda x: first(x)[0], results)


def compile_inference(model, jit_compile):
    """The model without dropout as a graph, which is faster to call than `predict`.

    Args:
        model: a built model, called on a dictionary of integer tensors.
        jit_compile: whether XLA compiles the graph, anew for each shape. Otherwise one graph does
            for all shapes.

    Returns:
        A function from a dictionary of int32 or float32 NumPy arrays to nested NumPy arrays.
    """
    infer = _graph(lambda inputs: model(inputs), jit_compile=jit_compile)
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


def as_dataset(batches):
    """Makes a `tf.data.Dataset` of the batches of a `keras.utils.PyDataset`.

    `tf.data.Dataset.from_generator`, and so `fit` on the batches themselves, would have TensorFlow
    set glibc's allocator, see `prefetched`.

    All its epochs have the number of batches that the first one has, for which `fit` asks. Of a
    longer epoch the last batches are left out, of a shorter one the first ones come again.
    """
    number, passes = len(batches), itertools.count()
    # As `fit` does: what two batches have in common, all have, apart from the number of rows.
    specs = tf.nest.map_structure(_common_spec, batches[0], batches[min(1, number - 1)])
    flat = tf.nest.flatten(specs)

    def begin():
        if next(passes):
            batches.on_epoch_end()
        return np.int64(number)

    def arrays(index):
        return tf.nest.flatten(batches[index % len(batches)])

    def take(index):
        tensors = tf.numpy_function(arrays, [index], [spec.dtype for spec in flat])
        for tensor, spec in zip(tensors, flat, strict=True):
            tensor.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(specs, tensors)

    def epoch(_):
        return tf.data.Dataset.range(tf.numpy_function(begin, [], tf.int64))

    dataset = tf.data.Dataset.from_tensors(0).flat_map(epoch).map(take)
    return dataset.apply(tf.data.experimental.assert_cardinality(number)).prefetch(2)


def _common_spec(x, y):
    """The `tf.TensorSpec` of two arrays: a size is open where they differ, and of the rows."""
    sizes = [a if a == b else None for a, b in zip(np.shape(x), np.shape(y), strict=True)]
    return tf.TensorSpec([None, *sizes[1:]], np.asarray(x).dtype)


@functools.cache  # a process can join others once
def _strategy():
    if "TF_CONFIG" in os.environ:
        return tf.distribute.MultiWorkerMirroredStrategy()
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(devices) > 1:
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.get_strategy()


@contextlib.contextmanager
def distribution():
    """Joins all GPUs of this machine and, if `TF_CONFIG` is set, the processes that it names.

    Yields:
        A function without arguments that returns a context manager: model, optimizer and
        `TrainingStep` are to be made inside of it, and used outside.

    Raises:
        ConnectionError: if another process is lost.
    """
    try:
        yield _strategy().scope
    except _LOST as error:
        if processes()[0]:
            raise
        raise lost_process(error) from error


def processes():
    """Whether this process trains alone, and whether it is the chief, which writes the files."""
    if "TF_CONFIG" not in os.environ:
        return True, True
    this = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    first = "chief" if "chief" in this.cluster_spec().jobs else "worker"
    return False, this.task_type == first and this.task_id == 0


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

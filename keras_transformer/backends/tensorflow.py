"""Training step, compiled inference and devices on TensorFlow."""

import contextlib
import functools
import itertools
import os

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.backends.device import Device, describe_cpu
from keras_transformer.backends.processes import lost_process_error, wait_for_first_process
from keras_transformer.backends.sharding import refuse_model_parallel
from keras_transformer.data.accumulation import accumulation, with_token_counts
from keras_transformer.data.prefetching import prefetched

# A batch from `with_token_counts` of any size. A single trace is as fast as one per shape, and each
# trace takes seconds.
_IDS = tf.TensorSpec((None, None), tf.int32)
_BATCH = ((_IDS, _IDS), _IDS, tf.TensorSpec((), tf.float32))
_LOST_PROCESS = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.DeadlineExceededError,
)
_SEED = "seed_generator_state"  # Keras's name for the variable of a `SeedGenerator`

# Without AutoGraph, which Keras layers do not use either, tracing takes a fifth less time.
_graph = functools.partial(tf.function, autograph=False)


class TrainingStep:
    """Trains and evaluates batch by batch, each with a graph that is traced once.

    Created in the scope of a `tf.distribute.Strategy`, like model and optimizer (see
    `distribution`), it splits the rows of each batch among the replicas (data parallelism).

    Args:
        model: a built model, called on `(source, target_input)`.
        optimizer: a built `keras.optimizers.Optimizer`. It may accumulate gradients, clip them,
            scale the loss or average the weights.
        loss: function from the target, (B, T), and the logits, (B, T, V), to the loss to minimize
            and the totals, both summed over the batch: see `loss_and_totals`.

    Attributes:
        process: index of this process; that of the chief, which writes the files, is 0.
        processes: number of processes that take part.
    """

    def __init__(self, model, optimizer, loss):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self._strategy = tf.distribute.get_strategy()
        self.process, self.processes = processes()
        self._replicas = self._strategy.num_replicas_in_sync
        self._seeds = [v for v in model.non_trainable_variables if v.path.endswith(_SEED)]
        self._others = [v for v in model.non_trainable_variables if not v.path.endswith(_SEED)]
        # XLA compiles the step once per shape. On one core of a CPU, it is slower.
        jit_compile = bool(tf.config.list_physical_devices("GPU"))
        single = self._replicas == 1
        # XLA compiles for one device, so the all-reduce of several replicas stays outside.
        if jit_compile and not single:
            self._gradients = _graph(self._gradients, jit_compile=True)
        self._train_batch = _graph(self._train_batch, _BATCH, jit_compile=jit_compile and single)
        self._evaluate_batch = _graph(self._evaluate_batch, _BATCH)

    def train(self, batches, start=0):
        """Trains on the batches and yields the totals of each.

        Args:
            batches: a `LengthBuckets`, which must not be reshuffled meanwhile.
            start: index of the first batch.

        Yields:
            The totals of each batch, computed with the weights before its update.
        """
        counted = self._counted(batches, start, accumulation(self.optimizer))
        with contextlib.closing(prefetched(counted)) as prepared:
            for batch in prepared:
                yield self._train_batch(*batch)

    def evaluate(self, batches):
        """Yields the totals of each batch, without dropout or updates."""
        with contextlib.closing(prefetched(self._counted(batches))) as prepared:
            for batch in prepared:
                yield self._evaluate_batch(*batch)

    def any(self, flags):
        """Returns which bools of an array are True in any process; every process must call it."""
        return self._sum_over_replicas(tf.constant(flags, tf.float32)).numpy() > 0

    def _counted(self, batches, start=0, steps=1):
        """Yields the rows of this process, see `with_token_counts`."""
        own = (self.process, self.processes)
        return with_token_counts(batches, start, steps, self._replicas, *own)

    @_graph
    def _sum_over_replicas(self, value):
        def on_replica(value):
            local = tf.identity(value)  # on the replica's device
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, local)

        results = self._strategy.run(on_replica, (value,))
        return self._strategy.experimental_local_results(results)[0]

    def _train_batch(self, inputs, target, count):
        sums, seeds = self._run_on_replicas(self._gradients, inputs, target, count)
        gradients, totals, updates = sums
        # Not on the replicas, where each would clip its gradients before they are summed.
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        for variable, seed in zip(self._seeds, seeds, strict=True):
            variable.assign(seed)
        for i, value in updates.items():
            self._others[i].assign(value)
        return totals

    def _gradients(self, inputs, target, count, replica):
        # Gives each replica different dropout masks.
        offset = tf.cast(tf.stack([replica, 0]), tf.int64)
        seeds = [(seed, seed.value + offset) for seed in self._seeds]
        with tf.GradientTape() as tape:
            with keras.StatelessScope(seeds, collect_losses=True) as scope:
                logits = self.model(inputs, training=True)
            loss, totals = self.loss(target, logits)
            added = [*scope.losses, *self.model.losses]  # by `add_loss`, and of regularizers
            added = sum(tf.cast(x, tf.float32) for x in added) / self._replicas
            mean_loss = self.optimizer.scale_loss(loss / count + added)
        weights = [variable.value for variable in self.model.trainable_variables]
        gradients = tape.gradient(mean_loss, weights, None, tf.UnconnectedGradients.ZERO)
        # The gradient of an embedding has one row per occurrence of a token. Making it dense sums
        # the rows per token; Keras's Adam would square them one by one.
        gradients = [tf.convert_to_tensor(x) for x in gradients]
        seeds = [scope.get_current_value(seed) - offset for seed in self._seeds]
        # Other updates, such as statistics of batch normalization, are averaged over the replicas.
        updates = {i: scope.get_current_value(v) for i, v in enumerate(self._others)}
        updates = {i: value / self._replicas for i, value in updates.items() if value is not None}
        return (gradients, totals, updates), seeds

    def _evaluate_batch(self, inputs, target, count):
        return self._run_on_replicas(self._totals, inputs, target, count)[0]

    def _totals(self, inputs, target, count, replica):
        return self.loss(target, self.model(inputs, training=False))[1], ()

    def _run_on_replicas(self, function, inputs, target, count):
        """Calls a function on each replica's rows and sums the first of its two results."""

        def on_replica(inputs, target, count):
            context = tf.distribute.get_replica_context()
            replica = context.replica_id_in_sync_group
            here = self._replicas // self.processes
            rows = tf.shape(target)[0] // here
            start = replica % here * rows
            inputs, target = tf.nest.map_structure(
                lambda ids: ids[start : start + rows], (inputs, target)
            )
            results, unsummed = function(inputs, target, count, replica)
            return context.all_reduce(tf.distribute.ReduceOp.SUM, results), unsummed

        results = self._strategy.run(on_replica, (inputs, target, count))
        local = self._strategy.experimental_local_results
        return tf.nest.map_structure(lambda x: local(x)[0], results)


def compile_inference(model, jit_compile):
    """Compiles the forward pass of a model, without dropout, to a graph faster than `predict`.

    Without XLA, the first call runs without a graph: for a single sentence, tracing takes several
    times as long as the search.

    Args:
        model: a built model, called on a dictionary of tensors.
        jit_compile: whether XLA compiles the graph, once per shape. Otherwise one graph serves all
            shapes.

    Returns:
        A function from a dictionary of int32 or float32 NumPy arrays to nested NumPy arrays.
    """
    # Looking concrete functions up by shape here saves 0.5 ms per call over `tf.function`'s lookup.
    # A graph keeps its variables, but the model gets others by `enable_lora`.
    graphs, variables = {}, []
    eager = iter([] if jit_compile else [model])  # for one call

    def call(inputs):
        inputs = {name: tf.constant(x) for name, x in inputs.items()}
        run = next(eager, None) or _graph_for(inputs)
        return tf.nest.map_structure(lambda x: x.numpy(), run(inputs))

    def _graph_for(inputs):
        shapes = tuple(x.shape if jit_compile else (None,) * x.ndim for x in inputs.values())
        if variables != (known := [id(x) for x in model.variables]):
            variables[:] = known
            graphs.clear()
        if shapes not in graphs:
            specs = {
                name: tf.TensorSpec(shape, x.dtype)
                for (name, x), shape in zip(inputs.items(), shapes, strict=True)
            }
            infer = _graph(lambda inputs: model(inputs), jit_compile=jit_compile)
            graphs[shapes] = infer.get_concrete_function(specs)
        return graphs[shapes]

    return call


def change_detector(variables):
    """Returns a function that tells whether a variable was assigned since its last call.

    The first call returns True.

    Args:
        variables: a list of Keras variables.
    """
    read = _graph(lambda: [variable.value.read_value() for variable in variables])
    read = read.get_concrete_function()
    known = []  # addresses of the values, and the values

    def changed():
        # TensorFlow does not overwrite a value that is still referenced: as long as the known
        # values are, an assigned variable has another address.
        values = read()
        addresses = [np.asarray(value).__array_interface__["data"][0] for value in values]
        is_new = known[:1] != [addresses]
        known[:] = [addresses, values]
        return is_new

    return changed


def as_dataset(batches):
    """Converts a `keras.utils.PyDataset` to a `tf.data.Dataset` without a generator.

    `tf.data.Dataset.from_generator`, which `fit` uses for a `PyDataset`, makes TensorFlow change
    glibc's allocator settings, see `prefetched`.

    Every epoch has as many batches as the first one, because `fit` needs a fixed number: a longer
    epoch loses its last batches, and a shorter one repeats its first batches.
    """
    number, passes = len(batches), itertools.count()
    # Like `fit`, assumes that the sizes two batches share, except the number of rows, are fixed.
    specs = tf.nest.map_structure(_common_spec, batches[0], batches[min(1, number - 1)])
    flat = tf.nest.flatten(specs)

    def start_epoch():
        if next(passes):
            batches.on_epoch_end()
        return np.int64(number)

    def arrays(index):
        return tf.nest.flatten(batches[index % len(batches)])

    def load_batch(index):
        tensors = tf.numpy_function(arrays, [index], [spec.dtype for spec in flat])
        for tensor, spec in zip(tensors, flat, strict=True):
            tensor.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(specs, tensors)

    def epoch(_):
        return tf.data.Dataset.range(tf.numpy_function(start_epoch, [], tf.int64))

    dataset = tf.data.Dataset.from_tensors(0).flat_map(epoch).map(load_batch)
    return dataset.apply(tf.data.experimental.assert_cardinality(number)).prefetch(2)


def _common_spec(x, y):
    """Returns a `tf.TensorSpec` for two arrays; the rows and sizes that differ are None."""
    sizes = [a if a == b else None for a, b in zip(np.shape(x), np.shape(y), strict=True)]
    return tf.TensorSpec([None, *sizes[1:]], np.asarray(x).dtype)


@functools.cache  # a process can join a cluster only once
def _strategy():
    if "TF_CONFIG" in os.environ:
        return tf.distribute.MultiWorkerMirroredStrategy()
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(devices) > 1:
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.get_strategy()


@contextlib.contextmanager
def distribution(model_parallel=1):
    """Sets up training on all GPUs of this machine and, if set, on the cluster of `TF_CONFIG`.

    Args:
        model_parallel: must be 1.

    Yields:
        A function without arguments that returns a context manager. Create the model, the optimizer
        and the `TrainingStep` inside it, and use them outside.

    Raises:
        ConnectionError: if another process is lost, or the first one cannot be reached.
        ValueError: if the weights are to be sharded.
    """
    refuse_model_parallel(model_parallel)
    if processes()[0]:
        cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
        wait_for_first_process(cluster.task_address(*_tasks(cluster)[0]))
    try:
        yield _strategy().scope
    except _LOST_PROCESS as error:
        if processes()[1] == 1:
            raise
        raise lost_process_error(error) from error


def processes():
    """Returns the index of this process, 0 for the chief, and the number of processes."""
    if "TF_CONFIG" not in os.environ:
        return 0, 1
    this = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tasks = _tasks(this.cluster_spec())
    return tasks.index((this.task_type, this.task_id)), len(tasks)


def _tasks(cluster):
    """Returns the job and the index of each process, the chief first."""
    return [(job, i) for job in sorted(cluster.jobs) for i in cluster.task_indices(job)]


def describe_device():
    """Returns the `Device` that TensorFlow computes on."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return describe_cpu()
    details = tf.config.experimental.get_device_details(gpus[0])
    bfloat16 = details.get("compute_capability", (0, 0)) >= (8, 0)  # Ampere
    return Device(details.get("device_name", gpus[0].name), bfloat16)


def make_deterministic():
    """Makes all TensorFlow operations deterministic."""
    tf.config.experimental.enable_op_determinism()

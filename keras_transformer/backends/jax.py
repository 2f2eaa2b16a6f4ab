"""Training step, compiled inference and devices on JAX."""

import contextlib
import functools
import os

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from keras_transformer._utils.devices import jax_has_cuda
from keras_transformer.backends.device import Device, describe_cpu
from keras_transformer.backends.processes import lost_process_error, wait_for_first_process
from keras_transformer.backends.sharding import ROWS, model_parallel_distribution
from keras_transformer.data.accumulation import accumulation, read_batch, with_token_counts
from keras_transformer.data.prefetching import prefetched

# Time without a sign of life after which a process counts as lost. JAX then ends the others itself.
_TIMEOUTS = {"heartbeat_timeout_seconds": 30, "shutdown_timeout_seconds": 30}

# On a GPU, XLA splits sums over the tokens of a batch into up to 8 parts, and copies operands that
# it cannot split evenly. A few more rows of padding cost less.
_MANY_ROWS, _EVEN_ROWS = 256, 16


class TrainingStep:
    """Trains and evaluates batch by batch with functions that JAX compiles once per shape.

    JAX needs pure functions: they take and return the values of the variables, which are written
    back to the model when the iteration ends. The rows of each batch are sharded among all devices
    of all processes, and the variables are replicated on them (data parallelism). If the variables
    are sharded themselves (model parallelism), they stay so, and each group of devices that holds
    them once has a share of the rows.

    See `tensorflow.TrainingStep` for the arguments and attributes.
    """

    def __init__(self, model, optimizer, loss):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.process, self.processes = processes()
        shardings = [[v.value.sharding for v in group] for group in self._variables()]
        first = next(sharding for group in shardings for sharding in group)
        self._sharded = isinstance(first, NamedSharding) and ROWS in first.mesh.axis_names
        mesh = first.mesh if self._sharded else Mesh(jax.devices(), (ROWS,))
        self._replicated = NamedSharding(mesh, PartitionSpec())
        self._by_row = NamedSharding(mesh, PartitionSpec(ROWS))
        outputs = (shardings if self._sharded else self._replicated, self._replicated)
        self._train_batch = jax.jit(self._train_batch, donate_argnums=0, out_shardings=outputs)
        self._evaluate_batch = jax.jit(self._evaluate_batch, out_shardings=self._replicated)

    def train(self, batches, start=0):
        """Trains on the batches and yields the totals of each; see `tensorflow.TrainingStep`."""
        values = self._values()
        try:
            placed = self._placed(batches, start, accumulation(self.optimizer))
            with contextlib.closing(prefetched(placed)) as prepared:
                for batch in prepared:
                    values, totals = self._train_batch(values, *batch)
                    yield totals
        finally:
            for group, new in zip(self._variables(), values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    if not value.is_deleted():  # donated values are, if the step failed
                        value = value if self._sharded else value.addressable_data(0)
                        variable.assign(value)

    def evaluate(self, batches):
        """Yields the totals of each batch, without dropout or updates."""
        trainable, other, _ = self._values()
        with contextlib.closing(prefetched(self._placed(batches))) as prepared:
            for inputs, target, _ in prepared:
                yield self._evaluate_batch(trainable, other, inputs, target)

    def any(self, flags):
        """Returns which bools of an array are True in any process; every process must call it."""
        return multihost_utils.process_allgather(np.array(flags)).any(axis=0)

    def _values(self):
        """Returns the values of all variables, placed on the devices."""
        if self._sharded:  # there already; a copy would double their memory
            return [[v.value for v in group] for group in self._variables()]
        return [[_put(v.value, self._replicated) for v in group] for group in self._variables()]

    def _placed(self, batches, start=0, steps=1):
        """Yields the batches with their rows sharded among the devices."""
        multiple = self._by_row.mesh.shape[ROWS]
        own = (self.process, self.processes)
        for inputs, target, count in with_token_counts(batches, start, steps, multiple, *own):
            if jax_has_cuda() and len(target) >= _MANY_ROWS:
                even = _EVEN_ROWS * jax.local_device_count()
                inputs, target = read_batch((inputs, target), even)
            if jax.device_count() > 1:  # on a single device it would only cost 0.5 ms per batch
                place = functools.partial(jax.make_array_from_process_local_data, self._by_row)
                inputs, target = jax.tree.map(place, (inputs, target))
            yield inputs, target, count

    def _variables(self):
        model = self.model
        return model.trainable_variables, model.non_trainable_variables, self.optimizer.variables

    def _train_batch(self, values, inputs, target, count):
        trainable, other, optimizer = values

        def mean_loss(trainable):
            logits, new, added = self.model.stateless_call(
                trainable, other, inputs, training=True, return_losses=True
            )
            loss, totals = self.loss(target, logits)
            # `scale_loss` reads the scale from the optimizer's variables, whose values are traced.
            with keras.StatelessScope(zip(self.optimizer.variables, optimizer, strict=True)):
                return self.optimizer.scale_loss(loss / count + sum(added)), (new, totals)

        gradients, (other, totals) = jax.grad(mean_loss, has_aux=True)(trainable)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return [trainable, other, optimizer], totals

    def _evaluate_batch(self, trainable, other, inputs, target):
        logits, _ = self.model.stateless_call(trainable, other, inputs, training=False)
        return self.loss(target, logits)[1]


def compile_inference(model, jit_compile):
    """Compiles the forward pass of a model, without dropout.

    Args:
        model: a built model.
        jit_compile: True or None: JAX always compiles with XLA, once per shape.

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


def change_detector(variables):
    """Returns a function that tells whether a variable was assigned since its last call.

    The first call returns True.

    Args:
        variables: a list of Keras variables.
    """
    known = ()

    def changed():
        nonlocal known
        last, known = known, [variable.value for variable in variables]
        return len(last) == 0 or any(x is not y for x, y in zip(last, known, strict=True))

    return changed


def reduce_logits(logits):
    """Computes log Σ exp z, the maximum and the mean of each row, in one pass over the logits.

    Args:
        logits: float32, (..., V).

    Returns:
        Three float32 arrays, (..., 1).

    References:
        "Online normalizer calculation for softmax" (Milakov and Gimelshein, 2018), section 3.
    """

    def join(x, y):
        highest = jnp.maximum(x[0], y[0])
        scaled = x[1] * jnp.exp(x[0] - highest) + y[1] * jnp.exp(y[0] - highest)
        return highest, scaled, x[2] + y[2]

    values = logits, jnp.ones_like(logits), logits
    # A start of -∞ would give NaN for logits of -∞.
    start = np.finfo("float32").min, np.float32(0), np.float32(0)
    reduced = jax.lax.reduce(values, start, join, (logits.ndim - 1,))
    highest, scaled, total = (x[..., None] for x in reduced)
    return highest + jnp.log(scaled), highest, total / logits.shape[-1]


@contextlib.contextmanager
def distribution(model_parallel=1):
    """Sets up distributed training if the environment variable JAX_COORDINATOR_ADDRESS is set.

    JAX_NUM_PROCESSES and JAX_PROCESS_ID give the number of processes and the index of this one.
    Under Slurm and similar launchers JAX detects them itself.

    Args:
        model_parallel: number of devices that share the weights, in one process.

    Yields:
        A function without arguments that returns a context manager. Create the model, the optimizer
        and the `TrainingStep` inside it, and use them outside.

    Raises:
        ConnectionError: if another process is lost, or the first one cannot be reached.
        ValueError: if the weights cannot be sharded.
    """
    if "JAX_COORDINATOR_ADDRESS" in os.environ:
        names = {"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}
        known = {k: int(os.environ[name]) for k, name in names.items() if name in os.environ}
        if len(known) == len(names):
            # Slurm has nothing to add, and JAX would use one GPU for each of its tasks.
            known["cluster_detection_method"] = "deactivate"
            if known["process_id"]:
                wait_for_first_process(os.environ["JAX_COORDINATOR_ADDRESS"])
        jax.distributed.initialize(**known, **_TIMEOUTS)
    scope = contextlib.nullcontext
    if model_parallel > 1:
        if jax.process_count() > 1:
            raise ValueError(
                "Only the devices of one process can share the weights: start one process, or "
                f"leave out --model-parallel. Received: {jax.process_count()} processes"
            )
        devices = keras.distribution.list_devices()
        scope = model_parallel_distribution(devices, model_parallel).scope
    try:
        yield scope
    except jax.errors.JaxRuntimeError as error:
        if jax.process_count() == 1 or "RESOURCE_EXHAUSTED" in str(error):  # out of memory
            raise
        raise lost_process_error(error) from error
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def processes():
    """Returns the index of this process, 0 for the chief, and the number of processes."""
    return jax.process_index(), jax.process_count()


def _put(value, sharding):
    """Places an array on the devices, of which each process fills its own."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


def describe_device():
    """Returns the `Device` that JAX computes on."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        # On CPUs XLA is no faster in bfloat16 than in float32.
        return describe_cpu()._replace(bfloat16=False)
    capability = getattr(device, "compute_capability", None)  # of GPUs; others are TPUs
    return Device(device.device_kind, capability is None or float(capability) >= 8)


def make_deterministic():
    """Does nothing: XLA is deterministic on CPUs (not necessarily on GPUs)."""

"""The training step on JAX."""

import contextlib
import functools
import os

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from keras_transformer.backends.accumulation import accumulation
from keras_transformer.backends.device import Device, processor
from keras_transformer.backends.processes import lost_process
from keras_transformer.data.accumulation import with_words
from keras_transformer.data.prefetching import prefetched

# Until a process that is not heard of counts as lost. JAX then ends the others itself.
_TIMEOUTS = {"heartbeat_timeout_seconds": 30, "shutdown_timeout_seconds": 30}


class TrainingStep:
    """Trains and evaluates batch by batch, in functions compiled once for each shape.

    JAX wants functions without side effects: the variables go in and come out, and are written back
    to the model when the iteration ends. All devices of all processes hold them; each computes its
    share of the rows of a batch.

    Args:
        model: a built model, called on `(source, target_input)`.
        optimizer: a built `keras.optimizers.Optimizer`. It may accumulate gradients, clip them,
            scale the loss or average the weights.
        loss: function from the target, (B, T), and the logits, (B, T, V), to the sum that is
            minimised and the totals, both summed over the batch: see `loss_and_totals`.

    Attributes:
        alone: whether no other process takes part.
        chief: whether this process is the one that writes files.
    """

    def __init__(self, model, optimizer, loss):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.alone, self.chief = processes()
        devices = Mesh(jax.devices(), ("rows",))
        self._everywhere = NamedSharding(devices, PartitionSpec())
        self._by_rows = NamedSharding(devices, PartitionSpec("rows"))
        compiled = functools.partial(jax.jit, out_shardings=self._everywhere)
        self._train_batch = compiled(self._train_batch, donate_argnums=0)
        self._evaluate_batch = compiled(self._evaluate_batch)

    def train(self, batches, start=0):
        """Updates the weights, after each batch or after as many as the optimizer accumulates.

        Args:
            batches: a `LengthBuckets`, not reshuffled meanwhile.
            start: index of the first batch.

        Yields:
            The totals of each batch, computed before its update.
        """
        values = self._values()
        try:
            shared = self._shared(batches, start, accumulation(self.optimizer))
            with contextlib.closing(prefetched(shared)) as ahead:
                for batch in ahead:
                    values, totals = self._train_batch(values, *batch)
                    yield totals
        finally:
            for group, new in zip(self._variables(), values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    if not value.is_deleted():  # as they are after a step that failed
                        variable.assign(value.addressable_data(0))

    def evaluate(self, batches):
        """Yields the totals of each batch, without dropout."""
        trainable, other, _ = self._values()
        with contextlib.closing(prefetched(self._shared(batches))) as ahead:
            for inputs, target, _ in ahead:
                yield self._evaluate_batch(trainable, other, inputs, target)

    def any(self, flag):
        """Whether a flag, a bool, is set in any of the processes, each of which has to ask."""
        return bool(multihost_utils.process_allgather(np.array(flag)).any())

    def _values(self):
        """The values of all variables, on all devices."""
        return [[_put(v.value, self._everywhere) for v in group] for group in self._variables()]

    def _shared(self, batches, start=0, steps=1):
        """The batches with the rows shared out among the devices."""
        devices = jax.device_count()
        for inputs, target, words in with_words(batches, start, steps, devices):
            if devices > 1:  # for one it would be half a millisecond for nothing
                inputs, target = jax.tree.map(lambda x: _put(x, self._by_rows), (inputs, target))
            yield inputs, target, words

    def _variables(self):
        model = self.model
        return model.trainable_variables, model.non_trainable_variables, self.optimizer.variables

    def _train_batch(self, values, inputs, target, words):
        trainable, other, optimizer = values

        def mean_loss(trainable):
            logits, new = self.model.stateless_call(trainable, other, inputs, training=True)
            loss, totals = self.loss(target, logits)
            # Outside of Keras's own calls its variables are read through such a scope.
            with keras.StatelessScope(zip(self.optimizer.variables, optimizer, strict=True)):
                return self.optimizer.scale_loss(loss / words), (new, totals)

        gradients, (other, totals) = jax.grad(mean_loss, has_aux=True)(trainable)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return [trainable, other, optimizer], totals

    def _evaluate_batch(self, trainable, other, inputs, target):
        logits, _ = self.model.stateless_call(trainable, other, inputs, training=False)
        return self.loss(target, logits)[1]


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


@contextlib.contextmanager
def distribution():
    """Joins the processes, if JAX_COORDINATOR_ADDRESS says where they meet.

    JAX_NUM_PROCESSES and JAX_PROCESS_ID say how many there are and which this one is; where Slurm
    or the like starts them, JAX finds out itself.

    Yields:
        A function without arguments that returns a context manager: model, optimizer and
        `TrainingStep` are to be made inside of it, and used outside.

    Raises:
        ConnectionError: if another process is lost.
    """
    if "JAX_COORDINATOR_ADDRESS" in os.environ:
        names = {"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}
        known = {k: int(os.environ[name]) for k, name in names.items() if name in os.environ}
        jax.distributed.initialize(**known, **_TIMEOUTS)
    try:
        yield contextlib.nullcontext
    except jax.errors.JaxRuntimeError as error:
        if processes()[0] or "RESOURCE_EXHAUSTED" in str(error):  # no memory
            raise
        raise lost_process(error) from error
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def processes():
    """Whether this process trains alone, and whether it is the chief, which writes the files."""
    return jax.process_count() == 1, jax.process_index() == 0


def _put(value, sharding):
    """Puts an array, or the part of it that belongs here, on the devices of this process."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


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

"""Training step, compiled inference and devices on PyTorch."""

import contextlib
import os

import keras
import torch
from keras import ops

from keras_transformer.backends.device import Device, describe_cpu
from keras_transformer.backends.sharding import refuse_model_parallel
from keras_transformer.data.accumulation import accumulation, with_token_counts
from keras_transformer.data.prefetching import prefetched

# Variables by which the launchers of PyTorch, TensorFlow and JAX announce several processes.
_SEVERAL_PROCESSES = ("WORLD_SIZE", "TF_CONFIG", "JAX_COORDINATOR_ADDRESS")


class TrainingStep:
    """Trains and evaluates batch by batch, operation by operation, on one device.

    See `tensorflow.TrainingStep` for the arguments and attributes.
    """

    def __init__(self, model, optimizer, loss):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.process, self.processes = processes()

    def train(self, batches, start=0):
        """Trains on the batches and yields the totals of each; see `tensorflow.TrainingStep`."""
        counted = with_token_counts(batches, start, accumulation(self.optimizer))
        with contextlib.closing(prefetched(counted)) as prepared:
            for batch in prepared:
                yield self._train_batch(*_to_tensors(batch))

    def evaluate(self, batches):
        """Yields the totals of each batch, without dropout or updates."""
        with contextlib.closing(prefetched(with_token_counts(batches))) as prepared:
            for batch in prepared:
                yield self._evaluate_batch(*_to_tensors(batch))

    def _train_batch(self, inputs, target, count):
        variables = self.model.trainable_variables
        loss, totals = self.loss(target, self.model(inputs, training=True))
        added = sum(ops.cast(x, "float32") for x in self.model.losses)
        mean_loss = self.optimizer.scale_loss(loss / count + added)
        weights = [variable.value for variable in variables]
        # Zeros for unused weights, as on the other backends: Keras would skip their weight decay.
        gradients = torch.autograd.grad(mean_loss, weights, materialize_grads=True)
        with torch.no_grad():
            self.optimizer.apply(gradients, variables)
        return totals.detach()

    # Decorating the generator instead would switch gradients off for the code that it yields to.
    @torch.no_grad()
    def _evaluate_batch(self, inputs, target, count):
        return self.loss(target, self.model(inputs, training=False))[1]


def _to_tensors(arrays):
    return keras.tree.map_structure(ops.convert_to_tensor, arrays)


def compile_inference(model, jit_compile):
    """Returns the forward pass of a model, without dropout and without recording gradients.

    Args:
        model: a built model.
        jit_compile: False or None: the operations run one by one.

    Returns:
        A function from nested NumPy arrays to nested NumPy arrays.

    Raises:
        ValueError: if `jit_compile` is True.
    """
    if jit_compile:
        raise ValueError(
            "The PyTorch backend compiles nothing: leave out `jit_compile`. "
            f"Received: jit_compile={jit_compile}"
        )

    # Not in inference mode: tensors made there, which a layer may keep, can never be trained on.
    @torch.no_grad()
    def call(inputs):
        return keras.tree.map_structure(ops.convert_to_numpy, model(_to_tensors(inputs)))

    return call


def change_detector(variables):
    """Returns a function that tells whether a variable has another value than at its last call.

    The first call returns True.

    Args:
        variables: a list of Keras variables.
    """
    known = []

    def changed():
        # PyTorch writes into a tensor, so only a copy shows what it was.
        values = [variable.value.detach() for variable in variables]
        same = len(known) > 0 and all(map(torch.equal, known, values))
        if not same:
            known[:] = [value.clone() for value in values]
        return not same

    return changed


@contextlib.contextmanager
def distribution(model_parallel=1):
    """Checks that this is the only process and that it sees at most one GPU.

    Args:
        model_parallel: must be 1.

    Yields:
        A function without arguments that returns a context manager. Create the model, the optimizer
        and the `TrainingStep` inside it, and use them outside.

    Raises:
        ValueError: if there are several processes or GPUs, or the weights are to be sharded.
    """
    refuse_model_parallel(model_parallel)
    found = [f"{x}={os.environ[x]}" for x in _SEVERAL_PROCESSES if os.environ.get(x, "1") != "1"]
    if torch.cuda.device_count() > 1:
        found.append(f"{torch.cuda.device_count()} GPUs")
    if found:
        raise ValueError(
            "PyTorch trains in one process on one device here: set KERAS_BACKEND to tensorflow or "
            "jax, which train on several, or select one GPU with CUDA_VISIBLE_DEVICES=0. "
            f"Received: {', '.join(found)}"
        )
    yield contextlib.nullcontext


def processes():
    """Returns the index of this process and the number of processes."""
    return 0, 1


def describe_device():
    """Returns the `Device` that Keras computes on with PyTorch."""
    device = ops.zeros(()).device
    if device.type == "cpu":
        return describe_cpu()
    if device.type != "cuda":
        return Device(device.type, bfloat16=False)
    bfloat16 = torch.cuda.get_device_capability(device) >= (8, 0)  # Ampere
    return Device(torch.cuda.get_device_name(device), bfloat16)


def make_deterministic():
    """Makes all PyTorch operations deterministic."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # which cuBLAS needs for that
    torch.use_deterministic_algorithms(True)

"""Distributed training gives the same result as one device, and lost processes are reported.

Every process imports this module and calls `train`.
"""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops
from quick import some_of
from tiny import CallAt, make_dataset, make_model

from keras_transformer import Adam, RunFolder, Trainer
from keras_transformer.backends import backend_module

ON_TORCH = keras.config.backend() == "torch"
several = pytest.mark.skipif(ON_TORCH, reason="PyTorch trains in one process on one device")
EPOCHS = 2  # with more, rounding that flips the sign of a ReLU input may exceed the tolerance
LOSSES = ("loss", "accuracy", "validation_loss", "validation_accuracy")


def train(folder, epochs=EPOCHS, interrupt=None):
    """Trains with optimizer options that must be applied once, not per replica.

    Returns:
        The losses of each epoch, and all variables.
    """
    backend = backend_module()
    backend.make_deterministic()
    dataset = make_dataset()
    with backend.distribution() as scope:
        with scope():
            options = {"gradient_accumulation_steps": 3, "global_clipnorm": 0.2, "use_ema": True}
            optimizer = Adam(1e-3, epsilon=1e-4, ema_momentum=0.9, **options)
            trainer = Trainer(make_model(dataset), optimizer, folder)
        # Two devices need one row of padding for a batch of 7 rows.
        batches = dataset.batches(dataset.train, 7, seed=3, multiple=3)
        assert len(batches) > 20
        if interrupt:
            batches = CallAt(batches, 1, 4, interrupt)
        validation = dataset.batches(dataset.validation, 7)
        history, _ = trainer.train(batches, validation, epochs)
    variables = [*trainer.model.variables, *optimizer.variables]
    losses = [[row[name] for name in LOSSES] for row in history]
    return losses, [ops.convert_to_numpy(variable) for variable in variables]


def train_in_process(folder, result, devices="1", interrupt=None):
    """Calls `train` in a subprocess and writes the result to a file."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        logical = [tf.config.LogicalDeviceConfiguration()] * int(devices)
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, logical)
    if interrupt:
        interrupt = functools.partial(os.kill, os.getpid(), getattr(signal, interrupt))
    losses, variables = train(folder, interrupt=interrupt)
    np.savez(result, losses, *variables)


def start(arguments, **environment):
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "KERAS_BACKEND": keras.config.backend(),
        "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent))),
        **environment,
    }
    code = "import sys, test_distribution as t; t.train_in_process(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def start_two(folders, results, interrupt=(None, None)):
    """Starts two processes on this machine with the environment variables of the backend."""
    with socket.socket() as one, socket.socket() as other:
        for sock in (one, other):
            sock.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in (one, other)]
    for i in range(2):
        arguments = [folders[i], results[i], "1", *filter(None, [interrupt[i]])]
        yield start(arguments, **environment_of(addresses, i))


def environment_of(addresses, index):
    """Returns the environment variables of one of two processes."""
    task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    return {
        "tensorflow": {"TF_CONFIG": json.dumps(task)},
        "jax": {
            "JAX_COORDINATOR_ADDRESS": addresses[0],
            "JAX_NUM_PROCESSES": "2",
            "JAX_PROCESS_ID": str(index),
        },
    }[keras.config.backend()]


def assert_same(result, expected):
    losses, *variables = np.load(result).values()
    np.testing.assert_allclose(losses, expected[0], atol=1e-5)
    for a, b in zip(variables, expected[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.fixture(scope="module")
def single_device(tmp_path_factory):
    return train(tmp_path_factory.mktemp("single_device"))


@pytest.mark.every_backend
@pytest.mark.skipif(not ON_TORCH, reason="TensorFlow and JAX train in several processes")
@pytest.mark.parametrize(
    "found", ["WORLD_SIZE=2", "TF_CONFIG=2", "JAX_COORDINATOR_ADDRESS=2", "2 GPUs"]
)
def test_several_devices_are_refused_on_torch(monkeypatch, found):
    import torch

    if found == "2 GPUs":
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    else:
        monkeypatch.setenv(*found.split("="))
    message = f"KERAS_BACKEND to tensorflow or jax.*: {found}$"
    with pytest.raises(ValueError, match=message), backend_module().distribution():
        pass


@several
@pytest.mark.exhaustive  # covered by the test of two processes
def test_two_devices_match_one(single_device, tmp_path):
    # The other flags stay, because another order of additions may flip the sign of a ReLU input.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    process = start([tmp_path / "run", tmp_path / "result.npz", 2], XLA_FLAGS=flags)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert_same(tmp_path / "result.npz", single_device)


@several
@pytest.mark.exhaustive  # covered by the test of a lost process
@pytest.mark.every_backend
def test_two_processes_match_one(single_device, tmp_path):
    folders = [tmp_path / "chief", tmp_path / "worker"]
    results = [tmp_path / "0.npz", tmp_path / "1.npz"]
    processes = list(start_two(folders, results))
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0, output
    # As a single process does, the chief ends with the best weights.
    assert_same(results[0], single_device)
    best = [np.load(result)["arr_0"] for result in results]
    np.testing.assert_array_equal(*best)
    assert len(RunFolder(folders[0]).read_history()) == EPOCHS
    assert not folders[1].exists()


@several
@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("lost", some_of({"chief": 0, "worker": 1}, quick=["chief"]))
def test_a_run_ends_when_a_process_is_lost_and_can_be_resumed(single_device, tmp_path, lost):
    run, results = [tmp_path / "run"] * 2, [tmp_path / "0.npz", tmp_path / "1.npz"]
    interrupt = [None, None]
    interrupt[lost] = "SIGKILL"
    processes = list(start_two(run, results, interrupt))
    processes[lost].communicate()
    killed = time.monotonic()
    output, _ = processes[1 - lost].communicate(timeout=60)
    assert time.monotonic() - killed < 60
    assert processes[lost].returncode == -signal.SIGKILL
    assert processes[1 - lost].returncode not in (0, -signal.SIGKILL)
    # The second message is that of JAX, which may notice the loss first.
    assert "Another process of this run has ended" in output or "another task died" in output
    assert len(RunFolder(run[0]).read_history()) == 1
    for process in list(start_two(run, results)):
        output, _ = process.communicate()
        assert process.returncode == 0, output
    assert_same(results[0], single_device)


@several
@pytest.mark.slow
@pytest.mark.every_backend
def test_processes_that_see_different_run_folders_are_refused(tmp_path):
    train(tmp_path / "run", epochs=1)
    folders = [tmp_path / "run", tmp_path / "elsewhere"]
    for process in list(start_two(folders, [tmp_path / "0.npz", tmp_path / "1.npz"])):
        output, _ = process.communicate(timeout=120)
        assert process.returncode != 0
        assert (
            "Received: different checkpoints, which they must all see in the run folder" in output
        )
        assert "different weights" in output and "different data" not in output
    assert len(RunFolder(folders[0]).read_history()) == 1


@several
@pytest.mark.every_backend
@pytest.mark.parametrize("address", ["127.0.0.1:9", "no-such-host.invalid:2222", "127.0.0.1"])
def test_a_wrong_address_is_named(monkeypatch, address):
    monkeypatch.setattr("keras_transformer.backends.processes._PATIENCE", 0.1)
    for name, value in environment_of([address, "127.0.0.1:10"], 1).items():
        monkeypatch.setenv(name, value)
    message = f"does not listen at {address}: check this address"
    with pytest.raises(ConnectionError, match=message), backend_module().distribution() as scope:
        scope()


@several
@pytest.mark.slow
def test_ctrl_c_in_one_process_saves_and_ends_both(single_device, tmp_path):
    run, results = [tmp_path / "run"] * 2, [tmp_path / "0.npz", tmp_path / "1.npz"]
    for process in list(start_two(run, results, (None, "SIGINT"))):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert len(RunFolder(run[0]).read_history()) == 1
    # One device resumes in the middle of an accumulated update.
    losses, variables = train(run[0])
    np.savez(results[0], losses, *variables)
    assert_same(results[0], single_device)

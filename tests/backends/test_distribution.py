"""What several devices and processes promise: they compute what one does, and a lost one is told.

Each process is given the whole test module: `train` is the run, here and there.
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
from tiny import At, make_dataset, make_model

from keras_transformer import Adam, RunFolder, Trainer
from keras_transformer.backends import backend_module

EPOCHS = 2  # more, or faster ones: what rounding moves across the kink of a relu would count
LOSSES = ("loss", "accuracy", "validation_loss", "validation_accuracy")


def train(folder, epochs=EPOCHS, disturb=None):
    """A run with all that the optimizer can do besides, which must be done once, not per replica.

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
        # Seven rows: two devices need a row of padding.
        batches = dataset.batches(dataset.train, 7, seed=3, multiple=3)
        assert len(batches) > 20
        if disturb:
            batches = At(batches, 1, 4, disturb)
        validation = dataset.batches(dataset.validation, 7)
        history, _ = trainer.train(batches, validation, epochs)
    variables = [*trainer.model.variables, *optimizer.variables]
    losses = [[row[name] for name in LOSSES] for row in history]
    return losses, [ops.convert_to_numpy(variable) for variable in variables]


def train_in_process(folder, result, devices="1", disturb=None):
    """The same in a process of its own, which leaves its result in a file."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        logical = [tf.config.LogicalDeviceConfiguration()] * int(devices)
        processor = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(processor, logical)
    if disturb:
        disturb = functools.partial(os.kill, os.getpid(), getattr(signal, disturb))
    losses, variables = train(folder, disturb=disturb)
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


def start_two(folders, results, disturb=(None, None)):
    """Two processes on this machine, as the environment variables of each backend say it."""
    with socket.socket() as one, socket.socket() as other:
        for sock in (one, other):
            sock.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{sock.getsockname()[1]}" for sock in (one, other)]
    for i in range(2):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}}
        environment = {
            "tensorflow": {"TF_CONFIG": json.dumps(task)},
            "jax": {
                "JAX_COORDINATOR_ADDRESS": addresses[0],
                "JAX_NUM_PROCESSES": "2",
                "JAX_PROCESS_ID": str(i),
            },
        }[keras.config.backend()]
        arguments = [folders[i], results[i], "1", *filter(None, [disturb[i]])]
        yield start(arguments, **environment)


def assert_same(result, expected):
    losses, *variables = np.load(result).values()
    np.testing.assert_allclose(losses, expected[0], atol=1e-5)
    for a, b in zip(variables, expected[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return train(tmp_path_factory.mktemp("alone"))


@pytest.mark.exhaustive  # as two processes do
def test_two_devices_give_the_losses_and_weights_of_one(alone, tmp_path):
    # Compiled as here otherwise: another order of additions may turn a relu on.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    process = start([tmp_path / "run", tmp_path / "result.npz", 2], XLA_FLAGS=flags)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert_same(tmp_path / "result.npz", alone)


@pytest.mark.exhaustive  # as do the two that go on after one was lost
@pytest.mark.every_backend
def test_two_processes_give_the_losses_and_weights_of_one(alone, tmp_path):
    folders = [tmp_path / "chief", tmp_path / "other"]
    results = [tmp_path / "0.npz", tmp_path / "1.npz"]
    processes = list(start_two(folders, results))
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0, output
    # That the chief ends with the best weights is for one process the same.
    assert_same(results[0], alone)
    best = [np.load(result)["arr_0"] for result in results]
    np.testing.assert_array_equal(*best)
    assert len(RunFolder(folders[0]).read_history()) == EPOCHS
    assert not folders[1].exists()


@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("lost", some_of({"the chief": 0, "the other": 1}, quick=["the chief"]))
def test_a_lost_process_ends_the_run_and_it_can_go_on(alone, tmp_path, lost):
    run, results = [tmp_path / "run"] * 2, [tmp_path / "0.npz", tmp_path / "1.npz"]
    disturb = [None, None]
    disturb[lost] = "SIGKILL"
    processes = list(start_two(run, results, disturb))
    processes[lost].communicate()
    killed = time.monotonic()
    output, _ = processes[1 - lost].communicate(timeout=60)
    assert time.monotonic() - killed < 60
    assert processes[lost].returncode == -signal.SIGKILL
    assert processes[1 - lost].returncode not in (0, -signal.SIGKILL)
    # The second is what JAX says, if it is faster.
    assert "Another process of this run has ended" in output or "another task died" in output
    assert len(RunFolder(run[0]).read_history()) == 1
    for process in list(start_two(run, results)):
        output, _ = process.communicate()
        assert process.returncode == 0, output
    assert_same(results[0], alone)


@pytest.mark.slow
def test_ctrl_c_in_one_process_saves_and_ends_both(alone, tmp_path):
    run, results = [tmp_path / "run"] * 2, [tmp_path / "0.npz", tmp_path / "1.npz"]
    for process in list(start_two(run, results, (None, "SIGINT"))):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert len(RunFolder(run[0]).read_history()) == 1
    # One device goes on, in the middle of what is added up for an update.
    losses, variables = train(run[0])
    np.savez(results[0], losses, *variables)
    assert_same(results[0], alone)

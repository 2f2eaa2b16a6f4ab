"""The training loop: epochs, validation, early stopping and saving, for any backend."""

import contextlib
import dataclasses
import functools
import hashlib
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import ops

from keras_transformer import __version__
from keras_transformer._utils.checks import (
    check_choice,
    check_integers,
    check_numbers,
    check_rate,
    check_sizes,
)
from keras_transformer._utils.hdf5 import HDF5_DTYPES
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.backends import backend_module
from keras_transformer.data.accumulation import accumulation, read_batch
from keras_transformer.data.dataset import PreparedDataset
from keras_transformer.models._translator import Translator
from keras_transformer.objectives.metrics import loss_and_totals
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.folder import RunFolder, check_curve, check_history, data_digests
from keras_transformer.runs.training_settings import MAX_EPOCHS
from keras_transformer.training.averaging import averaged_weights
from keras_transformer.training.checkpoints import Checkpoints
from keras_transformer.training.interrupt import interrupt_flag
from keras_transformer.training.samples import Samples

Batches: TypeAlias = keras.utils.PyDataset | Sequence[Any]

# Batches between fetches of the results. Fetching after each batch would stall a GPU.
_FETCH_INTERVAL = 10
# Seconds between checkpoints within an epoch: the most that a crash can lose of a long epoch.
_SAVE_INTERVAL = 900.0
_MAX_POINTS = 2000  # of the loss curve, an even number; then each two become one


@dataclasses.dataclass
class _State:
    """State of the loop that a checkpoint stores besides the variables of model and optimizer."""

    epoch: int = 0  # number of finished epochs
    batch: int = 0  # number of finished batches of the current epoch
    # Sums over these batches: the losses, the correct tokens and the tokens.
    totals: list[float] = dataclasses.field(default_factory=lambda: [0.0, 0.0, 0.0])
    seconds: float = 0.0  # spent on these batches
    # A dictionary per finished epoch.
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)
    # Points of the loss curve: updates, loss and learning rate.
    curve: list[list[float]] = dataclasses.field(default_factory=list)

    def check(self, number_of_batches):
        """Raises a ValueError unless a training loop with these batches can have this state."""
        check_history(self.history)
        check_curve(self.curve)
        check_integers(0, MAX_EPOCHS, epoch=self.epoch)
        # With BPE-dropout, the number of batches differs from epoch to epoch.
        check_integers(0, 2 * number_of_batches, batch=self.batch)
        check_numbers(0, sys.float_info.max, seconds=self.seconds)
        if type(self.totals) is not list or len(self.totals) != 3:
            raise ValueError(f"`totals` must be three numbers. Received: {excerpt(self.totals)}")
        loss, correct, tokens = self.totals
        check_numbers(0, sys.float_info.max, loss=loss, correct=correct, tokens=tokens)
        if len(self.history) != self.epoch or (self.batch and not (tokens and self.seconds)):
            raise ValueError(
                "The history must have all finished epochs, and the totals all finished batches. "
                f"Received: {len(self.history)} of {self.epoch} epochs, {tokens} tokens and "
                f"{self.seconds} seconds in {self.batch} batches"
            )

    def add(self, results, seconds):
        """Adds the totals of some batches; `seconds` is the time of the epoch so far."""
        self.totals = functools.reduce(_add, results, self.totals)
        self.batch += len(results)
        self.seconds = seconds

    def add_point(self, results, updates, learning_rate):
        """Adds the loss of some batches to the curve, whose number of points is limited."""
        totals = functools.reduce(_add, results, [0.0] * 3)
        if not updates or not totals[-1]:  # only accumulated, or no tokens
            return
        self.curve.append([updates, _means(totals)[0], learning_rate])
        if len(self.curve) == _MAX_POINTS:
            pairs = zip(self.curve[::2], self.curve[1::2], strict=True)
            self.curve = [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in pairs]


class Trainer:
    """Trains a translator with early stopping and writes its run folder.

    After each epoch the trainer writes a checkpoint, `history.csv`, `curve.csv` (the training loss
    and the learning rate every ten batches) and, if the epoch is the best so
    far, the weights. Within long epochs it writes a checkpoint every 15 minutes. `train` resumes
    from the last checkpoint in the folder: given the same batches, an interrupted or killed
    training ends with the same weights as an uninterrupted one (on a CPU, bit for bit).

    If the optimizer keeps an EMA of the weights (`use_ema`), the EMA is validated, saved and left
    in the model.

    If `dataset` is given, the log shows translations of three validation sentences after each epoch
    (not in distributed training with several processes).

    In distributed training every process reads the folder and only the chief writes to it.

    Args:
        model: a built `TransformerModel` or `RecurrentTranslator`.
        optimizer: a `keras.optimizers.Optimizer`, or the name of one with Keras's defaults.
        folder: path of the run folder.
        label_smoothing: label smoothing of the minimized loss; the reported losses are without it.
        patience: number of epochs without improvement after which training stops.
        keep_weights: number of last epochs whose weights are kept for checkpoint averaging.
        monitor: what selects the best epoch: "loss", the validation loss, or "bleu".
        bleu: function without arguments that returns the BLEU of the model on the validation
            part, called before training and after each epoch; None for no BLEU.
        writer: logger with the methods `add_scalar(name, value, epoch)` and `flush()`, such as a
            TensorBoard writer, which receives the numbers of each epoch; None for no logging.
        config: the `RunConfig` that the model was built from; None if there is none, and for a
            changed model whose `make_model` it does not name.
        dataset: the `PreparedDataset`. Its tokenizers, its test part and a description of the model
            are written to the folder before training, so that `Translate.from_run` can load it.
            None: the folder gets no description.
        loss: function of int32 ids, (B, T), and float32 logits, (B, T, V), such as a Keras loss,
            to minimize: the loss of each token, (B, T), or the mean without padding. The reported
            loss stays the cross entropy, and metrics of your own need a loop of your own.

    Attributes:
        chief: whether this process writes the files.

    Raises:
        ValueError: if the model is not built or an argument is out of range.

    Example:
        trainer = kt.Trainer(model, kt.Adam(1e-3), "runs/en-de", patience=3, dataset=dataset)
        train = dataset.batches(dataset.train, batch_size=64, seed=0)
        validation = dataset.batches(dataset.validation, batch_size=64)
        history, interrupted = trainer.train(train, validation, epochs=10)
        translate = kt.Translate.from_run("runs/en-de")

        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
        batches = [((source, target[:, :-1]), target[:, 1:])]
        kt.Trainer(model, "adam", "runs/own", loss=loss).train(batches, batches, epochs=10)
    """

    def __init__(
        self,
        model: Translator,
        optimizer: keras.optimizers.Optimizer | str,
        folder: PathLike,
        label_smoothing: float = 0.0,
        patience: int = 5,
        keep_weights: int = 0,
        monitor: str = "loss",
        bleu: Callable[[], float] | None = None,
        writer: Any = None,
        config: RunConfig | None = None,
        dataset: PreparedDataset | None = None,
        loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        check_sizes(patience=patience)
        check_integers(0, 10**9, keep_weights=keep_weights)
        check_rate(label_smoothing=label_smoothing)
        if loss is not None:  # which has no label smoothing
            check_choice((0.0,), label_smoothing=label_smoothing)
        check_choice(("loss",) if bleu is None else ("loss", "bleu"), monitor=monitor)
        if not model.built:
            raise ValueError(
                "Build the model first: model.build(((None, None), (None, None))). "
                f"Received: {model.name}, not built"
            )
        self.model = model
        self.optimizer = optimizer = keras.optimizers.get(optimizer)
        optimizer.build(model.trainable_variables)
        _check_dtypes([*model.variables, *optimizer.variables])
        self.run = RunFolder(folder)
        self.patience = patience
        self.keep_weights = keep_weights
        self.monitor = monitor
        self.bleu = bleu
        self.writer = writer
        self.config = config
        self.dataset = dataset
        totals = functools.partial(loss_and_totals, label_smoothing=label_smoothing, loss=loss)
        self._step = backend_module().TrainingStep(model, optimizer, totals)
        self.chief = self._step.process == 0
        self._learning_rate = _learning_rates(optimizer)
        self._checkpoints = Checkpoints(self.run.checkpoints, model, optimizer)
        self._verbose = 1 if sys.stdout.isatty() else 2

    def train(
        self, batches: Batches, validation: Batches, epochs: int
    ) -> tuple[list[dict[str, float]], bool]:
        """Trains the model, then loads the best weights into it, unless Ctrl-C interrupts it.

        SIGTERM, which schedulers and containers send, has the effect of Ctrl-C.

        In distributed training only the chief loads the best weights.

        The sample translations, `bleu` and `writer.flush` are tried before training. Later, the log
        reports errors of the samples and the writer. An error of `bleu` or the validation data ends
        the training after a checkpoint, from which a later call resumes with the validation.

        Args:
            batches: the training part: from `PreparedDataset.batches`, or a list or a
                `keras.utils.PyDataset` of `((source, target_input), target)`, integers (B, S),
                (B, T) and (B, T). To be resumed exactly, they depend only on the index and, through
                a method `set_epoch(epoch)`, on the epoch.
            validation: the validation part, likewise.
            epochs: maximum number of epochs, including those of the checkpoint.

        Returns:
            The history, a list with a dictionary per epoch, and whether Ctrl-C interrupted the
            training in any process.

        Raises:
            FloatingPointError: if the loss is no longer finite; the last checkpoint is kept.
            ValueError: if the checkpoint in the folder belongs to another run or is missing, if
                `config` describes another model, if processes differ in their data, settings,
                weights or versions, if the number of batches is not a multiple of
                those that the optimizer accumulates, if a batch has another structure, or if a
                trial fails.
            OSError: if a file cannot be written; the previous one is kept.
        """
        _check_batches(batches)
        _check_batches(validation)
        self._check_accumulation(len(batches))
        state = self._restore(len(batches))
        if self._step.processes > 1:
            self._check_processes(state, len(batches))
        samples = None
        if self.chief and self.dataset is not None:
            self.run.begin(self.config, self.dataset, self.model)
            if self._step.processes == 1:
                samples = Samples(self.model, self.dataset)
        if self.chief:
            self.run.checkpoints.mkdir(parents=True, exist_ok=True)
        if state.epoch < epochs:
            self._try_out(samples)
        else:
            print(
                f"Nothing is left to train: the run has {state.epoch} of {epochs} epochs. More "
                "epochs continue it (--resume --epochs)."
            )
        with interrupt_flag() as interrupt:
            while state.epoch < epochs and not self._out_of_patience(state):
                print(f"Epoch {state.epoch + 1}/{epochs}{_time_left(state, epochs)}")
                stopped = self._train_epoch(state, batches, interrupt)
                if not stopped:
                    self._finish_epoch(state, validation, samples)
                if stopped or self._should_stop(interrupt):
                    return state.history, True
        if state.history and self.chief:  # others might read while the chief writes
            self.model.load_weights(self.run.weights)
        return state.history, False

    def _try_out(self, samples):
        """Calls what is called after each epoch, so that its errors cost no epoch."""
        try:
            str(samples)
            self._score()
            if self.writer is not None:
                self.writer.flush()
        except Exception as error:
            raise ValueError(
                "Before training, the sample translations of `dataset`, `bleu` or `writer` failed: "
                f"correct them or leave them out. Received: {error!r}"
            ) from error

    def _check_accumulation(self, number_of_batches):
        steps = accumulation(self.optimizer)
        if number_of_batches % steps:
            raise ValueError(
                f"The number of batches must be a multiple of the {steps} whose gradients the "
                f"optimizer accumulates: pass `multiple={steps}` to `PreparedDataset.batches`. "
                f"Received: {number_of_batches} batches"
            )

    def _restore(self, number_of_batches):
        counters = self._checkpoints.restore()
        try:
            state = _State(**(counters or {}))
            state.check(number_of_batches)
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise ValueError(
                f"The counters in {self.run.checkpoints} are damaged or from another version: "
                f"{str(error)[:500]}"
            ) from None
        if counters is None:
            self._check_no_other_run()
        if state.history and ("validation_bleu" in state.history[0]) != (self.bleu is not None):
            raise ValueError(
                "Either all epochs of a run have a BLEU or none: resume it with the original "
                f"`bleu`, or start a new run. Received: bleu={self.bleu} for {self.run.path}"
            )
        if state.history and self.chief:
            self.run.write_history(state.history)
        return state

    def _check_processes(self, state, number_of_batches):
        """Raises a ValueError unless all processes begin with the same data and weights."""
        variables = [*self.model.variables, *self.optimizer.variables]
        contents = {
            "versions of keras_transformer and Keras": (__version__, keras.__version__),
            "settings": self.config and self.config.without_paths(),
            "data": (number_of_batches, self.dataset and data_digests(self.dataset)),
            "checkpoints, which they must all see in the run folder": state,
            "weights": [ops.convert_to_numpy(variable).tobytes() for variable in variables],
        }
        digests = [hashlib.sha256(repr(x).encode()).digest() for x in contents.values()]
        bits = np.unpackbits(np.array([[*digest] for digest in digests], "uint8"), axis=1) > 0
        # The bits are the same if none is set in one process and not set in another.
        differs = (self._step.any(bits) & self._step.any(~bits)).any(axis=1)
        names = [name for name, is_different in zip(contents, differs, strict=True) if is_different]
        if names:
            raise ValueError(
                "All processes must have the same package, command, data and run folder. "
                f"Received: different {'; different '.join(names)}"
            )

    def _check_no_other_run(self):
        if not self.run.history.exists():
            return
        epochs = len(self.run.read_history())
        # The first epoch may have been interrupted between its history and its checkpoint.
        if epochs > 1 or not self.run.checkpoints.exists():
            raise ValueError(
                f"{self.run.path} has a trained run without a checkpoint to resume from, which a "
                f"new run would overwrite: choose another folder. Received: {epochs} epochs in "
                f"{self.run.history}"
            )

    def _save(self, state):
        if self.chief:
            self._checkpoints.save(dataclasses.asdict(state))

    def _should_stop(self, interrupt, fetching=True):
        # All processes must stop after the same batch. They exchange their flags only when fetching
        # results, when they wait for each other anyway.
        return (fetching or self._step.processes == 1) and self._any(interrupt.is_set())

    def _any(self, flag):
        """Returns whether the flag is set in any process."""
        return flag if self._step.processes == 1 else bool(self._step.any(flag))

    def _out_of_patience(self, state):
        if not state.history or state.epoch - self._best(state)["epoch"] < self.patience:
            return False
        print(f"Early stopping: no improvement for {self.patience} epochs.")
        return True

    def _train_epoch(self, state, batches, interrupt):
        """Trains the rest of an epoch; returns whether Ctrl-C interrupted it."""
        _set_epoch(batches, state.epoch)
        progress = keras.utils.Progbar(
            len(batches), verbose=self._verbose, stateful_metrics=["loss", "accuracy"]
        )
        start, stopped = time.perf_counter() - state.seconds, False

        def add(results):
            state.add(results, time.perf_counter() - start)
            loss, accuracy = _means(state.totals)
            _check_finite(loss, state.epoch + 1)
            updates = (state.epoch * len(batches) + state.batch) // accumulation(self.optimizer)
            state.add_point(results, updates, self._learning_rate(updates))
            progress.update(state.batch, [("loss", loss), ("accuracy", accuracy)])

        while not stopped and state.batch < len(batches):
            stopped = self._train_batches(state, batches, interrupt, add)
            if stopped or state.batch < len(batches):
                self._save(state)
        return stopped

    def _train_batches(self, state, batches, interrupt, add):
        """Trains until the next checkpoint is due; returns whether Ctrl-C is the reason."""
        fetched, stop, due = [], False, time.monotonic() + _SAVE_INTERVAL
        with contextlib.closing(self._step.train(batches, start=state.batch)) as steps:
            for totals in steps:
                fetched.append(totals)
                last = state.batch + len(fetched) == len(batches)
                fetching = last or len(fetched) == _FETCH_INTERVAL
                stop = self._should_stop(interrupt, fetching)
                if stop or fetching:
                    add(fetched)
                    fetched = []
                # All processes must save after the same batch, although their clocks differ.
                if stop or (fetching and self._any(time.monotonic() >= due)):
                    break
        return stop

    def _finish_epoch(self, state, validation, samples):
        try:
            with averaged_weights(self.model, self.optimizer):
                totals = functools.reduce(_add, self._step.evaluate(validation), [0.0] * 3)
                row = self._history_row(state, totals)
        except Exception as error:
            if not isinstance(error, FloatingPointError):  # code of the user loses no epoch
                self._save(state)
            raise
        state.history.append(row)
        state.epoch, state.batch, state.totals, state.seconds = row["epoch"], 0, [0.0] * 3, 0.0
        with averaged_weights(self.model, self.optimizer):
            # The checkpoint is saved last, so that the epoch is trained again if a write fails.
            if self.chief and self._best(state) is row:
                self.run.write_weights(self.model)
            if self.chief and self.keep_weights:
                self.run.write_epoch_weights(self.model, state.epoch, self.keep_weights)
            self._show(state, samples)
        if self.chief:
            self.run.write_history(state.history)
            self.run.write_curve(state.curve)
        self._save(state)

    def _best(self, state):
        """Returns the best row of the history, the first one if there are several."""
        if self.monitor == "bleu":
            return max(state.history, key=lambda row: row["validation_bleu"])
        return min(state.history, key=lambda row: row["validation_loss"])

    def _show(self, state, samples):
        row, best = state.history[-1], self._best(state)
        comparison = "best so far" if best is row else f"best: epoch {best['epoch']}"
        loss, accuracy = row["validation_loss"], row["validation_accuracy"]
        bleu = f", BLEU {row['validation_bleu']:.2f}" if self.bleu else ""
        print(
            f"Validation loss {loss:.3f}, accuracy {accuracy:.3f}{bleu} ({comparison}), "
            f"{row['tokens_per_second']:,} tokens/s"
        )
        if _begins_to_overfit(state.history):
            print(
                "The validation loss rises while the training loss falls: the model begins to "
                f"memorize the training part. The weights of epoch {best['epoch']} are kept; more "
                "data or a higher --rate would help."
            )
        if samples:  # there are sentences
            with _warning("The sample translations"):
                print(samples.changed(), flush=True)
        if self.writer is not None:
            with _warning("`writer`"):
                for name, value in row.items():
                    self.writer.add_scalar(name, value, row["epoch"])
                self.writer.flush()

    def _history_row(self, state, validation_totals):
        loss, accuracy = _means(state.totals)
        validation_loss, validation_accuracy = _means(validation_totals)
        _check_finite(validation_loss, state.epoch + 1)
        return {
            "epoch": state.epoch + 1,
            "loss": loss,
            "accuracy": accuracy,
            "validation_loss": validation_loss,
            "validation_accuracy": validation_accuracy,
            "learning_rate": float(ops.convert_to_numpy(self.optimizer.learning_rate)),
            "tokens_per_second": round(state.totals[2] / state.seconds),
            "seconds": round(state.seconds, 1),
            **self._score(),
        }

    def _score(self):
        score = {"validation_bleu": float(self.bleu())} if self.bleu else {}
        check_numbers(-sys.float_info.max, sys.float_info.max, **score)
        return score


def _begins_to_overfit(history):
    """Returns whether the validation loss has risen twice, for the first time, and only it."""

    def rises(i):
        before, now = history[i - 1], history[i]
        worse = now["validation_loss"] > before["validation_loss"]
        return worse and now["loss"] < before["loss"]

    *earlier, last = [i > 1 and rises(i) and rises(i - 1) for i in range(len(history))]
    return last and not any(earlier)


def _learning_rates(optimizer):
    """Returns a function from the number of updates to the learning rate of the last one.

    On JAX, the optimizer itself can be read only at the end of an epoch. A user's schedule that is
    not registered with Keras cannot be computed apart from it: its first rate is returned.
    """
    first, schedule = float(ops.convert_to_numpy(optimizer.learning_rate)), None
    # Keras raises a NotImplementedError for a schedule without `get_config`.
    with contextlib.suppress(KeyError, NotImplementedError, TypeError, ValueError):
        config = getattr(optimizer, "inner_optimizer", optimizer).get_config()["learning_rate"]
        if isinstance(config, dict):
            schedule = keras.optimizers.schedules.deserialize(config)
    if schedule is None:
        return lambda updates: first
    steps = accumulation(optimizer)  # Keras counts the batches
    return lambda updates: float(ops.convert_to_numpy(schedule(updates * steps - 1)))


def _check_dtypes(variables):
    for variable in variables:
        if variable.dtype not in HDF5_DTYPES:
            raise ValueError(
                "Checkpoints cannot store this dtype: make the model with the dtype policy "
                f'"float32" or "mixed_bfloat16". Received: {variable.path}, {variable.dtype}'
            )


def _check_batches(batches):
    """Raises a ValueError unless batches can be indexed and the first one is right."""
    if not (hasattr(batches, "__getitem__") and hasattr(batches, "__len__") and len(batches)):
        raise ValueError(
            "Pass a list or a `keras.utils.PyDataset` with at least one batch; `kt.as_dataset` is "
            f"for `model.fit`. Received: {excerpt(batches)}"
        )
    if not hasattr(batches, "padding_share"):  # those of `PreparedDataset` are right
        read_batch(batches[0])


def _set_epoch(batches, epoch):
    """Starts an epoch, counted from 0."""
    if hasattr(batches, "set_epoch"):
        batches.set_epoch(epoch)
    elif epoch and hasattr(batches, "on_epoch_end"):
        batches.on_epoch_end()


@contextlib.contextmanager
def _warning(name):
    """Prints an error, in one line, instead of raising it."""
    try:
        yield
    except Exception as error:
        print(f"Warning: {name} failed; training continues. Received: {excerpt(error)}", flush=True)


def _time_left(state, epochs):
    """Returns how long the remaining epochs take if each takes as long as the last one."""
    if not state.history:
        return ""
    seconds = state.history[-1]["seconds"] * (epochs - state.epoch)
    if seconds < 60:
        return f" ({seconds:.0f} s left)"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f" ({hours} h {minutes} min left)" if hours else f" ({minutes} min left)"


def _add(totals, batch):
    # In double precision and batch by batch, so that the sum does not depend on how many batches
    # are fetched at a time.
    return [a + float(b) for a, b in zip(totals, ops.convert_to_numpy(batch), strict=True)]


def _means(totals):
    loss, correct, count = totals
    return loss / count, correct / count


def _check_finite(loss, epoch):
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The loss is no longer finite in epoch {epoch}. The last checkpoint is kept. Start "
            "a new run with a lower learning rate, a longer warm-up or dtype float32. "
            f"Received: a loss of {loss}"
        )

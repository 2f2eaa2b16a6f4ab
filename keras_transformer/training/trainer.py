"""The training loop: epochs, validation, history, saving. It knows no backend."""

import contextlib
import dataclasses
import functools
import math
import sys
import time

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_rate, check_sizes
from keras_transformer.backends import backend_module
from keras_transformer.objectives.metrics import loss_and_totals
from keras_transformer.runs.folder import RunFolder
from keras_transformer.training.averaging import averaged_weights
from keras_transformer.training.checkpoints import Checkpoints
from keras_transformer.training.interrupt import interrupt_flag

# Results are fetched this many at a time: a GPU is not kept waiting for each of them.
_FETCHED_AT_ONCE = 10
# In epochs that take hours, what is lost with the power is a quarter of an hour.
SAVED_EVERY = 900.0  # seconds


@dataclasses.dataclass
class _State:
    """All that the loop counts; with the variables of model and optimizer, all there is to save."""

    epoch: int = 0  # finished ones
    batch: int = 0  # finished ones of the epoch under way
    totals: list = dataclasses.field(default_factory=lambda: [0.0, 0.0, 0.0])  # over these
    seconds: float = 0.0  # spent on these
    history: list = dataclasses.field(default_factory=list)  # a dictionary per finished epoch

    def add(self, results, seconds):
        """Adds the totals of some batches, and the seconds that they took."""
        for totals in results:
            self.totals = _add(self.totals, totals)
        self.batch += len(results)
        self.seconds += seconds


class Trainer:
    """Trains a translator until it gets no better, and keeps what a run's folder keeps.

    After each epoch it writes a checkpoint and `history.csv`, and the weights if they are the best
    so far; in long epochs it writes a checkpoint every `SAVED_EVERY` seconds. It goes on from the
    checkpoint that it finds: stopped by Ctrl-C, which saves, or in any other way, and given the
    same batches, it ends with the same weights as if it had never been stopped (on a processor bit
    for bit).

    Args:
        model: a built `TransformerModel`.
        optimizer: a `keras.optimizers.Optimizer`.
        folder: the run's folder, as a path.
        label_smoothing: of the loss that is minimised; the losses shown are without it.
        patience: number of epochs after which it stops if nothing got better.
        keep_weights: of how many epochs, the last ones, the weights are kept, to be averaged.
        monitor: what says which weights are the best: "loss", the validation loss, or "bleu".
        bleu: function without arguments that scores the model's translations of the validation
            part after each epoch; None: they are not scored.
        writer: None, or what logs the numbers of each epoch: it has the method `add_scalar(name,
            value, epoch)`, as the writers of TensorBoard have.
        config, dataset: a `RunConfig` and a `PreparedDataset`, which describe the run: before it
            trains it writes them as well, so that `Translate.from_run` can use the folder. None:
            the folder has no description.

    If the optimizer keeps moving averages of the weights (`use_ema`), it is these that are
    validated, saved and in the model in the end.

    Of several processes that train together, each reads the folder and only the chief writes it.

    Attributes:
        chief: whether this process is the one that writes files.
    """

    def __init__(
        self,
        model,
        optimizer,
        folder,
        label_smoothing=0.0,
        patience=5,
        keep_weights=0,
        monitor="loss",
        bleu=None,
        writer=None,
        config=None,
        dataset=None,
    ):
        check_sizes(patience=patience)
        check_rate(label_smoothing=label_smoothing)
        check_choice(("loss",) if bleu is None else ("loss", "bleu"), monitor=monitor)
        if not model.built:
            raise ValueError(
                "Build the model first: model.build(((None, None), (None, None))). "
                f"Received: {model.name}, not built"
            )
        optimizer.build(model.trainable_variables)
        self.model = model
        self.optimizer = optimizer
        self.run = RunFolder(folder)
        self.patience = patience
        self.keep_weights = keep_weights
        self.monitor = monitor
        self.bleu = bleu
        self.writer = writer
        self.config = config
        self.dataset = dataset
        loss = functools.partial(loss_and_totals, label_smoothing=label_smoothing)
        self._step = backend_module().TrainingStep(model, optimizer, loss)
        self.chief = self._step.chief
        self._checkpoints = Checkpoints(self.run.checkpoints, model, optimizer)
        self._verbose = 1 if sys.stdout.isatty() else 2

    def train(self, batches, validation, epochs):
        """Trains; ends with the best weights in the model (of the chief) unless interrupted.

        Args:
            batches: a `LengthBuckets` to learn from.
            validation: a `LengthBuckets` to watch.
            epochs: number of epochs, those of the checkpoint included.

        Returns:
            The history, a list with a dictionary per epoch, and whether Ctrl-C has ended it, in
            whatever process.

        Raises:
            FloatingPointError: if the loss is no longer finite; the last checkpoint is kept.
            ValueError: if the checkpoint in the folder is of another run.
            OSError: if something cannot be saved; what was saved before is kept.
        """
        state = self._restore()
        if self.chief and self.config is not None:
            self.run.begin(self.config, self.dataset, batches)
        with interrupt_flag() as interrupt:
            while state.epoch < epochs and not self._has_waited_enough(state):
                print(f"Epoch {state.epoch + 1}/{epochs}")
                stopped = self._train_epoch(state, batches, interrupt)
                if not stopped:
                    self._finish_epoch(state, validation)
                if stopped or self._shall_stop(interrupt):
                    return state.history, True
        if state.history and self.chief:  # who may be writing them just now
            self.model.load_weights(self.run.weights)
        return state.history, False

    def _restore(self):
        counters = self._checkpoints.restore()
        try:
            state = _State(**(counters or {}))
        except TypeError as error:
            raise ValueError(
                f"The counters of {self.run.checkpoints} are of another version: {error}"
            ) from None
        if state.history and ("validation_bleu" in state.history[0]) != (self.bleu is not None):
            raise ValueError(
                "A run is scored in all of its epochs or in none: go on with it as it was begun, "
                f"or begin another one. Received: bleu={self.bleu}, of {self.run.path}"
            )
        if state.history and self.chief:
            self.run.write_history(state.history)
        return state

    def _save(self, state):
        if self.chief:
            self._checkpoints.save(dataclasses.asdict(state))

    def _shall_stop(self, interrupt, fetching=True):
        # Several processes have to stop after the same batch. They agree when they wait anyway.
        return (fetching or self._step.alone) and self._any(interrupt.is_set())

    def _any(self, flag):
        """Whether a flag is set in any process."""
        return flag if self._step.alone else self._step.any(flag)

    def _has_waited_enough(self, state):
        if not state.history or state.epoch - self._best(state)["epoch"] < self.patience:
            return False
        print(f"Nothing better for {self.patience} epochs: this is the end.")
        return True

    def _train_epoch(self, state, batches, interrupt):
        """Trains the rest of an epoch; returns whether Ctrl-C has ended it before."""
        batches.set_epoch(state.epoch)
        progress, lap, stopped = _ProgressBar(batches, self._verbose), _stopwatch(), False

        def add(results):
            state.add(results, lap())
            progress.show(state)

        while not stopped and state.batch < len(batches):
            stopped = self._train_batches(state, batches, interrupt, add)
            if stopped or state.batch < len(batches):
                self._save(state)
        return stopped

    def _train_batches(self, state, batches, interrupt, add):
        """Trains until it is time to save; returns whether that is because of Ctrl-C."""
        fetched, stop, due = [], False, time.monotonic() + SAVED_EVERY
        with contextlib.closing(self._step.train(batches, start=state.batch)) as steps:
            for totals in steps:
                fetched.append(totals)
                last = state.batch + len(fetched) == len(batches)
                fetching = last or len(fetched) == _FETCHED_AT_ONCE
                stop = self._shall_stop(interrupt, fetching)
                if stop or fetching:
                    add(fetched)
                    fetched = []
                # Several processes have to save after the same batch, whatever their clocks say.
                if stop or (fetching and self._any(time.monotonic() >= due)):
                    break
        return stop

    def _validate(self, validation):
        totals = [0.0, 0.0, 0.0]
        for batch in self._step.evaluate(validation):
            totals = _add(totals, batch)
        return totals

    def _finish_epoch(self, state, validation):
        with averaged_weights(self.model, self.optimizer):
            row = self._history_row(state, self._validate(validation))
            state.history.append(row)
            state.epoch, state.batch, state.totals, state.seconds = row["epoch"], 0, [0.0] * 3, 0.0
            # The checkpoint comes last: if anything before it fails, the epoch is trained again.
            if self.chief and self._best(state) is row:
                self.run.write_weights(self.model)
            if self.chief and self.keep_weights:
                self.run.write_epoch_weights(self.model, state.epoch, self.keep_weights)
        self._show(state)
        if self.chief:
            self.run.write_history(state.history)
        self._save(state)

    def _best(self, state):
        """The row of the history that is the best; of equal ones the first."""
        if self.monitor == "bleu":
            return max(state.history, key=lambda row: row["validation_bleu"])
        return min(state.history, key=lambda row: row["validation_loss"])

    def _show(self, state):
        row, best = state.history[-1], self._best(state)
        better = "best so far" if best is row else f"best: epoch {best['epoch']}"
        loss, accuracy = row["validation_loss"], row["validation_accuracy"]
        bleu = f", BLEU {row['validation_bleu']:.2f}" if self.bleu else ""
        print(f"validation loss {loss:.3f}, accuracy {accuracy:.3f}{bleu} ({better})", flush=True)
        if self.writer is not None:
            for name, value in row.items():
                self.writer.add_scalar(name, value, row["epoch"])
            self.writer.flush()

    def _history_row(self, state, validation_totals):
        loss, accuracy = _means(state.totals)
        validation_loss, validation_accuracy = _means(validation_totals)
        _check_finite(validation_loss, state.epoch + 1)
        bleu = {"validation_bleu": self.bleu()} if self.bleu else {}
        return {
            "epoch": state.epoch + 1,
            "loss": loss,
            "accuracy": accuracy,
            "validation_loss": validation_loss,
            "validation_accuracy": validation_accuracy,
            "learning_rate": float(ops.convert_to_numpy(self.optimizer.learning_rate)),
            "tokens_per_second": round(state.totals[2] / state.seconds),
            "seconds": round(state.seconds, 1),
            **bleu,
        }


class _ProgressBar:
    """Shows the averages of an epoch so far, with tokens/s and the time left."""

    def __init__(self, batches, verbose):
        self._padding = round(100 * batches.padding_share)
        names = ["loss", "accuracy", "tokens/s", "padding %"]
        self._bar = keras.utils.Progbar(len(batches), verbose=verbose, stateful_metrics=names)

    def show(self, state):
        """Shows the averages; raises a FloatingPointError if the loss is no longer finite."""
        loss, accuracy = _means(state.totals)
        _check_finite(loss, state.epoch + 1)
        values = {
            "loss": loss,
            "accuracy": accuracy,
            "tokens/s": round(state.totals[2] / state.seconds),
            "padding %": self._padding,
        }
        self._bar.update(state.batch, list(values.items()))


def _stopwatch():
    """Returns a function that returns the seconds since it was last called, or made."""
    last = time.perf_counter()

    def lap():
        nonlocal last
        before, last = last, time.perf_counter()
        return last - before

    return lap


def _add(totals, batch):
    # In double precision and one by one: the sum is the same however the batches are grouped.
    return [a + float(b) for a, b in zip(totals, ops.convert_to_numpy(batch), strict=True)]


def _means(totals):
    loss, right, words = totals
    return loss / words, right / words


def _check_finite(loss, epoch):
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The loss is no longer finite in epoch {epoch}. The last checkpoint is kept. Begin "
            "another run with a smaller learning rate, a longer warm-up or dtype float32. "
            f"Received: a loss of {loss}"
        )

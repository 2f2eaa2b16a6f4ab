"""The worker that translates shards, one after another, with one model."""

import os
import socket
from typing import NamedTuple

from keras_transformer import __version__
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import read_json
from keras_transformer.bulk.job import digest_run
from keras_transformer.bulk.shards import open_writer, read_pieces


class ShardResult(NamedTuple):
    """The result of one shard.

    Args:
        lines: number of its lines.
        error: why it was not translated; None if it was.
        is_fatal: whether the error ends the job, because the other shards would fail, too.
    """

    lines: int = 0
    error: str | None = None
    is_fatal: bool = False


class ShardWorker:
    """Translates shards.

    Nothing raises an exception: what is wrong is the result of the first shard.

    Args:
        job: the `Job`.
        environment: environment variables of this process, to be set before the model is loaded.
    """

    def __init__(self, job, environment):
        os.environ.update(environment)
        self._job, self._limits, self._problem = job, job.limits, None
        try:
            _check(job)
            self._translate = _load(job)
        except (OSError, ValueError, ImportError) as error:
            self._problem = f"{error} (on host {socket.gethostname()})"

    def translate(self, shard):
        """Translates a shard.

        The file with its translations appears when it is complete. The part of the report about
        its lines appears before.

        Args:
            shard: the `Path` of the shard.

        Returns:
            A `ShardResult`.
        """
        if self._problem is not None:
            return ShardResult(error=self._problem, is_fatal=True)
        try:
            return ShardResult(lines=self._write(shard))
        except ValueError as error:  # the file of the shard
            return ShardResult(error=str(error))
        except (OSError, ImportError) as error:  # the output folder, or a missing package
            return ShardResult(error=f"{error} (on host {socket.gethostname()})", is_fatal=True)

    def _write(self, shard):
        job, number = self._job, 0
        with (
            atomic_replace(job.output_file(shard), unique=True) as translations,
            open_writer(translations, job.with_scores, job.n_best) as write,
            atomic_replace(job.shard_report(shard), unique=True) as lines,
            open(lines, "w", encoding="utf-8") as report,
        ):
            for piece in read_pieces(shard, job.column, self._limits):
                entries, reasons = translate_piece(
                    self._translate, piece, job.with_scores, job.options
                )
                write(entries)
                for reason in reasons:
                    number += 1
                    if reason is not None:
                        report.write(f"{number}\t{reason}\n")
        return number


def translate_piece(translate, piece, with_scores, options):
    """Translates the sentences of a piece that can be translated.

    Args:
        translate: a `Translate`.
        piece: list of (sentence, reason), see `read_pieces`.
        with_scores: whether to compute scores.
        options: dictionary of search options.

    Returns:
        For each sentence, a list of (translation, score), or None if it cannot be translated; and
        for each sentence the reason, or None if it was translated.
    """
    sentences, reasons = map(list, zip(*piece, strict=True))
    try:
        found = translate.hypotheses(sentences, return_scores=with_scores, **options)
    except ValueError:
        # Counting the tokens of all sentences beforehand would tokenize each of them twice.
        for i, sentence in enumerate(sentences):
            if reason := _reason(translate, sentence):
                sentences[i], reasons[i] = "", reason
        found = translate.hypotheses(sentences, return_scores=with_scores, **options)
    entries = [
        [(x.text, x.score) for x in hypotheses] if reason is None else None
        for hypotheses, reason in zip(found, reasons, strict=True)
    ]
    return entries, reasons


def _reason(translate, sentence):
    """Returns why a sentence cannot be translated, or None."""
    from keras_transformer.data.tokenizers import encode_source
    from keras_transformer.inference.sentences import max_source_tokens

    limit = max_source_tokens(translate.model)
    tokens = len(encode_source(translate.source_tokenizer, sentence)) - 1  # without the end token
    return f"more than {limit:,} tokens" if tokens > limit else None


def _check(job):
    """Raises an error if this machine would not give the translations of the others."""
    if __version__ != job.version:
        raise ValueError(
            f"All machines need the same version of keras_transformer, {job.version}. "
            f"Received: version {__version__}"
        )
    # A folder of the same name that is not shared would take the translations and hide them.
    if not job.settings_file.exists() or read_json(job.settings_file) != job.settings():
        raise ValueError(
            "The output folder must be shared by all machines. Received: "
            f"{job.output} without the settings of this job"
        )
    if digest_run(job.run, job.weights) != job.digest:
        raise ValueError(
            "The run folder must be the same on all machines and must not change. Received: "
            f"{job.run} with other weights or tokenizers"
        )


def _load(job):
    # Imported here, because the process that starts the workers does not need Keras, whose import
    # takes seconds.
    from keras_transformer.inference.translate import Translate
    from keras_transformer.runs.own_model import load_function

    make_model = job.model and load_function(job.model)
    engine = {"engine": job.engine, "compute_type": job.compute_type}
    return Translate.from_run(job.run, job.weights, make_model, **engine)

"""Exports a trained model as a TensorFlow SavedModel, for TensorFlow Serving or any program."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.export._tokenizers import check_tokenizers, save_tokenizers
from keras_transformer.inference.model_search import ModelSearch, stepwise
from keras_transformer.inference.options import EXTRA_LENGTH, TEXT_OPTIONS, SearchOptions
from keras_transformer.inference.rules import ANY_TOKEN, NO_TOKEN, NOT_END
from keras_transformer.inference.sentences import max_source_tokens
from keras_transformer.inference.translate import Translate


def export_saved_model(
    translate: Translate, folder: PathLike, overwrite: bool = False, **options: Any
) -> None:
    """Exports a translator as a TensorFlow SavedModel with the same translations.

    The SavedModel computes token ids from token ids. The tokenizers are files beside it, which the
    library `tokenizers` reads: `source_tokenizer.json` and `target_tokenizer.json`. "Exports" in
    docs/overview.md has a client of twenty lines.

    The signature `serving_default` maps `source`, int32 (B, S), to `target`, int32 (B, T). Both are
    padded with 0 at the end of each row. It adds the start and end tokens itself, and `target` has
    neither. The translation of a row without tokens is empty. It raises an `InvalidArgumentError`
    if S is larger than 1,024 or than the `enc_seq_length` of the model allows, or an id is not in
    the vocabulary.

    Args:
        translate: a `Translate` with word or BPE tokenizers.
        folder: path of the output folder. TensorFlow Serving expects its name to be a version
            number, as in `served/1`.
        overwrite: whether to replace an existing SavedModel. It is replaced only once the new one
            is complete.
        **options: see `SearchOptions`. Sampling and required or forbidden texts are not supported.

    Raises:
        FileExistsError: if `folder` exists and is not a SavedModel to overwrite.
        OSError: if writing fails.
        RuntimeError: if the Keras backend is not TensorFlow.
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or the tokenizers are of another class.

    Example:
        translate = Translate.from_run("runs/english-german")
        export_saved_model(translate, "served/1", beam_size=4)

        serve = tf.saved_model.load("served/1").signatures["serving_default"]
        ids = translate.source_tokenizer.encode("Good morning!")
        found = serve(source=tf.constant([ids]))["target"].numpy()
        translate.target_tokenizer.decode(found[0])
    """
    if keras.config.backend() != "tensorflow":
        raise RuntimeError(
            "Set KERAS_BACKEND=tensorflow to export a SavedModel. Runs trained with any backend "
            f"can be exported. Received: {keras.config.backend()}"
        )
    options = SearchOptions(**options)
    if options.samples:
        raise ValueError(
            "A SavedModel cannot sample: leave out `temperature`. "
            f"Received: temperature={options.temperature}"
        )
    if options.is_constrained:
        raise ValueError(
            "A SavedModel searches once and cannot require or forbid texts: leave out "
            f"{', '.join(f'`{name}`' for name in TEXT_OPTIONS if getattr(options, name))}. "
            f"Received: {options}"
        )
    check_tokenizers(translate)
    check_overwriting(folder, "saved_model.pb", overwrite)
    service = _Service(translate.model, options)
    with atomic_replace(folder) as temporary:
        try:
            tf.saved_model.save(service, str(temporary), {"serving_default": service.translate})
        except tf.errors.OpError as error:
            raise OSError(error.message) from error
        save_tokenizers(translate, temporary)


class _Service(tf.Module):
    """The exported module, from source ids to target ids.

    Args:
        model: a model with the methods that `ModelSearch` needs.
        options: the `SearchOptions`.
    """

    def __init__(self, model, options):
        super().__init__()
        search = ModelSearch(stepwise(model), options)
        self._search = lambda request: search(request)["tokens"][:, 0]
        # The variables must be attributes to be saved. The model itself must not be one: its
        # variables would be saved twice.
        self._weights = [variable.value for variable in model.variables]
        self._vocab_size = model.enc_vocab_size
        self._max_source_tokens = max_source_tokens(model)
        self._max_length = getattr(model, "dec_seq_length", None) or np.iinfo("int32").max
        self._options = options

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32, "source")], autograph=False)
    def translate(self, source):
        lengths = tf.math.count_nonzero(source, axis=1, keepdims=True, dtype=tf.int32)
        source = _check_source(source, self._vocab_size, self._max_source_tokens)
        source = tf.pad(source, [[0, 0], [0, 1]])
        length = tf.shape(source)[1]
        source = tf.where(tf.range(length) == lengths, END_ID, source)
        request = {"source": source, "constraints": self._constraints(lengths, length)}
        target = self._search(request)
        return {"target": tf.where((lengths > 0) & (target != END_ID), target, PADDING_ID)}

    def _constraints(self, lengths, length):
        """Returns the length constraints of a batch, see `make_constraints`.

        Args:
            lengths: int32 (B, 1), the source lengths without the end token.
            length: int32 scalar, the padded source length.
        """

        def scale(ratio, number):
            return tf.cast(ratio * tf.cast(number, tf.float64), tf.int32)

        options = self._options
        positions = tf.range(
            tf.minimum(scale(options.max_length_ratio, length) + EXTRA_LENGTH, self._max_length)
        )
        too_short = positions < scale(options.min_length_ratio, lengths)
        too_long = positions >= scale(options.max_length_ratio, lengths) + EXTRA_LENGTH
        return tf.where(too_long, NO_TOKEN, tf.where(too_short, NOT_END, ANY_TOKEN))


def _check_source(source, vocab_size, max_tokens):
    """Returns the ids, (B, S); running the graph raises an error if S or an id is too large."""
    length = tf.shape(source)[1]
    too_long = tf.strings.format(
        "A sentence is too long: split it into sentences of at most "
        f"{max_tokens} tokens. Received: {{}} tokens, including padding",
        length,
    )
    unknown = f"Ids must be in the source vocabulary, from 0 to {vocab_size - 1}. Received: others"
    checks = [
        tf.debugging.Assert(length <= max_tokens, [too_long]),
        tf.debugging.Assert(tf.reduce_all((source >= 0) & (source < vocab_size)), [unknown]),
    ]
    with tf.control_dependencies(checks):
        return tf.identity(source)

"""Exports a trained translator as a TensorFlow SavedModel that maps strings to strings.

Tokenization, search and detokenization are all part of the graph and use core TensorFlow ops only,
so TensorFlow Serving and programs without Keras and this package can load it. tensorflow_text is
not used: its ops would have to be loaded along with the graph, and its Unicode version differs
from that of `tokenizers`.
"""

import functools
import json
import re
from typing import Any

import keras
import tensorflow as tf
from tokenizers import normalizers

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.data.batches import bucket_length
from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.export._unicode_tables import (
    character_map,
    class_members,
    combining_order,
    compositions,
)
from keras_transformer.inference.model_search import ModelSearch
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.inference.rules import ANY_TOKEN, NO_TOKEN, NOT_END
from keras_transformer.inference.translate import Translate
from keras_transformer.runs.config import MAX_SOURCE_TOKENS


def export_saved_model(
    translate: Translate, folder: PathLike, overwrite: bool = False, **options: Any
) -> None:
    """Exports a translator as a TensorFlow SavedModel with the same translations.

    The signature `serving_default` maps `sentences` to `translations`, both UTF-8 strings (B,). It
    raises an `InvalidArgumentError` if a sentence has too many tokens.

    Args:
        translate: a `Translate` with word tokenizers.
        folder: path of the output folder. TensorFlow Serving expects its name to be a version
            number, as in `served/1`.
        overwrite: whether to replace an existing SavedModel. It is replaced only once the new one
            is complete.
        **options: see `SearchOptions`. Sampling is not supported.

    Raises:
        FileExistsError: if `folder` exists and is not a SavedModel to overwrite.
        OSError: if writing fails.
        RuntimeError: if the Keras backend is not TensorFlow.
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or a tokenizer cannot be expressed in the graph.

    Example:
        translate = Translate.from_run("runs/english-german")
        export_saved_model(translate, "served/1", beam_size=4)

        served = tf.saved_model.load("served/1").signatures["serving_default"]
        served(sentences=tf.constant(["Good morning!"]))["translations"]
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
    check_overwriting(folder, "saved_model.pb", overwrite)
    service = _Service(translate, options)
    with atomic_replace(folder) as temporary:
        try:
            tf.saved_model.save(service, str(temporary), {"serving_default": service.translate})
        except tf.errors.OpError as error:
            raise OSError(error.message) from error


class _Service(tf.Module):
    """The exported module, from sentences to translations."""

    def __init__(self, translate, options):
        super().__init__()
        self._encoder = Encoder(translate.source_tokenizer)
        self._decoder = Decoder(translate.target_tokenizer)
        search = ModelSearch(translate.model, options)
        self._search = lambda request: search(request)["tokens"][:, 0]
        # The variables must be attributes to be saved. The model itself must not be one: its
        # variables would be saved twice.
        self._weights = [variable.value for variable in translate.model.variables]
        self._options = options
        self._batch_tokens = translate.batch_tokens

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "sentences")], autograph=False)
    def translate(self, sentences):
        ids = self._encoder(sentences)
        words = _check_lengths(ids.row_lengths())
        ids = tf.concat([ids, tf.fill((ids.nrows(), 1), END_ID)], axis=1)

        # Each iteration translates one batch of sentences with the same padded length. The length
        # of a finished sentence is set to 0; empty sentences start out finished.
        def unfinished(lengths, translations):
            return tf.reduce_any(lengths > 0)

        def translate_batch(lengths, translations):
            length = tf.reduce_min(tf.boolean_mask(lengths, lengths > 0))
            size = tf.maximum(self._batch_tokens // (length * self._options.rows), 1)
            rows = tf.where(lengths == length)[:size]
            source = tf.gather_nd(ids, rows).to_tensor(PADDING_ID, shape=tf.stack([-1, length]))
            constraints = self._constraints(tf.gather_nd(words, rows), length)
            found = self._decoder(self._search({"source": source, "constraints": constraints}))
            lengths = tf.tensor_scatter_nd_update(lengths, rows, tf.zeros_like(found, tf.int32))
            return lengths, tf.tensor_scatter_nd_update(translations, rows, found)

        lengths = [0, *(bucket_length(words + 1) for words in range(1, MAX_SOURCE_TOKENS + 1))]
        initial = (tf.gather(lengths, words), tf.fill(tf.shape(sentences), ""))
        return {"translations": tf.while_loop(unfinished, translate_batch, initial)[1]}

    def _constraints(self, words, length):
        """Returns the length constraints of a batch, see `make_constraints`.

        Args:
            words: int64 (B,), the source lengths without the end token.
            length: int32 scalar, the padded source length.
        """

        def scale(ratio, number):
            return tf.cast(ratio * tf.cast(number, tf.float64), tf.int32)

        options = self._options
        positions = tf.range(scale(options.max_length_ratio, length) + EXTRA_LENGTH)
        words = words[:, None]
        too_short = positions < scale(options.min_length_ratio, words)
        too_long = positions >= scale(options.max_length_ratio, words) + EXTRA_LENGTH
        return tf.where(too_long, NO_TOKEN, tf.where(too_short, NOT_END, ANY_TOKEN))


def _check_lengths(lengths):
    """Returns the lengths; running the graph raises an error if one is too large."""
    fits = tf.reduce_all(lengths <= MAX_SOURCE_TOKENS)
    message = tf.strings.format(
        "A sentence is too long: split it into sentences of at most "
        f"{MAX_SOURCE_TOKENS} tokens. Received: {{}} tokens",
        tf.reduce_max(lengths),
    )
    with tf.control_dependencies([tf.debugging.Assert(fits, [message])]):
        return tf.identity(lengths)


class Encoder(tf.Module):
    """Converts sentences, strings (B,), to token ids, ragged int32 (B, None).

    Args:
        tokenizer: a `WordTokenizer`.

    Raises:
        ValueError: if the tokenizer has unsupported rules.
    """

    def __init__(self, tokenizer):
        super().__init__()
        rules = _read_rules(tokenizer)
        # In RE2, the regular expressions of TensorFlow, these classes cover ASCII only.
        classes = {name: class_members(name) for name in (r"\w", r"\s")}
        self._steps = [_make_step(step, classes) for step in rules["normalizer"]]
        metaspace, split = rules["pre_tokenizer"]["pretokenizers"]
        self._mark = metaspace["replacement"]
        self._token = _to_re2(split["pattern"], classes)
        self._vocabulary = _table(rules["vocabulary"], tf.int32, UNKNOWN_ID)

    def __call__(self, sentences):
        tokens = self.tokenize(sentences)
        return tokens.with_flat_values(self._vocabulary.lookup(tokens.flat_values))

    def tokenize(self, sentences):
        """Returns the tokens, ragged strings (B, None)."""
        for step in self._steps:
            sentences = step(sentences)
        # Puts a space before each piece that Metaspace would produce. After the normalizer, these
        # are the only spaces in the text.
        text = tf.strings.regex_replace(sentences, f"[ {self._mark}]", f" {self._mark}")
        text = tf.strings.regex_replace(text, "^([^ ])", rf"{self._mark}\1")
        text = tf.strings.regex_replace(text, f"({self._token})", r" \1 ")
        tokens = tf.strings.split(text, " ")
        return tf.ragged.boolean_mask(tokens, tokens != "")


class Decoder(tf.Module):
    """Converts token ids, int32 (B, T), to sentences, strings (B,).

    Args:
        tokenizer: a `WordTokenizer`.

    Raises:
        ValueError: if the tokenizer has unsupported rules.
    """

    def __init__(self, tokenizer):
        super().__init__()
        _read_rules(tokenizer)
        # The text of each token at the beginning of a sentence, and after another token.
        ids, prefix = range(tokenizer.vocab_size), tokenizer.decode([UNKNOWN_ID])
        self._first = tf.constant([tokenizer.decode([i]) for i in ids])
        self._later = tf.constant([tokenizer.decode([UNKNOWN_ID, i])[len(prefix) :] for i in ids])

    def __call__(self, ids):
        ended = tf.cumsum(tf.cast(ids == END_ID, tf.int32), axis=1) > 0
        kept = ~(ended | (ids == PADDING_ID) | (ids == START_ID))
        is_first = tf.cumsum(tf.cast(kept, tf.int32), axis=1) == 1
        words = tf.where(is_first, tf.gather(self._first, ids), tf.gather(self._later, ids))
        return tf.strings.reduce_join(tf.where(kept, words, ""), axis=1)


def _read_rules(tokenizer):
    """Returns a tokenizer's JSON with "normalizer" as a list of steps and a "vocabulary" entry."""
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            "A SavedModel supports word tokenizers only: export models with subwords to "
            f"CTranslate2. Received: {type(tokenizer).__name__}"
        )
    # A `WordTokenizer` trained on any text has all supported rules.
    rules, supported = (json.loads(x.to_json()) for x in (tokenizer, WordTokenizer.train(["a"])))
    for config in (rules, supported):
        normalizer = config["normalizer"] or {}
        config["normalizer"] = normalizer.get("normalizers", [normalizer])
        config["vocabulary"] = config["model"].pop("vocab", None)
    unsupported = [
        {part: rule}
        for part, rule in rules.items()
        if part not in ("normalizer", "vocabulary") and rule != supported.get(part)
    ]
    unsupported += [step for step in rules["normalizer"] if step not in supported["normalizer"]]
    if unsupported:
        raise ValueError(
            "A SavedModel supports only the rules that `WordTokenizer.train` creates. "
            f"Received: {json.dumps(unsupported[0], ensure_ascii=False)}"
        )
    return rules


def _make_step(step, classes):
    """Returns a function on strings that computes a step of the normalizer."""
    if step["type"] == "Replace":
        rewrite = step["content"].replace("\\", r"\\")
        return _replacer(_to_re2(step["pattern"], classes), rewrite)
    if step["type"] == "Strip":
        space = classes[r"\s"]
        return _replacer(f"^[{space}]+|[{space}]+$", "")
    if step["type"] == "Lowercase":
        return _CharacterMap(normalizers.Lowercase())
    return _CanonicalForm(compose=step["type"] == "NFC")


def _replacer(pattern, rewrite):
    return functools.partial(tf.strings.regex_replace, pattern=pattern, rewrite=rewrite)


def _to_re2(pattern, classes):
    """Converts a pattern of `tokenizers` to RE2, with classes expanded to Unicode ranges."""

    def expand(match):
        brackets = match[0] if match[0].startswith("[") else f"[{match[0]}]"
        return re.sub(r"\\[ws]", lambda name: classes[name[0]], brackets)

    if "String" in pattern:
        return re.escape(pattern["String"])
    return re.sub(r"\[.*?\]|\\[ws]", expand, pattern["Regex"])


class _CharacterMap(tf.Module):
    """Normalizes strings character by character."""

    def __init__(self, normalizer):
        super().__init__()
        self._map = _table(character_map(normalizer), tf.string, "")

    def __call__(self, strings):
        characters = tf.strings.unicode_split(strings, "UTF-8")
        flat = characters.flat_values
        changed = self._map.lookup(flat)
        flat = tf.where(changed == "", flat, changed)
        return tf.strings.unsorted_segment_join(flat, characters.value_rowids(), characters.nrows())


class _CanonicalForm(tf.Module):
    """Converts strings to their canonical decomposition (NFD) or composition (NFC)."""

    def __init__(self, compose):
        super().__init__()
        self._decompose = _CharacterMap(normalizers.NFD())
        self._order = _table(combining_order(), tf.int64, 0)  # 0 for all but combining marks
        self._compositions = _table(compositions(), tf.string, "") if compose else None

    def __call__(self, strings):
        characters = tf.strings.unicode_split(self._decompose(strings), "UTF-8")
        flat, rows = characters.flat_values, characters.value_rowids()
        order = self._order.lookup(flat)
        letters = tf.cumsum(tf.cast(order == 0, tf.int64))
        # Sorts the marks of each letter. `rows` separates marks before a string's first letter from
        # those of the previous string.
        flat = tf.gather(flat, tf.argsort((letters + rows) * 256 + order, stable=True))
        if self._compositions is not None:
            initial = (tf.constant(True), flat, rows)
            _, flat, rows = tf.while_loop(lambda changed, *_: changed, self._compose, initial)
        return tf.strings.unsorted_segment_join(flat, rows, characters.nrows())

    def _compose(self, _, flat, rows):
        """Composes each letter with the first character that it can be composed with.

        Returns whether anything changed, the characters and their rows.
        """
        order = self._order.lookup(flat)
        is_letter = tf.cast(order == 0, tf.int64)
        before = tf.cumsum(is_letter, exclusive=True)
        letter = tf.gather(tf.pad(tf.where(order == 0)[:, 0], [[1, 0]]), before)  # last one before
        previous = tf.pad(order, [[1, 0]])[:-1]
        # A mark is blocked from its letter by a preceding mark of the same class; a letter is
        # blocked from the previous letter by any mark.
        unblocked = (previous == 0) | (previous < order)
        unblocked &= (before > 0) & (rows == tf.gather(rows, letter))
        pairs = tf.strings.join([tf.gather(flat, letter), flat])
        composed = tf.where(unblocked, self._compositions.lookup(pairs), "")
        composes = composed != ""
        count = tf.cumsum(tf.cast(composes, tf.int64))
        # Each pass composes only the first candidate of a letter, and none if the letter is itself
        # composed with the previous one in this pass.
        now = composes & (count - 1 == tf.gather(count, letter)) & ~tf.gather(composes, letter)
        flat = tf.tensor_scatter_nd_update(flat, letter[:, None][now], composed[now])
        return tf.reduce_any(composes), flat[~now], rows[~now]


def _table(entries, dtype, default):
    keys, values = list(entries), tf.constant(list(entries.values()), dtype)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, tf.string, dtype)
    return tf.lookup.StaticHashTable(initializer, default)

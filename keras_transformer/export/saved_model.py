"""A trained translator as a TensorFlow SavedModel: strings in, strings out.

Everything is in the graph, in operations of TensorFlow itself: TensorFlow Serving loads it, and so
do programs that lack this package and Keras. The operations of tensorflow_text would have to be
loaded wherever the graph is, and they follow another version of Unicode than `tokenizers`.
"""

import functools
import json
import re

import keras
import tensorflow as tf
from tokenizers import normalizers

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.data.batches import bucket_length
from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.export._unicode_tables import changes, compositions, mark_order, members
from keras_transformer.inference.model_search import ModelSearch
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.inference.rules import FREE, GO_ON, OVER
from keras_transformer.runs.config import MAX_SOURCE_TOKENS


def export_saved_model(translate, folder, overwrite=False, **options):
    """Writes a translator as a SavedModel, which translates as `translate` does.

        export_saved_model(Translate.from_run("runs/english-german"), "served/1", beam_size=4)

        served = tf.saved_model.load("served/1").signatures["serving_default"]
        served(sentences=tf.constant(["Good morning!"]))["translations"]

    Both are strings, (B,), in UTF-8. A sentence of too many tokens is an `InvalidArgumentError`.

    Args:
        translate: a `Translate`.
        folder: where to write. TensorFlow Serving expects a number as its name, as in `served/1`.
        overwrite: whether a SavedModel that is there may be replaced. It stays until the new one
            is whole.
        **options: see `SearchOptions`; it cannot draw at random.

    Raises:
        RuntimeError: if Keras does not compute with TensorFlow.
        TypeError: if an option does not exist.
        ValueError: if an option is out of range, or a tokenizer has a rule that the graph cannot
            have.
        FileExistsError: if the folder is there and must not be replaced.
        OSError: if writing fails.
    """
    if keras.config.backend() != "tensorflow":
        raise RuntimeError(
            "Set KERAS_BACKEND=tensorflow to export a SavedModel: the weights of a run are the "
            f"same on every backend. Received: {keras.config.backend()}"
        )
    options = SearchOptions(**options)
    if options.samples:
        raise ValueError(
            "A SavedModel translates the same each time: leave out `temperature`. "
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
    """What is exported: the way from sentences to translations."""

    def __init__(self, translate, options):
        super().__init__()
        self._encoder = Encoder(translate.source_tokenizer)
        self._decoder = Decoder(translate.target_tokenizer)
        search = ModelSearch(translate.model, options)
        self._search = lambda request: search(request)["tokens"][:, 0]
        # Only what attributes hold is saved: a model there would be saved with its variables once
        # more.
        self._weights = [variable.value for variable in translate.model.variables]
        self._options = options
        self._batch_tokens = translate.batch_tokens

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "sentences")], autograph=False)
    def translate(self, sentences):
        ids = self._encoder(sentences)
        words = _checked(ids.row_lengths())
        ids = tf.concat([ids, tf.fill((ids.nrows(), 1), END_ID)], axis=1)

        # What is searched at once is padded to one length. What is done has the length 0, empty
        # sentences from the start.
        def any_left(lengths, translations):
            return tf.reduce_any(lengths > 0)

        def translate_some(lengths, translations):
            length = tf.reduce_min(tf.boolean_mask(lengths, lengths > 0))
            size = tf.maximum(self._batch_tokens // (length * self._options.rows), 1)
            rows = tf.where(lengths == length)[:size]
            source = tf.gather_nd(ids, rows).to_tensor(PADDING_ID, shape=tf.stack([-1, length]))
            plan = self._plan(tf.gather_nd(words, rows), length)
            found = self._decoder(self._search({"source": source, "plan": plan}))
            lengths = tf.tensor_scatter_nd_update(lengths, rows, tf.zeros_like(found, tf.int32))
            return lengths, tf.tensor_scatter_nd_update(translations, rows, found)

        lengths = [0, *(bucket_length(words + 1) for words in range(1, MAX_SOURCE_TOKENS + 1))]
        first = (tf.gather(lengths, words), tf.fill(tf.shape(sentences), ""))
        return {"translations": tf.while_loop(any_left, translate_some, first)[1]}

    def _plan(self, words, length):
        """See `make_plan`: of sentences of some words each, padded to a length."""

        def share(ratio, number):
            return tf.cast(ratio * tf.cast(number, tf.float64), tf.int32)

        options = self._options
        positions = tf.range(share(options.max_length_ratio, length) + EXTRA_LENGTH)
        words = words[:, None]
        too_short = positions < share(options.min_length_ratio, words)
        too_long = positions >= share(options.max_length_ratio, words) + EXTRA_LENGTH
        return tf.where(too_long, OVER, tf.where(too_short, GO_ON, FREE))


def _checked(lengths):
    fits = tf.reduce_all(lengths <= MAX_SOURCE_TOKENS)
    message = tf.strings.format(
        "A sentence is too long: split it into sentences of at most "
        f"{MAX_SOURCE_TOKENS} tokens. Received: {{}} tokens",
        tf.reduce_max(lengths),
    )
    with tf.control_dependencies([tf.debugging.Assert(fits, [message])]):
        return tf.identity(lengths)


class Encoder(tf.Module):
    """Sentences, strings (B,), to the ids of their words, ragged int32 (B, words).

    Args:
        tokenizer: a `WordTokenizer`.

    Raises:
        ValueError: if it has rules that the graph lacks.
    """

    def __init__(self, tokenizer):
        super().__init__()
        rules = _read_rules(tokenizer)
        # The classes of RE2, which TensorFlow uses, are ASCII.
        classes = {name: members(name) for name in (r"\w", r"\s")}
        self._steps = [_make_step(step, classes) for step in rules["normalizer"]]
        metaspace, split = rules["pre_tokenizer"]["pretokenizers"]
        self._mark = metaspace["replacement"]
        self._token = _to_re2(split["pattern"], classes)
        self._vocabulary = _table(rules["vocabulary"], tf.int32, UNKNOWN_ID)

    def __call__(self, sentences):
        tokens = self.tokenize(sentences)
        return tokens.with_flat_values(self._vocabulary.lookup(tokens.flat_values))

    def tokenize(self, sentences):
        """The tokens, ragged strings (B, words)."""
        for step in self._steps:
            sentences = step(sentences)
        # The parts that Metaspace makes, with a space before each: the text has no others left.
        text = tf.strings.regex_replace(sentences, f"[ {self._mark}]", f" {self._mark}")
        text = tf.strings.regex_replace(text, "^([^ ])", rf"{self._mark}\1")
        text = tf.strings.regex_replace(text, f"({self._token})", r" \1 ")
        tokens = tf.strings.split(text, " ")
        return tf.ragged.boolean_mask(tokens, tokens != "")


class Decoder(tf.Module):
    """Ids, int32 (B, any), to sentences, strings (B,).

    Args:
        tokenizer: a `WordTokenizer`.

    Raises:
        ValueError: if it has rules that the graph lacks.
    """

    def __init__(self, tokenizer):
        super().__init__()
        _read_rules(tokenizer)
        # The tokenizer is asked how it writes each word: as the first one, and after another.
        ids, other = range(tokenizer.vocab_size), tokenizer.decode([UNKNOWN_ID])
        self._first = tf.constant([tokenizer.decode([i]) for i in ids])
        self._later = tf.constant([tokenizer.decode([UNKNOWN_ID, i])[len(other) :] for i in ids])

    def __call__(self, ids):
        ended = tf.cumsum(tf.cast(ids == END_ID, tf.int32), axis=1) > 0
        kept = ~(ended | (ids == PADDING_ID) | (ids == START_ID))
        is_first = tf.cumsum(tf.cast(kept, tf.int32), axis=1) == 1
        words = tf.where(is_first, tf.gather(self._first, ids), tf.gather(self._later, ids))
        return tf.strings.reduce_join(tf.where(kept, words, ""), axis=1)


def _read_rules(tokenizer):
    """The tokenizer's JSON with the steps of the normalizer and the vocabulary by themselves."""
    # A tokenizer of the plainest text has all the steps there are.
    if not isinstance(tokenizer, WordTokenizer):
        raise ValueError(
            "The graph takes sentences apart into words only: export pieces of words to "
            f"CTranslate2. Received: {type(tokenizer).__name__}"
        )
    rules, known = (json.loads(x.to_json()) for x in (tokenizer, WordTokenizer.train(["a"])))
    for either in (rules, known):
        normalizer = either["normalizer"] or {}
        either["normalizer"] = normalizer.get("normalizers", [normalizer])
        either["vocabulary"] = either["model"].pop("vocab", None)
    strange = [
        {part: rule}
        for part, rule in rules.items()
        if part not in ("normalizer", "vocabulary") and rule != known.get(part)
    ]
    strange += [step for step in rules["normalizer"] if step not in known["normalizer"]]
    if strange:
        raise ValueError(
            "The graph has the rules that `WordTokenizer` makes, no others. "
            f"Received: {json.dumps(strange[0], ensure_ascii=False)}"
        )
    return rules


def _make_step(step, classes):
    """The graph's counterpart of a step of the normalizer."""
    if step["type"] == "Replace":
        rewrite = step["content"].replace("\\", r"\\")
        return _replacer(_to_re2(step["pattern"], classes), rewrite)
    if step["type"] == "Strip":
        space = classes[r"\s"]
        return _replacer(f"^[{space}]+|[{space}]+$", "")
    if step["type"] == "Lowercase":
        return _CharacterMap(normalizers.Lowercase())
    return _Canonical(compose=step["type"] == "NFC")


def _replacer(pattern, rewrite):
    return functools.partial(tf.strings.regex_replace, pattern=pattern, rewrite=rewrite)


def _to_re2(pattern, classes):
    """A pattern of `tokenizers` as RE2 writes it, with Unicode classes."""

    def spell_out(found):
        brackets = found[0] if found[0].startswith("[") else f"[{found[0]}]"
        return re.sub(r"\\[ws]", lambda name: classes[name[0]], brackets)

    if "String" in pattern:
        return re.escape(pattern["String"])
    return re.sub(r"\[.*?\]|\\[ws]", spell_out, pattern["Regex"])


class _CharacterMap(tf.Module):
    """Strings to strings, character by character."""

    def __init__(self, normalizer):
        super().__init__()
        self._changes = _table(changes(normalizer), tf.string, "")

    def __call__(self, strings):
        characters = tf.strings.unicode_split(strings, "UTF-8")
        flat = characters.flat_values
        changed = self._changes.lookup(flat)
        flat = tf.where(changed == "", flat, changed)
        return tf.strings.unsorted_segment_join(flat, characters.value_rowids(), characters.nrows())


class _Canonical(tf.Module):
    """Strings to their canonical decomposition (NFD), or composed again after that (NFC)."""

    def __init__(self, compose):
        super().__init__()
        self._decompose = _CharacterMap(normalizers.NFD())
        self._order = _table(mark_order(), tf.int64, 0)  # of letters 0
        self._compositions = _table(compositions(), tf.string, "") if compose else None

    def __call__(self, strings):
        characters = tf.strings.unicode_split(self._decompose(strings), "UTF-8")
        flat, rows = characters.flat_values, characters.value_rowids()
        order = self._order.lookup(flat)
        letters = tf.cumsum(tf.cast(order == 0, tf.int64))
        # Each letter's marks are sorted, those before a sentence's first letter apart.
        flat = tf.gather(flat, tf.argsort((letters + rows) * 256 + order, stable=True))
        if self._compositions is not None:
            first = (tf.constant(True), flat, rows)
            _, flat, rows = tf.while_loop(lambda going_on, *_: going_on, self._compose, first)
        return tf.strings.unsorted_segment_join(flat, rows, characters.nrows())

    def _compose(self, _, flat, rows):
        """Joins letters with the first character that each can be joined with."""
        order = self._order.lookup(flat)
        is_letter = tf.cast(order == 0, tf.int64)
        before = tf.cumsum(is_letter, exclusive=True)
        letter = tf.gather(tf.pad(tf.where(order == 0)[:, 0], [[1, 0]]), before)  # the last before
        previous = tf.pad(order, [[1, 0]])[:-1]
        # A mark of the same class stands between a mark and its letter, any mark between letters.
        is_next = (previous == 0) | (previous < order)
        is_next &= (before > 0) & (rows == tf.gather(rows, letter))
        pairs = tf.strings.join([tf.gather(flat, letter), flat])
        joined = tf.where(is_next, self._compositions.lookup(pairs), "")
        joins = joined != ""
        count = tf.cumsum(tf.cast(joins, tf.int64))
        # One at a time: each letter's first, and not if the letter is itself joined to another.
        now = joins & (count - 1 == tf.gather(count, letter)) & ~tf.gather(joins, letter)
        flat = tf.tensor_scatter_nd_update(flat, letter[:, None][now], joined[now])
        return tf.reduce_any(joins), flat[~now], rows[~now]


def _table(entries, dtype, default):
    keys, values = list(entries), tf.constant(list(entries.values()), dtype)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, tf.string, dtype)
    return tf.lookup.StaticHashTable(initializer, default)

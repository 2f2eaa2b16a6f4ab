"""A trained translator as a TensorFlow SavedModel: strings in, strings out.

Everything is in the graph, in operations of TensorFlow itself: TensorFlow Serving loads it, and so
do programs that lack this package, Keras and tensorflow_text.
"""

import shutil
import tempfile
from pathlib import Path

import keras
import tensorflow as tf

from keras_transformer.config import MAX_SOURCE_TOKENS
from keras_transformer.data.batches import bucket_length
from keras_transformer.export._text_graph import Decoder, Encoder
from keras_transformer.files import replacing
from keras_transformer.special_tokens import END_ID, PADDING_ID


def export_saved_model(translate, folder, overwrite=False):
    """Writes a translator as a SavedModel, which translates as `translate` does.

        export_saved_model(Translate.from_run("runs/english-german"), "served/1")

        served = tf.saved_model.load("served/1").signatures["serving_default"]
        served(sentences=tf.constant(["Good morning!"]))["translations"]

    Both are strings, (B,), in UTF-8. A sentence of too many tokens is an `InvalidArgumentError`.

    Args:
        translate: a `Translate`.
        folder: where to write. TensorFlow Serving expects a number as its name, as in `served/1`.
        overwrite: whether a SavedModel that is there may be replaced. It stays until the new one
            is whole.

    Raises:
        RuntimeError: if Keras does not compute with TensorFlow.
        ValueError: if a tokenizer has a rule that the graph cannot have.
        FileExistsError: if the folder is there and must not be replaced.
        OSError: if writing fails.
    """
    if keras.config.backend() != "tensorflow":
        raise RuntimeError(
            "Set KERAS_BACKEND=tensorflow to export a SavedModel: the weights of a run are the "
            f"same on every backend. Received: {keras.config.backend()}"
        )
    folder = Path(folder)
    _check_folder(folder, overwrite)
    encoder = Encoder(translate.source_tokenizer)
    decoder = Decoder(translate.target_tokenizer)
    service = _Service(encoder, *_search(translate), decoder, translate.batch_size)
    _write(service, folder)


def _search(translate):
    """The function from source ids to target ids, int32 (B, S) and (B, any), and its weights."""
    model = translate._translator
    return lambda ids: model(ids, training=False), [variable.value for variable in model.variables]


def _check_folder(folder, overwrite):
    if not folder.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"Give another folder or `overwrite=True`: something is there. Received: {folder}"
        )
    if not (folder / "saved_model.pb").is_file():
        raise FileExistsError(f"Only a SavedModel can be overwritten. Received: {folder}")


def _write(service, folder):
    if not folder.exists():
        _save(service, folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f"partial-{folder.name}-", dir=folder.parent))
    try:
        _save(service, aside / "new")
    except BaseException:
        shutil.rmtree(aside)
        raise
    # A process killed here leaves both, whole.
    folder.rename(aside / "old")
    (aside / "new").rename(folder)
    shutil.rmtree(aside)


def _save(service, folder):
    with replacing(folder) as beside:
        try:
            tf.saved_model.save(service, str(beside), {"serving_default": service.translate})
        except tf.errors.OpError as error:
            raise OSError(error.message) from error


class _Service(tf.Module):
    """What is exported: the way from sentences to translations."""

    def __init__(self, encoder, search, weights, decoder, batch_size):
        super().__init__()
        self._encoder = encoder
        self._search = search
        self._weights = weights  # only what attributes hold is saved
        self._decoder = decoder
        self._batch_size = batch_size

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "sentences")], autograph=False)
    def translate(self, sentences):
        ids = self._encoder(sentences)
        lengths = _checked(ids.row_lengths())
        ids = tf.concat([ids, tf.fill((ids.nrows(), 1), END_ID)], axis=1)

        # As in Python: what is searched at once is of one bucket, which also limits how long a
        # translation can be. What is done has the bucket 0, empty sentences from the start.
        def any_left(buckets, translations):
            return tf.reduce_any(buckets > 0)

        def translate_some(buckets, translations):
            length = tf.reduce_min(tf.boolean_mask(buckets, buckets > 0))
            rows = tf.where(buckets == length)[: self._batch_size]
            source = tf.gather_nd(ids, rows).to_tensor(PADDING_ID, shape=tf.stack([-1, length]))
            found = self._decoder(self._search(source))
            done = tf.zeros_like(found, tf.int32)
            buckets = tf.tensor_scatter_nd_update(buckets, rows, done)
            return buckets, tf.tensor_scatter_nd_update(translations, rows, found)

        buckets = [0, *(bucket_length(length + 1) for length in range(1, MAX_SOURCE_TOKENS + 1))]
        first = (tf.gather(buckets, lengths), tf.fill(tf.shape(sentences), ""))
        return {"translations": tf.while_loop(any_left, translate_some, first)[1]}


def _checked(lengths):
    fits = tf.reduce_all(lengths <= MAX_SOURCE_TOKENS)
    message = tf.strings.format(
        "A sentence is too long: split it into sentences of at most "
        f"{MAX_SOURCE_TOKENS} tokens. Received: {{}} tokens",
        tf.reduce_max(lengths),
    )
    with tf.control_dependencies([tf.debugging.Assert(fits, [message])]):
        return tf.identity(lengths)

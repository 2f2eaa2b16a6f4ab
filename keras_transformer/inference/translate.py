"""Translating sentences."""

import keras
import numpy as np
from keras import ops

from keras_transformer.config import MAX_SOURCE_TOKENS
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.inference.search import greedy_search
from keras_transformer.run_folder import RunFolder
from keras_transformer.special_tokens import PADDING_ID


class Translate:
    """Translates sentences with a trained model.

        translate = Translate.from_run("runs/english-german")
        translate("Good morning!")
        translate(["Good morning!", "Where is the station?"])

    A word that the source vocabulary lacks is read as unknown. Each sentence is translated the same
    whatever stands beside it.

    Args:
        model: a `TransformerModel`.
        source_tokenizer: a `WordTokenizer` of the source language.
        target_tokenizer: a `WordTokenizer` of the target language.
        batch_size: how many sentences are translated at once.

    Raises:
        ValueError: if a vocabulary is not the model's.
    """

    def __init__(self, model, source_tokenizer, target_tokenizer, batch_size=64):
        vocabularies = (source_tokenizer.vocab_size, target_tokenizer.vocab_size)
        if vocabularies != (model.enc_vocab_size, model.dec_vocab_size):
            raise ValueError(
                "The tokenizers must be those the model was trained with: it knows "
                f"{model.enc_vocab_size} source and {model.dec_vocab_size} target words. "
                f"Received: tokenizers of {vocabularies[0]} and {vocabularies[1]} words"
            )
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.batch_size = batch_size
        self._translator = _GreedyTranslator(model)
        # On a processor XLA takes seconds for each new shape, which TensorFlow can do without; JAX
        # would compile the loop again in each call.
        self._translator.compile(jit_compile=keras.config.backend() == "jax")

    @classmethod
    def from_run(cls, folder, **kwargs):
        """The translator that a training run has left in its folder.

        Args:
            folder: path of the run's folder.
            **kwargs: further arguments of `Translate`.

        Raises:
            FileNotFoundError: if the folder lacks a file.
            ValueError: if a file is damaged or of another run.
        """
        run = RunFolder(folder)
        return cls(run.read_model(), *run.read_tokenizers(), **kwargs)

    def __call__(self, sentences):
        """Translates.

        Args:
            sentences: a sentence, or a list or tuple of sentences; not changed.

        Returns:
            A sentence for a sentence, a list for a list; "" for an empty sentence.

        Raises:
            TypeError: if something else is given.
            ValueError: if a sentence has more than 256 tokens.
        """
        if isinstance(sentences, str):
            return self([sentences])[0]
        if not isinstance(sentences, (list, tuple)) or not all(
            isinstance(sentence, str) for sentence in sentences
        ):
            raise TypeError(
                "Give a sentence or a list of sentences. "
                f"Received: {type(sentences).__name__}: {sentences!r}"[:200]
            )
        translations = [""] * len(sentences)
        for length, members in self._by_length(sentences).items():
            for i in range(0, len(members), self.batch_size):
                batch = members[i : i + self.batch_size]
                found = self._translate([ids for _, ids in batch], length)
                for (index, _), ids in zip(batch, found, strict=True):
                    translations[index] = self.target_tokenizer.decode(ids)
        return translations

    def _by_length(self, sentences):
        """(index, ids) of the sentences that are not empty, by the length to pad them to."""
        groups = {}
        for i, sentence in enumerate(sentences):
            ids = encode_source(self.source_tokenizer, sentence)
            if len(ids) - 1 > MAX_SOURCE_TOKENS:
                raise ValueError(
                    f"Sentence {i + 1} is too long: split it into sentences of at most "
                    f"{MAX_SOURCE_TOKENS} tokens. Received: {len(ids) - 1:,} tokens"
                )
            if len(ids) > 1:  # more than the end
                groups.setdefault(bucket_length(len(ids)), []).append((i, ids))
        return groups

    def _translate(self, sources, length):
        # Few shapes: one row, two, four, …, filled with copies, which end when the original does.
        rows = 1 << (len(sources) - 1).bit_length()
        ids = pad_ids([*sources, *sources[-1:] * (rows - len(sources))], length)
        return np.asarray(self._translator.predict_on_batch(ids))[: len(sources)]


class _GreedyTranslator(keras.Model):
    """Source ids to target ids, as a model that Keras compiles for each backend."""

    def __init__(self, model):
        super().__init__(name="greedy_translator", dtype=model.dtype_policy)
        self.model = model

    def call(self, source):
        batch_size, length = ops.shape(source)
        max_length = 2 * length + 8
        tokens = ops.full((batch_size, max_length), PADDING_ID, dtype="int32")
        state = (tokens, self.model.encode(source, training=False), source)
        return greedy_search(self._next_logits, state, batch_size, max_length)

    def _next_logits(self, last, position, state):
        tokens, encoded, source = state
        tokens = ops.slice_update(tokens, (0, position), ops.expand_dims(last, 1))
        logits = self.model.decode(tokens, encoded, source, training=False)
        return ops.take(logits, position, axis=1), (tokens, encoded, source)

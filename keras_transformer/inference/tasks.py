"""Tasks of a trained BERT: extractive summarization, question answering and classification."""

import json
import re
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import excerpt, read_json, read_text
from keras_transformer._utils.types import PathLike, Texts
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.data.questions import question_windows
from keras_transformer.data.wordpiece import WordPieceTokenizer
from keras_transformer.inference.sentences import check_texts, check_unicode
from keras_transformer.models import AnsweringBert, EncoderClassifier
from keras_transformer.models.bert import Bert, ids_and_segments
from keras_transformer.models.classifier import masked_mean
from keras_transformer.pretrained.keras_file import load_keras_file

_BATCH_SIZE = 32
_MAX_SETTINGS = 1 << 20  # bytes
# The end of a sentence: a mark, perhaps quotes or brackets, then space and the start of the next.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-Þ])|\n\s*\n")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Mrs?|Ms|Dr|Prof|St|Jr|Sr|vs|No|e\.g|i\.e)\.\s*$")


def read_bert(folder: PathLike) -> tuple[Bert, WordPieceTokenizer]:
    """Loads a BERT and its tokenizer.

    The folder may come from an untrusted source: its files are checked, and loading them runs no
    code of theirs.

    Args:
        folder: path of a folder written by `keras-transformer train-bert` or `train-classifier`,
            or of one in the layout of Hugging Face.

    Returns:
        A built `Bert` and its `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is damaged or belongs to another model.

    Example:
        bert, tokenizer = kt.read_bert("bert-base-uncased")
        x = bert(tokenizer.encode_batch(["One sentence.", "Another one."]))  # (B, S, D)
    """
    folder = Path(folder)
    tokenizer = read_wordpiece_tokenizer(folder)
    if (folder / "bert.keras").exists():
        return load_keras_file(folder / "bert.keras", "Bert"), tokenizer
    if (folder / "classifier.keras").exists():
        classifier = load_keras_file(folder / "classifier.keras", "EncoderClassifier")
        return classifier.body, tokenizer
    return Bert.from_pretrained(folder), tokenizer


def read_wordpiece_tokenizer(folder):
    """Loads the tokenizer of a BERT from `tokenizer.json`, or else from `vocab.txt`.

    Args:
        folder: path of a folder. With a `vocab.txt`, text is lowercased unless `do_lower_case` is
            false in `tokenizer_config.json`.

    Returns:
        A `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: if neither file exists.
        ValueError: if a file is damaged or of another format.
    """
    folder = Path(folder)
    if (folder / "tokenizer.json").exists() or not (folder / "vocab.txt").exists():
        return WordPieceTokenizer.load(folder / "tokenizer.json")
    config = folder / "tokenizer_config.json"
    settings = read_json(config, max_bytes=_MAX_SETTINGS) if config.exists() else {}
    lowercase = settings.get("do_lower_case", True)
    if not isinstance(lowercase, bool):
        raise ValueError(
            f"`do_lower_case` in {config} must be true or false. Received: {excerpt(lowercase)}"
        )
    # `splitlines` would also split at tokens that are Unicode line separators.
    tokens = read_text(folder / "vocab.txt").rstrip("\n").split("\n")
    return WordPieceTokenizer.from_vocabulary(tokens, lowercase)


class Summarize:
    """Summarizes a text by its most representative sentences (extractive summarization).

    The mean vectors of the sentences are clustered with k-means. The summary is the sentence
    nearest to each cluster center.

    Args:
        body: a trained `Bert`.
        tokenizer: its `WordPieceTokenizer`.

    References:
        "Leveraging BERT for Extractive Text Summarization on Lectures" (Miller, 2019), section 3.

    Example:
        summarize = kt.Summarize(*kt.read_bert("bert-base-uncased"))
        summarize(text, num_sentences=3)
    """

    def __init__(self, body: Bert, tokenizer: WordPieceTokenizer) -> None:
        self.body = body
        self.tokenizer = tokenizer

    def __call__(self, text: str, num_sentences: int = 3) -> str:
        """Summarizes a text.

        Args:
            text: a text of several sentences.
            num_sentences: number of sentences in the summary.

        Returns:
            The chosen sentences in the order of the text, joined by spaces. A text with no more
            than `num_sentences` sentences is returned whole.

        Raises:
            ValueError: if `num_sentences` is not a positive integer, or the text is empty or has an
                unpaired surrogate.
        """
        check_sizes(num_sentences=num_sentences)
        check_unicode(text, "the text")
        sentences = split_sentences(text)
        if not sentences:
            raise ValueError(
                f"There is nothing to summarize: give a text. Received: {excerpt(text)}"
            )
        if len(sentences) > num_sentences:
            vectors = self.vectors(sentences)
            centers = k_means(vectors, num_sentences)
            sentences = [sentences[i] for i in sorted(_nearest(vectors, centers))]
        return " ".join(sentences)

    def vectors(self, sentences: list[str]) -> np.ndarray:
        """Computes the mean vector of each sentence, float32 (number of sentences, D)."""
        encoded = [self.tokenizer.encode(sentence).ids for sentence in sentences]
        rows = [
            self.tokenizer.add_special_tokens(ids, length=self.body.seq_length) for ids in encoded
        ]
        vectors = []
        for inputs, count in _batches(rows, self.body):
            ids, _ = ids_and_segments(inputs)
            mean = masked_mean(self.body(inputs, training=False), ids)
            vectors.append(_numpy(mean)[:count])
        return np.concatenate(vectors)


class FindAnswer:
    """Finds the answer to a question in a text (extractive question answering).

    Args:
        model: a trained `AnsweringBert`.
        tokenizer: its `WordPieceTokenizer`.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.2.

    Example:
        find_answer = kt.FindAnswer(model, tokenizer)
        find_answer("Who wrote it?", "It was written by Anna.")["answer"]  # "Anna"
    """

    def __init__(self, model: AnsweringBert, tokenizer: WordPieceTokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer

    def __call__(self, question: str, context: str, max_tokens: int = 15) -> dict[str, Any]:
        """Finds the most probable answer.

        Args:
            question: the question.
            context: the text with the answer; a long one is read in overlapping windows.
            max_tokens: maximum number of tokens of the answer.

        Returns:
            A dictionary: "answer", a substring of the context; "start" and "end", its character
            offsets; "score", the probability of the first token times that of the last, within
            their window.

        Raises:
            ValueError: if the question or the context has no words or an unpaired surrogate, or
                `max_tokens` is not a positive integer.
        """
        check_sizes(max_tokens=max_tokens)
        check_unicode(question, "the question")
        check_unicode(context, "the context")
        body = self.model.body
        windows = question_windows(self.tokenizer, question, context, body.seq_length)
        rows, logits = [(window.ids, window.segments) for window in windows], []
        for inputs, count in _batches(rows, body):
            scores = self.model(inputs, training=False)
            pairs = zip(_numpy(scores["start"]), _numpy(scores["end"]), strict=True)
            logits += list(pairs)[:count]
        spans = [_best_span(w, *pair, max_tokens) for w, pair in zip(windows, logits, strict=True)]
        score, start, end = max(spans)
        return {"score": score, "start": start, "end": end, "answer": context[start:end]}


class Classify:
    """Classifies texts with a trained classifier.

    Args:
        model: an `EncoderClassifier`.
        tokenizer: its `WordPieceTokenizer`.
        labels: the names of the labels, in the order of the logits.

    Raises:
        ValueError: if the number of names is not the number of labels.

    Example:
        classify = kt.Classify.from_run("runs/labels")
        classify(["is it far", "it is far"])
        # [{'label': 'question', 'score': 0.98}, {'label': 'statement', 'score': 0.99}]
    """

    def __init__(
        self, model: EncoderClassifier, tokenizer: WordPieceTokenizer, labels: list[str]
    ) -> None:
        if len(labels) != model.num_labels:
            raise ValueError(
                f"Give a name for each of the model's {model.num_labels} labels. "
                f"Received: {excerpt(labels)}"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.labels = list(labels)

    @classmethod
    def from_run(cls, folder: PathLike) -> Self:
        """Loads a classifier saved by `save` or by `keras-transformer train-classifier`.

        The model is not compiled. The folder may come from an untrusted source, see `read_bert`.

        Args:
            folder: path of the folder.

        Returns:
            A `Classify`.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged or belongs to another model.
        """
        folder = Path(folder)
        labels, path = folder / "labels.json", folder / "classifier.keras"
        if not (labels.exists() and path.exists()):
            raise FileNotFoundError(
                "The folder holds no text classifier. Train one with: "
                f"{command_line('train-classifier')}. Received: {folder}"
            )
        names = read_json(labels, list, _MAX_SETTINGS)
        if not all(isinstance(name, (str, int)) for name in names):
            raise ValueError(f"{labels} must contain only names. Received: {excerpt(names)}")
        model = load_keras_file(path, "EncoderClassifier")
        return cls(model, read_wordpiece_tokenizer(folder), names)

    def save(self, folder: PathLike) -> None:
        """Saves the classifier for `from_run`.

        Args:
            folder: path of the folder to which `tokenizer.json`, `labels.json` and
                `classifier.keras` are written.
        """
        folder = Path(folder)
        self.tokenizer.save(folder / "tokenizer.json")
        with atomic_replace(folder / "labels.json") as temporary:
            temporary.write_text(json.dumps(self.labels), encoding="utf-8")
        with atomic_replace(folder / "classifier.keras") as temporary:
            self.model.save(temporary)

    @overload
    def __call__(self, texts: str) -> dict[str, Any]: ...

    @overload
    def __call__(self, texts: Texts) -> list[dict[str, Any]]: ...

    def __call__(self, texts: str | Texts) -> dict[str, Any] | list[dict[str, Any]]:
        """Predicts the label of each text.

        Args:
            texts: a text, or a list of texts. Long texts are truncated.

        Returns:
            A dictionary per text, or a single one for a string: "label", and "score", its
            probability.

        Raises:
            TypeError: if `texts` is neither a string nor a list or tuple of strings.
            ValueError: if a text has an unpaired surrogate.
        """
        if isinstance(texts, str):
            return self([texts])[0]
        check_texts(texts, "a list of texts")
        body, results = self.model.body, []
        encoded = [self.tokenizer.encode(text).ids for text in texts]
        rows = [self.tokenizer.add_special_tokens(ids, length=body.seq_length) for ids in encoded]
        for inputs, count in _batches(rows, body):
            for logits in _numpy(self.model(inputs, training=False))[:count]:
                best = logits.argmax()
                results.append({"label": self.labels[best], "score": float(_softmax(logits)[best])})
        return results


def split_sentences(text):
    """Splits a text into sentences, at punctuation marks and blank lines."""
    sentences, begin = [], 0
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text, begin, end.end()):
            sentences.append(text[begin : end.end()])
            begin = end.end()
    return [" ".join(s.split()) for s in [*sentences, text[begin:]] if s.strip()]


def k_means(vectors, k, iterations=100):
    """Computes the centers of k clusters (k-means).

    The initial centers are the vector nearest to the mean and then, one by one, the vector farthest
    from all chosen before. There is no randomness: the same vectors give the same centers.

    Args:
        vectors: (n, D), n ≥ k.
        k: number of clusters.
        iterations: maximum number of updates of the centers.

    Returns:
        The centers, (k, D).

    References:
        "Least Squares Quantization in PCM" (Lloyd, 1982).
    """
    chosen = [int(_distances(vectors, vectors.mean(axis=0, keepdims=True)).argmin())]
    while len(chosen) < k:
        chosen.append(int(_distances(vectors, vectors[chosen]).min(axis=1).argmax()))
    centers = vectors[chosen]
    for _ in range(iterations):
        clusters = _distances(vectors, centers).argmin(axis=1)
        moved = [vectors[clusters == i].mean(axis=0) for i in range(k) if (clusters == i).any()]
        if len(moved) < k or np.array_equal(moved, centers):  # fewer than k: equal vectors
            break
        centers = np.stack(moved)
    return centers


def _nearest(vectors, centers):
    """Returns the index of the vector nearest to each center, each vector at most once."""
    taken = []
    for distances in _distances(vectors, centers).T:
        taken.append(next(int(i) for i in np.argsort(distances, kind="stable") if i not in taken))
    return taken


def _distances(vectors, centers):
    """Computes Euclidean distances: (n, D), (k, D) -> (n, k)."""
    return np.linalg.norm(vectors[:, None] - centers, axis=-1)


def _best_span(window, start, end, max_tokens):
    """Returns the most probable answer of a window: score, start and end.

    The probabilities are over the context and [CLS], which stands for "no answer in this window".
    """
    positions = [0, *range(window.begin, window.begin + len(window.offsets))]
    start, end = _softmax(start[positions])[1:], _softmax(end[positions])[1:]
    scores = np.triu(start[:, None] * end)
    scores = np.tril(scores, max_tokens - 1)
    first, last = np.unravel_index(scores.argmax(), scores.shape)
    return float(scores[first, last]), window.offsets[first][0], window.offsets[last][1]


def _softmax(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def _batches(rows, body):
    """Yields padded inputs of a body and the number of their rows that are not padding.

    Args:
        rows: pairs of ids and segments.
        body: a `Bert`.
    """
    for first in range(0, len(rows), _BATCH_SIZE):
        batch = rows[first : first + _BATCH_SIZE]
        # Lengths and numbers of rows are rounded up, so that few shapes are compiled.
        length = min(bucket_length(max(len(ids) for ids, _ in batch)), body.seq_length)
        missing = min(bucket_length(len(batch)), _BATCH_SIZE) - len(batch)
        ids, segments = (
            pad_ids([row[i] for row in batch] + [[]] * missing, length) for i in (0, 1)
        )
        yield (ids if body.num_segments is None else (ids, segments)), len(batch)


def _numpy(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))

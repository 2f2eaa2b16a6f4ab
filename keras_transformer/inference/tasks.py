"""Using a trained BERT: summaries and answers in the words of a text, and labels for it."""

import json
import re
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.files import atomic_replace
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.data.questions import question_windows
from keras_transformer.data.wordpiece import WordPieceTokenizer
from keras_transformer.models.bert import Bert, ids_and_segments
from keras_transformer.models.classifier import masked_mean

_BATCH = 32  # texts read at once
# A sentence ends with a mark and perhaps quotes or brackets, where a new one begins.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-Þ])|\n\s*\n")
_NO_END = re.compile(r"\b(?:[A-Z]|Mrs?|Ms|Dr|Prof|St|Jr|Sr|vs|No|e\.g|i\.e)\.\s*$")


def read_bert(folder):
    """Reads a BERT and its tokenizer.

    Args:
        folder: path of a folder as `scripts/train_bert.py` or `train_classifier.py` writes it, or
            in the layout of Hugging Face.

    Returns:
        A built `Bert`, and its `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: if a file is damaged or of another model.
    """
    folder = Path(folder)
    tokenizer = read_wordpieces(folder)
    if (folder / "bert.keras").exists():
        return keras.models.load_model(folder / "bert.keras"), tokenizer
    if (folder / "classifier.keras").exists():
        return keras.models.load_model(folder / "classifier.keras").body, tokenizer
    return Bert.from_pretrained(folder), tokenizer


def read_wordpieces(folder):
    """Reads the tokenizer of a BERT: `tokenizer.json`, or else `vocab.txt`.

    Args:
        folder: path of a folder. Beside a `vocab.txt`, `tokenizer_config.json` says by
            `do_lower_case` whether capitals are dropped; without it they are.

    Returns:
        A `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a file is damaged or of another kind.
    """
    folder = Path(folder)
    if (folder / "tokenizer.json").exists() or not (folder / "vocab.txt").exists():
        return WordPieceTokenizer.load(folder / "tokenizer.json")
    config = folder / "tokenizer_config.json"
    settings = json.loads(config.read_text(encoding="utf-8")) if config.exists() else {}
    # Not by `splitlines`: some tokens are characters that it takes for ends of lines.
    tokens = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return WordPieceTokenizer.from_vocabulary(tokens, settings.get("do_lower_case", True))


class Summarize:
    """Picks the sentences that stand for a text.

    Args:
        body: a `Bert`.
        tokenizer: its `WordPieceTokenizer`.

    References:
        "Leveraging BERT for Extractive Text Summarization on Lectures" (Miller, 2019), section 3.

    Example:
        >>> summarize = Summarize(bert, tokenizer)
        >>> summarize(text, num_sentences=3)
    """

    def __init__(self, body, tokenizer):
        self.body = body
        self.tokenizer = tokenizer

    def __call__(self, text, num_sentences=3):
        """Summarises: groups the sentences' vectors and takes what is nearest to each centre.

        Args:
            text: a text of several sentences.
            num_sentences: how many to take.

        Returns:
            The sentences in the order of the text, joined by spaces; all if there are no more.

        Raises:
            ValueError: if `num_sentences` is not a positive integer or the text is empty.
        """
        check_sizes(num_sentences=num_sentences)
        sentences = split_sentences(text)
        if not sentences:
            raise ValueError(f"There is nothing to summarise. Received: {text!r}")
        if len(sentences) > num_sentences:
            vectors = self.vectors(sentences)
            centres = k_means(vectors, num_sentences)
            sentences = [sentences[i] for i in sorted(_nearest(vectors, centres))]
        return " ".join(sentences)

    def vectors(self, sentences):
        """The mean vector of each sentence: float32, (number of sentences, D)."""
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
    """Finds the answer to a question in a text.

    Args:
        model: an `AnsweringBert`.
        tokenizer: its `WordPieceTokenizer`.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.2.

    Example:
        >>> answer = FindAnswer(model, tokenizer)
        >>> answer("Who wrote it?", "It was written by Anna.")["answer"]
    """

    def __init__(self, model, tokenizer):
        self.model = model
        self.tokenizer = tokenizer

    def __call__(self, question, context, max_tokens=15):
        """Answers.

        Args:
            question: a text.
            context: the text that holds the answer; if it is long it is read in parts.
            max_tokens: tokens in an answer at most.

        Returns:
            A dictionary: "answer", the words of the text; "start" and "end", where they stand in
            it, in characters; "score", the probability of the first token times that of the last,
            in the part of the text that has them.

        Raises:
            ValueError: if question or text have no words or `max_tokens` is not a positive integer.
        """
        check_sizes(max_tokens=max_tokens)
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
    """Gives texts their labels.

    Args:
        model: an `EncoderClassifier`.
        tokenizer: its `WordPieceTokenizer`.
        labels: the names of its labels, in the order of its logits.

    Raises:
        ValueError: if there are not as many names as labels.

    Example:
        >>> classify = Classify.from_run("runs/labels")
        >>> classify(["is it far", "it is far"])
        [{'label': 'question', 'score': 0.98}, {'label': 'statement', 'score': 0.99}]
    """

    def __init__(self, model, tokenizer, labels):
        if len(labels) != model.num_labels:
            raise ValueError(
                f"The model has {model.num_labels} labels: name them all. Received: {labels}"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.labels = list(labels)

    @classmethod
    def from_run(cls, folder):
        """The classifier that `scripts/train_classifier.py` has left in a folder.

        Raises:
            FileNotFoundError: if a file is not there.
            ValueError: if a file is damaged.
        """
        folder = Path(folder)
        labels, path = folder / "labels.json", folder / "classifier.keras"
        if not (labels.exists() and path.exists()):
            raise FileNotFoundError(f"There is no classifier of texts here. Received: {folder}")
        names = json.loads(labels.read_text(encoding="utf-8"))
        return cls(keras.models.load_model(path), read_wordpieces(folder), names)

    def save(self, folder):
        """Writes what `from_run` reads: `tokenizer.json`, `labels.json`, `classifier.keras`."""
        folder = Path(folder)
        self.tokenizer.save(folder / "tokenizer.json")
        with atomic_replace(folder / "labels.json") as temporary:
            temporary.write_text(json.dumps(self.labels), encoding="utf-8")
        with atomic_replace(folder / "classifier.keras") as temporary:
            self.model.save(temporary)

    def __call__(self, texts):
        """Classifies.

        Args:
            texts: a text, or a list of texts; of long ones the beginning is read.

        Returns:
            A dictionary for each text: "label", and "score", its probability.
        """
        if isinstance(texts, str):
            return self([texts])[0]
        body, found = self.model.body, []
        encoded = [self.tokenizer.encode(text).ids for text in texts]
        rows = [self.tokenizer.add_special_tokens(ids, length=body.seq_length) for ids in encoded]
        for inputs, count in _batches(rows, body):
            for logits in _numpy(self.model(inputs, training=False))[:count]:
                best = logits.argmax()
                found.append({"label": self.labels[best], "score": float(_softmax(logits)[best])})
        return found


def split_sentences(text):
    """The sentences of a text, by their marks; blank lines end one as well."""
    sentences, begin = [], 0
    for end in _SENTENCE_END.finditer(text):
        if not _NO_END.search(text, begin, end.end()):
            sentences.append(text[begin : end.end()])
            begin = end.end()
    return [" ".join(s.split()) for s in [*sentences, text[begin:]] if s.strip()]


def k_means(vectors, k, iterations=100):
    """Centres of k groups.

    It begins with the vector nearest to the mean, and then again and again with the one furthest
    from all before: the same vectors give the same centres.

    Args:
        vectors: (n, D), n ≥ k.
        k: number of groups.
        iterations: how often the centres are moved at most.

    Returns:
        (k, D).

    References:
        "Least Squares Quantization in PCM" (Lloyd, 1982).
    """
    chosen = [int(_distances(vectors, vectors.mean(axis=0, keepdims=True)).argmin())]
    while len(chosen) < k:
        chosen.append(int(_distances(vectors, vectors[chosen]).min(axis=1).argmax()))
    centres = vectors[chosen]
    for _ in range(iterations):
        groups = _distances(vectors, centres).argmin(axis=1)
        moved = [vectors[groups == i].mean(axis=0) for i in range(k) if (groups == i).any()]
        if len(moved) < k or np.array_equal(moved, centres):  # fewer: some vectors are equal
            break
        centres = np.stack(moved)
    return centres


def _nearest(vectors, centres):
    """For each centre the nearest vector that no other centre has."""
    taken = []
    for distances in _distances(vectors, centres).T:
        taken.append(next(int(i) for i in np.argsort(distances, kind="stable") if i not in taken))
    return taken


def _distances(vectors, centres):
    """(n, D), (k, D) -> (n, k)."""
    return np.linalg.norm(vectors[:, None] - centres, axis=-1)


def _best_span(window, start, end, max_tokens):
    """The most probable (score, start, end) of a window, where [CLS] stands for: not here."""
    places = [0, *range(window.begin, window.begin + len(window.offsets))]
    start, end = _softmax(start[places])[1:], _softmax(end[places])[1:]
    scores = np.triu(start[:, None] * end)
    scores = np.tril(scores, max_tokens - 1)
    first, last = np.unravel_index(scores.argmax(), scores.shape)
    return float(scores[first, last]), window.offsets[first][0], window.offsets[last][1]


def _softmax(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def _batches(rows, body):
    """Pairs (ids, segments) as padded arrays for a body; yields them with their number."""
    for first in range(0, len(rows), _BATCH):
        some = rows[first : first + _BATCH]
        # Few shapes to compile: lengths and numbers of rows grow in steps.
        length = min(bucket_length(max(len(ids) for ids, _ in some)), body.seq_length)
        missing = min(bucket_length(len(some)), _BATCH) - len(some)
        ids, segments = (pad_ids([row[i] for row in some] + [[]] * missing, length) for i in (0, 1))
        yield (ids if body.num_segments is None else (ids, segments)), len(some)


def _numpy(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))

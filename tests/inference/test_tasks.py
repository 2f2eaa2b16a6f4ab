"""Classification, summarization and question answering, mostly with fake models."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import check_sizes_are_refused, random_weights

from keras_transformer.data.questions import answer_examples
from keras_transformer.data.wordpiece import WordPieceTokenizer
from keras_transformer.inference.tasks import (
    Classify,
    FindAnswer,
    Summarize,
    k_means,
    read_bert,
    split_sentences,
)
from keras_transformer.models import AnsweringBert, Bert, EncoderClassifier
from keras_transformer.settings import BlockSettings

TEXT = (
    "Anna has a cat. The cat of Anna is black! Tom likes trains. "
    'Does Tom like old trains? "Trains are fast." Rain fell on Monday.'
)
TOKENIZER = WordPieceTokenizer.train([TEXT], min_count=1)
SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "n": 1, "rate": 0.0}


def bert(seq_length=16, **kwargs):
    model = Bert(TOKENIZER.vocab_size, seq_length, BlockSettings(**SIZES), **kwargs)
    model.build((None, None))
    model.set_weights(random_weights(model))
    return model


class OneHotBody:
    """A fake body whose hidden states are the one-hot vectors of the tokens."""

    seq_length, num_segments = 16, 2

    def __call__(self, inputs, training=None):
        return ops.one_hot(inputs[0], TOKENIZER.vocab_size)


class SpanModel:
    """A fake answering model: every `start` and `end` token has a logit of 9, all others 0."""

    def __init__(self, start, end, seq_length=64, num_segments=2):
        self.body = type("Body", (), {"seq_length": seq_length, "num_segments": num_segments})
        self.start, self.end = (TOKENIZER.encode(word).ids[0] for word in (start, end))

    def __call__(self, inputs, training=None):
        ids = inputs if self.body.num_segments is None else inputs[0]
        return {"start": 9.0 * (ids == self.start), "end": 9.0 * (ids == self.end)}


class TestClassify:
    def make(self):
        model = EncoderClassifier(bert(), 3, pooling="mean")
        model.build((None, None))
        model.set_weights(random_weights(model))
        return Classify(model, TOKENIZER, ["a", "b", "c"])

    def test_returns_the_most_probable_label_and_its_probability(self):
        classify, texts = self.make(), [*split_sentences(TEXT), "", 9 * "Trains are old. "]
        logits = classify.model(TOKENIZER.encode_batch(texts, length=16))
        # Centers the logits, so that no label is rare.
        classify.model.classifier.bias.assign_sub(ops.mean(logits, axis=0))
        found = classify(texts)
        for text, result in zip(texts, found, strict=True):
            ids, segments = TOKENIZER.encode_batch([text], length=16)
            logits = ops.convert_to_numpy(classify.model((ids, segments)))[0].astype("float64")
            probabilities = np.exp(logits) / np.exp(logits).sum()
            assert result["label"] == "abc"[probabilities.argmax()]
            assert result["score"] == pytest.approx(probabilities.max(), abs=1e-4)
            assert classify(text) == pytest.approx(result)
        assert len({result["label"] for result in found}) > 1
        assert classify([]) == []
        with pytest.raises(TypeError, match=r"a list of texts\. Received: generator"):
            classify(text for text in texts)

    def test_wrong_number_of_labels_is_refused(self):
        classify = self.make()
        with pytest.raises(ValueError, match=r"3 labels.*Received: \['a'\]"):
            Classify(classify.model, TOKENIZER, ["a"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{}", r"must contain a JSON list\. Received: \{\}$"),
            ('["a", ["b"]]', r"must contain only names\. Received: \['a', \['b'\]\]$"),
            (f'["{2**20 * "a"}"]', r"must have at most 1,048,576 bytes\."),
        ],
        ids=("object", "nested", "large"),
    )
    def test_invalid_labels_are_refused(self, tmp_path, content, message):
        for name in ("labels.json", "classifier.keras"):
            (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=rf"labels\.json {message}"):
            Classify.from_run(tmp_path)

    def test_a_saved_classifier_predicts_the_same(self, tmp_path):
        classify = self.make()
        classify.model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        classify.save(tmp_path)
        loaded = Classify.from_run(tmp_path)
        assert loaded([TEXT])[0] == pytest.approx(classify([TEXT])[0])
        assert not loaded.model.compiled

    def test_unpaired_surrogates_are_refused(self):
        with pytest.raises(ValueError, match=r"Received: '\\ud800' in text 2 of a list of texts$"):
            self.make()(["fine", "\ud800"])

    def test_folder_without_a_classifier_is_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="holds no text classifier"):
            Classify.from_run(tmp_path)


class TestReadBert:
    def test_reads_the_body_of_a_classifier(self, tmp_path):
        model = EncoderClassifier(bert(), 2)
        model.build((None, None))
        model.save(tmp_path / "classifier.keras")
        TOKENIZER.save(tmp_path / "tokenizer.json")
        body, tokenizer = read_bert(tmp_path)
        inputs = tokenizer.encode_batch([TEXT], length=16)
        expected = ops.convert_to_numpy(model.body(inputs))
        np.testing.assert_allclose(ops.convert_to_numpy(body(inputs)), expected, atol=1e-6)

    @pytest.mark.parametrize("lowercase", (True, False))
    def test_reads_vocab_txt(self, lowercase, tmp_path):
        expected = WordPieceTokenizer.train([TEXT], min_count=1, lowercase=lowercase)
        body = bert()
        body.save(tmp_path / "bert.keras")
        lines = "".join(f"{x}\n" for x in expected.tokens(range(expected.vocab_size)))
        (tmp_path / "vocab.txt").write_text(lines, encoding="utf-8")
        if not lowercase:
            (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
        _, tokenizer = read_bert(tmp_path)
        for text in (TEXT, "Anna's [SEP] caté ANNA", ""):
            assert tokenizer.encode(text) == expected.encode(text)
        (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\nanna\n")
        with pytest.raises(ValueError, match=r"Received: the ids \[0, 1, None, None, None\]"):
            read_bert(tmp_path)

    def write_vocabulary(self, folder, settings):
        bert().save(folder / "bert.keras")
        lines = "\n".join(TOKENIZER.tokens(range(TOKENIZER.vocab_size)))
        (folder / "vocab.txt").write_text(lines, encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ("[]", r"must contain a JSON object\. Received: \[\]$"),
            ('{"do_lower_case": "no"}', r"must be true or false\. Received: 'no'$"),
        ],
    )
    def test_invalid_settings_are_refused(self, tmp_path, settings, message):
        self.write_vocabulary(tmp_path, settings)
        with pytest.raises(ValueError, match=message):
            read_bert(tmp_path)

    def test_a_vocabulary_that_is_not_utf_8_is_refused(self, tmp_path):
        self.write_vocabulary(tmp_path, "{}")
        (tmp_path / "vocab.txt").write_bytes(b"[PAD]\n\xff")
        with pytest.raises(ValueError, match=r"vocab\.txt must be in UTF-8"):
            read_bert(tmp_path)


class TestSplitSentences:
    def test_splits_after_punctuation_marks(self):
        assert split_sentences("One. Two! Three?  Four… Five") == [
            "One.",
            "Two!",
            "Three?",
            "Four…",
            "Five",
        ]

    def test_closing_quotes_and_brackets_stay_with_their_sentence(self):
        found = split_sentences('He said: "No." She (Ann.) left. (So did I.) "Yes!"')
        assert found == ['He said: "No."', "She (Ann.) left.", "(So did I.)", '"Yes!"']

    def test_periods_of_abbreviations_and_numbers_do_not_split(self):
        for text in ("Mr. Klein met Dr. Weber.", "It costs 3.50 euros.", "J. S. Bach", "e.g. Anna"):
            assert split_sentences(text) == [text]

    def test_splits_at_blank_lines_but_not_at_line_breaks(self):
        assert split_sentences("A title\n\nA sentence\nof two lines.\n") == [
            "A title",
            "A sentence of two lines.",
        ]

    def test_blank_text_has_no_sentences(self):
        assert split_sentences(" \n\n ") == []


class TestKMeans:
    def test_separated_clusters_are_found(self):
        rng = np.random.default_rng(0)
        centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
        vectors = (centers[:, None] + rng.normal(scale=0.5, size=(3, 20, 2))).reshape(-1, 2)
        found = k_means(vectors[rng.permutation(60)], 3)
        distances = np.linalg.norm(found[:, None] - centers, axis=-1)
        assert sorted(distances.argmin(axis=1)) == [0, 1, 2] and distances.min(axis=1).max() < 0.5

    def test_each_center_is_the_mean_of_its_cluster(self):
        vectors = np.random.default_rng(1).normal(size=(50, 4))
        centers = k_means(vectors, 5)
        nearest = np.linalg.norm(vectors[:, None] - centers, axis=-1).argmin(axis=1)
        for i, center in enumerate(centers):
            np.testing.assert_allclose(center, vectors[nearest == i].mean(axis=0))

    def test_with_one_cluster_per_vector_the_centers_are_the_vectors(self):
        vectors = np.array([[3.0], [1.0], [7.0]])
        assert sorted(k_means(vectors, 3).ravel()) == [1, 3, 7]

    def test_equal_vectors_are_accepted(self):
        assert k_means(np.ones((4, 2)), 3).shape == (3, 2)


class TestSummarize:
    def test_selects_one_sentence_per_cluster_in_text_order(self):
        """Sentences share words only within their cluster."""
        text = "Anna has a cat. Tom likes trains. Anna has a black cat. Tom likes old trains."
        sentences = split_sentences(text)
        found = split_sentences(Summarize(OneHotBody(), TOKENIZER)(text, num_sentences=2))
        assert len(found) == 2 and found == [s for s in sentences if s in found]
        assert {sentence.split()[0] for sentence in found} == {"Anna", "Tom"}

    @pytest.mark.parametrize("count", (1, 3, 5))
    def test_returns_the_requested_number_of_sentences(self, count):
        found = Summarize(bert(), TOKENIZER)(TEXT, num_sentences=count)
        sentences = split_sentences(TEXT)
        assert split_sentences(found) == [s for s in sentences if s in found]
        assert len(split_sentences(found)) == count

    def test_a_short_text_is_its_own_summary(self):
        assert Summarize(bert(), TOKENIZER)(TEXT, num_sentences=6) == TEXT
        assert Summarize(bert(), TOKENIZER)(TEXT, num_sentences=60) == TEXT

    def test_duplicate_sentences_count_separately(self):
        found = Summarize(bert(), TOKENIZER)("Tom likes trains. " * 5, num_sentences=3)
        assert found == "Tom likes trains. " * 2 + "Tom likes trains."

    @pytest.mark.parametrize("segments", (None, 2))
    def test_sentence_vectors_do_not_depend_on_the_batch(self, segments):
        summarize = Summarize(bert(num_segments=segments), TOKENIZER)
        # Some sentences are truncated, and there are more than fit into one batch.
        sentences = [*split_sentences(TEXT), "Anna " * 40] * 6
        vectors = summarize.vectors(sentences)
        assert vectors.shape == (42, 8)
        for i in (0, 6, 40):
            alone = summarize.vectors([sentences[i]])
            np.testing.assert_allclose(vectors[i], alone[0], atol=1e-5)

    def test_empty_text_and_bad_num_sentences_are_refused(self):
        summarize = Summarize(OneHotBody(), TOKENIZER)
        with pytest.raises(ValueError, match=r"nothing to summarize: .*Received: ' '$"):
            summarize(" ")
        check_sizes_are_refused(lambda **options: summarize(TEXT, **options), "num_sentences")


class TestFindAnswer:
    @pytest.mark.parametrize(("start", "end"), [("black", "black"), ("old", "trains")])
    @pytest.mark.parametrize("segments", (None, 2))
    def test_answer_spans_the_predicted_start_and_end(self, start, end, segments):
        model = SpanModel(start, end, num_segments=segments)
        found = FindAnswer(model, TOKENIZER)("Who?", TEXT)
        assert set(found) == {"score", "start", "end", "answer"}
        assert found["answer"] == TEXT[found["start"] : found["end"]]
        assert found["answer"].startswith(start) and found["answer"].endswith(end)
        assert 0 < found["score"] <= 1

    def test_score_is_the_product_of_start_and_end_probability(self):
        """One of the five tokens has a logit of 9; the other four and [CLS] have 0."""
        found = FindAnswer(SpanModel("black", "cat"), TOKENIZER)("Who?", "Tom has a black cat")
        probability = np.exp(9) / (np.exp(9) + 5)
        assert found["answer"] == "black cat"
        assert found["score"] == pytest.approx(probability**2, rel=1e-5)

    def test_answer_is_never_in_the_question(self):
        found = FindAnswer(SpanModel("anna", "cat"), TOKENIZER)(
            "Has Anna a cat", "Tom has Anna, a cat"
        )
        assert (found["start"], found["answer"]) == (8, "Anna, a cat")

    def test_answer_does_not_end_before_it_starts(self):
        found = FindAnswer(SpanModel("cat", "tom"), TOKENIZER)("Who?", "Tom has a cat")
        assert found["answer"] in ("Tom", "cat")

    def test_max_tokens_limits_the_answer(self):
        answer = FindAnswer(SpanModel("anna", "black"), TOKENIZER)
        assert answer("Who?", "Anna is old, Tom is black", max_tokens=7)["answer"].count(" ") == 5
        short = answer("Who?", "Anna is old, Tom is black", max_tokens=6)["answer"]
        assert short.startswith("Anna") != short.endswith("black")

    @pytest.mark.parametrize("length", (12, 17, 40))
    def test_answer_deep_in_a_long_text_is_found(self, length):
        text = f"{TEXT} {'Rain fell. ' * 70} Tom has old black trains. {'Rain fell. ' * 33}"
        text = text.replace("like old", "like")
        found = FindAnswer(SpanModel("old", "trains", seq_length=length), TOKENIZER)("Who?", text)
        assert found["answer"] == "old black trains"
        assert found["start"] == text.index("old black")

    def test_empty_question_or_context_is_refused(self):
        answer = FindAnswer(SpanModel("anna", "cat"), TOKENIZER)
        for question, text in (("", TEXT), ("Who?", "")):
            with pytest.raises(ValueError, match="Give a question and a context"):
                answer(question, text)
        check_sizes_are_refused(lambda **options: answer("Who?", TEXT, **options), "max_tokens")


@pytest.mark.slow
def test_model_learns_to_answer():
    """Each text lists people and their pets. The question is a pet; the answer is its position."""
    names, pets = ("anna", "tom", "lena", "paul", "ida"), ("cat", "dog", "cow", "hen")
    rng = np.random.default_rng(0)
    tokenizer = WordPieceTokenizer.train([" ".join(names + pets) + " ."], min_count=1)
    examples = []
    for _ in range(900):
        owners, animals = rng.permutation(names)[:3], rng.permutation(pets)[:3]
        text = " ".join(f"{name} {pet} ." for name, pet in zip(owners, animals, strict=True))
        start = text.index(animals[0])
        examples.append((animals[0], text, start, start + 3))
    inputs, spans = answer_examples(tokenizer, examples, 14)
    keras.utils.set_random_seed(0)
    settings = BlockSettings(h=2, d_model=32, d_ff=64, rate=0.0)
    model = AnsweringBert(Bert(tokenizer.vocab_size, 14, settings, pooler=None))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    jit_compile = keras.config.backend() == "jax"
    model.compile(
        keras.optimizers.Adam(0.005), {"start": loss, "end": loss}, jit_compile=jit_compile
    )
    model.fit(inputs, spans, batch_size=30, epochs=8, verbose=0)
    answer = FindAnswer(model, tokenizer)
    for name, pet in zip(names, pets, strict=False):
        text = f"ida {pet} . tom {'hen' if pet != 'hen' else 'cat'} . {name} cow ."
        assert answer(pet, text)["answer"] == pet

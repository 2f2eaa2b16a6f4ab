"""Required texts come out, forbidden words do not, and nothing else changes."""

import functools
import re

import keras
import numpy as np
import pytest
from layer_contract import numpy
from tiny import PAIRS, make_dataset, make_model
from translating import make_translate, shared_translate, trained

from keras_transformer import BlockSettings, TransformerModel, Translate
from keras_transformer.data.corpus import bundled_run_path
from keras_transformer.data.tokenizers import SubwordTokenizer
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.terms import TermMatcher, missing_texts

SENTENCES = ["one two three", "four", "two two five one", "five four"]
SEARCHES = {
    "greedy": {},
    "beam": {"beam_size": 3},
    "n-best": {"beam_size": 3, "n_best": 2},
    "sampling": {"temperature": 1.0, "n_best": 2, "seed": 5},
}
EACH_SEARCH = pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
# A word of the vocabulary, one that it lacks, and a phrase.
GLOSSARY = {"two": "vier", "five": "xyz", "one two": "drei fünf"}
EXPECTED = [["drei fünf"], [], ["vier", "vier", "xyz"], ["xyz"]]
SETTINGS = BlockSettings(h=2, d_model=16, d_ff=32, n=1)
SPANS = "one {name} two 12.5 http://a.b/c?d=1 me@mail.example.org"


def texts(hypotheses):
    return [[x.text for x in some] for some in hypotheses]


def occurrences(text, translation):
    return len(re.findall(rf"(?<!\w){re.escape(text)}(?!\w)", translation))


@functools.cache
def subword_translate():
    """Returns an untrained model with sub-words, whose words can be spelled in many ways."""
    tokenizer = SubwordTokenizer.train([x for pair in PAIRS for x in pair], vocab_size=30)
    keras.utils.set_random_seed(3)
    model = TransformerModel(30, 30, settings=SETTINGS)
    model.build(((None, None), (None, None)))
    return Translate(model, tokenizer, tokenizer)


class Doubled(TransformerModel):
    """A model without steps: its call is its own."""

    def decode(self, *args, **kwargs):
        return super().decode(*args, **kwargs)


@EACH_SEARCH
class TestGlossary:
    def test_terms_come_out_and_other_sentences_do_not_change(self, options):
        found = texts(shared_translate().hypotheses(SENTENCES, glossary=GLOSSARY, **options))
        plain = texts(shared_translate().hypotheses(SENTENCES, **options))
        assert found[1] == plain[1]
        for some, terms in zip(found, EXPECTED, strict=True):
            for text in some:
                assert all(occurrences(x, text) >= terms.count(x) for x in terms), text
        alone = [shared_translate().hypotheses(x, glossary=GLOSSARY, **options) for x in SENTENCES]
        assert [texts(some)[0] for some in alone] == found

    def test_terms_of_sub_words_are_whole_words(self, options):
        glossary = {"one": "zwei", "three": "xyz", "four": "ein"}
        sentences = [source for source, _ in PAIRS[::25]]
        found = subword_translate().hypotheses(sentences, glossary=glossary, **options)
        for sentence, some in zip(sentences, texts(found), strict=True):
            assert some
            for source, target in glossary.items():
                assert all(occurrences(target, x) >= sentence.count(source) for x in some)
            assert all(text.count("xyz") == sentence.count("three") for text in some)


@pytest.mark.slow
@pytest.mark.parametrize("options", [SEARCHES["n-best"], SEARCHES["sampling"]], ids=str)
def test_layers_with_and_without_a_cache_find_the_same_as_numpy(options):
    copy = make_model(make_dataset(), model_class=Doubled)
    copy.set_weights(trained()[1].get_weights())
    terms = {"two": "vier", "five": "xyz"}
    arguments = {"glossary": terms, "forbidden_words": ["eins", "drei"], **options}
    expected = shared_translate().hypotheses(SENTENCES, **arguments)
    jit_compile = keras.config.backend() == "jax"
    with pytest.warns(UserWarning, match="without a cache"):
        uncached = make_translate(copy, jit_compile=jit_compile).hypotheses(SENTENCES, **arguments)
    cached = make_translate(jit_compile=jit_compile).hypotheses(SENTENCES, **arguments)
    for found in (cached, uncached):
        assert texts(found) == texts(expected)
        scores = [[x.score for some in result for x in some] for result in (found, expected)]
        np.testing.assert_allclose(*scores, rtol=1e-3)


@EACH_SEARCH
@pytest.mark.parametrize("make", (shared_translate, subword_translate))
def test_forbidden_words_do_not_come_out(make, options):
    free = texts(make().hypotheses(SENTENCES, **options))
    words = sorted({word for some in free for text in some for word in text.split()})[:3]
    for forbidden in ([words[0]], words, [free[0][0] or "ein"]):
        found = texts(make().hypotheses(SENTENCES, forbidden_words=forbidden, **options))
        for some, before in zip(found, free, strict=True):
            assert not any(occurrences(word, text) for word in forbidden for text in some)
            if not options and not any(occurrences(x, y) for x in forbidden for y in before):
                assert make is subword_translate or some == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"prefixes": "drei", "forbidden_words": ["drei"]},
        {"glossary": {"one": "vier drei"}, "forbidden_words": ["drei"]},
        {"required_words": ["vier drei"], "forbidden_words": ["drei"]},
    ],
    ids="-".join,
)
def test_a_forbidden_word_in_a_given_text_cannot_be_avoided(arguments, monkeypatch):
    translate, searches = subword_translate(), []
    run = translate._search.run
    monkeypatch.setattr(
        translate._search, "run", lambda *x, **y: searches.append(1) or run(*x, **y)
    )
    assert "drei" in translate("one two", **arguments)
    assert len(searches) < 9


@EACH_SEARCH
def test_required_words_and_spans_come_out(options):
    words = ["drei", "xyz", "zyx"]  # with the spans, more than are tried together
    arguments = {"required_words": words, "copy_spans": True, **options}
    for some in texts(shared_translate().hypotheses([SPANS, "one"], **arguments)):
        assert all(occurrences(word, text) for text in some for word in words)
    for text in texts(shared_translate().hypotheses(SPANS, **arguments))[0]:
        assert all(span in text.split() for span in SPANS.split() if not span.isalpha())


def test_a_term_comes_out_where_its_source_is_translated():
    translate = Translate.from_run(bundled_run_path())
    sentence, expected = "I want to buy a new car tomorrow.", "Ich will morgen ein neues {} kaufen."
    assert translate(sentence) == expected.format("Auto")
    for term in ("Fahrrad", "Blubb"):  # a known word and an unknown one
        assert translate(sentence, glossary={"car": term}) == expected.format(term)
    assert translate(sentence, glossary={"new car": "Rad"}) == "Ich will morgen ein Rad kaufen."


def test_prefix_attention_and_scores():
    translate = shared_translate()
    arguments = {"prefixes": "vier", "glossary": {"two": "xyz"}, "beam_size": 2}
    found = translate.hypotheses("one two three", return_attention=True, **arguments)[0][0]
    assert found.text.startswith("vier ") and "xyz" in found.text
    assert found.attention["cross"].shape[2:] == (len(found.tokens), len(found.source_tokens))
    alone = translate.hypotheses("one", prefixes="eins zwei", required_words=["zwei"])[0][0]
    same = translate.hypotheses("one", prefixes="eins zwei")[0][0]
    assert alone == same._replace(score=alone.score)
    assert numpy(alone.score) == pytest.approx(same.score, abs=1e-5)
    assert translate("", glossary=GLOSSARY) == ""


def test_a_text_without_room_is_refused():
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size, 6, 6)
    model = TransformerModel(*sizes, settings=SETTINGS)
    model.build(((None, None), (None, None)))
    with pytest.raises(ValueError, match=r"does not fit.* Received: 'one two'$"):
        make_translate(model)("one two", required_words=["eins zwei drei vier fünf eins zwei"])


class TestTermMatcher:
    @pytest.mark.parametrize(
        ("sentence", "expected"),
        (
            ("A Dog in the dogs' house.", ["Hund"]),
            ("Dog houses and a Dog   House!", ["Hund", "Hütte"]),  # the longest term
            ("The us and the US", ["USA"]),  # capitals of a term count
            ("doghouse", []),
            ("", []),
        ),
    )
    def test_terms(self, sentence, expected):
        glossary = {"dog": "Hund", "dog house": "Hütte", "US": "USA"}
        matcher = TermMatcher(SearchOptions(glossary=glossary), str)
        assert [x.text for x in matcher(sentence)] == expected

    def test_spans(self):
        spans = [
            "https://example.org/a_(b)?c=1",
            "www.example.org",
            "{name}",
            "${user.name}",
            "{{count}}",
            "%(total)s",
            "%d",
            "joe.doe+x@mail.example.org",
            "1,234.50",
            "2016-11-05",
            "15:30",
        ]
        matcher = TermMatcher(SearchOptions(copy_spans=True), str)
        for sentence in (f"See {', '.join(spans)}.", f"({') ('.join(spans)})"):
            found = matcher(sentence)
            assert [x.text for x in found] == spans
            assert [sentence[slice(*x.span)] for x in found] == spans
        assert matcher("B2B a@ 5th {} %-sign user@host") == []

    def test_long_texts_take_linear_time(self):
        matcher = TermMatcher(SearchOptions(copy_spans=True, glossary={"a b": "c"}), str)
        for text in ("a" * 100_000, "1." * 50_000, "{" * 100_000, "@-" * 50_000, "a." * 50_000):
            matcher(text)

    def test_a_text_within_another_is_not_another(self):
        assert missing_texts(["5", "5.5"], "it is 5.5") == ["5"]
        assert missing_texts(["a", "a"], "a b") == ["a"]
        assert missing_texts(["Hund", "{x}"], "Hunde {x}") == ["Hund"]

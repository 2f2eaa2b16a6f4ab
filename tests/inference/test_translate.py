"""Translation of sentences with `Translate`."""

import copy
import os
import shutil
from pathlib import Path

import pytest
from quick import some_of
from translating import limited_model, make_translate, reference_greedy_translate, write_run

from keras_transformer import RunFolder, Translate
from keras_transformer.data.corpus import bundled_run_path, default_run_path

# Each kind of search, with options whose effect depends on the sentence.
KINDS = {
    "greedy": {},
    "beam": {"beam_size": 3, "n_best": 2},
    "sampling": {"temperature": 1.0, "n_best": 2},
    "rules": {"no_repeat_ngram_size": 2, "min_length_ratio": 1.5, "max_length_ratio": 1.7},
}
SENTENCES = ["five", "one two", "three one two", "four four", "one two three four five " * 2]
SHORT = SENTENCES[:4]  # in one length bucket
PREFIXES = ["zwei eins", "drei", "sieben acht", "fünf", ""]


def test_default_is_greedy_search(model, dataset, sources, translate):
    assert len(set(translate(sources))) > 5
    assert translate(sources) == reference_greedy_translate(model, dataset, sources)


def test_returns_a_string_for_a_string_and_a_list_for_a_list(translate):
    alone = translate("two three")
    assert isinstance(alone, str) and alone
    assert translate(["two three"]) == [alone]
    assert translate(("two three", "one")) == [alone, translate("one")]
    assert translate([]) == translate(()) == []
    assert translate.hypotheses([]) == []


def check_same(all_found, all_expected):
    for found, expected in zip(all_found, all_expected, strict=True):
        assert [x.tokens for x in found] == [x.tokens for x in expected]
        assert [x.text for x in found] == [x.text for x in expected]
        assert [x.score for x in found] == pytest.approx([x.score for x in expected], abs=1e-4)


@pytest.mark.parametrize("kind", some_of(list(KINDS), quick=("greedy", "beam", "rules")))
def test_other_sentences_and_their_order_change_nothing(translate, kind):
    options = KINDS[kind]
    prefixes = PREFIXES if kind in ("beam", "rules") else [""] * 5
    batched = translate.hypotheses(SENTENCES, prefixes, **options)
    reversed_batch = translate.hypotheses(SENTENCES[::-1], prefixes[::-1], **options)[::-1]
    alone = [
        translate.hypotheses(sentence, prefix, **options)[0]
        for sentence, prefix in zip(SHORT, prefixes, strict=False)
    ]
    check_same(reversed_batch, batched)
    check_same(alone, batched[:4])


def test_batch_size_changes_nothing(translate):
    small_batches = make_translate(batch_tokens=24).hypotheses(SENTENCES, PREFIXES, **KINDS["beam"])
    check_same(small_batches, translate.hypotheses(SENTENCES, PREFIXES, **KINDS["beam"]))


def test_arguments_are_not_modified(translate):
    sentences, prefixes = ["  Two   three ", "", "one"], ["", "eins", " drei "]
    before = copy.deepcopy([sentences, prefixes])
    translate(sentences, prefixes)
    assert [sentences, prefixes] == before


@pytest.mark.parametrize("empty", ["", " ", "\n\t"])
def test_empty_sentence_has_an_empty_translation(translate, empty):
    assert translate(empty) == ""
    assert translate(["one", empty]) == [translate("one"), ""]
    first, second = translate.hypotheses([empty, empty], beam_size=2, n_best=2)
    assert first == second == [("", 0.0, ["[END]"], ["[END]"], None)]
    assert translate.hypotheses([empty], return_scores=False)[0][0].score is None
    first[0].tokens.append("changed by the user")
    assert second[0].tokens == second[0].source_tokens == ["[END]"]


@pytest.mark.parametrize("sentence", ["seven", "one 🙂 two", "[END] one", "ONE", "x" * 5000, "¿?"])
def test_unknown_words_and_characters_are_accepted(translate, sentence):
    translation = translate(sentence)
    assert isinstance(translation, str)
    assert "[" not in translation  # no special token


def test_a_very_long_sentence_is_refused(translate):
    message = r"Sentence 2 is too long: split it.* at most 1024 tokens\. Received: 1,025 tokens$"
    with pytest.raises(ValueError, match=message):
        translate(["one", "one " * 1025])


@pytest.mark.parametrize("half", ["\ud83d", "f\udcfcr", "one \udfff"])
def test_half_characters_are_refused(translate, half):
    for what, arguments in {
        "2 of a list of sentences": (["one", half],),
        "2 of a list of prefixes": (["one", "two"], ["", half]),
        "1 of a list of sentences": (half,),
    }.items():
        with pytest.raises(ValueError, match=rf"Unicode: decode .* in text {what}$"):
            translate(*arguments)
    with pytest.raises(ValueError, match=r"text 3 of a list of sentences$"):
        list(translate.stream(["one", "two", half], window=2))


def test_sentence_of_the_maximum_length_is_translated(translate):
    assert 0 < len(translate("one " * 1024, max_length_ratio=0).split()) <= 8


@pytest.mark.parametrize("engine", ["auto", "layers"])
def test_the_lengths_of_a_model_hold(engine):
    translate = make_translate(limited_model(enc_seq_length=5, dec_seq_length=3), engine=engine)
    for options in ({}, {"glossary": {"one": "eins"}}):
        [[found]] = translate.hypotheses(["one two three four"], **options)  # 5 with the end
        assert len(found.tokens) == 3
    with pytest.raises(ValueError, match=r"at most 4 tokens. Received: 5 tokens"):
        translate("one two three four five")


@pytest.mark.parametrize("other", [None, 5, b"one", ["one", 2], {"one": 1}, iter(["one"])])
def test_other_types_are_refused(translate, other):
    for method in (translate, translate.hypotheses):
        with pytest.raises(TypeError, match="Give a text or a list of sentences"):
            method(other)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam_size": 0}, ValueError, "`beam_size` must be a positive int"),
        ({"beam": 3}, TypeError, "unexpected keyword argument 'beam'"),
    ],
)
def test_bad_options_are_refused(translate, options, error, message):
    for method in (translate, translate.hypotheses):
        for sentences in ("one", [], ["one"]):
            with pytest.raises(error, match=message):
                method(sentences, **options)
    with pytest.raises(error, match=message):
        next(translate.stream(["one"], **options))


# Prefixes


@pytest.mark.parametrize("options", [KINDS["greedy"], KINDS["beam"]], ids=["greedy", "beam"])
def test_a_translation_begins_with_its_prefix(translate, dataset, options):
    found = translate.hypotheses(SENTENCES, PREFIXES, **options)
    for hypotheses, prefix in zip(found, PREFIXES, strict=True):
        assert len(hypotheses) == options.get("n_best", 1)
        for hypothesis in hypotheses:
            assert f"{hypothesis.text} ".startswith(f"{prefix} ".lstrip())
            ids = dataset.target_tokenizer.encode(prefix)
            assert hypothesis.tokens[: len(ids)] == dataset.target_tokenizer.tokens(ids)
    free = translate.hypotheses(SENTENCES, **options)[4]
    assert [x.text for x in found[4]] == [x.text for x in free]


def test_prefix_is_continued_greedily(translate, model, dataset):
    prefixes = ["", "eins", "drei", "fünf fünf", "zwei"]
    sentences = [*SHORT, "two five"]
    expected = reference_greedy_translate(model, dataset, sentences, prefixes)
    assert translate(sentences, prefixes) == expected
    assert expected != translate(sentences)
    assert translate(sentences[1], "eins") == expected[1]


def test_prefix_must_be_shorter_than_the_maximum_length(translate):
    prefix = " ".join(["eins"] * 9)  # the maximum length for one word is 2 * 1 + 8 tokens
    assert translate("one", prefix).startswith(prefix)
    message = r"Prefix 2 is too long: .* may have 10 tokens\. .*Received: 10 tokens"
    with pytest.raises(ValueError, match=message):
        translate(["one", "one"], ["", prefix + " eins"])


@pytest.mark.parametrize(
    ("sentences", "prefixes", "error", "message"),
    [
        (["one", "two"], ["eins"], ValueError, "for each of the 2 sentences.*Received: 1$"),
        (["one"], ["eins", "zwei"], ValueError, "for each of the 1 sentences.*Received: 2$"),
        (["one"], [], ValueError, "Received: 0$"),
        (["one"], "eins", TypeError, "a list of prefixes. Received: str: 'eins'"),
        ("one", ["eins"], TypeError, "a list of prefixes"),
        (["one"], [None], TypeError, "a list of prefixes"),
    ],
)
def test_bad_prefixes_are_refused(translate, sentences, prefixes, error, message):
    with pytest.raises(error, match=message):
        translate(sentences, prefixes)


# Construction


def test_tokenizers_of_another_size_are_refused(model, dataset):
    class Other:
        vocab_size = 99

    with pytest.raises(ValueError, match="Received: tokenizers of 99 and"):
        Translate(model, Other(), dataset.target_tokenizer)


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_bad_batch_tokens_are_refused(size):
    with pytest.raises(ValueError, match="`batch_tokens` must be a positive int"):
        make_translate(batch_tokens=size)


def test_from_run_without_a_folder_loads_the_newest_run(translate, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert default_run_path() == bundled_run_path()
    for name, time in (("old", 2), ("deeper/new", 3), ("oldest", 1)):
        write_run(Path("runs", name))
        os.utime(RunFolder(f"runs/{name}").weights, (time, time))
    shutil.rmtree("runs/old/weights")  # no weights yet
    assert default_run_path() == Path("runs/deeper/new")
    assert Translate.from_run()(SHORT[:2]) == translate(SHORT[:2])
    assert (
        capsys.readouterr().out == "Loading runs/deeper/new; name the folder to load another run.\n"
    )


def test_from_run(translate, tmp_path):
    write_run(tmp_path)
    from_run = Translate.from_run(tmp_path, batch_tokens=16)
    assert from_run.batch_tokens == 16
    assert from_run(SHORT[:2]) == translate(SHORT[:2])

"""`PrepareDataset`: filters, vocabularies, batches, and a split that shares no source."""

import re

import pytest

from keras_transformer._utils.special_tokens import END_ID, START_ID, UNKNOWN_ID
from keras_transformer.data.dataset import PrepareDataset
from keras_transformer.data.pairs import write_pairs
from keras_transformer.data.tokenizers import SubwordTokenizer, WordTokenizer

# Each source has a unique word, and one to three translations with unique words.
TARGETS = {f"say s{i}": [f"sage t{i}{x}" for x in "abc"[: 1 + i % 3]] for i in range(100)}
PAIRS = [
    (source, targets[k])
    for k in range(3)
    for source, targets in TARGETS.items()
    if k < len(targets)
]
PARTS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def dataset():
    return PrepareDataset(seed=1)(PAIRS)


def sources(dataset, part):
    return [source for source, _ in getattr(dataset, part)]


def split_of(dataset):
    return [getattr(dataset, part) for part in PARTS]


# The split


@pytest.mark.parametrize("seed", range(5))
def test_no_source_sentence_is_in_two_parts(seed):
    train, validation, test = (set(sources(PrepareDataset(seed=seed)(PAIRS), p)) for p in PARTS)
    assert not train & validation and not train & test and not validation & test
    assert train | validation | test == set(TARGETS)


def test_spelling_variants_of_a_source_are_in_one_part():
    spellings = ["ein Caf\u00e9", "ein Cafe\u0301", "ein  Caf\u00e9"]
    pairs = [(source, f"t{i}") for i, source in enumerate(spellings)]
    pairs += [(f"s{i}", f"t{i}") for i in range(17)]
    for seed in range(5):
        prepared = PrepareDataset(seed=seed)(pairs)
        normalized = [
            {prepared.source_tokenizer.normalize(source) for source in sources(prepared, part)}
            for part in PARTS
        ]
        assert len(set.union(*normalized)) == sum(map(len, normalized)) == 18


def test_shares_count_distinct_sources(dataset):
    assert [len(set(sources(dataset, part))) for part in PARTS] == [80, 10, 10]
    halved = PrepareDataset(validation_share=0.2, test_share=0.3)(PAIRS)
    assert [len(set(sources(halved, part))) for part in PARTS] == [50, 20, 30]


def test_at_most_2000_sentences_are_held_out_unless_a_share_is_given():
    pairs = [(f"word {i}", f"Wort {i}") for i in range(25_000)]
    dataset = PrepareDataset()(pairs)
    assert [len(getattr(dataset, part)) for part in PARTS] == [21_000, 2000, 2000]
    dataset = PrepareDataset(test_share=0.2)(pairs)
    assert [len(getattr(dataset, part)) for part in PARTS] == [18_000, 2000, 5000]


def test_all_translations_of_a_source_are_in_the_same_part(dataset):
    for pairs in (dataset.train, dataset.validation):
        found = {}
        for source, target in pairs:
            found.setdefault(source, []).append(target)
        assert found == {source: TARGETS[source] for source in found}


def test_the_test_part_has_each_source_once_with_all_references(dataset):
    assert len(sources(dataset, "test")) == len(set(sources(dataset, "test"))) == 10
    assert dataset.test == [(source, TARGETS[source]) for source in sources(dataset, "test")]
    assert {len(references) for _, references in dataset.test} == {1, 2, 3}


def test_the_split_depends_only_on_the_seed(dataset):
    assert split_of(PrepareDataset(seed=1)(PAIRS)) == split_of(dataset)
    tests = {frozenset(sources(PrepareDataset(seed=seed)(PAIRS), "test")) for seed in range(5)}
    assert len(tests) == 5


# The vocabularies


def test_vocabularies_contain_only_training_words(dataset):
    for side, tokenizer in enumerate((dataset.source_tokenizer, dataset.target_tokenizer)):
        assert all(UNKNOWN_ID not in tokenizer.encode(pair[side]) for pair in dataset.train)
        assert all(UNKNOWN_ID in tokenizer.encode(pair[side]) for pair in dataset.validation)
    assert all(UNKNOWN_ID in dataset.source_tokenizer.encode(source) for source, _ in dataset.test)
    references = [reference for _, references in dataset.test for reference in references]
    assert all(UNKNOWN_ID in dataset.target_tokenizer.encode(text) for text in references)
    # "say" and one word per source; "sage" and one word per translation.
    assert dataset.source_tokenizer.vocab_size == 4 + 1 + 80
    assert dataset.target_tokenizer.vocab_size == 4 + 1 + len(dataset.train)


def test_rare_words_are_unknown():
    dataset = PrepareDataset(min_count=2)(PAIRS)
    assert dataset.target_tokenizer.vocab_size == 4 + 1
    assert dataset.target_tokenizer.encode(dataset.train[0][1]) == [4, UNKNOWN_ID]


# Given parts

HELD_OUT = {"validation": [("say  s1", "a"), ("new", "b")], "test": [("say s2", "c")] * 2}


def test_given_parts_are_used_unchanged():
    empty = {"validation": [("", "d")], "test": [("e", " ")] * 3}
    parts = {name: pairs + empty[name] for name, pairs in HELD_OUT.items()}
    prepared = PrepareDataset()(PAIRS, **parts)
    assert prepared.validation == [("say s1", "a"), ("new", "b")]
    assert prepared.test == [("say s2", ["c"]), ("say s2", ["c"])]
    assert set(sources(prepared, "train")) == TARGETS.keys() - {"say s1", "say s2"}
    reason = "source held out for validation or test"
    assert prepared.dropped[reason] == len(TARGETS["say s1"]) + len(TARGETS["say s2"])
    assert prepared.dropped["empty source or target"] == 4


@pytest.mark.parametrize("part", HELD_OUT)
def test_the_part_that_is_not_given_is_split_off(part):
    prepared = PrepareDataset(seed=2)(PAIRS, **{part: HELD_OUT[part]})
    names = [set(sources(prepared, name)) for name in PARTS]
    assert not names[0] & names[1] and not names[0] & names[2]
    assert [len(sources(prepared, name)) > 5 for name in PARTS].count(True) == 2


# Sub-words


def test_bpe_vocabularies_are_separate_or_shared():
    separate = PrepareDataset(tokenizer="bpe", vocab_size=60)(PAIRS)
    shared = PrepareDataset(tokenizer="bpe", vocab_size=60, share_vocabulary=True)(PAIRS)
    assert separate.source_tokenizer.to_json() != separate.target_tokenizer.to_json()
    assert shared.source_tokenizer.to_json() == shared.target_tokenizer.to_json()
    for dataset in (shared, separate):
        for tokenizer, sentence in zip(
            (dataset.source_tokenizer, dataset.target_tokenizer), dataset.validation[0], strict=True
        ):
            assert tokenizer.vocab_size <= 60
            assert tokenizer.decode(tokenizer.encode(sentence)) == sentence


CHINESE = ("我想喝水", "你在哪里工作", "今天下雨了", "她的猫很小", "我们明天去北京")
SEGMENTED = ("我 想 喝 水", "你 在 哪里 工作", "今天 下雨 了", "她 的 猫 很 小")


@pytest.mark.parametrize(
    ("texts", "options", "kind"),
    [
        (CHINESE, {}, SubwordTokenizer),
        (("ฉันอยากดื่มน้ำ", "คุณทำงานที่ไหน"), {}, SubwordTokenizer),
        (("水を飲みたいです", "どこで働いていますか"), {}, SubwordTokenizer),
        (CHINESE, {"tokenizer": "words"}, WordTokenizer),
        (SEGMENTED, {}, WordTokenizer),
        (("Я хочу пить", "Где ты работаешь"), {}, WordTokenizer),
        (("나는 물을 마시고 싶다", "너는 어디에서 일하니"), {}, WordTokenizer),
        (("I know the word 水.", "It means water."), {}, WordTokenizer),
        (("one", "two"), {"share_vocabulary": True}, SubwordTokenizer),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_languages_without_spaces_get_subwords(texts, options, kind, side):
    pairs = [(f"{texts[i % len(texts)]} {i}", f"a {i}") for i in range(40)]
    pairs = [pair[:: -1 if side else 1] for pair in pairs]
    dataset = PrepareDataset(**options)(pairs)
    assert type(dataset.source_tokenizer) is type(dataset.target_tokenizer) is kind
    assert ("subwords (BPE)" in str(dataset)) == (kind is SubwordTokenizer)


def test_validation_sources_of_unknown_words_are_reported():
    known, unknown = [("say say", "sage")], [("Sechs Tage", "six days")]
    assert "Warning" not in str(PrepareDataset()(PAIRS, known, known))
    message = str(PrepareDataset()(PAIRS, unknown, unknown))
    assert "Warning: 100% of the words of the validation sources are unknown" in message


def test_bpe_dropout_tokenizes_differently_each_time():
    dataset = PrepareDataset(tokenizer="bpe", vocab_size=60)(PAIRS)
    plain, varied = (
        dataset.batches(dataset.train, 8, seed=0, bpe_dropout=rate) for rate in (0.0, 0.5)
    )

    def targets(batches):
        batches.set_epoch(1)
        return [ids for i in range(len(batches)) for ids in batches[i][1].ravel().tolist() if ids]

    first, second = targets(varied), targets(varied)
    assert len(targets(plain)) < len(first)
    assert first != second


def test_refuses_an_unknown_tokenizer():
    with pytest.raises(ValueError, match=r"Received: tokenizer='letters'$"):
        PrepareDataset(tokenizer="letters")


# Filters


def test_n_sentences_selects_the_first_pairs():
    dataset = PrepareDataset(n_sentences=20)(PAIRS)
    selected = [source for part in PARTS for source in sources(dataset, part)]
    assert sorted(selected) == sorted(source for source, _ in PAIRS[:20])


def test_dropped_pairs_are_counted_by_reason():
    pairs = [
        *[(f"a{i}", "b") for i in range(10)],
        ("a0", "b"),
        ("a0", "b"),
        ("a0", "another b"),
        (" ", "b"),
        ("a", ""),
        ("\t", "\n"),
        ("one two, three", "b"),
        ("a", "one two. three"),
        ("one two three", "one two!"),
    ]
    dataset = PrepareDataset(max_length=3)(pairs)
    assert dataset.dropped == {
        "empty source or target": 3,
        "duplicate pair": 2,
        "more than 3 tokens": 2,
        "source held out for validation or test": 0,
    }
    kept = [*dataset.train, *dataset.validation, *[(x, y) for x, ys in dataset.test for y in ys]]
    assert sorted(kept) == sorted([*pairs[:10], ("a0", "another b"), pairs[-1]])
    lines = str(dataset).splitlines()
    assert lines[2:5] == [
        "dropped 3 pairs: empty source or target",
        "dropped 2 pairs: duplicate pair",
        "dropped 2 pairs: more than 3 tokens",
    ]


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_sentences_that_only_seem_short_are_dropped(kind):
    long = ["猫" * 200, f"see {'x' * 3000}", "猫が見た。" * 40]
    short = ["abcdefg " * 100, "猫" * 90, "猫 が 見た " * 30]
    pairs = [(text, "b") for text in [*long, *short]]
    pairs += [(f"a{i}", "b") for i in range(20)]
    prepared = PrepareDataset(max_length=128, tokenizer=kind)(pairs)
    assert prepared.dropped["more than 128 tokens"] == len(long)


def test_str_reports_the_sizes_of_parts_and_vocabularies(dataset):
    first, second = str(dataset).splitlines()  # no line for reasons without dropped pairs
    assert first == (
        f"{len(dataset.train)} training pairs, {len(dataset.validation)} validation pairs, "
        "10 test sentences"
    )
    assert second == f"85 source and {5 + len(dataset.train)} target tokens"


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_sentences": 0},
        {"validation_share": 0.0},
        {"test_share": 0.0},
        {"test_share": -0.1},
        {"validation_share": 0.5, "test_share": 0.5},
    ],
)
def test_refuses_invalid_arguments(arguments):
    name, value = list(arguments.items())[-1]
    with pytest.raises(ValueError, match=rf"Received: .*{re.escape(str(value))}") as caught:
        PrepareDataset(**arguments)
    assert name in str(caught.value)


def test_refuses_n_sentences_above_the_number_of_pairs():
    assert PrepareDataset(n_sentences=30)(PAIRS[:30])
    with pytest.raises(ValueError, match=r"only 30 pairs.*Received: n_sentences=31"):
        PrepareDataset(n_sentences=31)(PAIRS[:30])


@pytest.mark.parametrize("count", [0, 1, 4])
def test_refuses_too_few_sources(count):
    with pytest.raises(ValueError, match=rf"too few .*Received: {count}; dropped: .*100"):
        PrepareDataset()([(f"a{i}", "b") for i in range(count)] + [("", "b")] * 100)


def test_ten_sources_are_enough():
    dataset = PrepareDataset()([(f"a{i}", "b") for i in range(10)])
    assert [len(getattr(dataset, part)) for part in PARTS] == [8, 1, 1]


# The batches


def test_batches_contain_padded_ids(dataset):
    batches = dataset.batches(dataset.train, len(dataset.train))
    (source, inputs), outputs = batches[0]
    x, y = dataset.train[0]
    words = dataset.source_tokenizer.encode(x)
    assert source[0].tolist() == [*words, END_ID, 0]
    words = dataset.target_tokenizer.encode(y)
    assert inputs[0].tolist() == [START_ID, *words, END_ID]  # target[:, :-1]
    assert outputs[0].tolist() == [*words, END_ID, 0]


def test_batches_are_shuffled_only_with_a_seed(dataset):
    def first(seed):
        return dataset.batches(dataset.train, 16, seed)[0][1].tolist()

    assert first(None) == first(None) != first(0) == first(0) != first(1)


def test_pairs_are_read_from_a_path(tmp_path):
    write_pairs(tmp_path / "pairs.tsv", PAIRS)
    for path in (tmp_path / "pairs.tsv", str(tmp_path / "pairs.tsv")):
        assert PrepareDataset()(path).train == PrepareDataset()(PAIRS).train


def test_unknown_words_of_the_training_part_are_remarked():
    pairs = [(f"the {i}", f"das {i % 3}") for i in range(30)]
    (remark,) = PrepareDataset(min_count=2)(pairs).remarks
    assert remark.startswith("50% of the source words of the training part are unknown")
    assert PrepareDataset(min_count=2, tokenizer="bpe")(pairs).remarks == []

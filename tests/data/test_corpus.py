"""The embedded corpus matches its script, and its German grammar is correct."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(DATA))

import grammar  # noqa: E402
import lexicon  # noqa: E402
import make_corpus  # noqa: E402
from grammar import DU, ER, ICH, IHR, SIE, SIE_POLITE, WIR, Clause, Complement, NounPhrase  # noqa: E402


@pytest.fixture(scope="module")
def by_pattern():
    return make_corpus.make_by_pattern()


@pytest.fixture(scope="module")
def pairs():
    lines = make_corpus.CORPUS.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return [tuple(line.split("\t")) for line in lines]


def clause(subject, verb, tense="present", *objects, **more):
    """Creates a clause from English words."""
    items = tuple(Complement(item) for item in objects)
    return Clause(subject, lexicon.VERB[verb], tense, items, **more)


def noun(english, det="def", adjective="", **more):
    """Creates a noun phrase from English words."""
    adjectives = {item.english: item for item in lexicon.ADJECTIVES}
    return NounPhrase(lexicon.NOUN[english], det, adjectives.get(adjective), **more)


# --- The file --------------------------------------------------------------------------------


def test_the_shipped_file_matches_the_script(by_pattern):
    assert make_corpus.CORPUS.read_bytes() == make_corpus.make_text(by_pattern).encode("utf-8")


def test_writing_leaves_no_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr(make_corpus, "make_text", lambda: "Yes.\tJa.\n")
    make_corpus.write(tmp_path / "corpus.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.tsv"]
    assert (tmp_path / "corpus.tsv").read_bytes() == b"Yes.\tJa.\n"


def test_corpus_size(pairs, by_pattern):
    assert 12_000 <= len(pairs) <= 13_000
    assert len(by_pattern["everyday"]) >= 650
    assert len(by_pattern) >= 41


def test_no_pattern_dominates(pairs, by_pattern):
    sizes = [len(group) for name, group in by_pattern.items() if name != "everyday"]
    assert max(sizes) <= 0.06 * len(pairs)
    assert min(sizes) >= 30


def test_every_line_is_one_pair_with_a_unique_english_sentence(pairs):
    assert all(len(pair) == 2 and all(pair) for pair in pairs)
    assert len({english for english, _ in pairs}) == len(pairs)


def test_characters_and_punctuation(pairs):
    for english, german in pairs:
        assert re.fullmatch(r"[A-Za-zé ,.?!'-]+", english), english
        assert re.fullmatch(r"[A-Za-zÄÖÜäöüßé ,.?!'-]+", german), german
        for text in (english, german):
            assert text[0].isupper() and text[-1] in ".?!"
            assert "  " not in text and " ," not in text and text == text.strip()
        assert english[-1] == german[-1] or (english, german) in make_corpus.read_everyday()


def test_sentence_lengths(pairs):
    everyday = set(make_corpus.read_everyday())
    counts = [
        len(english.split()) for english, german in pairs if (english, german) not in everyday
    ]
    assert min(counts) >= 3 and max(counts) <= 12


def test_all_words_of_the_lexicon_are_used(by_pattern):
    sentences = [pair for name, group in by_pattern.items() if name != "everyday" for pair in group]
    german = " ".join(text for _, text in sentences)
    for entry in lexicon.NOUNS:
        assert german.count(entry.german) + german.count(entry.plural) >= 10, entry


# --- Noun phrases ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("det", "gender", "endings"),
    [
        ("def", "m", ["e", "en", "en"]),
        ("def", "f", ["e", "e", "en"]),
        ("def", "n", ["e", "e", "en"]),
        ("def", "p", ["en", "en", "en"]),
        ("indef", "m", ["er", "en", "en"]),
        ("indef", "f", ["e", "e", "en"]),
        ("indef", "n", ["es", "es", "en"]),
        ("neg", "p", ["en", "en", "en"]),
        ("bare", "m", ["er", "en", "em"]),
        ("bare", "f", ["e", "e", "er"]),
        ("bare", "n", ["es", "es", "em"]),
        ("bare", "p", ["e", "e", "en"]),
    ],
)
def test_adjective_endings(det, gender, endings):
    found = [grammar.adjective_ending(det, gender, case) for case in ("nom", "acc", "dat")]
    assert found == endings


@pytest.mark.parametrize(
    ("phrase", "case", "german"),
    [
        (noun("dog", adjective="small"), "dat", "dem kleinen Hund"),
        (noun("boy"), "acc", "den Jungen"),
        (noun("child", plural=True), "dat", "den Kindern"),
        (noun("car", plural=True), "dat", "den Autos"),
        (noun("coat", "indef", "expensive"), "acc", "einen teuren Mantel"),
        (noun("mountain", "indef", "high"), "nom", "ein hoher Berg"),
        (noun("book", IHR, "new"), "acc", "euer neues Buch"),
        (noun("bag", IHR, "new"), "dat", "eurer neuen Tasche"),
        (noun("driver", adjective="tired"), "nom", "der müde Fahrer"),
        (noun("water", "bare", "cold"), "acc", "kaltes Wasser"),
        (noun("book", "which"), "acc", "welches Buch"),
    ],
)
def test_german_noun_phrases(phrase, case, german):
    assert grammar.german_phrase(phrase, case) == german


def test_prepositions_merge_with_articles():
    assert grammar.german_prepositional("mit", noun("dog", adjective="small"), "dat") == (
        "mit dem kleinen Hund"
    )
    assert grammar.german_prepositional("in", noun("garden"), "dat") == "im Garten"
    assert grammar.german_prepositional("in", noun("room"), "acc") == "ins Zimmer"
    assert grammar.german_prepositional("auf", noun("table"), "acc") == "auf den Tisch"


# --- Verbs and clauses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("read", "lese liest liest lesen lest lesen"),
        ("work", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("run", "laufe läufst läuft laufen lauft laufen"),
        ("play", "spiele spielst spielt spielen spielt spielen"),
        ("smile", "lächle lächelst lächelt lächeln lächelt lächeln"),
        ("invite", "lade lädst lädt laden ladet laden"),
        ("take", "nehme nimmst nimmt nehmen nehmt nehmen"),
    ],
)
def test_present_tense(verb, forms):
    entry = lexicon.VERB[verb]
    found = [grammar.present(entry.german, entry.changed, index) for index in range(6)]
    assert " ".join(found) == forms


def test_perfect_with_haben_and_sein():
    assert grammar.german_main(clause(ICH, "eat", "past", noun("apple"))) == (
        "ich habe den Apfel gegessen"
    )
    assert grammar.german_main(clause(WIR, "stay", "past")) == "wir sind geblieben"
    assert grammar.german_main(clause(SIE, "get up", "past")) == "sie ist aufgestanden"


def test_separable_verbs_split_only_in_main_clauses():
    call = clause(ER, "call", "present", noun("mother", ER))
    assert grammar.german_main(call) == "er ruft seine Mutter an"
    assert grammar.german_subordinate(call, "weil") == "weil er seine Mutter anruft"
    assert grammar.german_infinitive(call) == "seine Mutter anzurufen"
    assert grammar.german_main(replace(call, tense="must")) == "er muss seine Mutter anrufen"
    walk = clause(ICH, "go for a walk")
    assert grammar.german_infinitive(walk) == "spazieren zu gehen"


def test_negation():
    bread = clause(ICH, "buy", "past", noun("bread", "bare"), negated=True)
    assert grammar.german_main(bread) == "ich habe kein Brot gekauft"
    assert grammar.english_main(bread) == "I didn't buy bread"
    book = clause(ICH, "buy", "past", noun("book"), negated=True)
    assert grammar.german_main(book) == "ich habe das Buch nicht gekauft"


def test_fronted_time_inverts_subject_and_verb():
    time = grammar.Adverbial("yesterday", "gestern", "time")
    bought = clause(WIR, "buy", "past", noun("car", "indef"), adverbials=(time,))
    assert grammar.german_main(bought, time) == "gestern haben wir ein Auto gekauft"
    assert grammar.german_main(bought) == "wir haben gestern ein Auto gekauft"
    assert grammar.english_fronted(bought, time) == "yesterday we bought a car"


def test_reflexive_verbs():
    rest = clause(ICH, "rest")
    assert grammar.german_main(rest) == "ich ruhe mich aus"
    assert grammar.german_question(replace(rest, subject=noun("driver"))) == (
        "ruht sich der Fahrer aus"
    )
    watch = clause(DU, "watch", "past", noun("movie"))
    assert grammar.german_main(watch) == "du hast dir den Film angesehen"


@pytest.mark.parametrize(
    ("verb", "subject", "german"),
    [
        ("read", DU, "lies das Buch"),
        ("read", IHR, "lest das Buch"),
        ("read", SIE_POLITE, "lesen Sie das Buch"),
        ("open", DU, "öffne das Buch"),
        ("try on", DU, "probiere das Buch an"),
        ("carry", DU, "trag das Buch"),
    ],
)
def test_imperatives(verb, subject, german):
    assert grammar.german_command(clause(subject, verb, "present", noun("book"))) == german


def test_english_do_support():
    need = clause(ER, "need", "present", noun("coat", "indef"))
    assert grammar.english_question(need) == "does he need a coat"
    assert grammar.english_main(replace(need, negated=True)) == "he doesn't need a coat"
    assert grammar.english_main(replace(need, tense="wanted to")) == "he wanted to need a coat"


# --- Translations of "you" -------------------------------------------------------------------


def test_you_is_du_unless_marked(pairs):
    everyday = set(make_corpus.read_everyday())
    marks = ("Mr. ", "Mrs. ", "children", "you two", "You two")
    for english, german in pairs:
        if (english, german) in everyday or not re.search(r"\byou\b", english, re.IGNORECASE):
            continue
        if not any(mark in english for mark in marks):
            assert re.search(r"\b(du|dich|dir|dein\w*)\b", german, re.IGNORECASE), german

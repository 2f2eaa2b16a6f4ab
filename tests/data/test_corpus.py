"""The embedded corpus matches its script, and its German grammar is correct."""

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(DATA / "grammar"))

import contractions  # noqa: E402
import grammar  # noqa: E402
import lexicon  # noqa: E402
import make_corpus  # noqa: E402
from grammar import DU, ER, ICH, IHR, SIE, SIE_POLITE, WIR, Clause, Complement, NounPhrase  # noqa: E402


@pytest.fixture(scope="module")
def pairs():
    return make_corpus.read_pairs(make_corpus.CORPUS)


@pytest.fixture(scope="module")
def everyday():
    return set(make_corpus.read_pairs(make_corpus.EVERYDAY))


def clause(subject, verb, tense="present", *objects, **more):
    """Creates a clause from English words."""
    items = tuple(Complement(item) for item in objects)
    return Clause(subject, lexicon.VERB[verb], tense, items, **more)


def noun(english, det="def", adjective="", **more):
    """Creates a noun phrase from English words."""
    adjectives = {item.english: item for item in lexicon.ADJECTIVES}
    return NounPhrase(lexicon.NOUN[english], det, adjectives.get(adjective), **more)


# --- The file --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_shipped_file_matches_the_script(pairs):
    by_pattern = make_corpus.make_by_pattern()
    assert make_corpus.CORPUS.read_bytes() == make_corpus.make_text(by_pattern).encode("utf-8")
    sizes = [len(group) for name, group in by_pattern.items() if name != "everyday"]
    assert min(sizes) >= 30 and max(sizes) <= 0.025 * len(pairs)


@pytest.mark.slow
def test_the_shipped_file_has_what_the_first_patterns_make(pairs, everyday, monkeypatch):
    first = sorted(make_corpus.PATTERNS)[:12]
    monkeypatch.setattr(make_corpus, "PATTERNS", first)
    by_pattern = make_corpus.make_by_pattern()
    made = {pair for group in by_pattern.values() for pair in group}
    assert made <= set(pairs) and everyday < made
    assert all(len(by_pattern[name]) == quota for name, _, quota in first)


def test_writing_leaves_no_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr(make_corpus, "make_by_pattern", lambda: {"everyday": [("Yes.", "Ja.")]})
    make_corpus.write(tmp_path / "corpus.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.tsv"]
    assert (tmp_path / "corpus.tsv").read_bytes() == b"Yes.\tJa.\n"


def test_corpus_size(pairs, everyday):
    assert 57_000 <= len(pairs) <= 60_000
    assert len(everyday) >= 20_000
    assert len(make_corpus.PATTERNS) >= 200


def test_every_line_is_one_pair_with_a_unique_english_sentence(pairs):
    assert all(len(pair) == 2 and all(pair) for pair in pairs)
    assert len({english for english, _ in pairs}) == len(pairs)


def test_characters_and_punctuation(pairs, everyday):
    for english, german in pairs:
        assert re.fullmatch(r"[A-Za-zé ,.?!'-]+", english), english
        assert re.fullmatch(r"[A-Za-zÄÖÜäöüßé ,.?!'-]+", german), german
        for text in (english, german):
            assert text[0].isupper() and text[-1] in ".?!"
            assert "  " not in text and " ," not in text and text == text.strip()
        assert english[-1] == german[-1] or (english, german) in everyday


def test_sentence_lengths(pairs, everyday):
    counts = [
        len(english.split()) for english, german in pairs if (english, german) not in everyday
    ]
    assert min(counts) >= 3 and max(counts) <= 12


@pytest.mark.slow
def test_all_words_of_the_lexicon_are_used(pairs, everyday):
    german = " ".join(pair[1] for pair in pairs if pair not in everyday)
    for entry in lexicon.NOUNS:
        assert german.count(entry.german) + german.count(entry.plural) >= 8, entry


def test_few_words_are_rare(pairs):
    counts = Counter(word for english, _ in pairs for word in set(make_corpus.words_of(english)))
    rare = [word for word, count in counts.items() if count < 5 and not word.endswith("'s")]
    assert len(rare) <= 0.2 * len(counts), sorted(rare)


def test_separable_prefixes_are_not_doubled():
    for verb in lexicon.VERB.values():
        prefix = verb.prefix.strip()
        assert not (prefix and verb.german_participle.startswith(prefix)), verb


@pytest.mark.slow
def test_short_and_full_forms_have_one_translation(pairs):
    found = {}
    for english, german in pairs:
        full = contractions.lengthened(english).replace("I'm ", "I am ").replace("'re ", " are ")
        found.setdefault(full.rstrip(".!"), set()).add(german.rstrip(".!"))
    assert [german for german in found.values() if len(german) > 1] == []


def test_who_is_hungry_has_hunger_in_german(pairs):
    found = [
        german for english, german in pairs if re.search("(?<!look )(hungry|thirsty)", english)
    ]
    assert len(found) >= 50
    assert all("Hunger" in german or "Durst" in german for german in found)


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
        (noun("apple", "that"), "acc", "diesen Apfel"),
        (noun("parent", ICH), "dat", "meinen Eltern"),
        (noun("scarf", "indef", "purple"), "acc", "einen lila Schal"),
        (noun("lemon", "indef", "sour"), "nom", "eine saure Zitrone"),
    ],
)
def test_german_noun_phrases(phrase, case, german):
    assert grammar.german_phrase(phrase, case) == german


@pytest.mark.parametrize(
    ("phrase", "english"),
    [
        (noun("shoe", "that"), "those shoes"),
        (noun("pants", "this"), "these pants"),
        (noun("car", "that"), "that car"),
        (noun("orange", "indef"), "an orange"),
        (noun("book", "bare", plural=True, count=("many", "viele")), "many books"),
    ],
)
def test_english_noun_phrases(phrase, english):
    assert grammar.english_phrase(phrase) == english


def test_pants_are_plural_only_in_english():
    pants = Clause(noun("pants"), lexicon.VERB["be"], predicate=("new", "neu"))
    assert grammar.english_main(pants) == "the pants are new"
    assert grammar.german_main(pants) == "die Hose ist neu"


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
    do = clause(ER, "do", "present", noun("homework", ER))
    assert grammar.english_question(do) == "does he do his homework"
    assert grammar.english_main(replace(do, negated=True)) == "he doesn't do his homework"
    have = clause(ER, "have", "perfect", noun("dog", "indef"))
    assert grammar.english_question(have) == "has he had a dog"


@pytest.mark.parametrize(
    ("tense", "english", "german"),
    [
        ("would", "you would help me", "du würdest mir helfen"),
        ("would like to", "you would like to help me", "du möchtest mir helfen"),
        ("should", "you should help me", "du solltest mir helfen"),
        ("may", "you may help me", "du darfst mir helfen"),
    ],
)
def test_modal_verbs(tense, english, german):
    help_me = Clause(DU, lexicon.VERB["help"], tense, (Complement(ICH, "dat"),))
    assert grammar.english_main(help_me) == english
    assert grammar.german_main(help_me) == german


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("She is tired.", "She's tired."),
        ("It is not cold because we are inside.", "It's not cold because we're inside."),
        ("I will call you, Anna.", "I'll call you, Anna."),
        ("Is it cold?", "Is it cold?"),
        ("Yes, I am.", "Yes, I am."),
    ],
)
def test_contractions(full, short):
    assert contractions.shortened(full) == short


def test_full_forms():
    assert contractions.lengthened("He doesn't know it.") == "He does not know it."
    assert contractions.lengthened("Why don't you know it?") == "Why don't you know it?"


# --- Translations of "you" -------------------------------------------------------------------


def addressed(pairs):
    """The generated pairs that say "you", apart from "thank you" and "see you"."""
    everyday = set(make_corpus.read_pairs(make_corpus.EVERYDAY))
    for english, german in pairs:
        text = re.sub("thank you|see you", "", english, flags=re.IGNORECASE)
        if (english, german) not in everyday and re.search(r"\b(you|your)\b", text, re.IGNORECASE):
            yield english, german


_DU = re.compile(r"\b([Dd]u|[Dd]ich|[Dd]ir|[Dd]ein\w*)\b")
_POLITE = (", Mr. ", ", Mrs. ", ", sir", ", ma'am")


def test_you_is_du_unless_marked(pairs):
    marks = (*_POLITE, "children", "you two", "You two")
    for english, german in addressed(pairs):
        if not any(mark in english for mark in marks):
            assert _DU.search(german), german


def test_you_is_sie_to_sir_and_madam(pairs):
    for english, german in addressed(pairs):
        if any(mark in english for mark in _POLITE):
            assert re.search(r"\b(Sie|Ihnen|Ihr\w*)\b", german) and not _DU.search(german), german

"""Patterns of little words: also, still, again, maybe, a lot of, how many, how long, how often."""

from dataclasses import replace

from grammar import (
    DU,
    ER,
    ICH,
    SIE,
    WIR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    english_fronted,
    english_main,
    english_phrase,
    german_main,
    german_phrase,
    is_plural_in_english,
    join,
    sentence,
)
from introductions import asked_about
from lexicon import CITIES, COUNTRIES, NOUN, VERB, select
from parts import (
    WOMENS,
    deed_clause,
    listed,
    name,
    need,
    need_clear_past,
    object_clause,
    paired,
    pattern,
    person,
    thing,
)
from questions import asked
from statements import both, going

_STATES = frozenset(listed("have; like; need; know; understand; collect"))


def _known_clause(draw, subject=None):
    """A clause about somebody's life: a language, a town, a possession, a liking."""
    subject = subject or person(draw, 0.6)
    kind = draw.one(("speak", "learn", "live", "work", "have", "have"))
    if kind == "have":
        return object_clause(draw, "present", "s", subject, verbs=_STATES)
    if kind in ("live", "work"):
        city, stadt = draw.one(CITIES)
        where = Adverbial(f"in {city}", f"in {stadt}", "place")
        return Clause(subject, VERB[kind], "present", (), (where,))
    *_, english, german = draw.one(COUNTRIES)
    tense = "present" if kind == "speak" else "progressive"
    return Clause(subject, VERB[kind], tense, predicate=(english, german))


@pattern(170)
def also(draw):
    """I also speak German. My brother lives in Berlin, too."""
    clause = _known_clause(draw)
    if draw.chance(0.5):
        also_ = Adverbial("also", "auch", "often")
        return both(replace(clause, adverbials=(also_, *clause.adverbials)))
    auch = replace(clause, adverbials=(Adverbial("", "auch", "often"), *clause.adverbials))
    return sentence(f"{english_main(clause)}, too"), sentence(german_main(auch))


@pattern(140)
def still(draw):
    """She is still sleeping. Do you still live in Munich?"""
    noch = Adverbial("still", "noch", "often")
    if draw.chance(0.5):
        clause = deed_clause(draw, "progressive", extra=0.5)
        need(clause.verb.english in _GOING_ON)
        need(not any(item.kind == "manner" for item in clause.adverbials))
    else:
        clause = _known_clause(draw)
        need(clause.verb.english in ("live", "work", "learn", "need", "have"))
    return both(replace(clause, adverbials=(noch, *clause.adverbials)))


_GOING_ON = listed("sleep; work; learn; wait; play; rest; read; dance; swim; sing; cook; run; lie")


@pattern(120)
def again(draw):
    """I forgot my umbrella again."""
    tense = draw.one(("past", "past", "progressive", "have to"))
    clause = object_clause(draw, tense, "h-", verbs=_REPEATED)
    need(clause.objects[0].phrase.det != "indef" or tense == "past")
    wieder = Adverbial("again", "wieder", "already")
    return both(replace(clause, adverbials=(*clause.adverbials, wieder)))


_REPEATED = frozenset(
    listed(
        "forget; lose; visit; call; read; watch; clean; tidy; wash; repair; miss; explain; "
        "buy; find; meet; cook; look for; translate; order"
    )
)
_OPENERS = paired(
    "maybe = vielleicht; maybe = vielleicht; unfortunately = leider; of course = natürlich"
)


@pattern(215)
def opener(draw):
    """Maybe I will visit my aunt tomorrow. Unfortunately we missed the train."""
    english, german = draw.one(_OPENERS)
    tense, when = draw.one((("will", "future"), ("will", None), ("can", None)))
    if english == "unfortunately":
        tense, when = draw.one((("past", None), ("have to", None), ("can", None)))
    if tense == "will" and draw.chance(0.3):
        clause = going(draw, "will", when)
    else:
        verbs = _MISHAPS if (english, tense) == ("unfortunately", "past") else _PLANNED
        clause = object_clause(draw, tense, "h-", when=when, verbs=verbs)
    if (english, tense) == ("unfortunately", "can"):
        clause = replace(clause, negated=True)
    front = Adverbial(english, german, "time")
    need_clear_past(clause)
    clause = replace(clause, adverbials=(front, *clause.adverbials))
    return sentence(english_fronted(clause, front)), sentence(german_main(clause, front))


_MISHAPS = frozenset(listed("miss; lose; forget; break"))
_PLANNED = frozenset(
    listed(
        "visit; call; buy; sell; clean; cook; bake; repair; pick up; invite; explain; bring along; "
        "pay; open; close; finish; prepare"
    )
)

# --- How much, how many ----------------------------------------------------------------------

_AMOUNTS = paired(
    "a lot of = viele; many = viele; some = einige; a few = ein paar; a lot of = viele"
)
_COUNTLESS = paired("a lot of = viel; enough = genug; only a little = nur wenig; more = mehr")
_OWNED = select(
    listed("friend; colleague; book; shoe; photo; game; problem; question; cousin; hat")
)
_SEEN = select(listed("animal; bird; tree; flower; tourist; student; child"))
_BOUGHT = select(listed("fruit; raw; roll; cookie; egg; sock; stamp; candle; postcard; sweater"))
_READ = select(listed("book; story; letter; email; novel; postcard"))
_AMPLE = (
    (("have", "present"), _OWNED),
    (("see", "past"), _SEEN),
    (("buy", "past"), _BOUGHT),
    (("need", "present"), _BOUGHT),
    (("read", "will"), _READ),
    (("write", "past"), _READ[:5]),
)
_STUFF = (
    (("have", "present"), ("time", "money", "work")),
    (("need", "present"), ("time", "money", "help", "water")),
    (("drink", "past"), ("water", "coffee", "tea", "milk", "orange juice")),
    (("eat", "past"), ("bread", "fish", "meat", "cheese", "rice", "ice cream")),
)


@pattern(215)
def amount(draw):
    """I have a lot of friends. She bought a few apples. We need more time."""
    subject = person(draw, 0.65)
    if draw.chance(0.3):
        (verb, tense), names = draw.one(_STUFF)
        english, german = draw.one(_COUNTLESS)
        need(verb in ("have", "need") or english == "a lot of")
        phrase = NounPhrase(NOUN[draw.one(names)], "bare", count=(english, german))
        return both(Clause(subject, VERB[verb], tense, (Complement(phrase),)))
    (verb, tense), nouns = draw.one(_AMPLE)
    noun = draw.one(nouns)
    need(getattr(subject, "noun", None) is not noun)
    phrase = thing(draw, noun, "bare", verb, 0.15, plural=True)
    need(phrase.plural)
    phrase = replace(phrase, count=draw.one(_AMOUNTS))
    return both(Clause(subject, VERB[verb], tense, (Complement(phrase),)))


@pattern(85)
def two_subjects(draw):
    """Anna and I are going to the movies. Paul and Maria live in Berlin."""
    first = name(draw)
    if draw.chance(0.5):
        second = name(draw)
        need(second.noun is not first.noun)
        clause = _clause_of_two(draw, replace(WIR, english="they", german="sie", person=3))
        who = f"{first.noun.english} and {second.noun.english}"
        wer = f"{first.noun.german} und {second.noun.german}"
    else:
        clause = _clause_of_two(draw, WIR)
        who, wer = f"{first.noun.english} and I", f"{first.noun.german} und ich"
    pronoun = clause.subject
    english, german = english_main(clause), german_main(clause)
    return (
        sentence(join([who, english.removeprefix(pronoun.english)])),
        sentence(join([wer, german.removeprefix(pronoun.german)])),
    )


def _clause_of_two(draw, subject):
    kind = draw.one(("go", "live", "learn", "friends"))
    if kind == "go":
        return going(draw, *draw.one((("progressive", None), ("past", "past"))), subject=subject)
    if kind == "friends":
        predicate = draw.one(paired(
            "good friends = gute Freunde; old friends = alte Freunde; students = Studenten; "
            "colleagues = Kollegen; in Berlin = in Berlin; at home = zu Hause; tired = müde"
        ))  # fmt: skip
        return Clause(subject, VERB["be"], predicate=predicate)
    clause = _known_clause(draw, subject)
    need(clause.verb.english in ("live", "work", "learn", "speak"))
    return clause


@pattern(85)
def too_much(draw):
    """I work a lot. You drink too much coffee."""
    subject = person(draw, 0.7)
    much, viel = draw.one(paired("too much = zu viel; a lot of = viel; so much = so viel"))
    verb, names = draw.one(
        (
            ("drink", "coffee tea water milk beer wine cola lemonade"),
            ("eat", "meat chocolate fish bread cheese fruit vegetables"),
        )
    )
    need(subject is not ICH or much != "so much")
    noun = NOUN[draw.one(names.split())]
    phrase = NounPhrase(noun, "bare", count=(much, viel))
    return both(Clause(subject, VERB[verb], "present", (Complement(phrase),)))


@pattern(95)
def how_many(draw):
    """How many children do you have, Mr. Weber? How many apples did Anna buy?"""
    subject, call = asked_about(draw)
    if draw.chance(0.5):
        (verb, tense), nouns = ("have", "present"), _COUNTED_BELONGINGS
    else:
        (verb, tense), nouns = draw.one(
            (_AMPLE[1], _AMPLE[2], _AMPLE[3], (("read", "past"), _READ))
        )
    noun = draw.one(nouns)
    need(getattr(subject, "noun", None) is not noun and noun.plural != "-")
    counted = NounPhrase(noun, "bare", plural=True)
    word = (f"how many {english_phrase(counted)}", f"wie viele {german_phrase(counted, 'acc')}")
    return asked(Clause(subject, VERB[verb], tense), word, call)


_COUNTED_BELONGINGS = [
    NOUN[word] for word in listed("child; brother; sister; son; friend; dog; cat; bike; book")
]


@pattern(85)
def what_color(draw):
    """What color is your car? What color are these shoes?"""
    noun = draw.one(
        select(listed("clothes; worn; furnishing; car; bike; bag; umbrella; door; cup"))
    )
    det = draw.one(("def", "this", DU, DU, ER, SIE))
    need(det is not ER or noun.english not in WOMENS)
    phrase = NounPhrase(noun, det, plural="pairs" in noun.tags)
    be = "are" if is_plural_in_english(phrase) else "is"
    haben = "haben" if phrase.plural else "hat"
    return (
        sentence(f"what color {be} {english_phrase(phrase)}", "?"),
        sentence(f"welche Farbe {haben} {german_phrase(phrase, 'nom')}", "?"),
    )


_SPANS = paired(
    "ten minutes = zehn Minuten; twenty minutes = zwanzig Minuten; half an hour = eine halbe "
    "Stunde; one hour = eine Stunde; two hours = zwei Stunden; three hours = drei Stunden; "
    "eight hours = acht Stunden; two days = zwei Tage; a week = eine Woche"
)
_EVENTS = [NOUN[word] for word in listed("concert; movie; exam; course; meeting; trip; test; game")]


@pattern(140)
def duration(draw):
    """The movie is two hours long. I slept for eight hours. How long is the course?"""
    span, dauer = draw.one(_SPANS)
    if draw.chance(0.5):
        clause = deed_clause(draw, draw.one(("past", "past", "will")), person(draw, 0.7), extra=0.3)
        need(clause.verb.english in _LENGTHY and "day" not in span and "week" not in span)
        need(not any(item.kind == "manner" for item in clause.adverbials))
        need(span != "eight hours" or clause.verb.english in ("sleep", "work"))
        lasting = Adverbial(f"for {span}", dauer, "time")
        return both(replace(clause, adverbials=(lasting, *clause.adverbials)))
    phrase = NounPhrase(draw.one(_EVENTS))
    is_trip = phrase.noun.english == "trip"
    need(is_trip == ("day" in span or "week" in span))
    subject, subjekt = english_phrase(phrase), german_phrase(phrase, "nom")
    if draw.chance(0.25):
        return sentence(f"how long is {subject}", "?"), sentence(f"wie lange dauert {subjekt}", "?")
    if is_trip or draw.chance(0.5) or span.startswith("half"):
        return sentence(f"{subject} takes {span}"), sentence(f"{subjekt} dauert {dauer}")
    return sentence(f"{subject} is {span} long"), sentence(f"{subjekt} dauert {dauer}")


_LENGTHY = listed("sleep; work; learn; wait; read; swim; dance; run; play; cook; rest; hike; fish")


@pattern(85)
def how_often(draw):
    """How often do you play soccer, Anna? How often does your brother go to the gym?"""
    subject, call = asked_about(draw)
    if draw.chance(0.5):
        clause = going(draw, "present", subject=subject)
        need(clause.adverbials[0].english in _FREQUENTED)
    else:
        clause = deed_clause(draw, "present", subject, aspects="h", extra=0.2)
        need(clause.verb.english in _FREQUENT)
        need(not any(item.kind == "manner" for item in clause.adverbials))
    return asked(clause, ("how often", "wie oft"), call)


_FREQUENTED = listed(
    "to the park; to the beach; to the lake; to the restaurant; to the café; to the market; "
    "to the supermarket; to the library; to the museum; to the theater; to the movies; to church; "
    "to the dentist; to the doctor; to the hairdresser; to the pool; to the gym; to the mall; "
    "into the city; to the zoo; to the stadium; to the bakery"
)
_FREQUENT = listed("swim; dance; cook; jog; ski; exercise; go shopping; go for a walk; read; hike")

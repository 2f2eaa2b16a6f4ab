"""Patterns with a subordinate clause: because, although, if, when, before, that, whether."""

from dataclasses import replace

from grammar import (
    DU,
    ER,
    ICH,
    SIE,
    SIE_PLURAL,
    WIR,
    Adverbial,
    Clause,
    Pronoun,
    english_main,
    german_main,
    german_subordinate,
    person_index,
    sentence,
    subjunctive,
)
from lexicon import MOODS, VERB
from parts import (
    PRONOUNS,
    deed_clause,
    listed,
    name,
    need,
    need_clear_past,
    object_clause,
    paired,
    pattern,
    person,
    plain,
)
from statements import going

WEATHER = paired(
    "it is raining = es regnet; it is snowing = es schneit; it is cold = es kalt ist; "
    "the weather is bad = das Wetter schlecht ist"
)
OUTDOORS = listed(
    "in the garden; in the park; in the forest; at the lake; on the beach; in the lake; "
    "in the sea; in the mountains; in the street"
)


def pronoun_of(subject):
    """The pronoun that takes up a subject in a second clause."""
    return subject if isinstance(subject, Pronoun) else subject.owner


def subordinate(clause, conjunction):
    """A German subordinate clause."""
    need_clear_past(clause)
    return german_subordinate(clause, conjunction).strip()


def two_clauses(first, second, english_link, german_link):
    """A main clause with a subordinate one behind it."""
    english = f"{english_main(first)} {english_link} {english_main(second)}"
    return sentence(english), sentence(f"{german_main(first)}, {subordinate(second, german_link)}")


def fronted_clause(english, german, clause):
    """A subordinate clause, given as text, with a main clause behind it."""
    front = Adverbial("", f"{german},", "time")
    return sentence(f"{english}, {english_main(clause)}"), sentence(german_main(clause, front))


def being(subject, predicate, tense="present"):
    """A clause with "to be"."""
    return Clause(subject, VERB["be"], tense, predicate=predicate)


def having(subject, predicate):
    """A clause with "to have" and an object given as text."""
    return Clause(subject, VERB["have"], predicate=predicate)


def moods(names):
    """The moods with these English names."""
    return [mood for mood in MOODS if mood[0] in listed(names)]


# --- Because, although -----------------------------------------------------------------------

_TIRED = moods("tired; sick; busy; sad; nervous")
_GLAD = moods("happy; excited; satisfied; proud")
_UPSET = moods("sad; angry; disappointed; unhappy")
_HOME = Adverbial("at home", "zu Hause", "place")


def staying(subject, tense="progressive"):
    """A clause about staying at home."""
    return Clause(subject, VERB["stay"], tense, (), (_HOME,))


def _staying_in(draw, subject):
    """What people do when they do not feel like going out."""
    kind = draw.random.randrange(4)
    if kind == 0:
        return staying(subject)
    if kind == 1:
        return Clause(subject, VERB["come along"], "progressive", negated=True)
    if kind == 2:
        return replace(going(draw, "progressive", subject=subject), negated=True)
    clause = deed_clause(draw, draw.one(("can", "want to")), subject, extra=0.3)
    need(clause.verb.english in _EXERTIONS)
    need(not any(item.kind == "manner" or item.english == "at home" for item in clause.adverbials))
    return replace(clause, negated=True)


_EXERTIONS = listed(
    "work; sing; dance; swim; run; play; cook; go for a walk; go shopping; learn; read; get up"
)


@pattern(265)
def because_state(draw):
    """I am staying at home because I am sick."""
    subject = plain(person(draw, 0.6))
    who = pronoun_of(subject)
    second = being(who, draw.one(_TIRED))
    if draw.chance(0.3):
        second = having(who, ("no time", "keine Zeit"))
    elif draw.chance(0.2):
        second = Clause(who, VERB["work"], "have to")
    first = _staying_in(draw, subject)
    need(second.verb is not VERB["work"] or first.verb is not VERB["work"])
    return two_clauses(first, second, "because", "weil")


# What people do when they need it: English "is", German "hat".
_NEEDS = {"eat": ("hungry", "Hunger"), "order": ("hungry", "Hunger"), "drink": ("thirsty", "Durst")}


@pattern(190)
def because_hungry(draw):
    """Anna is eating a roll because she is hungry."""
    subject, verb = plain(person(draw, 0.6)), draw.one(tuple(_NEEDS))
    tense, had = draw.one((("progressive", "present"), ("past", "past"), ("want to", "present")))
    first = object_clause(draw, tense, "h-", subject, verbs=(verb,))
    phrase = first.objects[0].phrase
    need(phrase.det in ("indef", "bare") and (verb != "order" or "food" in phrase.noun.tags))
    need("sweet" not in phrase.noun.tags and phrase.noun.english not in ("beer", "wine", "coffee"))
    english, german = _NEEDS[verb]
    who = pronoun_of(subject)
    need_clear_past(first)
    be, have = being(who, (english, ""), had), having(who, ("", german))
    haben = subordinate(replace(have, tense=had), "weil")
    return (
        sentence(f"{english_main(first)} because {english_main(be)}"),
        sentence(f"{german_main(first)}, {haben}"),
    )


@pattern(190)
def because_deed(draw):
    """Anna is happy because she found her key."""
    subject = person(draw, 0.5)
    who = pronoun_of(subject)
    reasons = draw.one(((_GLAD, "find; solve; sell; repair; meet; buy; visit"),
                        (_UPSET, "lose; miss; forget")))  # fmt: skip
    second = object_clause(draw, "past", "h-", who, verbs=listed(reasons[1]))
    cheap = {"food", "drink", "ware", "raw", "press"} & set(second.objects[0].phrase.noun.tags)
    need(second.verb.english != "buy" or not cheap)
    return two_clauses(being(subject, draw.one(reasons[0])), second, "because", "weil")


@pattern(190)
def because_weather(draw):
    """We are staying at home because it is raining."""
    first = _staying_in(draw, person(draw, 0.6))
    need(first.verb.english in ("stay", "go", "go for a walk", "swim", "run"))
    english, german = draw.one(WEATHER)
    return (
        sentence(f"{english_main(first)} because {english}"),
        sentence(f"{german_main(first)}, weil {german}"),
    )


@pattern(155)
def although(draw):
    """Although it is raining, the children are playing in the garden."""
    english, german = draw.one(WEATHER[:2] + WEATHER[3:])
    clause = deed_clause(draw, "progressive", person(draw, 0.5), extra=1.0)
    need(clause.verb.english in listed("play; run; go for a walk; swim; dance; wait; work"))
    need(clause.verb.english != "swim" or english == "it is raining")
    need(any(item.english in OUTDOORS for item in clause.adverbials))
    if draw.chance(0.5):
        return fronted_clause(f"although {english}", f"obwohl {german}", clause)
    return (
        sentence(f"{english_main(clause)} although {english}"),
        sentence(f"{german_main(clause)}, obwohl {german}"),
    )


@pattern(155)
def although_state(draw):
    """Anna is cleaning the kitchen although she is tired."""
    subject = plain(person(draw, 0.6))
    verbs = listed("clean; tidy; cook; bake; wash; repair; carry; watch; water")
    clause = object_clause(draw, "progressive", "h-", subject, verbs=verbs)
    state = being(pronoun_of(subject), draw.one(moods("tired; sick")))
    return two_clauses(clause, state, "although", "obwohl")


# --- If, when, before ------------------------------------------------------------------------

_BAD_WEATHER = paired(
    "it rains = es regnet; it snows tomorrow = es morgen schneit; "
    "it rains tomorrow = es morgen regnet; the weather is bad = das Wetter schlecht ist"
)
_GOOD_WEATHER = paired(
    "the weather is good = das Wetter gut ist; it is warm tomorrow = es morgen warm ist; "
    "the sun shines = die Sonne scheint; it doesn't rain = es nicht regnet"
)
_OUTINGS = listed(
    "to the park; to the lake; to the beach; to the zoo; into the forest; into the garden; "
    "to the market"
)


def _indoors(draw, subject):
    if draw.chance(0.5):
        return staying(subject, "will")
    verbs = listed("read; watch; clean; tidy; bake; cook; paint")
    return object_clause(draw, "will", "h-", subject, verbs=verbs)


def _outdoors(draw, subject):
    if draw.chance(0.5):
        clause = going(draw, "will", subject=subject)
        need(clause.adverbials[0].english in _OUTINGS)
        return clause
    clause = deed_clause(draw, "will", subject, extra=0.9)
    need(any(item.english in OUTDOORS for item in clause.adverbials))
    return clause


@pattern(190)
def if_weather(draw):
    """If it rains tomorrow, we will stay at home."""
    plans = ((_BAD_WEATHER, _indoors), (_GOOD_WEATHER, _outdoors))
    weather, plan = draw.one(plans)
    english, german = draw.one(weather)
    clause = plan(draw, person(draw, 0.6))
    return fronted_clause(f"if {english}", f"wenn {german}", clause)


_LEISURE = listed(
    "visit; call; read; clean; tidy; bake; cook; repair; meet; wash; paint; draw; watch; write; "
    "try on"
)
_EXPENSES = listed("buy; rent; plan; build")


def _affordable(draw, tense, who, stuff):
    """A clause about something that takes the stuff: time or money."""
    verbs = _LEISURE if "time" in stuff else _EXPENSES
    clause = object_clause(draw, tense, "h-l", who, verbs=verbs)
    need(
        "time" in stuff
        or not {"food", "drink", "press", "ware", "raw"} & set(clause.objects[0].phrase.noun.tags)
    )
    return clause


@pattern(190)
def if_time(draw):
    """If I have time, I will visit my aunt."""
    who = draw.one(PRONOUNS)
    stuff = draw.one(paired(
        "time = Zeit; money = Geld; enough time = genug Zeit; enough money = genug Geld"
    ))  # fmt: skip
    clause = _affordable(draw, "will", who, stuff[0])
    have = having(who, stuff)
    return fronted_clause(f"if {english_main(have)}", subordinate(have, "wenn"), clause)


@pattern(155)
def unreal(draw):
    """If I had more money, I would buy a house."""
    who = draw.one(PRONOUNS)
    english, german = draw.one(paired("more time = mehr Zeit; more money = mehr Geld"))
    clause = _affordable(draw, "would", who, english)
    had = subjunctive("hätten", person_index(who))
    condition = f"wenn {who.german} {german} {had}"
    return fronted_clause(f"if {who.english} had {english}", condition, clause)


def how_often(draw, entries):
    """One of the frequencies written as "often = oft; never = nie"."""
    return Adverbial(*draw.one(paired(entries)), "often")


_NOT_FOR_CHILDREN = listed("beer; wine; coffee; boss; colleague; son; daughter")


@pattern(155)
def when_past(draw):
    """When I was a child, I often played in the garden."""
    who = draw.one((ICH, ER, SIE, DU))
    if draw.chance(0.5):
        clause = deed_clause(draw, "past", who, extra=0.9)
        need(clause.verb.english in ("play", "sing", "dance", "swim", "run", "laugh", "read"))
        need(all(item.kind == "place" for item in clause.adverbials))
    else:
        verbs = listed("read; eat; drink; visit; paint; feed; sing; wear; bake; watch")
        clause = object_clause(draw, "past", "h", who, verbs=verbs)
        phrase = clause.objects[0].phrase
        need(phrase.noun.english not in _NOT_FOR_CHILDREN)
        need(phrase.det != "def" or clause.verb.english in ("feed", "visit"))
    often = how_often(
        draw, "often = oft; always = immer; sometimes = manchmal; never = nie; rarely = selten"
    )
    clause = replace(clause, adverbials=(often, *clause.adverbials))
    child = being(who, ("a child", "ein Kind"), "past")
    return fronted_clause(f"when {english_main(child)}", subordinate(child, "als"), clause)


@pattern(190)
def before(draw):
    """Before I go to the library, I often eat a roll."""
    who = draw.one(PRONOUNS)
    later = draw.one(
        (
            Clause(who, VERB["fall asleep"]),
            Clause(who, VERB["go shopping"]),
            going(draw, "present", subject=who),
        )
    )
    verbs = listed("read; eat; drink; feed; tidy; clean; call; write; water")
    if later.verb.english == "fall asleep":
        verbs = ("read", "drink")
    clause = object_clause(draw, "present", "h", who, verbs=verbs)
    phrase = clause.objects[0].phrase
    need(phrase.noun.english not in ("beer", "wine", "coffee"))
    need(phrase.det != "def" or clause.verb.english not in ("eat", "write"))
    often = how_often(draw, "always = immer; often = oft; usually = meistens; sometimes = manchmal")
    clause = replace(clause, adverbials=(often,))
    return fronted_clause(f"before {english_main(later)}", subordinate(later, "bevor"), clause)


# --- That, whether, why ----------------------------------------------------------------------


def _thinking(draw):
    """Somebody, their thinking or saying in both languages, and its verb."""
    who = draw.one((ICH, ER, SIE, WIR, SIE_PLURAL)) if draw.chance(0.6) else name(draw)
    verb, tense = draw.one(paired(
        "know that = present; think = present; hope = present; say = past; say = present; "
        "know that = past"
    ))  # fmt: skip
    need(verb != "say" or tense == "past" or who not in (ICH, WIR))
    clause = Clause(who, VERB[verb], tense)
    english = english_main(clause).removesuffix(" that") + " that"
    return who, english, german_main(clause) + ",", verb


_INTENDED = listed("dance; work; go shopping; go for a walk; come along; come back; cook; swim")


def _future_deed(draw, subject):
    """A clause about something somebody will do."""
    clause = deed_clause(draw, "will", subject, when="future", extra=0)
    need(clause.verb.english in _INTENDED)
    return clause


_BELIEFS = (
    ("past", "h-l", None),
    ("past", "h-l", "past"),
    ("present", "s", None),
    ("will", "h-l", "future"),
)


@pattern(265)
def that(draw):
    """I think that the baker sold his house."""
    who, english, german, verb = _thinking(draw)
    subject = person(draw, 0.4)
    need(subject is not who and getattr(subject, "noun", 1) is not getattr(who, "noun", 2))
    tense, aspects, when = draw.one(_BELIEFS)
    if draw.chance(0.25):
        hoped = _GLAD + moods("healthy; at home")
        clause = being(plain(subject), draw.one(hoped if verb == "hope" else MOODS))
    elif draw.chance(0.2):
        clause = _future_deed(draw, subject)
    else:
        clause = object_clause(draw, tense, aspects, subject, when=when)
    need(verb != "hope" or clause.tense == "will" or clause.verb.english == "be")
    # English shifts the tense behind "said" and "knew", German does not.
    need(not ("said" in english or "knew" in english) or clause.tense == "past")
    text = f"{english} {english_main(clause)}"
    return sentence(text), sentence(f"{german} {subordinate(clause, 'dass')}")


_DOUBTS = paired(
    "I don't know whether = ich weiß nicht, ob = .; do you know whether = weißt du, ob = ?; "
    "we don't know whether = wir wissen nicht, ob = .; she is asking whether = sie fragt, ob = .; "
    "can you tell me whether = kannst du mir sagen, ob = ?"
)


@pattern(190)
def whether(draw):
    """I don't know whether the waiter is tired."""
    english, german, mark = draw.one(_DOUBTS)
    subject = person(draw, 0.35)
    need(subject not in (DU, ICH, WIR))
    kind = draw.random.randrange(3)
    if kind == 0:
        clause = being(plain(subject), draw.one(MOODS))
    elif kind == 1:
        clause = _future_deed(draw, subject)
    else:
        tense, aspects = draw.one((("past", "h-"), ("will", "h-"), ("present", "s"), ("can", "-")))
        clause = object_clause(draw, tense, aspects, subject)
    text = f"{english} {english_main(clause)}"
    return sentence(text, mark), sentence(f"{german} {subordinate(clause, '')}", mark)


_OPENINGS = paired(
    "I don't know = ich weiß nicht = .; do you know = weißt du = ?; "
    "can you tell me = kannst du mir sagen = ?; please tell me = bitte sag mir = .; "
    "nobody knows = niemand weiß = ."
)
_ASKED = (
    ("why", "warum", "past", None),
    ("why", "warum", "progressive", None),
    ("when", "wann", "will", listed("visit; sell; buy; call; meet; repair; clean; invite")),
    ("where", "wo", "past", listed("buy; find; lose; meet; hide; see")),
    ("what", "was", "past", listed("buy; cook; eat; read; write; draw; forget; order; sell")),
)


@pattern(190)
def indirect_question(draw):
    """Do you know where Anna bought her coat?"""
    english, german, mark = draw.one(_OPENINGS)
    word, wort, tense, verbs = draw.one(_ASKED)
    subject = person(draw, 0.4)
    need(subject not in (DU, ICH, WIR))
    clause = object_clause(draw, tense, "h-" if tense != "past" else "h-s", subject, verbs=verbs)
    need(word != "why" or clause.verb.english not in ("see", "hear", "like", "have"))
    if word == "what":
        clause = replace(clause, objects=())
    text = f"{english} {word} {english_main(clause)}"
    return sentence(text, mark), sentence(f"{german}, {subordinate(clause, wort)}", mark)

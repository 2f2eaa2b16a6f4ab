"""Patterns of questions and commands."""

from dataclasses import replace

from grammar import (
    DU,
    ER,
    ICH,
    IHR,
    SIE,
    SIE_PLURAL,
    SIE_POLITE,
    WIR,
    Clause,
    Complement,
    NounPhrase,
    english_infinitive,
    english_phrase,
    english_question,
    english_wh_subject,
    german_command,
    german_phrase,
    german_question,
    german_wh_subject,
    join,
    middle_field,
    sentence,
)
from lexicon import COUNTRIES, VERB, select
from parts import (
    NEVER_NEGATED,
    YOU_TWO,
    addressee,
    dative_clause,
    deed_clause,
    giving_clause,
    listed,
    need,
    need_suiting_call,
    object_clause,
    pattern,
    person,
    thing,
    topic_clause,
)
from statements import ABLE, going

_ABOUT_WORDS = {
    "auf": "worauf",
    "an": "woran",
    "von": "wovon",
    "über": "worüber",
    "für": "wofür",
}


def asked(clause, word=("", ""), call=("", "")):
    """A clause as a question in both languages, with a form of address behind it."""
    need_suiting_call(clause, call[0])
    english = english_question(clause, word[0]) + call[0]
    german = german_question(clause, word[1]) + call[1]
    return sentence(english, "?"), sentence(german, "?")


def asked_person(draw):
    """Whom a question is about, and the form of address that goes with "you"."""
    if draw.chance(0.5):
        pronoun, *call = addressee(draw)
        return pronoun, call
    if draw.chance(0.1):
        return YOU_TWO, ("", "")
    subject = person(draw, 0.3)
    need(subject not in (ICH, WIR))
    return subject, ("", "")


@pattern(180)
def yes_no(draw):
    """Do you need a coat?"""
    subject, call = asked_person(draw)
    tense, aspects, when = draw.one(
        (("present", "s", None), ("progressive", "h-", None), ("will", "h-", "future"))
    )
    clause = object_clause(draw, tense, aspects, subject, when=when)
    need(clause.verb.english not in NEVER_NEGATED)
    return asked(clause, call=call)


@pattern(140)
def yes_no_past(draw):
    """Did the baker sell his house?"""
    subject, call = asked_person(draw)
    clause = object_clause(draw, "past", "h-l", subject, when=draw.one((None, "past")))
    return asked(clause, call=call)


@pattern(140)
def yes_no_modal(draw):
    """Can you open the window?"""
    subject, call = asked_person(draw)
    tense = draw.one(("can", "have to", "want to", "can"))
    clause = object_clause(draw, tense, "h-l", subject, verbs=ABLE if tense == "can" else None)
    return asked(clause, call=call)


@pattern(105)
def yes_no_deed(draw):
    """Did you sleep well?"""
    subject, call = asked_person(draw)
    need(subject is not YOU_TWO)
    tense, when = draw.one((("past", "past"), ("progressive", None), ("want to", "future")))
    return asked(deed_clause(draw, tense, subject, when=when), call=call)


@pattern(155)
def what(draw):
    """What did your mother cook yesterday?"""
    subject, call = asked_person(draw)
    tense, when = draw.one(
        (
            ("progressive", None),
            ("past", "past"),
            ("want to", "future"),
            ("will", "future"),
            ("past", None),
            ("have to", None),
            ("can", None),
            ("progressive", "now"),
        )
    )
    clause = object_clause(draw, tense, "h-", subject, when=when, verbs=_WHAT)
    need(clause.verb.english not in ("see", "hear") or tense == "past")
    need(tense != "can" or clause.verb.english in ABLE)
    return asked(replace(clause, objects=()), ("what", "was"), call)


_WHAT = frozenset(
    listed(
        "eat; drink; buy; read; write; cook; bake; order; draw; look for; paint; see; hear; "
        "forget; sell; bring along; repair; explain; sing; wear"
    )
)


@pattern(140)
def why(draw):
    """Why are you selling your house?"""
    subject, call = asked_person(draw)
    tense = draw.one(("progressive", "past", "want to", "have to"))
    if draw.chance(0.3):
        clause = deed_clause(draw, tense, subject, extra=0.3)
        need(subject is not YOU_TWO)
    else:
        clause = object_clause(draw, tense, "h-l", subject)
    if tense in ("past", "progressive") and draw.chance(0.3):
        clause = replace(clause, negated=True)
        need(clause.verb.english not in ("laugh", "cry"))
    need(clause.verb.english not in ("see", "hear"))
    return asked(clause, ("why", "warum"), call)


@pattern(120)
def when(draw):
    """When will Paul visit his aunt?"""
    subject, call = asked_person(draw)
    if draw.chance(0.3):
        clause = going(draw, draw.one(("progressive", "past")), subject=subject)
    else:
        tense = draw.one(("will", "past", "want to"))
        clause = object_clause(draw, tense, "h-", subject, verbs=_WHEN)
    return asked(clause, ("when", "wann"), call)


_WHEN = frozenset(
    listed(
        "buy; sell; visit; meet; invite; call; pick up; repair; clean; tidy; wash; watch; cook; "
        "bake; water; feed; solve; plan; lose; find; order; close; open; rent; build; pay; "
        "write"
    )
)


@pattern(140)
def where(draw):
    """Where did you buy this hat?"""
    subject, call = asked_person(draw)
    tense, verbs = draw.one(
        (
            ("past", {"buy", "find", "lose", "see", "meet", "forget"}),
            ("will", {"buy", "meet"}),
            ("can", {"buy", "find"}),
            ("want to", {"buy", "build", "meet"}),
        )
    )
    clause = object_clause(draw, tense, "h-sl", subject, verbs=verbs)
    need(clause.objects[0].phrase.det != "indef" or tense != "past")
    return asked(clause, ("where", "wo"), call)


@pattern(105)
def where_deed(draw):
    """Where do you work, Mr. Weber?"""
    subject, call = asked_person(draw)
    tense, verbs = draw.one(
        (
            ("present", ("work", "live")),
            ("progressive", ("wait", "play", "learn", "rest", "swim")),
            ("past", ("sleep", "wait", "dance", "swim", "work", "live", "learn")),
            ("want to", ("live", "sleep", "swim", "work")),
        )
    )
    verb = VERB[draw.one(verbs)]
    need(not (verb.reflexive and subject is YOU_TWO))
    return asked(Clause(subject, verb, tense), ("where", "wo"), call)


@pattern(105)
def where_to(draw):
    """Where are you going, children?"""
    subject, call = asked_person(draw)
    verb, tense = draw.one(
        (
            ("go", "progressive"),
            ("fly", "progressive"),
            ("go", "past"),
            ("travel", "past"),
            ("drive", "progressive"),
            ("travel", "want to"),
            ("go", "want to"),
            ("fly", "past"),
        )
    )
    return asked(Clause(subject, VERB[verb], tense), ("where", "wohin"), call)


@pattern(140)
def who(draw):
    """Who repaired the bike?"""
    tense, aspects = draw.one(
        (
            ("past", "h-"),
            ("past", "h-"),
            ("will", "h-"),
            ("can", "h-"),
            ("want to", "h-"),
            ("must", "h-"),
        )
    )
    kind = draw.one((object_clause, object_clause, topic_clause))
    clause = kind(draw, tense, subject=ER, aspects="-" if kind is topic_clause else aspects)
    phrase = clause.objects[0].phrase
    need(phrase.det is not ER and clause.verb.english not in ("call", "wear"))
    need(kind is object_clause or tense == "past")
    need(tense != "can" or clause.verb.english in ABLE)
    english = english_wh_subject(clause)
    return sentence(english, "?"), sentence(german_wh_subject(clause), "?")


@pattern(105)
def which(draw):
    """Which book did you read?"""
    subject, call = asked_person(draw)
    tense = draw.one(("past", "want to", "will"))
    clause = object_clause(draw, tense, "h-", subject, verbs=_WHICH)
    phrase = clause.objects[0].phrase
    need(not {"mass", "count"} & set(phrase.noun.tags))
    plain = NounPhrase(phrase.noun, "which")
    word = (english_phrase(plain), german_phrase(plain, "acc"))
    return asked(replace(clause, objects=()), word, call)


_WHICH = frozenset(
    listed(
        "read; watch; buy; visit; sell; take; open; repair; miss; sing; order; explain; solve; "
        "understand; try on; write"
    )
)


@pattern(85)
def what_about(draw):
    """What are you waiting for?"""
    subject, call = asked_person(draw)
    need(subject is not YOU_TWO)
    tense, aspects = draw.one((("progressive", "-"), ("past", "-"), ("present", "s")))
    clause = topic_clause(draw, tense, subject, aspects=aspects)
    item = clause.objects[0]
    need(item.german_preposition in _ABOUT_WORDS)
    return asked(replace(clause, objects=()), ("what", _ABOUT_WORDS[item.german_preposition]), call)


@pattern(105)
def topic_question(draw):
    """Are you interested in music?"""
    subject, call = asked_person(draw)
    need(subject is not YOU_TWO)
    tense, aspects = draw.one((("progressive", "-"), ("past", "-"), ("present", "s")))
    return asked(topic_clause(draw, tense, subject, aspects=aspects), call=call)


@pattern(105)
def giving_question(draw):
    """Can you lend me your umbrella?"""
    pronoun, *call = addressee(draw)
    receiver = draw.one((ICH, WIR, ER, SIE, SIE_PLURAL))
    clause = giving_clause(draw, draw.one(("can", "can", "past")), pronoun)
    need(clause.tense != "past" or receiver not in (ICH, WIR))
    need(not (pronoun is IHR and receiver is SIE))
    gift = clause.objects[1]
    return asked(replace(clause, objects=(Complement(receiver, "dat"), gift)), call=call)


@pattern(105)
def dative_question(draw):
    """Did you thank your aunt?"""
    subject, call = asked_person(draw)
    need(subject is not YOU_TWO)
    clause = dative_clause(draw, draw.one(("past", "can", "will")), subject)
    need(subject is not IHR or clause.objects[0].phrase is not SIE)  # "ihr ihr" is clumsy
    need(clause.tense != "can" or clause.verb.english in ("help", "answer"))
    return asked(clause, call=call)


@pattern(105)
def offer(draw):
    """Would you like a coffee, Mrs. Schmidt?"""
    pronoun, *call = addressee(draw)
    names = "bread cheese fish salad soup pizza cake coffee tea milk juice water rice apple banana"
    names += " pear orange roll egg chocolate vegetables tomato"
    noun = draw.one(select(names.split()))
    phrase = thing(draw, noun, draw.one(("indef", "this")), "offer", 0.2)
    need(phrase.det != "this" or "mass" not in noun.tags)
    english = f"would you like {english_phrase(phrase)}{call[0]}"
    verb = {DU: "möchtest du", IHR: "möchtet ihr", SIE_POLITE: "möchten Sie"}[pronoun]
    german = f"{verb} {german_phrase(phrase, 'acc')}{call[1]}"
    return sentence(english, "?"), sentence(german, "?")


@pattern(105)
def request(draw):
    """Could you please open the window?"""
    pronoun, *call = addressee(draw)
    clause = object_clause(draw, "can", "h-", pronoun, verbs=_REQUESTED)
    infinitive = clause.verb.prefix + clause.verb.german
    finite = {DU: "könntest du", IHR: "könntet ihr", SIE_POLITE: "könnten Sie"}[pronoun]
    english = f"could you please {english_infinitive(clause)}{call[0]}"
    german = join([finite, "bitte", middle_field(clause), infinitive]) + call[1]
    return sentence(english, "?"), sentence(german, "?")


_REQUESTED = frozenset(
    listed(
        "open; close; turn on; turn off; clean; tidy; wash; repair; explain; repeat; pick up; "
        "call; water; feed; carry; bring along; buy; cook; bake; pay"
    )
)


# --- Commands --------------------------------------------------------------------------------

_COMMANDED = _REQUESTED | frozenset(
    listed(
        "take; read; eat; try on; put on; take off; order; look for; write; "
        "draw; visit; invite; solve; sell; watch"
    )
)


@pattern(165)
def command(draw):
    """Close the window, Paul."""
    pronoun, *call = addressee(draw)
    clause = object_clause(draw, "present", "h-", pronoun, verbs=_COMMANDED)
    please = draw.chance(0.5)
    need_suiting_call(clause, call[0])
    english = join(["please" if please else "", english_infinitive(clause)]) + call[0]
    german = join(["bitte" if please else "", german_command(clause)]) + call[1]
    mark = "." if please else "!"
    return sentence(english, mark), sentence(german, mark)


@pattern(105)
def prohibition(draw):
    """Don't forget your umbrella!"""
    pronoun, *call = addressee(draw)
    clause = object_clause(draw, "present", "h-", pronoun, verbs=_PROHIBITED)
    need_suiting_call(clause, call[0])
    need(clause.objects[0].phrase.det not in ("bare", "indef"))
    english = f"don't {english_infinitive(clause)}{call[0]}"
    german = german_command(replace(clause, negated=True)) + call[1]
    return sentence(english, "!"), sentence(german, "!")


_PROHIBITED = frozenset(
    listed(
        "forget; lose; open; close; turn on; turn off; sell; read; eat; wash; take "
        "off; watch; invite; call; wear; feed; miss; explain; pay; try on"
    )
)


_EXHORTED = listed(
    "wait; sleep; sing; come back; learn; play; work; run; come along; get up; rest; wake up"
)


@pattern(105)
def command_deed(draw):
    """Wait here, please! Sleep well, Anna!"""
    pronoun, *call = addressee(draw)
    clause = deed_clause(draw, "present", pronoun, extra=0.8)
    need(clause.verb.english in _EXHORTED)
    need(not any(item.english in ("alone", "slowly") for item in clause.adverbials))
    english = english_infinitive(clause) + call[0]
    return sentence(english, "!"), sentence(german_command(clause) + call[1], "!")


@pattern(105)
def suggestion(draw):
    """Let's cook a soup."""
    when = draw.one((None, "future"))
    clause = object_clause(draw, "present", "h-", WIR, when=when, verbs=_SUGGESTED)
    english = f"let's {english_infinitive(clause)}"
    infinitive = clause.verb.prefix + clause.verb.german
    reflexive = "uns" if clause.verb.reflexive else ""
    need(not reflexive)
    german = join(["lass uns", middle_field(clause), infinitive])
    return sentence(english), sentence(german)


_SUGGESTED = frozenset(
    listed(
        "cook; eat; drink; buy; visit; meet; invite; clean; tidy; bake; order; read; play; "
        "call; pick up; sing; sell; wash; repair; take; plan; build; paint; rent; pay"
    )
)


@pattern(105)
def origin(draw):
    """Do you speak German, Mr. Weber?"""
    pronoun, *call = addressee(draw)
    need(call[0])
    place = draw.one(COUNTRIES)
    verb, tense, english, german = draw.one(
        (
            ("speak", "present", place[2], place[3]),
            ("learn", "progressive", place[2], place[3]),
            ("come", "present", f"from {place[0]}", f"aus {place[1]}"),
            ("understand", "present", place[2], place[3]),
            ("fly", "progressive", f"to {place[0]}", f"nach {place[1]}"),
        )
    )
    return asked(Clause(pronoun, VERB[verb], tense, predicate=(english, german)), call=call)

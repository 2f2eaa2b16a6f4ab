"""Patterns of plain statements: tenses, modal verbs, negation, objects and places."""

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
    Complement,
    NounPhrase,
    english_fronted,
    english_main,
    english_phrase,
    english_question,
    german_main,
    german_prepositional,
    german_question,
    ing_form,
    join,
    sentence,
)
from lexicon import CITIES, COUNTRIES, MOODS, PLACES, SUBJECTS_OF_STUDY, TIMES, VERB
from parts import (
    GRANDPARENTS,
    NEVER_NEGATED,
    NUMBERS,
    PRONOUNS,
    YOU_TWO,
    dative_clause,
    deed_clause,
    giving_clause,
    goal,
    is_young,
    kin,
    listed,
    name,
    need,
    need_clear_past,
    object_clause,
    other_person,
    paired,
    pattern,
    person,
    place_for,
    plain,
    third_person_singular,
    time_for,
    topic_clause,
)

ALREADY = Adverbial("already", "schon", "already")
YET = Adverbial("yet", "noch", "already")
PRESENT_MODALS = ("can", "must", "have to", "need to", "want to", "should", "would like to")
PAST_MODALS = ("could", "had to", "wanted to")


def both(clause, mark="."):
    """A clause as a statement in both languages."""
    need_clear_past(clause)
    return sentence(english_main(clause), mark), sentence(german_main(clause), mark)


def fronted(clause):
    """A clause as a statement that opens with its time."""
    front = next(item for item in clause.adverbials if item.kind == "time")
    return sentence(english_fronted(clause, front)), sentence(german_main(clause, front))


@pattern(205)
def habit(draw):
    """Anna often reads a novel."""
    return both(object_clause(draw, "present", "h", when="habit", where=0.15))


@pattern(200)
def progressive(draw):
    """The boy is repairing the bike."""
    when = draw.one((None, None, "gerade", "now"))
    return both(object_clause(draw, "progressive", "h-l", when=when, where=0.3))


@pattern(140)
def state(draw):
    """My sister needs a new coat."""
    return both(object_clause(draw, "present", "s"))


@pattern(200)
def past(draw):
    """We bought a car yesterday."""
    return both(object_clause(draw, "past", when=draw.one((None, "past", "past")), where=0.15))


@pattern(105)
def past_time_first(draw):
    """Yesterday we bought a car."""
    return fronted(object_clause(draw, "past", "h-l", when="past"))


@pattern(155)
def future(draw):
    """I will visit my aunt tomorrow."""
    return both(object_clause(draw, "will", "h-l", when=draw.one((None, "future", "future"))))


@pattern(105)
def future_time_first(draw):
    """Tomorrow I will visit my aunt."""
    return fronted(object_clause(draw, "will", "h-l", when="future"))


@pattern(275)
def modal(draw):
    """We have to clean the kitchen."""
    tense = draw.one(PRESENT_MODALS)
    when = draw.one((None, None, "future")) if tense != "can" else None
    verbs = ABLE if tense == "can" else None
    return both(object_clause(draw, tense, "h-l", when=when, verbs=verbs))


@pattern(120)
def past_modal(draw):
    """She had to sell her bike last week. We couldn't open the bottle."""
    tense = draw.one(PAST_MODALS)
    could = tense == "could"
    when = None if could else draw.one((None, "past"))
    clause = object_clause(draw, tense, "h-l", when=when, verbs=ABLE if could else None)
    return both(replace(clause, negated=could))


ABLE = frozenset(
    listed(
        "cook; bake; repair; solve; explain; draw; paint; carry; open; close; find; repeat; "
        "bring along; pick up; call; visit; turn on; turn off; sell; clean; buy; "
        "invite"
    )
)


@pattern(105)
def allowed(draw):
    """The children are allowed to play in the garden."""
    if draw.chance(0.3):
        clause = deed_clause(draw, "be allowed to", extra=0.9)
        need(clause.verb.english in ("sleep", "sing", "dance", "swim", "run", "play", "rest"))
        need(any(item.kind == "place" for item in clause.adverbials))
    else:
        clause = object_clause(draw, "be allowed to", "h-", verbs=_ALLOWED)
    return both(replace(clause, negated=draw.chance(0.35)))


_ALLOWED = frozenset(
    listed(
        "eat; drink; open; watch; read; buy; invite; visit; turn on; bring along; take; paint; "
        "cook; wear; order; feed"
    )
)


@pattern(180)
def negated(draw):
    """He is not reading a book."""
    if draw.chance(0.35):
        clause = object_clause(draw, "present", "s")
        need(clause.verb.english not in NEVER_NEGATED | {"see", "hear"})
    else:
        clause = object_clause(draw, "progressive", "h-", when=draw.one((None, "now", "gerade")))
        need(not any(item.english in ("now", "right now") for item in clause.adverbials))
    return both(replace(clause, negated=True))


@pattern(155)
def negated_past(draw):
    """We did not buy the car."""
    clause = object_clause(draw, "past", "h-s", when=draw.one((None, None, "past")))
    need(clause.verb.english not in NEVER_NEGATED)
    return both(replace(clause, negated=True))


@pattern(105)
def negated_modal(draw):
    """I can't find my key."""
    tense = draw.one(("can", "want to", "should"))
    clause = object_clause(draw, tense, "h-", verbs=ABLE if tense == "can" else None)
    return both(replace(clause, negated=True))


@pattern(180)
def already(draw):
    """I have already read the letter."""
    clause = object_clause(draw, "perfect", "h-l", verbs=_FINISHED)
    need(clause.objects[0].phrase.definite)
    if draw.chance(0.5):
        return both(replace(clause, adverbials=(ALREADY,)))
    return both(replace(clause, adverbials=(YET,), negated=True))


_FINISHED = frozenset(
    listed(
        "eat; read; write; buy; sell; watch; find; open; close; clean; tidy; wash; repair; "
        "visit; invite; call; pick up; explain; repeat; pay; solve; plan; feed; water; "
        "turn on; turn off; try on; order"
    )
)


@pattern(180)
def deed(draw):
    """The children are playing in the garden."""
    return both(deed_clause(draw, "progressive", when=draw.one((None, None, "gerade")), extra=0.9))


@pattern(140)
def deed_habit(draw):
    """My father always sleeps well."""
    return both(deed_clause(draw, "present", when="habit", aspects="h", extra=0.5))


@pattern(155)
def deed_past(draw):
    """The guests came back last night."""
    return both(deed_clause(draw, "past", when=draw.one((None, "past", "past"))))


@pattern(105)
def deed_past_time_first(draw):
    """This morning I got up alone."""
    return fronted(deed_clause(draw, "past", when="past", extra=0.4))


@pattern(140)
def deed_modal(draw):
    """We want to dance tonight."""
    tense = draw.one((*PRESENT_MODALS, "will"))
    when = None if tense == "can" else draw.one((None, "future"))
    clause = deed_clause(draw, tense, when=when, extra=0.5)
    need(tense != "can" or clause.verb.english not in _UNABLE)
    return both(clause)


_UNABLE = listed("exercise; smoke; make phone calls; watch television; get up")


def _is_doctor(subject):
    return isinstance(subject, NounPhrase) and subject.noun.english == "doctor"


_ON_THE_WAY = ("to the bus stop", "to the gas station", "to the restroom")


def going(draw, tense, when=None, subject=None):
    """A clause about going somewhere."""
    adverbials = [goal(draw)] + ([time_for(draw, when)] if when else [])
    subject = subject or person(draw)
    need(not (is_young(subject) and "bank" in adverbials[0].english))
    need("doctor" not in adverbials[0].english or not _is_doctor(subject))
    need(adverbials[0].english not in _ON_THE_WAY or not when or adverbials[1] in TIMES["near"])
    return Clause(subject, VERB["go"], tense, (), tuple(adverbials))


@pattern(225)
def going_somewhere(draw):
    """We are going to the park."""
    tense, when = draw.one(
        (("progressive", None), ("past", "past"), ("will", "future"), ("want to", "future"))
    )
    clause = going(draw, tense, when)
    return both(replace(clause, negated=tense in ("progressive", "past") and draw.chance(0.3)))


@pattern(140)
def topic(draw):
    """She is waiting for the bus."""
    if draw.chance(0.3):
        return both(topic_clause(draw, "present", aspects="s"))
    tense = draw.one(("progressive", "progressive", "past"))
    clause = topic_clause(draw, tense, when="past" if tense == "past" else None, aspects="-")
    return both(clause)


@pattern(85)
def topic_negated(draw):
    """I am not waiting for the bus."""
    if draw.chance(0.4):
        return both(replace(topic_clause(draw, "present", aspects="s"), negated=True))
    return both(replace(topic_clause(draw, "progressive", aspects="-"), negated=True))


@pattern(140)
def dative_verb(draw):
    """The nurse is helping my grandmother."""
    tense, when = draw.one(
        (
            ("past", None),
            ("past", "past"),
            ("will", None),
            ("must", None),
            ("can", None),
            ("progressive", None),
        )
    )
    clause = dative_clause(draw, tense, when=when)
    need(tense != "can" or clause.verb.english in ("help", "answer"))
    return both(clause)


@pattern(120)
def giving(draw):
    """He is showing his sister the photo."""
    tense, when = draw.one(
        (
            ("past", None),
            ("past", "past"),
            ("will", "future"),
            ("must", None),
            ("can", None),
            ("progressive", None),
            ("would like to", None),
        )
    )
    return both(giving_clause(draw, tense, when=when))


@pattern(140)
def mood(draw):
    """My colleague is nervous today."""
    tense, when = draw.one((("present", None), ("present", "today"), ("past", "past")))
    subject = YOU_TWO if draw.chance(0.08) else plain(person(draw))
    adverbials = ()
    if when == "today":
        adverbials = (next(t for t in TIMES["any"] if t.english == "today"),)
    elif when:
        adverbials = (time_for(draw, "past", "open"),)
    predicate = draw.one(MOODS)
    need(predicate[0] not in _LASTING or not adverbials)
    clause = Clause(subject, VERB["be"], tense, (), adverbials, draw.chance(0.25), predicate)
    return both(clause)


_LASTING = listed("satisfied; healthy; in love; married; single; divorced; shy; lonely; curious")


# --- People, places, languages ---------------------------------------------------------------


@pattern(105)
def since(draw):
    """I have been living in Berlin for three years."""
    number, zahl = draw.one(NUMBERS[1:10])
    unit, einheit = draw.one(paired("years = Jahren; months = Monaten; weeks = Wochen"))
    verb, tail, rest = draw.one(_GOING_ON)(draw)
    lasting = Adverbial("", f"seit {zahl} {einheit} {rest}", "time")
    subject = person(draw)
    german = german_main(Clause(subject, VERB[verb], "present", (), (lasting,)))
    have = english_main(Clause(subject, VERB["have"], "present"))
    doing = ing_form(verb)
    return sentence(f"{have} been {doing} {tail} for {number} {unit}"), sentence(german)


def _in_city(verb):
    """What is done in a city: its verb and the city in both languages."""

    def choose(draw):
        city, stadt = draw.one(CITIES)
        return verb, f"in {city}", f"in {stadt}"

    return choose


def _learning(draw):
    country = draw.one(COUNTRIES)
    return "learn", country[2], country[3]


_GOING_ON = (_in_city("live"), _in_city("work"), _learning)


@pattern(105)
def language(draw):
    """Her uncle speaks a little Spanish."""
    country = draw.one(COUNTRIES)
    verb, tense, english, german = draw.one(
        (
            ("speak", "present", "{}", "{}"),
            ("speak", "present", "good {}", "gut {}"),
            ("speak", "present", "a little {}", "ein bisschen {}"),
            ("learn", "progressive", "{}", "{}"),
            ("learn", "want to", "{}", "{}"),
            ("learn", "past", "{} at school", "in der Schule {}"),
            ("understand", "present", "{}", "{}"),
            ("speak", "can", "{}", "{}"),
            ("teach", "present", "{}", "{}"),
            ("teach", "past", "{} at school", "in der Schule {}"),
        )
    )
    predicate = (english.format(country[2]), german.format(country[3]))
    subject = person(draw)
    if verb == "teach" and isinstance(subject, NounPhrase):
        need(subject.noun.english == "teacher" or "job" not in subject.noun.tags)
        need(not is_young(subject))
    return both(Clause(subject, VERB[verb], tense, predicate=predicate))


@pattern(140)
def country(draw):
    """Our guests are flying to Japan."""
    where = draw.one(COUNTRIES + CITIES)
    english, german = where[:2]
    verb, tense, before, vor, when = draw.one(
        (
            ("come", "present", "from", "aus", None),
            ("fly", "progressive", "to", "nach", None),
            ("fly", "past", "to", "nach", "past"),
            ("drive", "progressive", "to", "nach", None),
            ("travel", "want to", "to", "nach", "future"),
            ("travel", "past", "to", "nach", "past"),
            ("live", "present", "in", "in", None),
            ("live", "past", "in", "in", None),
            ("travel", "will", "to", "nach", "future"),
        )
    )
    need(verb != "drive" or english not in ("Japan", "England", "London"))
    kind = "place" if verb == "live" else "direction"
    adverbials = [Adverbial(f"{before} {english}", f"{vor} {german}", kind)]
    if when:
        adverbials.append(time_for(draw, when, aspect="any"))
    return both(Clause(person(draw), VERB[verb], tense, (), tuple(adverbials)))


@pattern(105)
def profession(draw):
    """Her brother is a doctor."""
    male = draw.chance(0.7)
    jobs = MENS_JOBS if male else WOMENS_JOBS
    english, german = draw.one(jobs)
    subject = third_person_singular(draw) if draw.chance(0.8) else draw.one((ICH, DU))
    if isinstance(subject, NounPhrase):
        need(subject.gender == ("m" if male else "f"))
        need("job" not in subject.noun.tags and not is_young(subject))
    else:
        need(male)
    article = "an" if english[0] in "aeio" else "a"
    if draw.chance(0.5):
        clause = Clause(subject, VERB["be"], predicate=(f"{article} {english}", german))
    else:
        tense = draw.one(("want to", "will", "would like to"))
        need(not isinstance(subject, NounPhrase) or subject.noun.english not in _GROWN)
        clause = Clause(subject, VERB["become"], tense, predicate=(f"{article} {english}", german))
    return both(clause)


_GROWN = (*GRANDPARENTS, "father", "mother", "boss")
MENS_JOBS = [
    ("teacher", "Lehrer"),
    ("doctor", "Arzt"),
    ("police officer", "Polizist"),
    ("waiter", "Kellner"),
    ("salesman", "Verkäufer"),
    ("baker", "Bäcker"),
    ("cook", "Koch"),
    ("farmer", "Bauer"),
    ("musician", "Musiker"),
    ("artist", "Künstler"),
    ("engineer", "Ingenieur"),
    ("mechanic", "Mechaniker"),
    ("hairdresser", "Friseur"),
    ("dentist", "Zahnarzt"),
    ("lawyer", "Anwalt"),
    ("actor", "Schauspieler"),
    ("pilot", "Pilot"),
    ("programmer", "Programmierer"),
    ("student", "Student"),
    ("driver", "Fahrer"),
]
WOMENS_JOBS = [
    ("nurse", "Krankenschwester"),
    ("waitress", "Kellnerin"),
    ("singer", "Sängerin"),
    ("teacher", "Lehrerin"),
    ("doctor", "Ärztin"),
    ("police officer", "Polizistin"),
    ("musician", "Musikerin"),
    ("artist", "Künstlerin"),
    ("engineer", "Ingenieurin"),
    ("hairdresser", "Friseurin"),
    ("dentist", "Zahnärztin"),
    ("lawyer", "Anwältin"),
    ("programmer", "Programmiererin"),
    ("student", "Studentin"),
    ("cook", "Köchin"),
    ("saleswoman", "Verkäuferin"),
]


@pattern(85)
def study(draw):
    """My cousin is studying law in Vienna."""
    subject, city = draw.one(SUBJECTS_OF_STUDY), draw.one(CITIES)
    tense = draw.one(("progressive", "past", "want to"))
    who = draw.one((name, kin, lambda d: d.one(PRONOUNS)))(draw)
    need(tense != "progressive" or not isinstance(who, NounPhrase) or not is_old(who))
    where = Adverbial(f"in {city[0]}", f"in {city[1]}", "place")
    if draw.chance(0.3):
        where = place_for(draw, "study")
    predicate = (join([subject[0], where.english]), join([where.german, subject[1]]))
    return both(Clause(who, VERB["study"], tense, predicate=predicate))


def is_old(phrase):
    """Whether a phrase names somebody past school age for sure."""
    return phrase.noun.english in _GROWN or "adult" in phrase.noun.tags


@pattern(140)
def together_with(draw):
    """Yesterday I danced with my sister."""
    clause = deed_clause(draw, draw.one(("progressive", "past")), extra=0.5)
    need(
        clause.verb.english
        in listed("dance; play; cook; sing; go for a walk; swim; go shopping; learn; wait; work")
    )
    need(not any(item.kind == "manner" for item in clause.adverbials))
    companion = Complement(other_person(draw, clause.subject), "dat", "mit", "with")
    return both(replace(clause, adverbials=_as_manner(companion, clause)))


def _as_manner(companion, clause):
    english = f"with {english_phrase(companion.phrase, as_object=True)}"
    german = german_prepositional("mit", companion.phrase, "dat")
    return (Adverbial(english, german, "manner"), *clause.adverbials)


@pattern(105)
def for_somebody(draw):
    """I am baking a cake for my aunt."""
    clause = object_clause(
        draw,
        draw.one(("progressive", "past", "will")),
        "h-l",
        verbs={"cook", "bake", "buy", "order", "paint", "draw", "write", "build"},
    )
    need(clause.objects[0].phrase.det != "this")
    companion = other_person(draw, clause.subject)
    need(companion not in (DU, ICH, ER, SIE, WIR, SIE_PLURAL) or draw.chance(0.6))
    item = Complement(companion, "acc", "für", "for")
    return both(replace(clause, objects=(*clause.objects, item)))


_BY_TRAIN = listed("to the airport; to the university; to the museum; to the zoo; to the theater")


@pattern(155)
def by_vehicle(draw):
    """We are going to the museum by bus."""
    vehicle = draw.one(
        (
            ("bike", "dem Fahrrad"),
            ("bus", "dem Bus"),
            ("car", "dem Auto"),
            ("taxi", "dem Taxi"),
            ("tram", "der Straßenbahn"),
            ("train", "dem Zug"),
            ("foot", ""),
        )
    )
    tense, when = draw.one(
        (("progressive", None), ("past", "past"), ("will", "future"), ("present", "habit"))
    )
    clause = going(draw, tense, when)
    need(clause.adverbials[0].english != "home" and "into" not in clause.adverbials[0].english)
    need(vehicle[0] != "train" or clause.adverbials[0].english in _BY_TRAIN)
    need(not is_young(clause.subject) or vehicle[0] not in ("car", "taxi"))
    way = Adverbial(f"by {vehicle[0]}", f"mit {vehicle[1]}", "manner")
    if vehicle[0] == "foot":
        way = Adverbial("on foot", "zu Fuß", "manner")
    english = english_main(replace(clause, adverbials=clause.adverbials[:1]))
    tail = join([way.english, *(item.english for item in clause.adverbials[1:])])
    verb = VERB["go" if vehicle[0] == "foot" else "drive"]
    german = replace(clause, verb=verb, adverbials=(*clause.adverbials, way))
    return sentence(f"{english} {tail}"), sentence(german_main(german))


@pattern(225)
def being_somewhere(draw):
    """We were at the zoo yesterday. Are the children at school?"""
    place = draw.one(PLACES).here
    need(place.english not in ("in the lake", "in the sea"))
    subject = person(draw)
    tense, when = draw.one((("present", None), ("past", "past"), ("present", "today")))
    need(not (is_young(subject) and "bank" in place.english))
    adverbials = [place]
    if when == "past":
        adverbials.append(time_for(draw, "past"))
    elif when == "today":
        adverbials.append(next(t for t in TIMES["any"] if t.english == "today"))
    clause = Clause(subject, VERB["be"], tense, (), tuple(adverbials), draw.chance(0.15))
    if subject is not ICH and draw.chance(0.25):
        clause = replace(clause, negated=False)
        return sentence(english_question(clause), "?"), sentence(german_question(clause), "?")
    return both(clause)

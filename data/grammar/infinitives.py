"""Patterns with relative clauses, infinitives with "zu", "gern" and two main clauses."""

from dataclasses import replace

from grammar import (
    ER,
    ICH,
    SIE,
    SIE_PLURAL,
    WIR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    Pronoun,
    english_gerund,
    english_infinitive,
    english_main,
    english_phrase,
    german_infinitive,
    german_main,
    german_phrase,
    join,
    present,
    sentence,
)
from lexicon import ADJECTIVES_OF, NOUN, PLACES, VERB
from parts import (
    COMMON_PLURALS,
    IT_DE,
    PRONOUNS,
    adjective_for,
    deed_clause,
    is_young,
    listed,
    need,
    object_clause,
    paired,
    pattern,
    person,
    plain,
    stranger,
)
from statements import going
from subordinate import having, moods, pronoun_of, subordinate

# --- Relative clauses ------------------------------------------------------------------------

_RELATIVE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
}


def relative_subject(phrase):
    """The relative pronoun as the subject of its clause."""
    german = _RELATIVE["nom"][phrase.gender]
    like = SIE_PLURAL if phrase.plural else (SIE if phrase.noun.gender == "f" else ER)
    return replace(like, english="who", german=german)


_VISIBLE = moods("happy; tired; sad; angry; nervous; curious; sick; excited")
_ACQUAINTED = {
    "m": paired(
        "my neighbor = mein Nachbar; my uncle = mein Onkel; her brother = ihr Bruder; "
        "our friend = unser Freund; his son = sein Sohn"
    ),
    "f": paired(
        "my aunt = meine Tante; his sister = seine Schwester; our daughter = unsere Tochter; "
        "her mother = ihre Mutter"
    ),
    "n": paired("my sister = meine Schwester; our daughter = unsere Tochter"),
    "p": paired(
        "our friends = unsere Freunde; my colleagues = meine Kollegen; "
        "our neighbors = unsere Nachbarn"
    ),
}


def _who_it_is(draw, who):
    """What is said of somebody whom a relative clause has picked out."""
    if draw.chance(0.4):
        return draw.one(_VISIBLE)
    need(who.noun.english != "child")
    english, german = draw.one(_ACQUAINTED["p" if who.plural else who.gender])
    kinship = english.split()[1]
    grown = ("uncle", "aunt", "mother", "colleagues")
    need(not (is_young(who) and kinship in grown) and kinship != who.noun.english)
    return english, german


@pattern(85)
def relative_person(draw):
    """The man who repaired the car is my neighbor."""
    who = plain(stranger(draw))
    pronoun = relative_subject(who)
    if draw.chance(0.5):
        clause = object_clause(draw, draw.one(("past", "progressive")), "h-", pronoun)
        need(clause.objects[0].phrase.det is not pronoun)
    else:
        clause = deed_clause(draw, "progressive", pronoun, extra=0.7)
    need(not (is_young(who) and _is_for_adults(clause)))
    need(clause.verb.english != "play" or is_young(who))
    predicate = _who_it_is(draw, who)
    be, ist = ("are" if who.plural else "is"), present("sein", "", 5 if who.plural else 2)
    english = join([english_phrase(who), english_main(clause), be, predicate[0]])
    head = f"{german_phrase(who, 'nom')}, {subordinate(clause, '')},"
    return sentence(english), sentence(join([head, ist, predicate[1]]))


def _is_for_adults(clause):
    return clause.verb.english in listed("sell; rent; build; pay; order; repair; drink; work")


_RELATIVE_DEEDS = listed(
    "buy; read; write; order; rent; build; watch; try on; wear; bake; repair; sell; solve; find; "
    "visit; plan; cook; paint; sing"
)


def _that_somebody(clause):
    """A relative clause whose object stands before it, in both languages."""
    rest = replace(clause, objects=())
    gender = clause.objects[0].phrase.gender
    return f"that {english_main(rest)}", subordinate(rest, _RELATIVE["acc"][gender])


@pattern(85)
def relative_thing(draw):
    """The book that I am reading is boring."""
    tense = draw.one(("past", "progressive"))
    clause = object_clause(draw, tense, "h-l", person(draw, 0.7), verbs=_RELATIVE_DEEDS)
    phrase = clause.objects[0].phrase
    need(not {"mass", "several"} & set(phrase.noun.tags) and not phrase.plural)
    head = NounPhrase(phrase.noun, "def")
    adjective = draw.one(ADJECTIVES_OF[phrase.noun.english])
    over = tense == "past" and draw.chance(0.4)
    be, ist = ("was", "war") if over else ("is", "ist")
    english, german = _that_somebody(clause)
    return (
        sentence(f"{english_phrase(head)} {english} {be} {adjective.english}"),
        sentence(f"{german_phrase(head, 'nom')}, {german}, {ist} {adjective.german}"),
    )


@pattern(85)
def relative_object(draw):
    """Where is the coat that you wore?"""
    openings = paired("where is = wo ist = ?; this is = das ist = .; is this = ist das = ?")
    opening, anfang, mark = draw.one(openings)
    subject = draw.one(PRONOUNS) if draw.chance(0.6) else person(draw)
    verbs = (*_RELATIVE_DEEDS, "lose", "forget")
    clause = object_clause(draw, "past", "h-l", subject, verbs=verbs)
    phrase = clause.objects[0].phrase
    need(not {"mass", "person", "several"} & set(phrase.noun.tags) and not phrase.plural)
    fixed = {"home", "building", "sight", "heard", "matter", "event", "watched", "shop"}
    need(opening != "where is" or not fixed & set(phrase.noun.tags))
    adjective = adjective_for(draw, phrase.noun) if draw.chance(0.3) else None
    head = NounPhrase(phrase.noun, "def", adjective)
    english, german = _that_somebody(clause)
    return (
        sentence(f"{opening} {english_phrase(head)} {english}", mark),
        sentence(f"{anfang} {german_phrase(head, 'nom')}, {german}", mark),
    )


# --- Infinitives -----------------------------------------------------------------------------


def infinitive_after(first, second, introduction=""):
    """A main clause followed by an infinitive clause."""
    english = f"{english_main(first)} to {english_infinitive(second)}"
    german = f"{german_main(first)}, {german_infinitive(second, introduction)}"
    return sentence(english), sentence(german)


_FORGOTTEN = listed(
    "close; turn off; turn on; buy; call; water; feed; pay; invite; wash; bring along; pick up; "
    "order; clean; take"
)
_TRIED = listed(
    "open; close; repair; solve; find; understand; sell; explain; draw; bake; build; "
    "call; carry; turn on"
)
_HOPED = listed("find; visit; meet; sell; solve; see")
_PROMISED = listed(
    "visit; call; repair; clean; tidy; cook; bake; pick up; bring along; water; feed; wash; pay; "
    "explain; sell"
)
_DECIDED = listed("sell; buy; rent; build; visit; invite; take; write")
_CATENATIVES = (
    ("forget", "past", _FORGOTTEN),
    ("try", "progressive", _TRIED),
    ("try", "past", _TRIED),
    ("hope", "present", _HOPED),
    ("promise", "past", _PROMISED),
    ("decide", "past", _DECIDED),
)


@pattern(120)
def infinitive(draw):
    """She forgot to close the window."""
    subject = person(draw)
    verb, tense, verbs = draw.one(_CATENATIVES)
    clause = object_clause(draw, "present", "h-ls", subject, verbs=verbs)
    return infinitive_after(Clause(subject, VERB[verb], tense), clause)


_EFFORTS = (
    ("difficult", "schwierig", _TRIED),
    ("easy", "einfach", _TRIED),
    ("important", "wichtig", listed("clean; wash; water; feed; understand; repeat; pay; solve; "
                                    "explain")),
    ("nice", "schön", listed("visit; see; paint; sing; bake; hear")),
    ("expensive", "teuer", listed("rent; repair; build")),
)  # fmt: skip


@pattern(105)
def it_is_hard(draw):
    """It is difficult to solve this problem."""
    english, german, verbs = draw.one(_EFFORTS)
    clause = object_clause(draw, "present", "h-ls", draw.one((ICH, ER)), verbs=verbs)
    phrase = clause.objects[0].phrase
    if english == "expensive":
        phrase = replace(phrase, det="indef", plural=False)
        clause = replace(clause, objects=(Complement(phrase),))
    need(not isinstance(phrase.det, Pronoun))
    need(phrase.det != "indef" or english == "expensive")
    be, ist = draw.one(paired("is = ist; is = ist; isn't = ist nicht"))
    return (
        sentence(f"it {be} {english} to {english_infinitive(clause)}"),
        sentence(f"es {ist} {german}, {german_infinitive(clause)}"),
    )


_PASTIMES = listed(
    "clean; tidy; cook; bake; read; visit; call; repair; wash; write; water; watch; paint; meet; "
    "buy"
)


@pattern(105)
def time_to(draw):
    """I don't have time to clean the kitchen."""
    subject = person(draw, 0.6)
    clause = object_clause(draw, "present", "h-l", subject, verbs=_PASTIMES)
    time = Complement(NounPhrase(NOUN["time"], "bare"))
    return infinitive_after(Clause(subject, VERB["have"], "present", (time,), negated=True), clause)


# Where one goes, what for, and with what kinds of things.
_ERRANDS = paired(
    "to the supermarket = buy = food drink; to the market = buy = food fruit; "
    "to the bakery = buy = bread roll cake; to the library = read = text; "
    "to the train station = pick up = person; to the airport = pick up = person; "
    "to the restaurant = eat = fish soup pizza salad meat; to the café = drink = coffee tea; "
    "to the café = meet = person; to the park = meet = person; to the park = read = text; "
    "to the park = paint = flower tree; into the kitchen = cook = food; "
    "into the kitchen = bake = food; into the city = meet = person; "
    "into the garden = water = plant; into the garden = read = text; "
    "into the garden = feed = cat dog rabbit; home = cook = food; home = watch = movie; "
    "home = tidy = rooms"
)


@pattern(105)
def purpose(draw):
    """He is going to the supermarket to buy bread."""
    where, verb, kinds = draw.one(_ERRANDS)
    goal = next(p.goal for p in PLACES if p.goal and p.goal.english == where)
    subject = person(draw)
    first = going(draw, draw.one(("progressive", "past", "want to")), subject=subject)
    second = object_clause(draw, "present", "h-", subject, verbs=(verb,))
    noun = second.objects[0].phrase.noun
    need({noun.english, *noun.tags} & set(kinds.split()))
    return infinitive_after(replace(first, adverbials=(goal,)), second, introduction="um")


# --- Likes, coordination ---------------------------------------------------------------------

_LIKED = listed("eat; drink; read; write; cook; bake; visit; feed; wear; sing; paint")


def _liked_thing(draw, subject):
    """A clause about something done often, its object in the plural: "reading novels"."""
    clause = object_clause(draw, "present", "h", subject, verbs=_LIKED)
    phrase = clause.objects[0].phrase
    if phrase.det == "indef":
        need(phrase.noun in COMMON_PLURALS)
        return replace(clause, objects=(Complement(replace(phrase, det="bare", plural=True)),))
    need(phrase.det == "bare" or clause.verb.english in ("visit", "feed"))
    need(clause.verb.english != "visit" or "relation" not in phrase.noun.tags)
    return clause


@pattern(200)
def likes_doing(draw):
    """Anna likes reading novels."""
    subject = person(draw)
    if draw.chance(0.4):
        clause = deed_clause(draw, "present", subject, aspects="h", extra=0.5)
        need(all(item.kind == "place" for item in clause.adverbials))
    else:
        clause = _liked_thing(draw, subject)
    like = Clause(subject, VERB["like"], "present")
    gern = Adverbial("", "gern", "already")
    english = f"{english_main(like)} {english_gerund(clause)}"
    german = german_main(replace(clause, adverbials=(*clause.adverbials, gern)))
    return sentence(english), sentence(german)


_SIMULTANEOUS = listed(
    "sleep; sing; read; cook; dance; work; play; swim; rest; laugh; learn; smile; cry; wait"
)


@pattern(105)
def and_but(draw):
    """Anna is cooking and Paul is cleaning the kitchen."""
    first, second = person(draw, 0.2), person(draw, 0.2)
    need(first is not second and getattr(first, "noun", 1) is not getattr(second, "noun", 2))
    one = deed_clause(draw, "progressive", first, extra=0.2)
    two = object_clause(draw, "progressive", "h", second)
    need(one.verb.english in _SIMULTANEOUS)
    link, verbindung = draw.one(((" and", " und"), (", but", ", aber")))
    return (
        sentence(f"{english_main(one)}{link} {english_main(two)}"),
        sentence(f"{german_main(one)}{verbindung} {german_main(two)}"),
    )


_OBSTACLES = (
    (listed("buy; rent; build"), "no money", "kein Geld"),
    (listed("visit; clean; tidy; read; bake; cook; call; wash; repair"), "no time", "keine Zeit"),
)


@pattern(105)
def but_cannot(draw):
    """I want to buy a car, but I have no money."""
    subject = person(draw, 0.5)
    verbs, english, german = draw.one(_OBSTACLES)
    clause = object_clause(draw, "want to", "h-l", subject, verbs=verbs)
    have = having(pronoun_of(subject), (english, german))
    return (
        sentence(f"{english_main(clause)}, but {english_main(have)}"),
        sentence(f"{german_main(clause)}, aber {german_main(have)}"),
    )


_IT_ACCUSATIVE = {"m": "ihn", "f": "sie", "n": "es"}
_MISSING = (
    ("find", "can", True),
    ("need", "present", False),
    ("look for", "progressive", False),
    ("see", "can", True),
)


@pattern(140)
def lost_thing(draw):
    """Where is my key? I can't find it."""
    owner = draw.one((ICH, WIR, ER, SIE, SIE_PLURAL))
    clause = object_clause(draw, "present", "h-", owner, verbs=("look for", "forget", "lose"))
    phrase = clause.objects[0].phrase
    need(phrase.gender in _IT_ACCUSATIVE and phrase.det is owner)
    need(not {"several", "event"} & set(phrase.noun.tags))
    it_forms = (IT_DE[phrase.gender], _IT_ACCUSATIVE[phrase.gender], "", "")
    it = Complement(Pronoun("it", "it", "its", *it_forms))
    verb, tense, negated = draw.one(_MISSING)
    clause = Clause(owner, VERB[verb], tense, (it,), negated=negated)
    where = sentence(f"where is {english_phrase(phrase)}", "?")
    wo = sentence(f"wo ist {german_phrase(phrase, 'nom')}", "?")
    return (
        f"{where} {sentence(english_main(clause))}",
        f"{wo} {sentence(german_main(clause))}",
    )


_UNGRADED = listed(
    "delicious; black; white; red; blue; green; yellow; brown; gray; pink; purple; right; wrong; "
    "broken; wonderful; terrible; great; round"
)


@pattern(105)
def it_is(draw):
    """I bought a coat. It is expensive."""
    verbs = listed("buy; find; watch; read; rent; build; write; order; bake")
    clause = object_clause(draw, "past", "h-l", person(draw, 0.8), verbs=verbs)
    phrase = clause.objects[0].phrase
    need(phrase.det == "indef" and not phrase.plural and not phrase.adjective)
    need("several" not in phrase.noun.tags)
    adjective = draw.one(ADJECTIVES_OF[phrase.noun.english])
    need(adjective.english not in ("empty", "dirty", "new", "old", "broken", "wet", "dry", "full"))
    very, sehr = draw.one((("", ""), ("very", "sehr")))
    need(not very or adjective.english not in _UNGRADED)
    be, ist = ("was", "war") if clause.verb.english in ("watch", "read") else ("is", "ist")
    comment = sentence(join(["it", be, very, adjective.english]))
    kommentar = sentence(join([IT_DE[phrase.gender], ist, sehr, adjective.german]))
    return (
        f"{sentence(english_main(clause))} {comment}",
        f"{sentence(german_main(clause))} {kommentar}",
    )

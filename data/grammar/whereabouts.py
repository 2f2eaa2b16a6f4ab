"""Patterns of where things are and where they are put: two-way prepositions in both cases."""

from grammar import (
    IHR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    english_infinitive,
    english_main,
    english_phrase,
    german_command,
    german_main,
    german_phrase,
    german_prepositional,
    join,
    present,
    sentence,
)
from lexicon import ADJECTIVES_OF, CITIES, NOUN, VERB, select
from parts import (
    COMMON_PLURALS,
    NUMBERS,
    PRONOUNS,
    addressee,
    listed,
    need,
    paired,
    pattern,
    person,
    thing,
)

_LYING = select(listed(
    "book; newspaper; magazine; letter; key; phone; camera; umbrella; ball; photo; ticket; knife; "
    "fork; spoon; gift; ring; watch; scarf; cap; hat; sweater; shirt; pen; pencil; notebook; "
    "dictionary; wallet; passport; map; credit card; towel; doll; T-shirt; postcard; belt; laptop"
))  # fmt: skip
_STANDING = select(
    listed("glass; cup; bottle; lamp; plate; computer; radio; television; bowl; pot")
)
_SMALL = select(listed(
    "book; letter; key; phone; camera; umbrella; ring; watch; scarf; photo; ticket; pen; pencil; "
    "notebook; wallet; passport; map; credit card; T-shirt; belt"
))  # fmt: skip
_ON = select(listed("table; chair; bed; sofa; desk; shelf; armchair"))
_UNDER = select(listed("table; chair; bed; sofa; desk"))
_BESIDE = select(listed("bed; sofa; door; window; computer; lamp; table; television; closet"))
_BEHIND = select(listed("door; sofa; closet; television"))
_INSIDE = select(listed("drawer; closet; suitcase; backpack; bag"))
_TABLEWARE = select(["tableware"])
_SERVED_ON = select(listed("table; desk; shelf"))
_LAID_BESIDE = select(listed("plate; glass; cup; bottle"))
_APPLIANCES = listed("computer; television; radio")


def spot(draw, item):
    """A spot for a thing: preposition in both languages and the phrase it governs."""
    if item in _TABLEWARE:
        relation = draw.one(("on", "on", "next to"))
        places = _SERVED_ON if relation == "on" else _LAID_BESIDE
    else:
        relation = draw.one(_RELATIONS)
        need(relation != "in" or item in _SMALL)
        need(relation not in ("under", "behind") or item.english not in _APPLIANCES)
        places = _SPOTS[relation]
        if relation == "on" and item.english in _APPLIANCES:
            places = _SERVED_ON
    place = draw.one(places)
    need(place is not item)
    if relation == "on":
        return "on", "in" if place.english == "shelf" else "auf", NounPhrase(place)
    return relation, _GERMAN_RELATION[relation], NounPhrase(place)


_RELATIONS = ("on", "on", "under", "next to", "next to", "behind", "in front of", "in")
_SPOTS = {
    "on": _ON, "under": _UNDER, "next to": _BESIDE, "behind": _BEHIND, "in front of": _BEHIND,
    "in": _INSIDE,
}  # fmt: skip
_GERMAN_RELATION = {
    "under": "unter", "next to": "neben", "behind": "hinter", "in front of": "vor", "in": "in",
    "above": "über", "on": "auf",
}  # fmt: skip


def thing_somewhere(draw):
    """A thing, the German verbs of its position and of moving it, and a spot."""
    lies = draw.chance(0.6)
    noun = draw.one(_LYING if lies else _STANDING)
    where = spot(draw, noun)
    if noun.english in ("book", "magazine") and where[2].noun.english == "shelf":
        lies = False  # books stand on German shelves
    return noun, ("liegen", VERB["put"]) if lies else ("stehen", VERB["set"]), where


def place_text(where, case):
    """A spot in both languages."""
    english, german, place = where
    return f"{english} {english_phrase(place)}", german_prepositional(german, place, case)


@pattern(225)
def location(draw):
    """The key is on the table."""
    noun, (posture, _), spot_ = thing_somewhere(draw)
    det = "def" if noun in _TABLEWARE or draw.chance(0.5) else draw.one(PRONOUNS)
    phrase = thing(draw, noun, det, "", 0.2)
    where, wo = place_text(spot_, "dat")
    subject, subjekt = english_phrase(phrase), german_phrase(phrase, "nom")
    verb = present(posture, "", 2)
    if draw.chance(0.2):
        return sentence(f"is {subject} {where}", "?"), sentence(f"{verb} {subjekt} {wo}", "?")
    be, nicht = ("is not", "nicht") if draw.chance(0.2) else ("is", "")
    return sentence(f"{subject} {be} {where}"), sentence(join([subjekt, verb, nicht, wo]))


@pattern(140)
def there_is(draw):
    """There are two cups on the table."""
    noun, (posture, _), spot_ = thing_somewhere(draw)
    where, wo = place_text(spot_, "dat")
    if draw.chance(0.4):
        need(noun in COMMON_PLURALS and spot_[0] in ("on", "in", "next to"))
        phrase = NounPhrase(noun, "bare", plural=True, count=draw.one(NUMBERS[1:6]))
        be, verb = "are", present(posture, "", 5)
    else:
        phrase = thing(draw, noun, "indef", "", 0.4)
        be, verb = "is", present(posture, "", 2)
    return (
        sentence(f"there {be} {english_phrase(phrase)} {where}"),
        sentence(f"{wo} {verb} {german_phrase(phrase, 'nom')}"),
    )


@pattern(140)
def putting(draw):
    """She is putting the book on the table."""
    noun, (_, verb), spot_ = thing_somewhere(draw)
    subject = person(draw)
    tense = draw.one(listed("progressive; perfect; will; want to; must"))
    phrase = thing(draw, noun, draw.one(("def", "def", subject.owner)), "", 0.2)
    need(not subject.plural or phrase.det == "def")
    goal = (Adverbial(*place_text(spot_, "acc"), "direction"),)
    items = (Complement(phrase),)
    english = english_main(Clause(subject, VERB["put"], tense, items, goal))
    return sentence(english), sentence(german_main(Clause(subject, verb, tense, items, goal)))


@pattern(105)
def put_command(draw):
    """Put the cup on the table, Paul!"""
    noun, (_, verb), spot_ = thing_somewhere(draw)
    pronoun, *call = addressee(draw)
    det = draw.one(("def", "def", "def", pronoun))
    need(det == "def" or pronoun is not IHR)
    items = (Complement(thing(draw, noun, det, "", 0.2)),)
    goal = (Adverbial(*place_text(spot_, "acc"), "direction"),)
    please, bitte, mark = draw.one((("please", "bitte", "."), ("", "", "!")))
    words = english_infinitive(Clause(pronoun, VERB["put"], "present", items, goal))
    worte = german_command(Clause(pronoun, verb, "present", items, goal))
    return (
        sentence(join([please, words]) + call[0], mark),
        sentence(join([bitte, worte]) + call[1], mark),
    )


# --- Animals ---------------------------------------------------------------------------------

COLOURS_AND_SIZES = listed("black; white; brown; big; small; old; young")
_LAIRS = paired(
    "on = sofa bed chair table carpet; under = table bed sofa chair tree; "
    "behind = door sofa house tree; in front of = door house window; "
    "next to = bed sofa child tree; in = garden kitchen room"
)
_PERCHES = paired("on = house table; next to = tree; in front of = window; in = garden tree")


def attribute_of(draw, noun, allowed, chance=0.5):
    """One of the allowed adjectives that suits the noun, or None."""
    if not draw.chance(chance):
        return None
    fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in allowed]
    return draw.one(fitting) if fitting else None


@pattern(105)
def animal_somewhere(draw):
    """The black cat is sleeping under the table."""
    noun = draw.one(select(listed("dog; cat; rabbit; bird")))
    is_bird = noun.english == "bird"
    verb = "sit" if is_bird else draw.one(listed("sleep; sit; lie; play"))
    relation, places = draw.one(_PERCHES if is_bird else _LAIRS)
    place = NounPhrase(NOUN[draw.one(places.split())])
    need(verb != "play" or place.noun.english not in listed("chair; table; window"))
    german = (
        "auf" if (relation, place.noun.english) == ("in", "tree") else _GERMAN_RELATION[relation]
    )
    det = "def" if is_bird else draw.one(("def", "def", *PRONOUNS))
    adjective = attribute_of(draw, noun, COLOURS_AND_SIZES)
    phrase = NounPhrase(noun, det, adjective, plural=draw.chance(0.2))
    where = Adverbial(*place_text((relation, german, place), "dat"), "place")
    clause = Clause(phrase, VERB[verb], "progressive", (), (where,))
    return sentence(english_main(clause)), sentence(german_main(clause))


# --- Towns -----------------------------------------------------------------------------------

_TOWNLY = listed("old; new; big; small; good; cheap; beautiful; famous; modern")
_CIVIC = listed("university; stadium; town hall; opera house; mall; gym")
_ABSENT = {
    "city": (),
    "village": listed("airport; movie theater; tram"),
    "street": listed("castle; hospital; airport; train station"),
}


def _town_adjective(draw, noun, chance):
    adjective = attribute_of(draw, noun, _TOWNLY, chance)
    need(adjective is None or adjective.english != "new" or noun.english != "castle")
    return adjective


@pattern(105)
def town_has(draw):
    """There is a museum in this village."""
    noun = draw.one(select(listed("shop; inn; sight; building")))
    town = draw.one(select(listed("city; village; street")))
    need(noun.english not in ("house", "bridge", *_ABSENT[town.english]))
    need(town.english == "city" or noun.english not in _CIVIC)
    kind = draw.one(listed("is there; there is; there is; there is no"))
    adjective = None if kind == "there is no" else _town_adjective(draw, noun, 0.4)
    place = NounPhrase(town, "this")
    where = f"{'on' if town.english == 'street' else 'in'} {english_phrase(place)}"
    wo = german_prepositional("in", place, "dat")
    phrase = NounPhrase(noun, "neg" if kind == "there is no" else "indef", adjective)
    object_ = german_phrase(phrase, "acc")
    english = f"{kind} {english_phrase(phrase)} {where}"
    if kind == "is there":
        return sentence(english, "?"), sentence(f"gibt es {wo} {object_}", "?")
    return sentence(english), sentence(f"{wo} gibt es {object_}")


_SEEN = paired(
    "there is = gibt es = ; I know = kenne ich = ; we know = kennen wir = ; "
    "we saw = haben wir = gesehen"
)


@pattern(105)
def city_has(draw):
    """In Prague there is an old bridge."""
    city, stadt = draw.one(CITIES)
    noun = draw.one(select(listed("sight; shop; inn; building")))
    need(noun.english not in listed("house; pharmacy; supermarket; bakery"))
    adjective = _town_adjective(draw, noun, 1.0)
    need(adjective)
    phrase = NounPhrase(noun, "indef", adjective)
    english, german, end = draw.one(_SEEN)
    return (
        sentence(f"in {city} {english} {english_phrase(phrase)}"),
        sentence(join([f"in {stadt} {german} {german_phrase(phrase, 'acc')}", end.strip()])),
    )


# --- Hanging things --------------------------------------------------------------------------

_HOOKS = {
    "picture": paired("above = sofa desk bed table; next to = door window"),
    "poster": paired("above = sofa desk bed; next to = door window"),
    "photo": paired("above = sofa desk bed; next to = door window"),
    "coat": paired("in = closet; behind = door; next to = door"),
    "jacket": paired("in = closet; behind = door"),
    "lamp": paired("above = table desk sofa bed; next to = window"),
}


def _hook(draw):
    """A thing that hangs, and its spot."""
    noun = NOUN[draw.one(tuple(_HOOKS))]
    relation, places = draw.one(_HOOKS[noun.english])
    place = NounPhrase(NOUN[draw.one(places.split())])
    return noun, (relation, _GERMAN_RELATION[relation], place)


@pattern(85)
def hanging(draw):
    """The picture is hanging above the sofa."""
    noun, spot_ = _hook(draw)
    phrase = thing(draw, noun, draw.one(("def", "def", "this", *PRONOUNS)), "", 0.4)
    where, wo = place_text(spot_, "dat")
    return (
        sentence(f"{english_phrase(phrase)} is hanging {where}"),
        sentence(f"{german_phrase(phrase, 'nom')} hängt {wo}"),
    )


@pattern(85)
def hanging_up(draw):
    """She hung the picture above the sofa."""
    noun, spot_ = _hook(draw)
    tense = draw.one(listed("progressive; past; want to; will"))
    phrase = thing(draw, noun, draw.one(("def", "this")), "", 0.3)
    goal = Adverbial(*place_text(spot_, "acc"), "direction")
    clause = Clause(person(draw), VERB["hang"], tense, (Complement(phrase),), (goal,))
    return sentence(english_main(clause)), sentence(german_main(clause))

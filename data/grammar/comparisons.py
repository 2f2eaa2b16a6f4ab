"""Patterns of what things are like, how they compare and whose they are."""

from grammar import (
    ER,
    ICH,
    SIE_PLURAL,
    WIR,
    Clause,
    Complement,
    NounPhrase,
    english_main,
    english_phrase,
    german_main,
    german_phrase,
    inflect_adjective,
    join,
    sentence,
)
from lexicon import ADJECTIVES, ADJECTIVES_OF, NOUNS, VERB, select
from parts import (
    COMMON_PLURALS,
    PRONOUNS,
    WOMENS,
    is_male,
    kin,
    listed,
    name,
    need,
    paired,
    pattern,
    stranger,
)
from whereabouts import COLOURS_AND_SIZES, attribute_of

_DESCRIBED = [
    noun for noun in NOUNS if ADJECTIVES_OF[noun.english] and noun.english != "vegetables"
]
_SUITED = {
    adjective.english: [noun for noun in _DESCRIBED if adjective in ADJECTIVES_OF[noun.english]]
    for adjective in ADJECTIVES
}
# Adjectives whose forms of comparison learners meet first.
_COMPARED = [
    adjective
    for adjective in ADJECTIVES
    if adjective.english
    in listed(
        "old; big; small; beautiful; expensive; cheap; warm; cold; long; short; difficult; easy; "
        "interesting; boring; nice; friendly; young; strong; fast; good; important; modern; "
        "famous; tall; comfortable; popular"
    )
]
_RELATIVES = {"family", "relation", "body"}  # always somebody's
_BELONGINGS = {"own", "clothes", "home", "pet", "group"}


def described(draw, adjectives=ADJECTIVES):
    """A noun and an adjective, one of those given, that suits it."""
    adjective = draw.one(adjectives)
    noun = draw.one(_SUITED[adjective.english])
    if draw.chance(0.3):
        noun = draw.one(_DESCRIBED)
        adjective = draw.one([a for a in ADJECTIVES_OF[noun.english] if a in adjectives])
    need(adjective.english != "new" or "person" not in noun.tags)
    return noun, adjective


def _subject_of(draw, noun):
    """A noun as the subject of a description."""
    tags = set(noun.tags)
    if tags & _RELATIVES or (tags & _BELONGINGS and draw.chance(0.5)):
        return NounPhrase(noun, draw.one(PRONOUNS))
    unique = "mass" in tags or noun.english in ("weather", "sea")
    det = draw.one(("this", "that")) if draw.chance(0.4) and not unique else "def"
    plural = draw.chance(0.3) and noun in COMMON_PLURALS and not unique
    return NounPhrase(noun, det, plural=plural)


_COLOURS = listed("red; blue; green; black; white; yellow; brown; gray; pink; purple")
_ABSOLUTE = (*_COLOURS, *listed("empty; full; right; wrong; broken; round; wonderful; terrible"))
_UNGRADED = (*_ABSOLUTE, "delicious", "great")
_EXCESS = listed(
    "old; big; small; expensive; cold; warm; long; short; heavy; difficult; boring; slow; loud; "
    "dark; young; sweet; tired; high; dangerous; bright; hot; thick; thin; "
    "salty; sour; spicy; hard; soft; shy"
)
_DEGREES = (
    *(("", ""), ("", ""), ("very", "sehr"), ("too", "zu"), ("not", "nicht"), ("not", "nicht")),
    *(("really", "wirklich"), ("quite", "ziemlich"), ("so", "so")),
)


@pattern(360)
def description(draw):
    """The soup is cold. Is the soup too cold?"""
    noun, adjective = described(draw)
    phrase = _subject_of(draw, noun)
    degree, grad = draw.one(_DEGREES)
    need(degree not in ("too", "very", "quite", "so") or adjective.english not in _UNGRADED)
    need(degree not in ("really", "so") or adjective.english not in _ABSOLUTE)
    need(degree != "too" or adjective.english in _EXCESS)
    be, ist = ("are", "sind") if phrase.plural else ("is", "ist")
    subject, subjekt = english_phrase(phrase), german_phrase(phrase, "nom")
    if draw.chance(0.2) and degree in ("", "very", "too"):
        return (
            sentence(join([be, subject, degree, adjective.english]), "?"),
            sentence(join([ist, subjekt, grad, adjective.german]), "?"),
        )
    return (
        sentence(join([subject, be, degree, adjective.english])),
        sentence(join([subjekt, ist, grad, adjective.german])),
    )


@pattern(140)
def attribute(draw):
    """That is a difficult question."""
    noun, adjective = described(draw)
    need(not {"mass", *_RELATIVES} & set(noun.tags) and noun.plural != "-")
    need(adjective.english not in ("right", "wrong"))  # English says "the right word"
    phrase = NounPhrase(noun, "indef", adjective)
    opening, anfang, mark = draw.one(
        paired("that is = das ist = .; is that = ist das = ?; that was = das war = .")
    )
    return (
        sentence(f"{opening} {english_phrase(phrase)}", mark),
        sentence(f"{anfang} {german_phrase(phrase, 'nom')}", mark),
    )


def _compared(draw, noun):
    """A noun as one side of a comparison."""
    tags = set(noun.tags)
    if tags & _RELATIVES:
        return NounPhrase(noun, draw.one(PRONOUNS))
    if tags & _BELONGINGS:
        return NounPhrase(noun, draw.one(("def", "this", *PRONOUNS)))
    return NounPhrase(noun, "this" if draw.chance(0.2) and "mass" not in tags else "def")


@pattern(180)
def comparison(draw):
    """The train is faster than the bus."""
    noun, adjective = described(draw, _COMPARED)
    alike = [n for n in _SUITED[adjective.english] if set(n.tags) & set(noun.tags)]
    other = draw.one([n for n in alike if n is not noun])
    first, second = _compared(draw, noun), _compared(draw, other)
    how = (f"{adjective.english_comparative} than", f"{adjective.comparative} als")
    if draw.chance(0.3):
        how = (f"as {adjective.english} as", f"so {adjective.german} wie")
    return (
        sentence(f"{english_phrase(first)} is {how[0]} {english_phrase(second)}"),
        sentence(f"{german_phrase(first, 'nom')} ist {how[1]} {german_phrase(second, 'nom')}"),
    )


_TRAITS = paired(
    "older than = älter als; younger than = jünger als; taller than = größer als; "
    "stronger than = stärker als; as old as = so alt wie; richer than = reicher als; "
    "as tall as = so groß wie; friendlier than = freundlicher als; smarter than = klüger als; "
    "faster than = schneller als; lazier than = fauler als; more polite than = höflicher als"
)


@pattern(140)
def people_compared(draw):
    """Paul is older than his sister."""
    english, german = draw.one(_TRAITS)
    first = draw.one((name, kin, lambda d: d.one((ICH, ER, WIR, SIE_PLURAL))))(draw)
    second = draw.one((name, lambda d: kin(d, d.one((first.owner, ICH, WIR)))))(draw)
    need(not second.plural and getattr(first, "noun", None) is not second.noun)
    trait = (
        f"{english} {english_phrase(second)}",
        f"{german} {german_phrase(second, 'nom')}",
    )
    clause = Clause(first, VERB["be"], negated=draw.chance(0.2), predicate=trait)
    return sentence(english_main(clause)), sentence(german_main(clause))


_IN_TOWN = paired(
    "in the city = in der Stadt; in the village = im Dorf; in Germany = in Deutschland; "
    "in Italy = in Italien; in France = in Frankreich"
)
_IN_STORE = paired("in the store = im Geschäft")
_KNOWN = set(listed(
    "text; watched; heard; town; nature; waters; vehicle; matter; event; plant; said"
))  # fmt: skip
_ARTICLE = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}


def _range_of(draw, noun, you):
    """Among what something is the oldest or the like: "in the city", "that I know"."""
    tags = set(noun.tags)
    if tags & {"shop", "inn", "sight", "building", "workplace"} and noun.english != "house":
        english, german = draw.one(_IN_TOWN)
        return english, f" {german}"
    if tags & {"clothes", "furniture", "machine"}:
        english, german = draw.one(_IN_STORE)
        return english, f" {german}"
    need(tags & _KNOWN)
    relative = _ARTICLE[noun.gender][1]
    knower = ("that you know", "du kennst") if you else ("that I know", "ich kenne")
    return knower[0], f", {relative} {knower[1]}"


@pattern(120)
def superlative(draw):
    """This is the oldest church in the city."""
    noun, adjective = described(draw, _COMPARED)
    need(adjective.english not in listed("warm; cold; short; easy; boring; friendly; young"))
    need("mass" not in noun.tags and noun.plural != "-" and "person" not in noun.tags)
    opening, anfang, mark = draw.one(paired("this is = das ist = .; is that = ist das = ?"))
    where, wo = _range_of(draw, noun, mark == "?")
    article = _ARTICLE[noun.gender][0]
    best = inflect_adjective(adjective.superlative, "e")
    return (
        sentence(f"{opening} the {adjective.english_superlative} {noun.english} {where}", mark),
        sentence(f"{anfang} {article} {best} {noun.german}{wo}", mark),
    )


@pattern(105)
def belongs(draw):
    """This bike belongs to my brother."""
    noun = draw.one(select(listed("own; clothes; pet; house")))
    colours = (*COLOURS_AND_SIZES, "red", "blue", "green", "new", "expensive")
    adjective = attribute_of(draw, noun, colours, 0.4)
    several = draw.chance(0.2) and noun in COMMON_PLURALS
    phrase = NounPhrase(noun, draw.one(("this", "def")), adjective, plural=several)
    owner = draw.one((name, kin, stranger, lambda d: d.one((ICH, WIR, SIE_PLURAL))))(draw)
    need(not (is_male(owner) and noun.english in WOMENS))
    to_whom = (Complement(owner, "dat"),)
    clause = Clause(phrase, VERB["belong to"], "present", to_whom, negated=draw.chance(0.2))
    return sentence(english_main(clause)), sentence(german_main(clause))

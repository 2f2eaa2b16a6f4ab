"""Patterns of facts: where things are, how they compare, how many, what time and what date."""

from grammar import (
    ER,
    ICH,
    IHR,
    SIE_PLURAL,
    WIR,
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
    inflect_adjective,
    join,
    present,
    sentence,
)
from lexicon import ADJECTIVES_OF, CITIES, NOUN, NOUNS, VERB, select
from parts import (
    PRONOUNS,
    addressee,
    kin,
    name,
    need,
    pattern,
    person,
    stranger,
    thing,
    third_person_singular,
    time_for,
)

# --- Where things are and where they are put -------------------------------------------------

_LYING = select(
    "book newspaper magazine letter key phone camera umbrella ball photo ticket knife fork spoon "
    "gift ring watch scarf cap hat sweater shirt".split()
)
_STANDING = select("glass cup bottle lamp plate computer radio television".split())
_BOX_FULL = select("book letter key phone camera umbrella ring watch scarf photo ticket".split())
_ON = select("table chair bed sofa desk shelf".split())
_UNDER = select("table chair bed sofa desk".split())
_BESIDE = select("bed sofa door window computer lamp table television closet".split())
_INSIDE = select("drawer closet suitcase backpack bag".split())
_SURFACE = {"shelf": "in", "sofa": "auf"}


def spot(draw, item):
    """A spot for a thing: preposition in both languages and the phrase it governs."""
    relation = draw.one(("on", "on", "under", "beside", "beside", "in"))
    if relation == "in":
        need(item in _BOX_FULL)
        return "in", "in", NounPhrase(draw.one(_INSIDE))
    if relation == "on":
        place = draw.one(_ON)
        need(item.english not in ("computer", "television", "radio") or "desk table shelf".find(
            place.english) >= 0)  # fmt: skip
        need(not ({"plate", "cup", "glass"} & {item.english} and place.english == "bed"))
        return "on", "in" if place.english == "shelf" else "auf", NounPhrase(place)
    need(item.english not in ("television", "computer") or relation == "beside")
    if relation == "under":
        return "under", "unter", NounPhrase(draw.one(_UNDER))
    english, german = draw.one(
        (("next to", "neben"), ("behind", "hinter"), ("in front of", "vor"))
    )
    place = NounPhrase(draw.one(_BESIDE))
    need(place.noun is not item and (german == "neben" or place.noun.english not in ("table",)))
    need(german == "neben" or place.noun.english in ("door", "sofa", "closet", "television"))
    return english, german, place


def thing_somewhere(draw):
    """A thing with the German verbs of its position and of moving it, and a spot."""
    lies = draw.chance(0.6)
    noun = draw.one(_LYING if lies else _STANDING)
    return noun, ("liegen", VERB["put"]) if lies else ("stehen", VERB["set"]), spot(draw, noun)


@pattern(280)
def location(draw):
    """The key is on the table."""
    noun, (posture, _), (english, german, place) = thing_somewhere(draw)
    det = "def" if draw.chance(0.5) else draw.one(PRONOUNS)
    need(noun.english not in ("knife", "fork", "spoon", "plate", "cup", "glass") or det == "def")
    phrase = thing(draw, noun, det, "", 0.2)
    question = draw.chance(0.2)
    where = f"{english} {english_phrase(place)}"
    wo = german_prepositional(german, place, "dat")
    verb = present(posture, "", 2)
    if question:
        return (
            sentence(f"is {english_phrase(phrase)} {where}", "?"),
            sentence(f"{verb} {german_phrase(phrase, 'nom')} {wo}", "?"),
        )
    negated = draw.chance(0.2)
    be, nicht = ("is not", "nicht") if negated else ("is", "")
    return (
        sentence(f"{english_phrase(phrase)} {be} {where}"),
        sentence(join([german_phrase(phrase, "nom"), verb, nicht, wo])),
    )


@pattern(130)
def there_is(draw):
    """There are two cups on the table."""
    noun, (posture, _), (english, german, place) = thing_somewhere(draw)
    many = draw.chance(0.4)
    if many:
        need(noun.english not in ("television", "computer", "radio"))
        phrase = NounPhrase(noun, "bare", plural=True, count=draw.one(NUMBERS[1:6]))
    else:
        phrase = thing(draw, noun, "indef", "", 0.4)
    verb = present(posture, "", 5 if many else 2)
    be = "are" if many else "is"
    wo = german_prepositional(german, place, "dat")
    return (
        sentence(f"there {be} {english_phrase(phrase)} {english} {english_phrase(place)}"),
        sentence(f"{wo} {verb} {german_phrase(phrase, 'nom')}"),
    )


@pattern(230)
def putting(draw):
    """She is putting the book on the table."""
    noun, (_, verb), (english, german, place) = thing_somewhere(draw)
    subject = person(draw)
    tense = draw.one(("progressive", "perfect", "will", "want to", "must"))
    phrase = thing(draw, noun, draw.one(("def", "def", subject.owner)), "", 0.2)
    need(not subject.plural or phrase.det == "def")
    where = f"{english} {english_phrase(place)}"
    goal = Adverbial(where, german_prepositional(german, place, "acc"), "direction")
    clause = Clause(subject, verb, tense, (Complement(phrase),), (goal,))
    english_verb = Clause(subject, VERB["put"], tense, (Complement(phrase),), (goal,))
    return sentence(english_main(english_verb)), sentence(german_main(clause))


@pattern(110)
def put_command(draw):
    """Put the cup on the table, please."""
    noun, (_, verb), (english, german, place) = thing_somewhere(draw)
    pronoun, *call = addressee(draw)
    det = draw.one(("def", "def", "def", pronoun))
    need(det == "def" or pronoun is not IHR)
    items = (Complement(thing(draw, noun, det, "", 0.2)),)
    where = f"{english} {english_phrase(place)}"
    goal = Adverbial(where, german_prepositional(german, place, "acc"), "direction")
    please = draw.chance(0.5)
    words = english_infinitive(Clause(pronoun, VERB["put"], "present", items, (goal,)))
    worte = german_command(Clause(pronoun, verb, "present", items, (goal,)))
    mark = "." if please else "!"
    return (
        sentence(join(["please" if please else "", words]) + call[0], mark),
        sentence(join(["bitte" if please else "", worte]) + call[1], mark),
    )


_POSTURES = (
    ("sleep", "sleeping"), ("sit", "sitting"), ("lie", "lying"),
)  # fmt: skip


@pattern(130)
def animal_somewhere(draw):
    """The black cat is sleeping under the table."""
    noun = draw.one(select(["dog", "cat", "rabbit", "bird"]))
    verb = draw.one(("sleep", "sit", "lie", "play"))
    spots = (
        ("on", "auf", ("sofa", "bed", "chair", "table", "carpet")),
        ("under", "unter", ("table", "bed", "sofa", "chair", "tree")),
        ("behind", "hinter", ("door", "sofa", "house", "tree")),
        ("in front of", "vor", ("door", "house", "window")),
        ("next to", "neben", ("bed", "sofa", "child", "tree")),
        ("in", "in", ("garden", "tree", "kitchen", "room")),
    )
    english, german, places = draw.one(spots)
    place = NounPhrase(draw.one(select(places)))
    if noun.english == "bird":
        need(verb == "sit" and place.noun.english in ("tree", "house", "window", "garden"))
    need(place.noun.english != "tree" or english != "in" or noun.english == "bird")
    german = "auf" if english == "in" and place.noun.english == "tree" else german
    det = draw.one(("def", "def", *PRONOUNS))
    need(noun.english != "bird" or det == "def")
    phrase = NounPhrase(noun, det, _animal_adjective(draw, noun), plural=draw.chance(0.2))
    where = Adverbial(
        f"{english} {english_phrase(place)}", german_prepositional(german, place, "dat"), "place"
    )
    clause = Clause(phrase, VERB[verb], "progressive", (), (where,))
    return sentence(english_main(clause)), sentence(german_main(clause))


def _animal_adjective(draw, noun):
    if draw.chance(0.5):
        return None
    fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in _COLOURS_AND_SIZES]
    return draw.one(fitting) if fitting else None


_COLOURS_AND_SIZES = ("black", "white", "brown", "big", "small", "old", "young")


@pattern(90)
def town_has(draw):
    """There is a museum in this village."""
    noun = draw.one(select(["shop", "inn", "sight", "building", "university"]))
    need(noun.english not in ("house", "bridge", "train station"))
    det = draw.one(("indef", "neg"))
    town = draw.one(select(["town"]) + [NOUN["street"]])
    fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in _TOWNLY]
    adjective = draw.one(fitting) if fitting and draw.chance(0.4) else None
    need(det == "indef" or adjective is None)
    need(town.english == "city" or noun.english not in ("airport", "movie theater"))
    need(town.english != "street" or noun.english not in ("castle", "hospital"))
    place = NounPhrase(town, "this")
    where, wo = f"{'on' if town.english == 'street' else 'in'} {english_phrase(place)}", german_prepositional("in", place, "dat")  # fmt: skip
    phrase = NounPhrase(noun, det, adjective)
    article = "no " if det == "neg" else ""
    question = det == "indef" and draw.chance(0.3)
    if question:
        return (
            sentence(f"is there {english_phrase(phrase)} {where}", "?"),
            sentence(f"gibt es {wo} {german_phrase(phrase, 'acc')}", "?"),
        )
    return (
        sentence(f"there is {article}{english_phrase(phrase)} {where}"),
        sentence(f"{wo} gibt es {german_phrase(phrase, 'acc')}"),
    )


_TOWNLY = ("old", "new", "big", "small", "good", "cheap", "beautiful", "famous", "modern")


@pattern(90)
def city_has(draw):
    """The old bridge is in Prague."""
    city = draw.one(CITIES)
    noun = draw.one(select(["sight", "shop", "inn", "building", "town"]))
    need(noun.english not in ("city", "village", "house", "pharmacy", "supermarket", "bakery"))
    fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in _TOWNLY]
    need(fitting)
    adjective = draw.one(fitting)
    phrase = NounPhrase(noun, "indef", adjective)
    tense, tun = draw.one((("there is", "gibt es"), ("I know", "kenne ich"),
                           ("we know", "kennen wir"), ("we saw", "haben wir")))  # fmt: skip
    end = " gesehen" if tense == "we saw" else ""
    return (
        sentence(f"in {city[0]} {tense} {english_phrase(phrase)}"),
        sentence(f"in {city[1]} {tun} {german_phrase(phrase, 'acc')}{end}"),
    )


@pattern(120)
def hanging(draw):
    """The picture is hanging above the sofa."""
    noun = draw.one(select(["picture", "photo", "coat", "jacket", "lamp", "watch"]))
    spots = {
        "picture": (("above", "über", "sofa desk bed table"), ("next to", "neben", "door window")),
        "photo": (("above", "über", "sofa desk bed"), ("next to", "neben", "door window")),
        "coat": (("in", "in", "closet"), ("behind", "hinter", "door"), ("next to", "neben", "door")),
        "jacket": (("in", "in", "closet"), ("behind", "hinter", "door")),
        "lamp": (("above", "über", "table desk sofa bed"), ("next to", "neben", "window")),
        "watch": (("above", "über", "door"), ("next to", "neben", "window")),
    }
    need(noun.english != "watch")
    english, german, places = draw.one(spots[noun.english])
    place = NounPhrase(NOUN[draw.one(places.split())])
    move = draw.chance(0.5)
    owner = draw.one(("def", "def", "this", *PRONOUNS))
    where = f"{english} {english_phrase(place)}"
    if not move:
        phrase = thing(draw, noun, owner, "", 0.4)
        wo = german_prepositional(german, place, "dat")
        return (
            sentence(f"{english_phrase(phrase)} is hanging {where}"),
            sentence(f"{german_phrase(phrase, 'nom')} hängt {wo}"),
        )
    subject = person(draw)
    tense = draw.one(("progressive", "past", "want to", "will"))
    phrase = thing(draw, noun, draw.one(("def", "this")), "", 0.3)
    goal = Adverbial(where, german_prepositional(german, place, "acc"), "direction")
    clause = Clause(subject, VERB["hang"], tense, (Complement(phrase),), (goal,))
    return sentence(english_main(clause)), sentence(german_main(clause))


# --- What things are like --------------------------------------------------------------------

_DESCRIBED = [noun for noun in NOUNS if ADJECTIVES_OF[noun.english]]


def described(draw, people=True):
    """A noun and an adjective that suits it."""
    noun = draw.one(_DESCRIBED)
    need(noun.english != "vegetables" and (people or "person" not in noun.tags))
    return noun, draw.one(ADJECTIVES_OF[noun.english])


def _subject_of(draw, noun):
    """A noun as the subject of a description."""
    tags = set(noun.tags)
    if tags & {"family", "relation"}:
        return NounPhrase(noun, draw.one(PRONOUNS))
    if tags & {"own", "clothes", "home", "pet"} and draw.chance(0.5):
        return NounPhrase(noun, draw.one(PRONOUNS))
    det = "this" if draw.chance(0.4) and "mass" not in tags else "def"
    need(det == "def" or noun.english not in ("weather", "sea"))
    plural = draw.chance(0.3) and noun.plural != "-" and "mass" not in tags
    return NounPhrase(noun, det, plural=plural)


@pattern(380)
def description(draw):
    """The soup is cold. Is the soup cold?"""
    noun, adjective = described(draw)
    phrase = _subject_of(draw, noun)
    degree = draw.one((("", ""), ("", ""), ("very", "sehr"), ("too", "zu"), ("not", "nicht")))
    need(adjective.english != "delicious" or degree[0] not in ("too", "very"))
    need(degree[0] not in ("too", "very") or adjective.english not in _ABSOLUTE)
    need(degree[0] != "too" or adjective.english in _EXCESS)
    be, ist = ("are", "sind") if phrase.plural else ("is", "ist")
    if draw.chance(0.2) and degree[0] != "not":
        return (
            sentence(join([be, english_phrase(phrase), degree[0], adjective.english]), "?"),
            sentence(join([ist, german_phrase(phrase, "nom"), degree[1], adjective.german]), "?"),
        )
    return (
        sentence(join([english_phrase(phrase), be, degree[0], adjective.english])),
        sentence(join([german_phrase(phrase, "nom"), ist, degree[1], adjective.german])),
    )


_ABSOLUTE = "red blue green black white yellow brown empty".split()
_EXCESS = (
    "old big small expensive cold warm long short heavy difficult boring slow loud dark young "
    "sweet hungry tired wide high".split()
)


@pattern(150)
def attribute(draw):
    """That is a difficult question."""
    noun, adjective = described(draw)
    need("mass" not in noun.tags and noun.plural != "-" and adjective.english not in ("empty",))
    need(not set(noun.tags) & {"family", "relation"})
    phrase = NounPhrase(noun, "indef", adjective)
    opening, anfang, mark, case = draw.one(
        (("that is", "das ist", ".", "nom"), ("is that", "ist das", "?", "nom"),
         ("that was", "das war", ".", "nom"))
    )  # fmt: skip
    return (
        sentence(f"{opening} {english_phrase(phrase)}", mark),
        sentence(f"{anfang} {german_phrase(phrase, case)}", mark),
    )


@pattern(170)
def comparison(draw):
    """The train is faster than the bus."""
    noun, adjective = described(draw)
    others = [n for n in _DESCRIBED if adjective in ADJECTIVES_OF[n.english] and n is not noun
              and set(n.tags) & set(noun.tags)]  # fmt: skip
    need(others and adjective.english not in _ABSOLUTE)
    need(not ("mass" in noun.tags) or adjective.english != "old")
    other = draw.one(others)
    first, second = _compared(draw, noun), _compared(draw, other)
    need(other.english != "vegetables" and first.plural == second.plural)
    equal = draw.chance(0.3)
    if equal:
        how = (f"as {adjective.english} as", f"so {adjective.german} wie")
    else:
        how = (f"{adjective.english_comparative} than", f"{adjective.comparative} als")
    return (
        sentence(f"{english_phrase(first)} is {how[0]} {english_phrase(second, True)}"),
        sentence(f"{german_phrase(first, 'nom')} ist {how[1]} {german_phrase(second, 'nom')}"),
    )


def _compared(draw, noun):
    """A noun as one side of a comparison."""
    if set(noun.tags) & {"family", "relation"}:
        return NounPhrase(noun, draw.one(PRONOUNS))
    if set(noun.tags) & {"clothes", "own", "home", "pet"}:
        return NounPhrase(noun, draw.one(("def", "this", *PRONOUNS)))
    return NounPhrase(noun, "this" if draw.chance(0.2) and "mass" not in noun.tags else "def")


@pattern(110)
def people_compared(draw):
    """Paul is older than his sister."""
    traits = (
        ("older than", "älter als"), ("younger than", "jünger als"), ("taller than", "größer als"),
        ("stronger than", "stärker als"), ("as old as", "so alt wie"), ("richer than", "reicher als"),
        ("as tall as", "so groß wie"), ("friendlier than", "freundlicher als"),
        ("smarter than", "klüger als"), ("faster than", "schneller als"),
        ("lazier than", "fauler als"), ("more polite than", "höflicher als"),
    )  # fmt: skip
    english, german = draw.one(traits)
    first = draw.one((name, kin, lambda d: d.one((ICH, ER, WIR, SIE_PLURAL))))(draw)
    second = draw.one((name, kin))(draw)
    need(not isinstance(first, NounPhrase) or first.noun is not second.noun)
    need(not second.plural)
    need(not set(getattr(getattr(first, "noun", None), "tags", ())) & {"adult"})
    clause = Clause(first, VERB["be"], predicate=(f"{english} {english_phrase(second, True)}",
                    f"{german} {german_phrase(second, 'nom')}"))  # fmt: skip
    negated = draw.chance(0.2)
    clause = Clause(first, VERB["be"], negated=negated, predicate=clause.predicate)
    return sentence(english_main(clause)), sentence(german_main(clause))


@pattern(130)
def superlative(draw):
    """This is the oldest church in the city."""
    noun, adjective = described(draw)
    need("mass" not in noun.tags and noun.plural != "-")
    need(adjective.english not in _ABSOLUTE and adjective.english not in ("dirty", "clean"))
    need(not set(noun.tags) & {"family", "relation"} and "person" not in noun.tags)
    stem = adjective.superlative
    opening = draw.one((("this is", "das ist"), ("is that", "ist das")))
    where = draw.one(_SUPERLATIVE_RANGE.get(_range_of(noun), (("", ""),)))
    mark = "?" if opening[0] == "is that" else "."
    gender = {"m": "der", "f": "die", "n": "das"}[noun.gender]
    english = join([opening[0], "the", adjective.english_superlative, noun.english, where[0]])
    german = join([opening[1], gender, inflect_adjective(stem, "e"), noun.german, where[1]])
    return sentence(english, mark), sentence(german, mark)


_SUPERLATIVE_RANGE = {
    "built": (("in the city", "in der Stadt"), ("in the village", "im Dorf"),
              ("in Germany", "in Deutschland"), ("in Italy", "in Italien"),
              ("in France", "in Frankreich")),
    "sold": (("in the store", "im Geschäft"),),
}  # fmt: skip


def _range_of(noun):
    tags = set(noun.tags)
    if tags & {"shop", "inn", "sight", "building"} and noun.english != "house":
        return "built"
    return "sold" if tags & {"clothes", "furniture"} else ""


@pattern(100)
def belongs(draw):
    """This bike belongs to my brother."""
    noun = draw.one(select(["own", "clothes", "vehicle", "pet", "house", "guitar", "book"]))
    need(not set(noun.tags) & {"line"} and noun.english not in ("plane", "ship", "taxi"))
    adjective = [a for a in ADJECTIVES_OF[noun.english] if a.english in _COLOURS_AND_SIZES + (
        "red", "blue", "green", "new", "expensive")]  # fmt: skip
    adjective = draw.one(adjective) if adjective and draw.chance(0.4) else None
    phrase = NounPhrase(noun, draw.one(("this", "def")), adjective, plural=draw.chance(0.2))
    owner = draw.one((name, kin, stranger))(draw) if draw.chance(0.7) else draw.one(
        (ICH, ER, WIR, SIE_PLURAL))  # fmt: skip
    need(owner is not ER)
    verb = VERB["belong to"]
    clause = Clause(phrase, verb, "present", (Complement(owner, "dat"),))
    if draw.chance(0.2):
        clause = Clause(phrase, verb, "present", (Complement(owner, "dat"),), negated=True)
    return sentence(english_main(clause)), sentence(german_main(clause))


# --- Numbers, times, dates -------------------------------------------------------------------

NUMBERS = (
    ("one", "ein"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"),
    ("six", "sechs"), ("seven", "sieben"), ("eight", "acht"), ("nine", "neun"), ("ten", "zehn"),
    ("eleven", "elf"), ("twelve", "zwölf"), ("fifteen", "fünfzehn"), ("twenty", "zwanzig"),
    ("thirty", "dreißig"), ("forty", "vierzig"), ("fifty", "fünfzig"), ("sixty", "sechzig"),
    ("eighty", "achtzig"), ("a hundred", "hundert"),
)  # fmt: skip
_COUNTED = {
    "buy": "apple banana pear orange tomato potato egg roll book shirt",
    "have": "dog cat horse bike brother sister son daughter key bag hat",
    "see": "dog cat horse bird cow sheep bear ship plane",
    "need": "chair plate glass cup spoon fork knife egg tomato ticket bottle",
    "find": "key ring photo book umbrella",
    "write": "letter email poem story book",
    "invite": "friend colleague neighbor",
    "eat": "apple banana pear roll egg tomato",
    "read": "book story novel poem letter",
    "order": "pizza salad soup cup ticket",
}


@pattern(200)
def counting(draw):
    """She bought six eggs at the market."""
    verb = draw.one(tuple(_COUNTED))
    noun = draw.one(select(_COUNTED[verb].split()))
    need(noun.english != "cup" or verb == "need")
    subject = person(draw)
    number = draw.one(NUMBERS[1:6])
    tense = draw.one({"have": ("present",), "need": ("present", "past")}.get(
        verb, ("past", "past", "will", "want to")))  # fmt: skip
    need(not (isinstance(subject, NounPhrase) and subject.noun is noun))
    need(not (verb in ("see", "find") and tense in ("will", "want to")))
    item = Complement(NounPhrase(noun, "bare", plural=True, count=number))
    when = ()
    if tense == "past" and draw.chance(0.4):
        when = (time_for(draw, "past", "open"),)
    clause = Clause(subject, VERB[verb], tense, (item,), when)
    return sentence(english_main(clause)), sentence(german_main(clause))


@pattern(90)
def price(draw):
    """This hat costs twenty euros."""
    noun = draw.one(select(["clothes", "book", "bag", "umbrella", "suitcase", "ticket", "ball",
                            "lamp", "ring", "magazine", "chair", "camera", "pizza"]))  # fmt: skip
    number = draw.one(NUMBERS[7:])
    need(number[0] not in ("eight", "nine", "ten") or noun.english in ("book", "ticket", "ball",
         "magazine", "pizza", "cap", "scarf", "umbrella"))  # fmt: skip
    phrase = NounPhrase(noun, draw.one(("this", "def")), None)
    if draw.chance(0.4):
        fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in _ABSOLUTE + ["new"]]
        phrase = NounPhrase(noun, phrase.det, draw.one(fitting) if fitting else None)
    return (
        sentence(f"{english_phrase(phrase)} costs {number[0]} euros"),
        sentence(f"{german_phrase(phrase, 'nom')} kostet {number[1]} Euro"),
    )


@pattern(60)
def price_question(draw):
    """How much does this hat cost?"""
    noun = draw.one(select(["clothes", "book", "own", "furniture", "fruit", "pizza", "guitar"]))
    need(noun.english not in ("key", "house"))
    plural = draw.chance(0.3) or "fruit" in noun.tags
    phrase = NounPhrase(noun, draw.one(("this", "def")), plural=plural)
    do, kostet = ("do", "kosten") if plural else ("does", "kostet")
    return (
        sentence(f"how much {do} {english_phrase(phrase)} cost", "?"),
        sentence(f"wie viel {kostet} {german_phrase(phrase, 'nom')}", "?"),
    )


@pattern(70)
def age(draw):
    """My sister is twelve years old."""
    who = draw.one((name, kin))(draw) if draw.chance(0.7) else draw.one((ICH, ER, SIE_PLURAL))
    need(not isinstance(who, NounPhrase) or not who.plural)
    need(who is not SIE_PLURAL)
    number = draw.one(NUMBERS[4:])
    if isinstance(who, NounPhrase):
        grown = set(who.noun.tags) & {"relation"} or who.noun.english in (
            "mother", "father", "grandmother", "grandfather", "uncle", "aunt")  # fmt: skip
        old = NUMBERS.index(number) >= 13
        need(old or not grown)
        need("grand" not in who.noun.english or number[0] in ("sixty", "eighty", "a hundred"))
        need(number[0] not in ("eighty", "a hundred") or "grand" in who.noun.english)
        need(number[0] != "twenty" or not grown)
    else:
        need(number[0] not in ("eighty", "a hundred"))
    clause = Clause(who, VERB["be"], predicate=(f"{number[0]} years old", f"{number[1]} Jahre alt"))
    return sentence(english_main(clause)), sentence(german_main(clause))


def clock(draw, first=0, last=11):
    """A time of day: ("at half past seven", "um halb acht")."""
    hour = draw.random.randrange(first, last + 1)
    english = NUMBERS[hour][0]
    german = NUMBERS[hour][1]
    following = NUMBERS[(hour + 1) % 12][1]
    form = draw.random.randrange(5)
    after = "eins" if german == "ein" else german
    following = "eins" if following == "ein" else following
    return (
        (f"at {english} o'clock", f"um {german} Uhr"),
        (f"at half past {english}", f"um halb {following}"),
        (f"at a quarter past {english}", f"um Viertel nach {after}"),
        (f"at a quarter to {english}", f"um Viertel vor {after}"),
        (f"at {english} o'clock", f"um {german} Uhr"),
    )[form]


@pattern(120)
def timetable(draw):
    """The train leaves at half past nine."""
    noun = draw.one(select(["train", "bus", "plane", "ship", "tram"]))
    english, german = clock(draw)
    city = draw.one(CITIES)
    verb = draw.one(("leave", "arrive"))
    need(noun.english != "plane" or verb == "arrive")
    phrase = NounPhrase(noun, draw.one(("def", "our") if False else ("def", "def", WIR)))
    adverbials = [Adverbial(english, german, "time")]
    if draw.chance(0.3) and verb == "arrive" and noun.english not in ("tram", "ship"):
        adverbials.append(Adverbial(f"in {city[0]}", f"in {city[1]}", "place"))
    clause = Clause(phrase, VERB[verb], "present", (), tuple(adverbials))
    return sentence(english_main(clause)), sentence(german_main(clause))


@pattern(160)
def at_time(draw):
    """I get up at six o'clock."""
    english, german = clock(draw)
    verb, tense = draw.one(
        (("get up", "present"), ("wake up", "past"), ("come back", "will"), ("get up", "have to"),
         ("fall asleep", "past"), ("have breakfast", "present"), ("have breakfast", "past"),
         ("come back", "past"), ("get up", "past"), ("call", "will"))
    )  # fmt: skip
    subject = person(draw)
    objects = ()
    if verb == "call":
        who = draw.one((name, kin))(draw)
        need(not isinstance(subject, NounPhrase) or subject.noun is not who.noun)
        objects = (Complement(who),)
    clause = Clause(subject, VERB[verb], tense, objects, (Adverbial(english, german, "time"),))
    return sentence(english_main(clause)), sentence(german_main(clause))


@pattern(90)
def opening_hours(draw):
    """The museum opens at ten o'clock."""
    noun = draw.one(select(["shop", "café", "restaurant", "office"]) + select(["concert", "movie",
                    "party", "exam", "game"]))  # fmt: skip
    english, german = clock(draw)
    event = noun.english in ("concert", "movie", "party", "exam", "game")
    phrase = NounPhrase(noun, "def")
    day, tag = draw.one((("", ""), ("", ""), ("on Sundays", "sonntags"),
                         ("on Saturdays", "samstags"), ("today", "heute")))  # fmt: skip
    need(not event or day in ("", "today"))
    if event:
        verb, german_verb, prefix = draw.one((("starts", "beginnt", ""), ("ends", "endet", "")))
    else:
        verb, german_verb, prefix = draw.one((("opens", "öffnet", ""), ("closes", "schließt", "")))
    return (
        sentence(join([english_phrase(phrase), verb, english, day])),
        sentence(join([german_phrase(phrase, "nom"), german_verb, tag, german, prefix])),
    )


_ORDINALS = (
    ("first", "ersten"), ("second", "zweiten"), ("third", "dritten"), ("fourth", "vierten"),
    ("fifth", "fünften"), ("sixth", "sechsten"), ("seventh", "siebten"), ("eighth", "achten"),
    ("ninth", "neunten"), ("tenth", "zehnten"), ("eleventh", "elften"), ("twelfth", "zwölften"),
    ("twentieth", "zwanzigsten"),
)  # fmt: skip
_MONTHS = (
    ("January", "Januar"), ("February", "Februar"), ("March", "März"), ("April", "April"),
    ("May", "Mai"), ("June", "Juni"), ("July", "Juli"), ("August", "August"),
    ("September", "September"), ("October", "Oktober"), ("November", "November"),
    ("December", "Dezember"),
)  # fmt: skip


@pattern(150)
def date(draw):
    """The exam is on the third of May."""
    month, day = draw.one(_MONTHS), draw.one(_ORDINALS)
    on = (f"on the {day[0]} of {month[0]}", f"am {day[1]} {month[1]}")
    if draw.chance(0.35):
        on = (f"in {month[0]}", f"im {month[1]}")
    kind = draw.random.randrange(4)
    if kind == 0:
        owner = draw.one(PRONOUNS)
        phrase = NounPhrase(BIRTHDAY, owner)
        return (
            sentence(f"{english_phrase(phrase)} is {on[0]}"),
            sentence(f"{german_phrase(phrase, 'nom')} ist {on[1]}"),
        )
    if kind == 1:
        phrase = NounPhrase(NOUN[draw.one(("exam", "concert", "party"))], draw.one(("def", WIR)))
        return (
            sentence(f"{english_phrase(phrase)} is {on[0]}"),
            sentence(f"{german_phrase(phrase, 'nom')} ist {on[1]}"),
        )
    adverbial = Adverbial(*on, "time")
    if kind == 2:
        verb = {"predicate": ("born", "geboren")}
        who = draw.one((name, kin, lambda d: d.one((ICH, ER))))(draw)
        clause = Clause(who, VERB["be"], "past", (), (adverbial,))
        be = english_main(clause).replace(f" {on[0]}", f" born {on[0]}")
        german = join([german_phrase(who, "nom"), present("sein", "", _index(who)), on[1]])
        return sentence(be), sentence(f"{german} {verb['predicate'][1]}")
    city = draw.one(CITIES)
    where = Adverbial(f"to {city[0]}", f"nach {city[1]}", "direction")
    clause = Clause(person(draw), VERB["fly"], draw.one(("progressive", "will", "want to")), (),
                    (where, adverbial))  # fmt: skip
    return sentence(english_main(clause)), sentence(german_main(clause))


def _index(who):
    return (3 if who.plural else 0) + who.person - 1


BIRTHDAY = NOUN["birthday"]


@pattern(60)
def weather(draw):
    """It will be cold tomorrow in Hamburg."""
    where = draw.one(CITIES + (("the mountains", "den Bergen"), ("the village", "dem Dorf"),
                               ("Germany", "Deutschland"), ("Italy", "Italien")))  # fmt: skip
    wo = f"in {where[1]}".replace("in dem", "im")
    kind = draw.random.randrange(4)
    adjective = draw.one((("cold", "kalt"), ("warm", "warm"), ("hot", "heiß"), ("dark", "dunkel")))
    verb = draw.one((("raining", "regnet"), ("snowing", "schneit")))
    if kind == 0:
        return sentence(f"it is {verb[0]} in {where[0]}"), sentence(f"{wo} {verb[1]} es")
    if kind == 1:
        day = draw.one((("today", "heute"), ("now", "jetzt")))
        return (
            sentence(f"it is {adjective[0]} in {where[0]} {day[0]}"),
            sentence(f"{day[1]} ist es {wo} {adjective[1]}"),
        )
    if kind == 2:
        return (
            sentence(f"yesterday it was {adjective[0]} in {where[0]}"),
            sentence(f"gestern war es {wo} {adjective[1]}"),
        )
    verb = {"raining": ("rained", "geregnet"), "snowing": ("snowed", "geschneit")}[verb[0]]
    day = draw.one((("last week", "letzte Woche"), ("yesterday", "gestern"),
                    ("last month", "letzten Monat"), ("on the weekend", "am Wochenende")))  # fmt: skip
    return (
        sentence(f"it {verb[0]} in {where[0]} {day[0]}"),
        sentence(f"{day[1]} hat es {wo} {verb[1]}"),
    )


@pattern(70)
def taste(draw):
    """The soup tastes delicious."""
    noun = draw.one(select(["food", "drink"]))
    need(noun.english != "vegetables")
    noun_plural = "fruit" in noun.tags or noun.english in ("egg", "potato", "roll")
    phrase = NounPhrase(noun, draw.one(("def", "this") if "mass" not in noun.tags else ("def",)),
                        plural=noun_plural)  # fmt: skip
    quality = draw.one((("good", "gut"), ("very good", "sehr gut"), ("delicious", "lecker"),
                        ("bad", "schlecht"), ("strange", "seltsam")))  # fmt: skip
    kind, art = draw.one((("taste", "schmecken"), ("smell", "riechen")))
    verb = Clause(phrase, VERB[kind], predicate=quality)
    return sentence(english_main(verb)), sentence(german_main(verb))


@pattern(70)
def cup_of(draw):
    """I would like a cup of tea."""
    measure, stuffs = draw.one(
        (("glass", "water juice milk wine beer"), ("cup", "coffee tea"), ("bottle", "water wine "
         "beer milk juice"), ("piece", "cake bread chocolate pizza"))
    )  # fmt: skip
    stuff = NOUN[draw.one(stuffs.split())]
    noun = NOUN[measure] if measure != "piece" else PIECE
    many = draw.chance(0.25)
    phrase = NounPhrase(noun, "bare" if many else "indef", plural=many, measured=stuff)
    if many:
        phrase = NounPhrase(noun, "bare", plural=True, count=draw.one(NUMBERS[1:4]), measured=stuff)
    verb, tense = draw.one((("drink", "past"), ("have", "would like to"), ("order", "past"),
                            ("need", "present"), ("buy", "past"), ("take", "will")))  # fmt: skip
    need(verb != "drink" or measure != "piece")
    need(verb != "buy" or measure in ("bottle",))
    clause = Clause(person(draw), VERB[verb], tense, (Complement(phrase),))
    return sentence(english_main(clause)), sentence(german_main(clause))


PIECE = NOUN["piece"]
_ = third_person_singular

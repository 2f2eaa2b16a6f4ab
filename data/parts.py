"""Random parts of sentences: who, what, when and where, chosen so that they make sense."""

import random

from grammar import (
    DU,
    ER,
    ICH,
    IHR,
    SIE,
    SIE_PLURAL,
    SIE_POLITE,
    WIR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    Pronoun,
)
from lexicon import (
    ADJECTIVES_OF,
    DEEDS,
    FRAMES,
    FREQUENCIES,
    GIVINGS,
    MANNERS,
    NAMES,
    PLACES,
    SURNAMES,
    THANKED,
    TIMES,
    TOPICS,
    select,
)

PRONOUNS = (ICH, DU, ER, SIE, WIR, SIE_PLURAL)
YOU_TWO = Pronoun("you two", "you two", "your", "ihr zwei", "euch", "euch", "euer", 2, True)
IT_DE = {"m": "er", "f": "sie", "n": "es", "p": "sie"}

PEOPLE = select(["person"])
STRANGERS = [noun for noun in PEOPLE if set(noun.tags) & {"job", "young", "adult"}]
KIN = select(["family", "relation"])
PLURAL_KIN = {"neighbor", "colleague", "friend", "brother", "sister", "son", "daughter"}
YOUNG = set(select(["young"]))

# Adjectives that go with an object whatever is done to it; others need a reason.
_NEUTRAL = set(
    "old new big small beautiful expensive cheap red blue green black white yellow brown warm "
    "long short light interesting exciting funny delicious fresh modern comfortable famous good "
    "important difficult sweet cold".split()
)
_FITTING = {
    "wash": {"dirty"},
    "clean": {"dirty"},
    "carry": {"heavy", "full"},
    "solve": {"easy"},
}
_CREATED = {"write", "need", "bake", "build", "order", "plan", "buy", "cook", "look for", "paint"}
_PLURAL_DEEDS = set(
    "eat read wash open repair photograph water feed repeat understand carry solve see explain "
    "throw-away hear".replace("-", " ").split()
) | {"throw away"}
_MOMENTARY = {
    "open", "close", "put on", "take off", "turn on", "turn off", "carry", "hide", "throw away",
    "look for", "hear", "forget", "feed", "water", "repeat", "pick up", "take", "wear", "pay",
    "miss", "bring along",
}  # fmt: skip
_ADULT_DEEDS = {"sell", "rent", "build", "pay", "order", "bake", "repair"}
_ADULT_THINGS = {"beer", "wine", "coffee", "car", "house", "apartment", "furniture", "bill"}
_WOMENS = {"dress", "skirt", "blouse"}
_WORN = {"wear", "put on", "take off", "try on"}
NEVER_NEGATED = {"love"}


class Draw:
    """A seeded source of choices."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, options):
        """One of the options, each as likely as the others."""
        return options[self.random.randrange(len(options))]

    def chance(self, probability):
        """True with the given probability."""
        return self.random.random() < probability


class Unsuitable(Exception):
    """Raised where the parts drawn do not go together; another draw is made."""


def need(condition):
    """Give the draw up unless the condition holds."""
    if not condition:
        raise Unsuitable


# --- People ----------------------------------------------------------------------------------


def name(draw):
    """A first name."""
    return NounPhrase(draw.one(NAMES), "bare")


def kin(draw, owner=None):
    """A relative, friend or colleague: "my brother"."""
    noun = draw.one(KIN)
    plural = noun.english in PLURAL_KIN and draw.chance(0.25)
    return NounPhrase(noun, owner or draw.one(PRONOUNS), plural=plural)


def stranger(draw):
    """Somebody known by trade or age: "the young waiter"."""
    noun = draw.one(STRANGERS)
    fitting = ADJECTIVES_OF[noun.english]
    adjective = draw.one(fitting) if fitting and draw.chance(0.35) else None
    return NounPhrase(noun, "def", adjective, plural=draw.chance(0.2))


def person(draw, pronouns=0.4):
    """Anybody who can be the subject of a sentence."""
    if draw.chance(pronouns):
        return draw.one(PRONOUNS)
    return draw.one((name, kin, kin, stranger, stranger))(draw)


def third_person_singular(draw):
    """A name, a relative or a stranger, one person."""
    who = draw.one((name, kin, stranger))(draw)
    need(not who.plural)
    return who


def other_person(draw, subject):
    """Somebody who is not the subject, for the object of a verb."""
    if draw.chance(0.45):
        who = draw.one([ICH, DU, ER, SIE, WIR, SIE_PLURAL])
        need(who is not subject and not (isinstance(subject, Pronoun) and clash(who, subject)))
        return who
    who = draw.one((name, kin, stranger))(draw)
    need(not isinstance(subject, NounPhrase) or who.noun is not subject.noun)
    return who


def clash(first, second):
    """Whether two pronouns cannot be subject and object: I/we, you/you, or both third person."""
    both = {first.english, second.english}
    if both <= {"I", "we"} or len(both) == 1:
        return True
    return False


def is_male(subject):
    """Whether the subject is known to be male."""
    return subject is ER or (isinstance(subject, NounPhrase) and subject.gender == "m")


def is_young(subject):
    """Whether the subject is known to be a child."""
    return isinstance(subject, NounPhrase) and subject.noun in YOUNG


def polite_name(draw):
    """A surname with its title: ("Mr. Weber", "Herr Weber")."""
    surname = draw.one(SURNAMES)
    return draw.one(((f"Mr. {surname}", f"Herr {surname}"), (f"Mrs. {surname}", f"Frau {surname}")))


def addressee(draw):
    """Whom one talks to, and how the sentence calls them: (pronoun, English, German)."""
    kind = draw.one(("du", "du", "name", "children", "polite", "polite"))
    if kind == "du":
        return DU, "", ""
    if kind == "name":
        who = draw.one(NAMES).german
        return DU, f", {who}", f", {who}"
    if kind == "children":
        return IHR, ", children", ", Kinder"
    english, german = polite_name(draw)
    return SIE_POLITE, f", {english}", f", {german}"


# --- Things ----------------------------------------------------------------------------------


def adjective_for(draw, noun, verb=""):
    """An adjective that suits the noun as the object of the verb, or None."""
    allowed = _NEUTRAL | _FITTING.get(verb, set())
    if verb in _CREATED:
        allowed = allowed - {"old"}
    fitting = [a for a in ADJECTIVES_OF[noun.english] if a.english in allowed]
    return draw.one(fitting) if fitting else None


def thing(draw, noun, det, verb="", adjectives=0.3, plural=False):
    """A noun with a determiner and perhaps an adjective: "the new book", "coffee"."""
    is_mass = "mass" in noun.tags
    if det == "indef" and is_mass:
        det = "bare"
    adjective = adjective_for(draw, noun, verb) if draw.chance(adjectives) else None
    return NounPhrase(noun, det, adjective, plural=plural and not is_mass)


def object_for(draw, frame, subject):
    """An object that makes sense for the verb of a frame and its subject."""
    noun, letter, verb = draw.one(frame.objects), draw.one(frame.dets), frame.verb.english
    need(not (is_male(subject) and noun.english in _WOMENS))
    need(not (is_young(subject) and (verb in _ADULT_DEEDS or noun.english in _ADULT_THINGS)))
    need(not isinstance(subject, NounPhrase) or subject.noun is not noun)
    if letter == "n":
        bare_singular = set(noun.tags) & {"mass", "dish"}
        return thing(draw, noun, "bare", verb, 0.15, plural=not bare_singular)
    if letter == "p":
        return _own_thing(draw, noun, subject, verb)
    det = {"d": "def", "i": "indef", "t": "this"}[letter]
    if det == "this":
        need("mass" not in noun.tags)
    plural = letter in "d" and verb in _PLURAL_DEEDS and draw.chance(0.2)
    if verb in _WORN and subject.plural:
        plural = True
    return thing(draw, noun, det, verb, plural=plural)


def _own_thing(draw, noun, subject, verb):
    """Something or somebody that belongs to the subject."""
    if "person" in noun.tags:
        return NounPhrase(noun, subject.owner)
    shared = set(noun.tags) & {"owned", "home", "room", "building", "event", "leave", "outside"}
    personal = set(noun.tags) & {"clothes", "own"}
    plural = subject.plural and bool(personal) and not shared and noun.english != "car"
    return thing(draw, noun, subject.owner, verb, plural=plural)


# --- Times and places ------------------------------------------------------------------------


def time_for(draw, tense, verb="", aspect="h"):
    """A time that suits the tense and how long the deed takes."""
    times = [time for time in TIMES[tense]]
    if verb in _MOMENTARY:
        times = [time for time in times if time in TIMES["near"]]
    elif aspect == "l":
        times = [time for time in times if time in TIMES["long"]]
    else:
        times = [time for time in times if time not in TIMES["long"]]
    return draw.one(times)


def habit(draw, verb=""):
    """How often something is done: "often", "every evening"."""
    if draw.chance(0.5):
        return draw.one(FREQUENCIES)
    times = TIMES["habit"]
    if verb in ("drink", "eat", "feed", "take"):
        times = [time for time in times if time.english != "every week"]
    return draw.one(times)


def place_for(draw, tag):
    """A place where the deeds with this tag are done, or None."""
    fitting = [place.here for place in PLACES if tag in place.deeds]
    return draw.one(fitting) if fitting else None


def goal(draw):
    """Somewhere to go to."""
    return draw.one([place.goal for place in PLACES if "go" in place.deeds and place.goal])


# --- Clauses ---------------------------------------------------------------------------------


def object_clause(draw, tense, aspects="h-ls", subject=None, when=None, where=0.0, verbs=None):
    """A clause with a direct object; `when` names the kind of time it is given."""
    frame = draw.one(FRAMES)
    need(frame.aspect in aspects and (verbs is None or frame.verb.english in verbs))
    subject = subject or person(draw)
    adverbials = []
    if when == "habit":
        adverbials.append(habit(draw, frame.verb.english))
    elif when:
        adverbials.append(time_for(draw, when, frame.verb.english, frame.aspect))
    place = place_for(draw, frame.place) if draw.chance(where) else None
    if place:
        adverbials.append(place)
    item = Complement(object_for(draw, frame, subject))
    need(item.phrase.noun.english != "potato" or item.phrase.plural or frame.verb.english == "eat")
    return Clause(subject, frame.verb, tense, (item,), tuple(adverbials))


def deed_clause(draw, tense, subject=None, when=None, aspects="h-", extra=0.6):
    """A clause without an object, perhaps with a manner or place."""
    deed = draw.one(DEEDS)
    need(deed.aspect in aspects)
    subject, verb = subject or person(draw), deed.verb.english
    adverbials = []
    if when == "habit":
        adverbials.append(habit(draw, verb))
    elif when:
        adverbials.append(time_for(draw, when, verb, "h"))
    if draw.chance(extra):
        place = place_for(draw, deed.place)
        manners = MANNERS.get(verb, [])
        if manners and (place is None or draw.chance(0.5)):
            adverbials.append(draw.one(manners))
        elif place:
            adverbials.append(place)
    return Clause(subject, deed.verb, tense, (), tuple(adverbials))


def topic_clause(draw, tense, subject=None, when=None, aspects="-s"):
    """A clause with a prepositional object: "She is waiting for the bus"."""
    topic = draw.one(TOPICS)
    need(topic.aspect in aspects)
    subject = subject or person(draw)
    noun, letter = draw.one(topic.objects), draw.one(topic.dets)
    det = {"d": "def", "i": "indef", "p": subject.owner, "n": "bare"}[letter]
    need(not isinstance(subject, NounPhrase) or subject.noun is not noun)
    adjectives = 0 if "person" in noun.tags else 0.2
    phrase = thing(draw, noun, det, topic.verb.english, adjectives, plural=letter == "n")
    particle = topic.verb.english.rpartition(" ")[2]
    verb, preposition = _split_preposition(topic.verb, particle)
    item = Complement(phrase, topic.case, topic.preposition, preposition)
    adverbials = (time_for(draw, when, topic.verb.english),) if when else ()
    return Clause(subject, verb, tense, (item,), adverbials)


def _split_preposition(verb, particle):
    """Keep the English preposition with the verb, where `grammar` finds it."""
    return verb, ""


def giving_clause(draw, tense, subject=None, when=None):
    """A clause with a receiver and a gift: "He is showing his sister the photo"."""
    giving = draw.one(GIVINGS)
    subject = subject or person(draw)
    receiver = other_person(draw, subject)
    noun = draw.one(giving.objects)
    det = draw.one(("def", "indef", subject.owner))
    if noun.english in ("room", "garden", "word", "money", "question", "game", "problem", "plan"):
        det = "def"
    if noun.english in ("tea", "coffee", "gift", "story", "newspaper", "letter"):
        det = "indef"
    adverbials = (time_for(draw, when, giving.verb.english),) if when else ()
    phrase = thing(draw, noun, det, giving.verb.english, 0.2)
    items = (Complement(receiver, "dat"), Complement(phrase))
    return Clause(subject, giving.verb, tense, items, adverbials)


def dative_clause(draw, tense, subject=None, when=None):
    """A clause whose German object is dative: "She is helping her neighbor"."""
    verb = draw.one(THANKED)
    subject = subject or person(draw)
    receiver = other_person(draw, subject)
    adverbials = (time_for(draw, when, verb.english),) if when else ()
    return Clause(subject, verb, tense, (Complement(receiver, "dat"),), adverbials)


def text_adverbial(english, german, kind="time"):
    """An adverbial made on the spot."""
    return Adverbial(english, german, kind)


# --- Patterns --------------------------------------------------------------------------------

PATTERNS = []


def pattern(quota):
    """Register a sentence pattern: a function of a `Draw`, and how many sentences it gives."""

    def register(function):
        PATTERNS.append((function.__name__, function, quota))
        return function

    return register

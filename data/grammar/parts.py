"""Random parts of sentences: who, what, when and where, chosen so that they make sense."""

import random
from functools import cache

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
    Pronoun,
    person_index,
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


def listed(text):
    """The entries of a list written as "read; write; turn on"."""
    return tuple(text.split("; "))


def paired(text):
    """The pairs of a list written as "often = oft; never = nie", or longer rows."""
    return tuple(tuple(entry.split(" = ")) for entry in text.split("; "))


PRONOUNS = (ICH, DU, ER, SIE, WIR, SIE_PLURAL)
YOU_TWO = Pronoun("you two", "you two", "your", "ihr zwei", "euch", "euch", "euer", 2, True)
IT_DE = {"m": "er", "f": "sie", "n": "es", "p": "sie"}

STRANGERS = select(
    listed(
        "teacher; doctor; student; police officer; waiter; waitress; nurse; cook; boy; girl; "
        "child; man; woman; tourist; player"
    )
)
# What learners say of several; other nouns stay in the singular.
COMMON_PLURALS = set(select(listed(
    "animal; count; worn; plant; young; adult; sibling; relation; book; letter; photo; "
    "picture; car; bike; house; room; window; door; chair; table; glass; cup; plate; bottle; "
    "question; answer; word; exercise; key; ticket; store; restaurant; hotel; bus; train; "
    "street; shirt; dress; T-shirt; skirt; hat; ring; movie; song; eye; tooth; email"
)))  # fmt: skip
KIN = select(["family", "relation"])
PLURAL_KIN = {"neighbor", "colleague", "friend", "brother", "sister", "son", "daughter", "cousin"}
YOUNG = set(select(["young"]))
GRANDPARENTS = {"grandmother", "grandfather", "grandma", "grandpa", "grandparent"}

# Adjectives that go with an object whatever is done to it; others need a reason.
_NEUTRAL = frozenset(
    listed(
        "old; new; big; small; beautiful; expensive; cheap; red; blue; green; black; white; "
        "yellow; brown; warm; long; short; light; interesting; exciting; funny; delicious; "
        "fresh; modern; comfortable; famous; good; important; difficult; sweet; cold; hot; gray; "
        "pink; purple; pretty; great"
    )
)
_FITTING = {
    "wash": {"dirty"},
    "clean": {"dirty"},
    "repair": {"broken"},
    "carry": {"heavy", "full"},
    "solve": {"easy"},
}
_CREATED = {"write", "need", "bake", "build", "order", "plan", "buy", "cook", "look for", "paint"}
_PLURAL_DEEDS = set(
    listed(
        "eat; read; wash; open; repair; water; feed; repeat; understand; carry; solve; see; "
        "explain; hear"
    )
)
_MOMENTARY = frozenset(
    listed(
        "open; close; put on; take off; turn on; turn off; carry; look for; "
        "hear; forget; feed; water; repeat; pick up; take; wear; pay; miss; bring along; pack; "
        "cut; "
        "peel; use; sign; count; hug; kiss; check; spell; dry; fry; iron; shower; smoke; "
        "watch television; make phone calls; fall asleep; wake up; get up; cry; laugh; "
        "smile; sleep; rest; wait"
    )
)
_ADULT_DEEDS = {
    "sell",
    "rent",
    "build",
    "pay",
    "order",
    "bake",
    "repair",
    "book",
    "reserve",
}
_ADULT_THINGS = frozenset(
    listed(
        "beer; wine; coffee; car; house; apartment; bill; computer; camera; carpet; boss; "
        "colleague; son; daughter; grandson; granddaughter; office; television; husband; wife; "
        "motorcycle; credit card; suit"
    )
)
WOMENS = {"dress", "skirt", "blouse", "handbag"}
_WORN = {"wear", "put on", "take off", "try on"}
_ACCIDENTS = {"find", "lose", "forget", "miss", "get"}
_FINDING = {"can", "could", "must", "have to", "had to"}
_LASTING_STATES = {"know", "love"}  # German tells their past in the preterite
# Nobody plans or has to do these.
_UNPLANNED = {"laugh", "cry", "smile", "fall asleep", "wake up", "sit"}
_BARE_IS_ODD = {
    "learn",
    "play",
    "rest",
    "run",
    "wait",
    "sleep",
    "sit",
}  # wants a place or manner
_MORNINGS = {
    "get up": ("this morning", "tomorrow morning"),
    "wake up": ("this morning",),
    "sleep": ("yesterday", "tomorrow"),
    "fall asleep": (),
    "dream of": ("yesterday",),
}
NEVER_NEGATED = {"love"}
_OF_SPOUSES = {
    "husband": (ICH, DU, SIE, SIE_POLITE),
    "wife": (ICH, DU, ER, SIE_POLITE),
}


class Draw:
    """A seeded source of choices."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, options):
        """One of the options, each as likely as the others."""
        need(options)
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


NUMBERS = paired(
    "one = ein; two = zwei; three = drei; four = vier; five = fünf; six = sechs; seven = sieben; "
    "eight = acht; nine = neun; ten = zehn; eleven = elf; twelve = zwölf; fifteen = fünfzehn; "
    "twenty = zwanzig; thirty = dreißig; forty = vierzig; fifty = fünfzig; sixty = sechzig; "
    "eighty = achtzig; a hundred = hundert"
)


# --- People ----------------------------------------------------------------------------------


def name(draw):
    """A first name."""
    return NounPhrase(draw.one(NAMES), "bare")


def kin(draw, owner=None):
    """A relative, friend or colleague: "my brother"."""
    noun = draw.one(KIN)
    need(not is_young(owner) or noun.english not in _ADULT_THINGS)
    plural = noun.english in PLURAL_KIN and draw.chance(0.25)
    owner = owner or draw.one(PRONOUNS)
    need(may_own(owner, noun))
    return NounPhrase(noun, owner, plural=plural)


def may_own(owner, noun):
    """Whether somebody may have such a relative: he has a wife, and she has a husband."""
    return owner in _OF_SPOUSES.get(noun.english, (owner,))


def stranger(draw):
    """Somebody known by trade or age: "the young waiter"."""
    noun = draw.one(STRANGERS)
    fitting = ADJECTIVES_OF[noun.english]
    adjective = draw.one(fitting) if fitting and draw.chance(0.35) else None
    return NounPhrase(noun, "def", adjective, plural=draw.chance(0.2))


def person(draw, pronouns=0.5):
    """Anybody who can be the subject of a sentence."""
    if draw.chance(pronouns):
        return draw.one(PRONOUNS)
    return draw.one((name, name, kin, kin, stranger))(draw)


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
        need(who is not DU or subject not in (IHR, SIE_POLITE))
        return who
    owners = (subject.owner, subject.owner, ICH, WIR, DU)
    who = draw.one((name, lambda d: kin(d, d.one(owners)), stranger))(draw)
    need(not isinstance(subject, NounPhrase) or who.noun is not subject.noun)
    need(not is_polite_mix(subject, who))
    return who


def is_polite_mix(subject, phrase):
    """Whether a sentence would say "du" and "Sie" (or "ihr") at once."""
    forms = {getattr(subject, "german", ""), getattr(phrase.det, "german", "")}
    return len(forms & {"du", "ihr", "Sie"}) > 1


def clash(first, second):
    """Whether two pronouns cannot be subject and object: I/we, you/you, or both third person."""
    both = {first.english, second.english}
    return bool(both <= {"I", "we"} or len(both) == 1)


def need_suiting_call(clause, call):
    """Nobody asks Mr. Weber about his skirt."""
    men = {noun.english for noun in NAMES if noun.gender == "m"} | {"sir"}
    is_man = "Mr." in call or call.removeprefix(", ") in men
    nouns = {item.phrase.noun.english for item in clause.objects if hasattr(item.phrase, "noun")}
    need(not (is_man and nouns & {"husband", *WOMENS}))
    need(not ("Mrs." in call and "wife" in nouns))


def plain(subject):
    """The subject, if no adjective says yet how it is."""
    need(isinstance(subject, Pronoun) or subject.adjective is None)
    return subject


def is_male(subject):
    """Whether the subject is known to be male."""
    return subject is ER or (isinstance(subject, NounPhrase) and subject.noun.gender == "m")


def is_several(subject):
    """Whether the subject is more than one; "Sie" to one person only looks like a plural."""
    return subject.plural and subject is not SIE_POLITE


def is_young(subject):
    """Whether the subject is known to be a child."""
    if subject is IHR:  # called "children" wherever it is used
        return True
    return isinstance(subject, NounPhrase) and subject.noun in YOUNG


def can_play(subject):
    """Whether somebody may be said to play, without saying what."""
    if subject is SIE_POLITE:
        return False
    young = {"young", "sibling", "name"}
    return isinstance(subject, Pronoun) or bool(young & set(subject.noun.tags))


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
    if draw.chance(0.3):
        return SIE_POLITE, draw.one((", sir", ", ma'am")), ""
    english, german = polite_name(draw)
    return SIE_POLITE, f", {english}", f", {german}"


# --- Things ----------------------------------------------------------------------------------


def adjective_for(draw, noun, verb=""):
    """An adjective that suits the noun as the object of the verb, or None."""
    if verb in ("take", "miss", "wait for"):
        return None
    allowed = _NEUTRAL | _FITTING.get(verb, set())
    if verb in _CREATED:
        allowed = allowed - {"old"}
    if verb == "carry":
        allowed = allowed - {"light"}
    if set(noun.tags) & {"hotdrink", "cooked"}:
        allowed = allowed - {"cold"}
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
    need(not (is_male(subject) and noun.english in WOMENS))
    grown = verb in _ADULT_DEEDS or noun.english in _ADULT_THINGS or "furniture" in noun.tags
    need(not (is_young(subject) and grown))
    need(not isinstance(subject, NounPhrase) or subject.noun is not noun)
    if letter == "n":
        bare_singular = set(noun.tags) & {"mass", "dish"} or noun.plural == "-"
        return thing(draw, noun, "bare", verb, 0.15, plural=not bare_singular)
    if letter == "p":
        return _own_thing(draw, noun, subject, verb)
    det = {"d": "def", "i": "indef", "t": draw.one(("this", "that"))}[letter]
    if det in ("this", "that"):
        need("mass" not in noun.tags)
    plural = letter in "d" and verb in _PLURAL_DEEDS and draw.chance(0.2)
    plural = plural and noun in COMMON_PLURALS
    personal = bool({"clothes", "several"} & set(noun.tags)) or (
        "own" in noun.tags and "owned" not in noun.tags
    )
    if is_several(subject) and (verb in _WORN or (verb in ("buy", "need") and personal)):
        plural = True
    return thing(draw, noun, det, verb, plural=plural)


def _own_thing(draw, noun, subject, verb):
    """Something or somebody that belongs to the subject."""
    if "person" in noun.tags:
        need(may_own(subject.owner, noun))
        return NounPhrase(noun, subject.owner)
    shared = set(noun.tags) & {"owned", "home", "room", "building", "event", "leave", "outside"}
    personal = set(noun.tags) & {"clothes", "own", "several"}
    plural = is_several(subject) and bool(personal) and not shared and noun.english != "car"
    return thing(draw, noun, subject.owner, verb, plural=plural)


# --- Times and places ------------------------------------------------------------------------


def need_clear_past(clause):
    """Without a time "they read the book" may be past or present."""
    same = clause.verb.past == clause.verb.english and person_index(clause.subject) != 2
    timed = any(item.kind == "time" for item in clause.adverbials)
    need(clause.tense != "past" or not same or timed or clause.negated)


def time_for(draw, tense, verb="", aspect="h"):
    """A time that suits the tense and how long the deed takes."""
    times = TIMES[tense]
    if tense not in ("past", "future"):
        return draw.one(times)
    if verb in _MOMENTARY or verb in _MORNINGS:
        times = [time for time in times if time in TIMES["near"]]
        if verb in _MORNINGS:
            times = [t for t in times if t.english in _MORNINGS[verb]]
    elif aspect == "any":
        pass
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
    if verb == "sleep":
        times = [time for time in times if time.english.startswith("on ")]
    if verb in ("drink", "eat", "feed", "take", "use", "wear", "shower", "smoke", "do"):
        times = [time for time in times if time not in TIMES["seldom"]]
    return draw.one(times)


def place_for(draw, tag):
    """A place where the deeds with this tag are done, or None."""
    fitting = [place.here for place in PLACES if tag in place.deeds]
    return draw.one(fitting) if fitting else None


def goal(draw):
    """Somewhere to go to."""
    return draw.one([place.goal for place in PLACES if "go" in place.deeds and place.goal])


# --- Clauses ---------------------------------------------------------------------------------


@cache
def frames_for(aspects, verbs=None):
    """The frames with one of the aspects, and with one of the English verbs if these are given."""
    return tuple(
        frame
        for frame in FRAMES
        if frame.aspect in aspects and (verbs is None or frame.verb.english in verbs)
    )


def object_clause(draw, tense, aspects="h-ls", subject=None, when=None, where=0.0, verbs=None):
    """A clause with a direct object; `when` names the kind of time it is given."""
    frame = draw.one(frames_for(aspects, verbs and frozenset(verbs)))
    need(tense != "past" or frame.verb.english not in _LASTING_STATES)
    need(frame.verb.english != "like" or not when)
    subject = subject or person(draw)
    if frame.verb.english in _ACCIDENTS:
        chance = frame.verb.english == "find" and tense in _FINDING and not when
        need(chance or tense in ("past", "perfect", "present"))
    adverbials = []
    if when == "habit":
        adverbials.append(habit(draw, frame.verb.english))
        often = adverbials[0].english not in ("usually", "always")
        need(often or frame.verb.english not in ("meet", "visit", "call"))
    elif when:
        adverbials.append(time_for(draw, when, frame.verb.english, frame.aspect))
    place = place_for(draw, frame.place) if draw.chance(where) else None
    if place:
        adverbials.append(place)
    item = Complement(object_for(draw, frame, subject))
    need(when != "habit" or frame.verb.english not in ("write", "eat") or item.phrase.det != "def")
    need(item.phrase.noun.english != "potato" or item.phrase.plural or frame.verb.english == "eat")
    return Clause(subject, frame.verb, tense, (item,), tuple(adverbials))


def deed_clause(draw, tense, subject=None, when=None, aspects="h-", extra=0.6):
    """A clause without an object, perhaps with a manner or place."""
    deed = draw.one(DEEDS)
    need(deed.aspect in aspects)
    subject, verb = subject or person(draw), deed.verb.english
    need(verb != "play" or can_play(subject))
    need(verb not in _UNPLANNED or tense in ("progressive", "past", "present"))
    need(verb != "ride bikes" or is_several(subject) or tense not in ("progressive", "past"))
    adverbials = []
    if when == "habit":
        adverbials.append(habit(draw, verb))
    elif when:
        adverbials.append(time_for(draw, when, verb, "h"))
    if draw.chance(extra):
        place = place_for(draw, deed.place)
        manners = MANNERS.get(verb, [])
        if not is_several(subject):
            manners = [manner for manner in manners if manner.english != "together"]
        if manners and (place is None or draw.chance(0.5)):
            adverbials.append(draw.one(manners))
        elif place:
            adverbials.append(place)
    need(verb not in _BARE_IS_ODD or any(a.kind in ("place", "manner") for a in adverbials))
    need(verb != "wait" or tense not in ("can", "want to", "would like to"))
    return Clause(subject, deed.verb, tense, (), tuple(adverbials))


def topic_clause(draw, tense, subject=None, when=None, aspects="-s"):
    """A clause with a prepositional object: "She is waiting for the bus"."""
    topic = draw.one(TOPICS)
    need(topic.aspect in aspects)
    subject = subject or person(draw)
    noun, letter = draw.one(topic.objects), draw.one(topic.dets)
    det = {"d": "def", "i": "indef", "p": subject.owner, "n": "bare"}[letter]
    need(not isinstance(subject, NounPhrase) or subject.noun is not noun)
    adjectives = 0 if "person" in noun.tags or letter == "n" else 0.2
    phrase = thing(draw, noun, det, topic.verb.english, adjectives, plural=letter == "n")
    item = Complement(phrase, topic.case, topic.preposition)
    adverbials = (time_for(draw, when, topic.verb.english),) if when else ()
    return Clause(subject, topic.verb, tense, (item,), adverbials)


def giving_clause(draw, tense, subject=None, when=None):
    """A clause with a receiver and a gift: "He is showing his sister the photo"."""
    giving = draw.one(GIVINGS)
    subject = subject or person(draw)
    receiver = other_person(draw, subject)
    noun = draw.one(giving.objects)
    det = draw.one(("def", "indef", subject.owner))
    if noun.english in ("room", "garden", "word", "money", "question", "game", "problem", "plan"):
        det = "def"
    if det is subject.owner:
        need("own" in noun.tags or noun.english in ("photo", "picture"))
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


# --- Patterns --------------------------------------------------------------------------------

PATTERNS = []


def pattern(quota):
    """Register a sentence pattern: a function of a `Draw`, and how many sentences it gives."""

    def register(function):
        PATTERNS.append((function.__name__, function, quota))
        return function

    return register

"""Patterns of numbers, prices, ages, times, dates and the weather."""

from grammar import (
    ER,
    ICH,
    WIR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    english_main,
    english_phrase,
    german_main,
    german_phrase,
    join,
    person_index,
    present,
    sentence,
)
from lexicon import CITIES, NOUN, VERB, select
from parts import (
    NUMBERS,
    PRONOUNS,
    kin,
    listed,
    name,
    need,
    paired,
    pattern,
    person,
    time_for,
)
from whereabouts import attribute_of

# --- How many, how much ----------------------------------------------------------------------

_COUNTED = {
    "buy": "apple; banana; pear; orange; tomato; potato; egg; roll; book; shirt",
    "have": "dog; cat; horse; bike; brother; sister; son; daughter; key; bag; hat",
    "see": "dog; cat; horse; bird; cow; sheep; bear; ship; plane",
    "need": "chair; plate; glass; cup; spoon; fork; knife; egg; tomato; ticket; bottle",
    "find": "key; ring; photo; book; umbrella",
    "write": "letter; email; poem; story; book",
    "invite": "friend; colleague; neighbor",
    "eat": "apple; banana; pear; roll; egg; tomato",
    "read": "book; story; novel; poem; letter",
    "order": "pizza; salad; soup; ticket",
}
_COUNTED_TENSES = {
    "have": ("present",), "need": ("present", "past"), "see": ("past",), "find": ("past",),
}  # fmt: skip


@pattern(135)
def counting(draw):
    """She bought six eggs on Monday."""
    verb = draw.one(tuple(_COUNTED))
    noun = NOUN[draw.one(listed(_COUNTED[verb]))]
    subject = person(draw)
    need(getattr(subject, "noun", None) is not noun)
    tense = draw.one(_COUNTED_TENSES.get(verb, ("past", "past", "will", "want to")))
    item = Complement(NounPhrase(noun, "bare", plural=True, count=draw.one(NUMBERS[1:6])))
    timed = tense == "past" and (verb == "read" or draw.chance(0.4))
    when = (time_for(draw, "past", "open"),) if timed else ()
    clause = Clause(subject, VERB[verb], tense, (item,), when)
    return sentence(english_main(clause)), sentence(german_main(clause))


_CHEAP = select(listed("book; ticket; ball; magazine; pizza; cap; scarf; umbrella"))
_DEAR = select(listed("clothes; suitcase; bag; lamp; ring; chair; camera"))


@pattern(60)
def price(draw):
    """This red hat costs thirty euros."""
    goods, numbers = draw.one(((_CHEAP, NUMBERS[7:14]), (_DEAR, NUMBERS[13:])))
    noun, (number, zahl) = draw.one(goods), draw.one(numbers)
    colours = listed("red; blue; green; black; white; yellow; brown; new")
    adjective = attribute_of(draw, noun, colours, 0.4)
    phrase = NounPhrase(noun, draw.one(("this", "def")), adjective)
    return (
        sentence(f"{english_phrase(phrase)} costs {number} euros"),
        sentence(f"{german_phrase(phrase, 'nom')} kostet {zahl} Euro"),
    )


@pattern(40)
def price_question(draw):
    """How much does this hat cost?"""
    noun = draw.one(select(listed("clothes; own; furniture; fruit; pizza")))
    need(noun.english != "key")
    plural = draw.chance(0.3) or "fruit" in noun.tags
    phrase = NounPhrase(noun, draw.one(("this", "def")), plural=plural)
    do, kostet = ("do", "kosten") if plural else ("does", "kostet")
    return (
        sentence(f"how much {do} {english_phrase(phrase)} cost", "?"),
        sentence(f"wie viel {kostet} {german_phrase(phrase, 'nom')}", "?"),
    )


@pattern(50)
def age(draw):
    """My sister is twelve years old."""
    who = draw.one((name, kin, lambda d: d.one((ICH, ER))))(draw)
    need(not who.plural)
    number, jahre = draw.one(NUMBERS[_youngest(who) : _oldest(who)])
    predicate = (f"{number} years old", f"{jahre} Jahre alt")
    clause = Clause(who, VERB["be"], predicate=predicate)
    return sentence(english_main(clause)), sentence(german_main(clause))


def _youngest(who):
    """The index of the smallest number that may be somebody's age."""
    kinship = who.noun.english if isinstance(who, NounPhrase) else ""
    if kinship.startswith("grand"):
        return 17
    grown = kinship in listed("mother; father; uncle; aunt; boss; colleague; neighbor")
    return 14 if grown else 4


def _oldest(who):
    """The index behind the largest number that may be somebody's age."""
    kinship = who.noun.english if isinstance(who, NounPhrase) else ""
    if kinship in ("son", "daughter"):
        return 15
    return len(NUMBERS) if kinship.startswith("grand") else 18


_MEASURES = paired(
    "glass = water juice milk wine beer; cup = coffee tea; bottle = water wine beer milk juice; "
    "piece = cake bread chocolate pizza"
)
_SERVED = paired(
    "drink = past; have = would like to; order = past; need = present; order = will; buy = past"
)


@pattern(50)
def cup_of(draw):
    """I would like to have a cup of tea."""
    measure, stuffs = draw.one(_MEASURES)
    stuff = NOUN[draw.one(stuffs.split())]
    phrase = NounPhrase(NOUN[measure], "indef", measured=stuff)
    if draw.chance(0.25):
        count = draw.one(NUMBERS[1:4])
        phrase = NounPhrase(NOUN[measure], "bare", plural=True, count=count, measured=stuff)
    verb, tense = draw.one(_SERVED)
    need(verb != "drink" or measure != "piece")
    need(verb != "buy" or measure == "bottle")
    clause = Clause(person(draw), VERB[verb], tense, (Complement(phrase),))
    return sentence(english_main(clause)), sentence(german_main(clause))


_QUALITIES = paired(
    "good = gut; very good = sehr gut; delicious = lecker; bad = schlecht; strange = seltsam"
)


@pattern(50)
def taste(draw):
    """The soup tastes delicious."""
    noun = draw.one(select(("food", "drink")))
    need(noun.english != "vegetables")
    plural = "fruit" in noun.tags or noun.english in ("egg", "potato", "roll")
    det = "def" if "mass" in noun.tags else draw.one(("def", "this"))
    phrase = NounPhrase(noun, det, plural=plural)
    verb = VERB[draw.one(("taste", "smell"))]
    clause = Clause(phrase, verb, predicate=draw.one(_QUALITIES))
    return sentence(english_main(clause)), sentence(german_main(clause))


# --- The clock -------------------------------------------------------------------------------


def clock(draw, first=0, last=11):
    """A time of day: ("at half past seven", "um halb acht"); hours count from one o'clock."""
    hour = first + draw.random.randrange(last - first + 1)
    english, german = NUMBERS[hour]
    bare = german.replace("ein", "eins") if german == "ein" else german
    following = NUMBERS[(hour + 1) % 12][1]
    following = "eins" if following == "ein" else following
    return draw.one(
        (
            (f"at {english} o'clock", f"um {german} Uhr"),
            (f"at half past {english}", f"um halb {following}"),
            (f"at a quarter past {english}", f"um Viertel nach {bare}"),
            (f"at a quarter to {english}", f"um Viertel vor {bare}"),
        )
    )


@pattern(80)
def timetable(draw):
    """The train leaves at half past nine."""
    noun = draw.one(select(listed("train; bus; plane; ship; tram")))
    verb = draw.one(("leave", "arrive"))
    need(noun.english != "plane" or verb == "arrive")  # planes do not "fahren"
    adverbials = [Adverbial(*clock(draw), "time")]
    if verb == "arrive" and noun.english in ("train", "bus", "plane") and draw.chance(0.4):
        city, stadt = draw.one(CITIES)
        adverbials.append(Adverbial(f"in {city}", f"in {stadt}", "place"))
    phrase = NounPhrase(noun, draw.one(("def", "def", WIR)))
    clause = Clause(phrase, VERB[verb], "present", (), tuple(adverbials))
    return sentence(english_main(clause)), sentence(german_main(clause))


_ROUTINE = paired(
    "get up = present; get up = have to; get up = past; wake up = past; fall asleep = past; "
    "come back = will; come back = past; have breakfast = present; have breakfast = past; "
    "call = will"
)
_EARLY, _EVENING, _ANY_HOUR = (4, 9), (7, 11), (0, 11)
_ROUTINE_HOURS = {
    "get up": _EARLY, "wake up": _EARLY, "have breakfast": (5, 9), "fall asleep": _EVENING,
}  # fmt: skip


@pattern(105)
def at_time(draw):
    """I get up at six o'clock."""
    verb, tense = draw.one(_ROUTINE)
    subject, objects = person(draw), ()
    if verb == "call":
        whom = draw.one((name, lambda d: kin(d, subject.owner)))(draw)
        need(getattr(subject, "noun", None) is not whom.noun)
        objects = (Complement(whom),)
    when = Adverbial(*clock(draw, *_ROUTINE_HOURS.get(verb, _ANY_HOUR)), "time")
    clause = Clause(subject, VERB[verb], tense, objects, (when,))
    return sentence(english_main(clause)), sentence(german_main(clause))


_EVENTS = ("concert", "movie", "party", "exam", "game")
_HOURS = (
    (("start", "beginnt"), select(_EVENTS), (6, 9)),
    (("end", "endet"), select(_EVENTS), (7, 10)),
    (("open", "öffnet"), select(listed("shop; café; restaurant")), (6, 10)),
    (("close", "schließt"), select(listed("shop; café; restaurant")), (3, 9)),
)
_DAYS = (
    ("", ""),
    ("", ""),
    ("today", "heute"),
    ("on Saturdays", "samstags"),
    ("on Sundays", "sonntags"),
)


@pattern(60)
def opening_hours(draw):
    """The museum opens at ten o'clock."""
    (verb, german_verb), nouns, hours = draw.one(_HOURS)
    phrase = NounPhrase(draw.one(nouns))
    time, zeit = clock(draw, *hours)
    day, tag = draw.one(_DAYS)
    need(phrase.noun.english not in _EVENTS or not day.startswith("on"))
    return (
        sentence(join([english_phrase(phrase), verb + "s", time, day])),
        sentence(join([german_phrase(phrase, "nom"), german_verb, tag, zeit])),
    )


# --- The calendar and the weather ------------------------------------------------------------

_ORDINALS = paired(
    "first = ersten; second = zweiten; third = dritten; fourth = vierten; fifth = fünften; "
    "sixth = sechsten; seventh = siebten; eighth = achten; ninth = neunten; tenth = zehnten; "
    "eleventh = elften; twelfth = zwölften; twentieth = zwanzigsten"
)
_MONTHS = paired(
    "January = Januar; February = Februar; March = März; April = April; May = Mai; June = Juni; "
    "July = Juli; August = August; September = September; October = Oktober; "
    "November = November; December = Dezember"
)


def day_or_month(draw):
    """A date: ("on the third of May", "am dritten Mai") or ("in May", "im Mai")."""
    (month, monat), (day, tag) = draw.one(_MONTHS), draw.one(_ORDINALS)
    if draw.chance(0.35):
        return f"in {month}", f"im {monat}"
    return f"on the {day} of {month}", f"am {tag} {monat}"


@pattern(60)
def date(draw):
    """The exam is on the third of May."""
    event = NOUN[draw.one(listed("birthday; birthday; exam; concert; party"))]
    owners = PRONOUNS[:4] if event.english == "birthday" else ("def", WIR)
    phrase = NounPhrase(event, draw.one(owners))
    on, am = day_or_month(draw)
    return (
        sentence(f"{english_phrase(phrase)} is {on}"),
        sentence(f"{german_phrase(phrase, 'nom')} ist {am}"),
    )


@pattern(40)
def birth(draw):
    """My grandmother was born on the fourth of June."""
    who = draw.one((name, kin, lambda d: d.one((ICH, ER))))(draw)
    on, am = day_or_month(draw)
    was = english_main(Clause(who, VERB["be"], "past"))
    ist = present("sein", "", person_index(who))
    german = f"{german_phrase(who, 'nom')} {ist} {am} geboren"
    return sentence(f"{was} born {on}"), sentence(german)


@pattern(40)
def dated_flight(draw):
    """We are flying to Prague on the twentieth of January."""
    city, stadt = draw.one(CITIES)
    where = Adverbial(f"to {city}", f"nach {stadt}", "direction")
    when = Adverbial(*day_or_month(draw), "time")
    tense = draw.one(listed("progressive; will; want to"))
    clause = Clause(person(draw), VERB["fly"], tense, (), (where, when))
    return sentence(english_main(clause)), sentence(german_main(clause))


_REGIONS = (
    *((f"in {city}", f"in {stadt}") for city, stadt in CITIES),
    *paired("in the mountains = in den Bergen; in the village = im Dorf; "
            "in Germany = in Deutschland; in Italy = in Italien"),
)  # fmt: skip
_TEMPERATURES = paired("cold = kalt; warm = warm; hot = heiß; windy = windig")
_FALLING = paired("raining = rained = regnet = geregnet; snowing = snowed = schneit = geschneit")
_WET_DAYS = paired(
    "last week = letzte Woche; yesterday = gestern; last month = letzten Monat; "
    "on the weekend = am Wochenende"
)


@pattern(40)
def weather(draw):
    """It is warm in Italy today."""
    where, wo = draw.one(_REGIONS)
    english, german = draw.one(_TEMPERATURES)
    be, day, tag, ist = draw.one(
        paired("is = today = heute = ist; is = now = jetzt = ist; was = yesterday = gestern = war")
    )
    return (
        sentence(f"it {be} {english} {where} {day}"),
        sentence(f"{tag} {ist} es {wo} {german}"),
    )


@pattern(40)
def rain(draw):
    """It rained in Hamburg last week."""
    where, wo = draw.one(_REGIONS)
    falling, fell, regnet, geregnet = draw.one(_FALLING)
    if draw.chance(0.35):
        return sentence(f"it is {falling} {where}"), sentence(f"{wo} {regnet} es")
    day, tag = draw.one(_WET_DAYS)
    return sentence(f"it {fell} {where} {day}"), sentence(f"{tag} hat es {wo} {geregnet}")

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
    COMMON_PLURALS,
    GRANDPARENTS,
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
    "buy": "apple; banana; pear; orange; tomato; potato; egg; roll; book; shirt; lemon; onion; "
    "carrot; pencil; postcard; sausage",
    "have": "dog; cat; horse; bike; brother; sister; son; daughter; key; bag; hat; cousin",
    "see": "dog; cat; horse; bird; cow; sheep; bear; elephant; lion; tiger; monkey; duck; pig",
    "need": "chair; plate; glass; cup; egg; tomato; ticket; bottle; pencil",
    "find": "key; photo; book; umbrella; pen; glove; sock",
    "write": "letter; email; story; book",
    "invite": "friend; colleague; neighbor",
    "eat": "apple; banana; pear; roll; egg; tomato",
    "read": "book; story; letter; email",
    "order": "pizza; soup; ticket",
}
_COUNTED_TENSES = {
    "have": ("present",), "need": ("present", "past"), "see": ("past",), "find": ("past",),
}  # fmt: skip


@pattern(85)
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


_CHEAP = select(
    listed("book; ticket; ball; magazine; pizza; cap; scarf; umbrella; hamburger; map; towel")
)
_DEAR = select(listed("clothes; suitcase; bag; lamp; ring; chair; camera; mirror; blanket"))


@pattern(75)
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


@pattern(70)
def price_question(draw):
    """How much does this hat cost?"""
    noun = draw.one(select(listed("clothes; own; furniture; fruit; pizza")))
    need(noun.english not in ("key", "passport", "credit card"))
    plural = "fruit" in noun.tags or (draw.chance(0.3) and noun in COMMON_PLURALS)
    phrase = NounPhrase(noun, draw.one(("this", "def")), plural=plural)
    do, kostet = ("do", "kosten") if plural else ("does", "kostet")
    return (
        sentence(f"how much {do} {english_phrase(phrase)} cost", "?"),
        sentence(f"wie viel {kostet} {german_phrase(phrase, 'nom')}", "?"),
    )


@pattern(75)
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
    if kinship in GRANDPARENTS:
        return 17
    grown = kinship in listed("mother; father; uncle; aunt; boss; colleague; neighbor")
    return 14 if grown else 4


def _oldest(who):
    """The index behind the largest number that may be somebody's age."""
    kinship = who.noun.english if isinstance(who, NounPhrase) else ""
    if kinship in ("son", "daughter", "grandson", "granddaughter"):
        return 15
    return len(NUMBERS) if kinship in GRANDPARENTS else 18


_MEASURES = paired(
    "glass = water juice milk wine beer lemonade cola orange-juice mineral-water; "
    "cup = coffee tea hot-chocolate; bottle = water wine beer milk juice lemonade cola; "
    "piece = cake bread chocolate pizza"
)
_SERVED = paired(
    "drink = past; have = would like to; order = past; need = present; order = will; buy = past"
)


@pattern(75)
def cup_of(draw):
    """I would like to have a cup of tea."""
    measure, stuffs = draw.one(_MEASURES)
    stuff = NOUN[draw.one(stuffs.split()).replace("-", " ")]
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


@pattern(75)
def taste(draw):
    """The soup tastes delicious."""
    noun = draw.one(select(("food", "drink")))
    need(noun.english not in ("vegetables", "pasta"))
    plural = "count" in noun.tags
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


@pattern(75)
def timetable(draw):
    """The train leaves at half past nine."""
    noun = draw.one(select(listed("train; bus; plane; ship; tram; subway")))
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


_EVENTS = ("concert", "movie", "party", "exam", "game", "course", "meeting", "wedding")
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


@pattern(75)
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

_NUMBERED = paired(
    "one = eins; two = zwei; three = drei; four = vier; five = fünf; six = sechs; seven = sieben; "
    "eight = acht; nine = neun; ten = zehn; eleven = elf; twelve = zwölf; thirteen = dreizehn; "
    "fourteen = vierzehn; fifteen = fünfzehn; sixteen = sechzehn; seventeen = siebzehn; "
    "eighteen = achtzehn; nineteen = neunzehn; twenty = zwanzig"
)


@pattern(70)
def sum_of(draw):
    """Three plus four is seven. How much is twelve minus five?"""
    first, second = draw.random.randrange(1, 13), draw.random.randrange(1, 9)
    sign = draw.one(("plus", "plus", "minus"))
    total = first + second if sign == "plus" else first - second
    need(1 <= total <= 20)
    (one, eins), (two, zwei) = _NUMBERED[first - 1], _NUMBERED[second - 1]
    if draw.chance(0.25):
        return (
            sentence(f"how much is {one} {sign} {two}", "?"),
            sentence(f"wie viel ist {eins} {sign} {zwei}", "?"),
        )
    number, zahl = _NUMBERED[total - 1]
    return (
        sentence(f"{one} {sign} {two} is {number}"),
        sentence(f"{eins} {sign} {zwei} ist {zahl}"),
    )


_DIGITS = (("zero", "null"), *_NUMBERED[:9])
_NUMBERED_PLACES = paired(
    "my room number is = meine Zimmernummer ist; the train leaves from platform = der Zug fährt "
    "von "
    "Gleis; we have room number = wir haben Zimmernummer; the answer is on page = die Antwort "
    "steht auf Seite; "
    "my house number is = meine Hausnummer ist; my phone number is = meine Telefonnummer ist; "
    "I have to take bus number = ich muss den Bus Nummer"
)


@pattern(70)
def numbered(draw):
    """My room number is fifteen. The train leaves from platform six."""
    (english, german), (number, zahl) = draw.one(_NUMBERED_PLACES), draw.one(_NUMBERED)
    if "phone" in english:
        digits = [draw.one(_DIGITS) for _ in range(4)]
        number, zahl = (", ".join(words) for words in zip(*digits, strict=True))
    end = " nehmen" if german.startswith("ich muss") else ""
    end = " ab" if german.startswith("der Zug") else end
    return sentence(f"{english} {number}"), sentence(f"{german} {zahl}{end}")


_MINUTES = paired(
    "five = fünf; ten = zehn; twenty = zwanzig; a quarter = Viertel; a quarter = Viertel"
)


_NUANCES = (("", ""), ("", ""), ("already", "schon"), ("almost", "fast"))


@pattern(105)
def time_now(draw):
    """It is half past seven. It is ten past four. It is already nine o'clock."""
    hour = draw.random.randrange(12)
    english, german = NUMBERS[hour]
    bare, following = _NUMBERED[hour][1], _NUMBERED[(hour + 1) % 12][1]
    (minutes, minuten), kind = draw.one(_MINUTES), draw.one(("full", "half", "past", "to"))
    text, zeit = {
        "full": (f"{english} o'clock", f"{german} Uhr"),
        "half": (f"half past {english}", f"halb {following}"),
        "past": (f"{minutes} past {english}", f"{minuten} nach {bare}"),
        "to": (f"{minutes} to {english}", f"{minuten} vor {bare}"),
    }[kind]
    word, wort = draw.one(_NUANCES) if kind in ("full", "half") else ("", "")
    return sentence(join(["it is", word, text])), sentence(join(["es ist", wort, zeit]))


_ORDINALS = paired(
    "first = ersten; second = zweiten; third = dritten; fourth = vierten; fifth = fünften; "
    "sixth = sechsten; seventh = siebten; eighth = achten; ninth = neunten; tenth = zehnten; "
    "eleventh = elften; twelfth = zwölften; thirteenth = dreizehnten; fifteenth = fünfzehnten; "
    "sixteenth = sechzehnten; eighteenth = achtzehnten; twentieth = zwanzigsten; "
    "twenty-first = einundzwanzigsten; twenty-fifth = fünfundzwanzigsten; "
    "thirtieth = dreißigsten"
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


@pattern(75)
def todays_date(draw):
    """Today is the third of May. Tomorrow is the first of June."""
    (month, monat), (day, tag) = draw.one(_MONTHS), draw.one(_ORDINALS)
    when, wann = draw.one(
        paired("today is = heute ist; today is = heute ist; tomorrow is = morgen ist")
    )
    return (
        sentence(f"{when} the {day} of {month}"),
        sentence(f"{wann} der {tag.removesuffix('n')} {monat}"),
    )


@pattern(75)
def date(draw):
    """The exam is on the third of May."""
    event = NOUN[draw.one(listed("birthday; birthday; exam; concert; party; wedding; appointment"))]
    owners = PRONOUNS[:4] if event.english == "birthday" else ("def", WIR)
    phrase = NounPhrase(event, draw.one(owners))
    on, am = day_or_month(draw)
    return (
        sentence(f"{english_phrase(phrase)} is {on}"),
        sentence(f"{german_phrase(phrase, 'nom')} ist {am}"),
    )


@pattern(70)
def birth(draw):
    """My grandmother was born on the fourth of June."""
    who = draw.one((name, kin, lambda d: d.one((ICH, ER))))(draw)
    on, am = day_or_month(draw)
    was = english_main(Clause(who, VERB["be"], "past"))
    ist = present("sein", "", person_index(who))
    german = f"{german_phrase(who, 'nom')} {ist} {am} geboren"
    return sentence(f"{was} born {on}"), sentence(german)


@pattern(70)
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
_DEGREES = paired(
    "five = fünf; ten = zehn; twelve = zwölf; fifteen = fünfzehn; eighteen = achtzehn; "
    "twenty = zwanzig; twenty-five = fünfundzwanzig; thirty = dreißig; thirty-five = "
    "fünfunddreißig; minus five = minus fünf; zero = null; minus ten = minus zehn"
)


@pattern(70)
def temperature(draw):
    """It is twenty degrees in Berlin today."""
    (number, zahl), (where, wo) = draw.one(_DEGREES), draw.one(_REGIONS)
    be, sind, day, tag = draw.one(
        paired(
            "is = sind = today = heute; is = sind = now = jetzt; was = waren = yesterday = gestern"
        )
    )
    if draw.chance(0.4):
        where, wo = "", ""
    return (
        sentence(join([f"it {be} {number} degrees", where, day])),
        sentence(join([f"es {sind} {tag}", wo, f"{zahl} Grad"])),
    )


_FALLING = paired("raining = rained = regnet = geregnet; snowing = snowed = schneit = geschneit")
_WET_DAYS = paired(
    "last week = letzte Woche; yesterday = gestern; last month = letzten Monat; "
    "on the weekend = am Wochenende"
)


@pattern(70)
def weather(draw):
    """It is warm in Italy today."""
    where, wo = draw.one(_REGIONS)
    english, german = draw.one(_TEMPERATURES)
    be, day, tag, ist = draw.one(
        paired("is = today = heute = ist; is = now = jetzt = ist; was = yesterday = gestern = war")
    )
    return (
        sentence(f"it {be} {english} {where} {day}"),
        sentence(f"es {ist} {tag} {wo} {german}"),
    )


@pattern(70)
def rain(draw):
    """It rained in Hamburg last week."""
    where, wo = draw.one(_REGIONS)
    falling, fell, regnet, geregnet = draw.one(_FALLING)
    if draw.chance(0.35):
        return sentence(f"it is {falling} {where}"), sentence(f"es {regnet} {wo}")
    day, tag = draw.one(_WET_DAYS)
    return sentence(f"it {fell} {where} {day}"), sentence(f"es hat {tag} {wo} {geregnet}")

"""Patterns of daily life: sentences with two or three phrases of time, place and company."""

import re
from dataclasses import replace

from facts import clock
from grammar import (
    Adverbial,
    Clause,
    NounPhrase,
    determiner,
    english_infinitive,
    english_main,
    english_question,
    german_main,
    german_question,
    join,
    sentence,
)
from introductions import asked_about, speaker
from lexicon import CITIES, COUNTRIES, PLACES, VERB
from parts import goal, is_young, listed, need, object_clause, paired, pattern

# --- Clauses with a day and an hour ----------------------------------------------------------


def _owned(subject, english, german):
    """Text with the owner filled in: ("{} friends", "{p.acc} Freunde") as "my friends"."""
    owner = subject.owner
    worte = re.sub(r"\{(\w)\.(\w+)\}", lambda m: determiner(owner, m[1], m[2]), german)
    return english.replace("{}", owner.english_possessive), worte


_VERBS = VERB | {
    "brush": replace(VERB["clean"], english="brush", past="brushed", reflexive="dat"),
    "take a shower": replace(VERB["shower"], english="take a shower", past="took a shower"),
    "listen": replace(VERB["listen to"], english="listen", past="listened"),
}


def _clauses(subject, deed, tense, times, often=None):
    """The English and the German clause of a deed; German puts the day before the hour.

    "How often" stands between them: "montags oft um sieben Uhr".
    """
    verbs, english, german, *_ = deed
    english_verb, _, german_verb = verbs.partition(">")
    english, german = _owned(subject, english, german)
    often = (often,) if often else ()
    timely = (*times[::-1], *often)
    first = Clause(subject, _VERBS[english_verb], tense, (), timely, predicate=(english, ""))
    hours = sum(item.english.startswith("at ") for item in times)
    timely = (*times[: len(times) - hours], *often, *times[len(times) - hours :])
    verb = _VERBS[german_verb or english_verb]
    return first, Clause(subject, verb, tense, (), timely, predicate=("", german))


def _stated(draw, first, second, times, chance=0.3):
    """Both clauses as statements, now and then with the time in front."""
    if times and draw.chance(chance):
        front = times[0]
        english = english_main(first, skip=(front,))
        return sentence(f"{front.english} {english}"), sentence(german_main(second, front))
    return sentence(english_main(first)), sentence(german_main(second))


def _asked(draw, clauses_about, word=("", "")):
    """A question about "you" or somebody known, from a function that makes both clauses."""
    subject, call = asked_about(draw)
    first, second = clauses_about(subject)
    return (
        sentence(english_question(first, word[0]) + call[0], "?"),
        sentence(german_question(second, word[1]) + call[1], "?"),
    )


def _doer(draw):
    """Somebody of whom a deed is told: mostly of about one's own age."""
    subject = speaker(draw)
    if isinstance(subject, NounPhrase):
        need("name" in subject.noun.tags or subject.noun.english in _PEERS)
    return subject


_PEERS = listed(
    "brother; sister; friend; cousin; neighbor; colleague; wife; husband; son; daughter"
)


def _need_sense(subject, text, grown=False):
    """Nobody goes anywhere with "his friend" if he is the friend; children do not work."""
    if not isinstance(subject, NounPhrase):
        return
    english = subject.noun.english
    need(f"{{}} {english}" not in text)
    need("name" in subject.noun.tags or english in _PEERS or "{}" not in text)
    grown = grown or "children" in text
    need(not grown or not (is_young(subject) or english in ("son", "daughter")))


# --- The day ---------------------------------------------------------------------------------

# Verb (English>German) ; English rest ; German rest ; hours: morning, noon, afternoon, evening
_ROUTINE = paired(
    "get up =  =  = m; wake up =  =  = m; have breakfast =  =  = m; "
    "have breakfast = with {} family = mit {f.dat} Familie = m; "
    "have breakfast = in the kitchen = in der Küche = m; "
    "shower =  =  = me; take a shower =  =  = me; brush = {} teeth = die Zähne = me; "
    "go>drive = to work by bus = mit dem Bus zur Arbeit = mw; "
    "go>drive = to work by car = mit dem Auto zur Arbeit = mw; "
    "go>drive = to work by bike = mit dem Fahrrad zur Arbeit = mw; "
    "go>drive = to school by bus = mit dem Bus in die Schule = ms; "
    "go>drive = to school by bike = mit dem Fahrrad in die Schule = ms; "
    "go = to work on foot = zu Fuß zur Arbeit = mw; "
    "walk>go = to school = zu Fuß in die Schule = ms; walk>go = to work = zu Fuß zur Arbeit = mw; "
    "go = to the office = ins Büro = mw; "
    "eat = lunch = zu Mittag = n; eat = lunch at work = bei der Arbeit zu Mittag = nw; "
    "eat = lunch at school = in der Schule zu Mittag = ns; "
    "have>eat = lunch with {} friends = mit {p.dat} Freunden zu Mittag = n; "
    "come = home = nach Hause = ae; "
    "come = home from work = von der Arbeit nach Hause = aew; "
    "come = home from school = aus der Schule nach Hause = as; "
    "go = home = nach Hause = a; eat = dinner = zu Abend = e; "
    "eat = dinner with {} family = mit {f.dat} Familie zu Abend = e; "
    "have>eat = dinner at home = zu Hause zu Abend = e; "
    "go = to bed = ins Bett = e; watch television = in the living room = im Wohnzimmer = e; "
    "read = a book in bed = im Bett ein Buch = e; "
    "do = {} homework in the kitchen = in der Küche {p.acc} Hausaufgaben = as; "
    "do = {} homework = {p.acc} Hausaufgaben = as; "
    "listen>hear = to music in {} room = in {n.dat} Zimmer Musik = ae; "
    "go for a walk = with the dog in the park = mit dem Hund im Park = mae; "
    "drink = coffee at the office = im Büro Kaffee = maw; "
    "drink = tea in the kitchen = in der Küche Tee = mae; "
    "call = {} mother = {f.acc} Mutter = e; cook = for {} family = für {f.acc} Familie = e; "
    "learn = German at home = zu Hause Deutsch = ae; "
    "read = the newspaper = die Zeitung = m; play = with the dog in the garden = mit dem Hund im "
    "Garten = a; jog = in the park = im Park = me"
)
_PARTS_OF_DAY = {
    "m": ((5, 8), ("in the morning", "am Morgen", "morgens", "every morning", "jeden Morgen")),
    "n": ((11, 11), ("at noon", "am Mittag", "mittags", "every day", "jeden Tag")),
    "a": ((1, 4), ("in the afternoon", "am Nachmittag", "nachmittags", "every day", "jeden Tag")),
    "e": ((5, 9), ("in the evening", "am Abend", "abends", "every evening", "jeden Abend")),
}
_DAYS = paired(
    "every day = jeden Tag; every day = jeden Tag; on Mondays = montags; on Tuesdays = dienstags; "
    "on Wednesdays = mittwochs; on Thursdays = donnerstags; on Fridays = freitags; "
    "on Saturdays = samstags; on Sundays = sonntags; on the weekend = am Wochenende"
)
_OFTEN = paired(
    "usually = meistens; always = immer; often = oft; sometimes = manchmal; never = nie"
)


def _routine_times(draw, deed):
    """When it is done every day: a part of the day, an hour, both, or a day and an hour."""
    hours = deed[3]
    letter = draw.one([letter for letter in hours if letter in _PARTS_OF_DAY])
    (first, last), (part, teil, adverb, every, jeden) = _PARTS_OF_DAY[letter]
    kind = draw.one(("hour", "hour", "hour part", "hour part", "part", "every", "day", "day hour"))
    deed_ = f"{deed[0]} {deed[1]}".strip()
    need(kind not in ("part", "day") or deed_ not in _SELF_EVIDENT)
    need(kind != "every" or deed_ not in _SELF_EVIDENT[:3])
    need("part" not in kind or not re.search("lunch|dinner", deed_))
    hour = Adverbial(*clock(draw, first, last), "time")
    day = Adverbial(*draw.one(_DAYS), "time")
    need(not {"w", "s"} & set(hours) or day.english not in _DAYS_OFF)
    if kind == "hour part":
        return (Adverbial(f"{hour.english} {part}", f"{hour.german} {adverb}", "time"),)
    if kind == "day hour":
        return (day, hour)
    every_day = Adverbial(every, jeden, "time")
    one = {"hour": hour, "part": Adverbial(part, teil, "time"), "every": every_day, "day": day}
    return (one[kind],)


_SELF_EVIDENT = listed(  # on its own, "I get up in the morning" says nothing
    "get up; wake up; go to bed; come home; come home from work; come home from school; go home; "
    "eat dinner; eat lunch; have breakfast"
)
_DAYS_OFF = listed("on Saturdays; on Sundays; on the weekend")


@pattern(430)
def daily_routine(draw):
    """I get up at seven o'clock in the morning. He goes to work by bus every day."""
    deed = draw.one(_ROUTINE)
    hours = deed[3]
    times = _routine_times(draw, deed)
    often = None
    if draw.chance(0.25):
        often = Adverbial(*draw.one(_OFTEN), "often")
        need(not times[0].english.startswith("every") and len(times) == 1)
        need(not times[0].english.startswith("at ") or often.english != "never")

    def about(subject):
        need("s" not in hours or not isinstance(subject, NounPhrase) or _is_pupil(subject))
        _need_sense(subject, deed[1], "w" in hours)
        return _clauses(subject, deed, "present", times, often)

    if draw.chance(0.15):
        often = None
        return _asked(draw, about)
    if draw.chance(0.1):
        times, often = (), None
        return _asked(draw, about, ("when", "wann"))
    return _stated(draw, *about(_doer(draw)), times)


def _is_pupil(subject):
    """Whether somebody may go to school: a child, or anybody by first name."""
    called = "name" in subject.noun.tags or subject.noun.english in listed("brother; sister; son")
    return called or is_young(subject)


# --- What one did or is going to do somewhere ------------------------------------------------

_OUTINGS = paired(
    "meet = {} friends at the café = {p.acc} Freunde im Café; "
    "meet = a friend at the movies = einen Freund im Kino; "
    "meet = Anna at the train station = Anna am Bahnhof; meet = Paul at the park = Paul im Park; "
    "meet = {} brother in the city = {m.acc} Bruder in der Stadt; "
    "buy = bread at the bakery = in der Bäckerei Brot; "
    "buy = a coat at the department store = im Kaufhaus einen Mantel; "
    "buy = shoes in the city = in der Stadt Schuhe; "
    "buy = a book at the bookstore = in der Buchhandlung ein Buch; "
    "buy = fruit at the market = auf dem Markt Obst; "
    "buy = milk and bread at the supermarket = im Supermarkt Milch und Brot; "
    "eat = at the restaurant with {} family = mit {f.dat} Familie im Restaurant; "
    "eat = pizza with {} friends = mit {p.dat} Freunden Pizza; "
    "eat = dinner with {} parents = mit {p.dat} Eltern zu Abend; "
    "play = soccer with {} friends in the park = mit {p.dat} Freunden im Park Fußball; "
    "play = tennis with {} sister = mit {f.dat} Schwester Tennis; "
    "play = cards with {} grandfather at home = mit {m.dat} Großvater zu Hause Karten; "
    "play = basketball with {} friends = mit {p.dat} Freunden Basketball; "
    "swim = in the lake with {} children = mit {p.dat} Kindern im See; "
    "swim = in the sea = im Meer; swim = at the pool = im Schwimmbad; "
    "go shopping = with {} mother in the city = mit {f.dat} Mutter in der Stadt; "
    "go shopping = at the supermarket = im Supermarkt; "
    "go for a walk = with the dog in the park = mit dem Hund im Park; "
    "go for a walk = on the beach with {} friend = mit {m.dat} Freund am Strand; "
    "work = in the garden with {} father = mit {m.dat} Vater im Garten; work = at home = zu Hause; "
    "work = at the office = im Büro; "
    "learn = German at the library = in der Bibliothek Deutsch; "
    "learn = English with {} teacher = mit {m.dat} Lehrer Englisch; "
    "cook = soup for {} family = für {f.acc} Familie Suppe; "
    "cook = with {} friends in the kitchen = mit {p.dat} Freunden in der Küche; "
    "visit = {} grandmother in Munich = {f.acc} Großmutter in München; "
    "visit = {} friends in Vienna = {p.acc} Freunde in Wien; "
    "visit = {} aunt in Hamburg = {f.acc} Tante in Hamburg; "
    "visit = {} grandparents in the country = {p.acc} Großeltern auf dem Land; "
    "visit = a museum in Berlin = in Berlin ein Museum; "
    "do = {} homework at the library = in der Bibliothek {p.acc} Hausaufgaben; "
    "dance = at a party = auf einem Fest; "
    "celebrate = {} birthday at home = zu Hause {m.acc} Geburtstag; "
    "write = an email to {} teacher = {m.dat} Lehrer eine E-Mail; "
    "wait = for the bus at the bus stop = an der Bushaltestelle auf den Bus; "
    "clean = the kitchen with {} sister = mit {f.dat} Schwester die Küche; "
    "repair = {} bike in the garage = in der Garage {n.acc} Fahrrad; "
    "drink = coffee with {} colleague = mit {m.dat} Kollegen Kaffee; "
    "watch television = at home with {} family = mit {f.dat} Familie zu Hause; "
    "hike = in the mountains with {} brother = mit {m.dat} Bruder in den Bergen; "
    "camp = at the lake with {} friends = mit {p.dat} Freunden am See"
)
_PAST_DAYS = paired(
    "yesterday = gestern; last night = gestern Abend; last week = letzte Woche; "
    "on Saturday = am Samstag; last weekend = letztes Wochenende; on Sunday = am Sonntag; "
    "yesterday morning = gestern Morgen; yesterday evening = gestern Abend; "
    "on Friday evening = am Freitagabend; on Monday = am Montag; two days ago = vor zwei Tagen; "
    "this morning = heute Morgen"
)
_COMING_DAYS = paired(
    "tomorrow = morgen; tonight = heute Abend; on Saturday = am Samstag; on Sunday = am Sonntag; "
    "on Friday evening = am Freitagabend; on Saturday morning = am Samstagmorgen; "
    "on Sunday afternoon = am Sonntagnachmittag; this afternoon = heute Nachmittag; "
    "tomorrow morning = morgen früh; on Monday = am Montag; on the weekend = am Wochenende; "
    "on Tuesday evening = am Dienstagabend; on Wednesday = am Mittwoch; today = heute"
)
_WHOLE_DAYS = listed("tomorrow; on Saturday; on Sunday; on Monday; on Wednesday; today")
_DUTIES = listed("buy; clean; do; work; learn; write; repair; visit; go shopping; cook")
_AHEAD = ("progressive", "progressive", "will", "want to", "have to", "would like to")


@pattern(475)
def outing(draw):
    """I met my friends at the café yesterday. We are visiting our aunt in Hamburg on Sunday."""
    deed = draw.one(_OUTINGS)
    past = draw.chance(0.45)
    tense = "past" if past else draw.one(_AHEAD)
    times = (Adverbial(*draw.one(_PAST_DAYS if past else _COMING_DAYS), "time"),)
    need("dinner" not in deed[1] or not re.search("morning|afternoon", times[0].english))
    need("birthday" not in deed[1] or tense not in ("have to", "progressive"))
    need(deed[0] in _DUTIES or tense != "have to")
    need(deed[0] not in ("camp", "hike") or times[0].english.startswith(("on ", "last w", "two")))
    need(deed[0] != "dance" or tense in ("past", "want to", "would like to"))
    grown = deed[0] == "work" or "colleague" in deed[1]
    if not past and deed[0] in ("meet", "eat", "play", "drink") and draw.chance(0.6):
        hour = Adverbial(*clock(draw, 3, 7), "time")
        times = (*times, hour) if times[0].english in _WHOLE_DAYS else (hour,)

    def about(subject):
        _need_sense(subject, deed[1], grown)
        return _clauses(subject, deed, tense, times)

    if draw.chance(0.15):
        need(tense != "would like to")
        return _asked(draw, about)
    first, second = about(_doer(draw))
    if len(times) > 1:  # "tomorrow at eight o'clock": the day comes first in English, too
        first = replace(first, adverbials=times)
    return _stated(draw, first, second, times)


# --- Trips -----------------------------------------------------------------------------------

_COUNTRYSIDE = paired(
    "to the lake = an den See; to the lake = an den See; to the mountains = in die Berge; "
    "to the seaside = ans Meer; to the island = auf die Insel; to the country = aufs Land"
)
_FLOWN_TO = ("London", "New York", "Madrid", "Rome")
_VEHICLES = paired(
    "by train = mit dem Zug; by car = mit dem Auto; by bus = mit dem Bus; by train = mit dem Zug"
)
_COMPANY = paired(
    "with {} friends = mit {p.dat} Freunden; with {} family = mit {f.dat} Familie; "
    "with {} parents = mit {p.dat} Eltern; with {} brother = mit {m.dat} Bruder; "
    "with {} sister = mit {f.dat} Schwester; with {} children = mit {p.dat} Kindern; "
    "with a friend = mit einem Freund; with {} aunt = mit {f.dat} Tante"
)
_TRIP_DAYS = _COMING_DAYS[2:7] + paired(
    "on Friday morning = am Freitagmorgen; next week = nächste Woche; tomorrow = morgen; "
    "on the weekend = am Wochenende; in the summer = im Sommer; in July = im Juli; "
    "next month = nächsten Monat; in August = im August; on Monday morning = am Montagmorgen"
)
_PAST_TRIP_DAYS = paired(
    "last week = letzte Woche; last year = letztes Jahr; last summer = letzten Sommer; "
    "on Saturday = am Samstag; last weekend = letztes Wochenende; yesterday = gestern; "
    "last month = letzten Monat; on Friday = am Freitag; two weeks ago = vor zwei Wochen"
)


def _destination(draw):
    """A verb of motion and where to: ("go>drive", "to the lake", "an den See")."""
    kind = draw.one(("city", "city", "countryside", "countryside", "fly", "near", "near"))
    if kind == "near":
        where = goal(draw)
        need(where.english in _NEAR)
        return "go", where.english, where.german
    if kind == "countryside":
        return "go>drive", *draw.one(_COUNTRYSIDE)
    (city, stadt), (land, staat, *_) = draw.one(CITIES), draw.one(COUNTRIES)
    if kind == "fly":
        where, wo = (city, stadt) if draw.chance(0.4) else (land, staat)
        need(where != "Germany")
        return "fly", f"to {where}", f"nach {wo}"
    need(city not in _FLOWN_TO)
    return "go>drive", f"to {city}", f"nach {stadt}"


_NEAR = listed(
    "to the movies; to the park; to the theater; to the museum; to the zoo; to the restaurant; "
    "to the café; to the beach; to the pool; to the stadium; to the playground; to the market; "
    "to the library; to the doctor; to church"
)


_TO_THE_DOCTOR = listed("with {} children; with {} parents; with {} sister")


@pattern(475)
def trip(draw):
    """We are going to the lake with our friends on Saturday. I went to Berlin by train."""
    verbs, where, wohin = _destination(draw)
    by, mit = draw.one(_VEHICLES) if verbs == "go>drive" and draw.chance(0.5) else ("", "")
    company, begleitung = draw.one(_COMPANY) if not by or draw.chance(0.1) else ("", "")
    past = draw.chance(0.35)
    tense = "past" if past else draw.one(_AHEAD)
    near, far = (_PAST_DAYS, _PAST_TRIP_DAYS) if past else (_COMING_DAYS, _TRIP_DAYS)
    days = near if verbs == "go" else far
    times = (Adverbial(*draw.one(days), "time"),) if draw.chance(0.85) else ()
    need(times or tense in ("past", "want to", "would like to"))
    need(tense != "have to" or verbs != "go" or "doctor" in where or "library" in where)
    need("doctor" not in where or company in _TO_THE_DOCTOR)
    need("doctor" not in where or not times or "ight" not in times[0].english)
    need("island" not in where or not by)
    deed = (verbs, join([where, by, company]), join([begleitung, mit, wohin]))

    def about(subject):
        _need_sense(subject, company)
        return _clauses(subject, deed, tense, times)

    if draw.chance(0.17):
        need(tense not in ("would like to", "have to"))
        return _asked(draw, about)
    return _stated(draw, *about(_doer(draw)), times)


@pattern(170)
def was_there(draw):
    """I was at the doctor's in Munich last week. We were in Paris in the summer."""
    place, (city, stadt) = draw.one(PLACES).here, draw.one(CITIES)
    need(place.english in _IN_A_CITY)
    when = (Adverbial(*draw.one(_PAST_DAYS), "time"),)
    deed = ("be", f"{place.english} in {city}", f"{place.german} in {stadt}")
    if draw.chance(0.35):
        company, mit = draw.one(_COMPANY)
        deed = ("be", f"in {city} {company}", f"{mit} in {stadt}")
    elif draw.chance(0.35):
        (english, german), when = draw.one(_JOBS_AWAY), draw.one(_PAST_TRIP_DAYS[1:3])
        when = (Adverbial(*when, "time"),)
        deed = ("work", f"{english} in {city}", f"{german} in {stadt}")

    def about(subject):
        _need_sense(subject, deed[1], deed[0] == "work")
        return _clauses(subject, deed, "past", when)

    if draw.chance(0.2):
        return _asked(draw, about)
    return _stated(draw, *about(_doer(draw)), when, 0.2)


_JOBS_AWAY = paired(
    "at a hotel = in einem Hotel; at a restaurant = in einem Restaurant; "
    "at a hospital = in einem Krankenhaus; at a bank = in einer Bank; "
    "at a supermarket = in einem Supermarkt; at the airport = am Flughafen"
)
_IN_A_CITY = listed(
    "at the doctor's; at the dentist's; at the museum; at the theater; at the zoo; at the hotel; "
    "at the airport; at the train station; at the university; at the hospital; at the restaurant; "
    "at the stadium; at the library"
)


@pattern(215)
def going_to(draw):
    """I am going to visit my aunt next week. Are you going to buy a car, Tom?"""
    if draw.chance(0.2):
        subject, call = asked_about(draw)
        clause = object_clause(draw, "will", "h-l", subject, when=draw.one((None, "future")))
        be = english_question(Clause(subject, VERB["be"]))
        english = f"{be} going to {english_infinitive(clause)}{call[0]}"
        return sentence(english, "?"), sentence(german_question(clause) + call[1], "?")
    clause = object_clause(draw, "will", "h-l", when=draw.one((None, "future", "future")))
    clause = replace(clause, negated=draw.chance(0.15))
    be = english_main(Clause(clause.subject, VERB["be"], negated=clause.negated))
    english = f"{be} going to {english_infinitive(clause)}"
    return sentence(english), sentence(german_main(clause))

"""Patterns of the first lessons: shopping, the way, likes, hobbies, health, requests, weather."""

import re
from dataclasses import replace

from facts import clock
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
    english_fronted,
    english_gerund,
    english_main,
    english_phrase,
    english_question,
    german_command,
    german_main,
    german_phrase,
    german_prepositional,
    german_question,
    is_plural_in_english,
    join,
    person_index,
    present,
    sentence,
)
from introductions import (
    ADULT_NUMBERS,
    asked_about,
    dative_of,
    excused,
    said_or_asked,
    speaker,
    told,
)
from lexicon import ADJECTIVES_OF, CITIES, NOUN, VERB, select
from parts import (
    NUMBERS,
    YOU_TWO,
    addressee,
    goal,
    is_young,
    kin,
    listed,
    name,
    need,
    need_suiting_call,
    object_clause,
    paired,
    pattern,
)
from questions import asked
from statements import both, fronted

# --- Food and drink, prices ------------------------------------------------------------------

_SERVED = select(listed("drink; dish; roll; egg; sausage; chicken; ice cream; cookie; salad; fish"))
_MEASURED = paired(
    "a cup of = eine Tasse = coffee tea hot-chocolate; a piece of = ein Stück = cake bread "
    "chocolate cheese; a glass of = ein Glas = water milk wine orange-juice lemonade juice beer; "
    "a bottle of = eine Flasche = water wine beer mineral-water cola"
)
_WEIGHED = paired(
    "a kilo of = ein Kilo = apple potato tomato banana onion carrot orange cherry pear strawberry; "
    "two kilos of = zwei Kilo = potato apple tomato orange pear cherry"
)


def _ordered(draw):
    """Something to order: ("a coffee", "einen Kaffee")."""
    kind = draw.one(("dish", "dish", "dish", "measure", "measure", "the"))
    if kind == "measure":
        english, german, stuffs = draw.one(_MEASURED)
        stuff = NOUN[draw.one(stuffs.split()).replace("-", " ")]
        return f"{english} {stuff.english}", f"{german} {stuff.german}"
    noun = draw.one(_SERVED)
    if kind == "the":
        phrase = NounPhrase(noun, "def")
    else:
        need(noun.english not in _ORDERED_BY_MEASURE)
        phrase = NounPhrase(noun, "indef")
    return english_phrase(phrase), german_phrase(phrase, "acc")


_ORDERED_BY_MEASURE = listed("milk; wine; fish; chicken; ice cream; cake; hot chocolate")


@pattern(355)
def would_like(draw):
    """I would like a coffee and a roll, please. A cup of tea, please."""
    english, german = _ordered(draw)
    if draw.chance(0.35):
        more, mehr = _ordered(draw)
        need(more.split()[-1] != english.split()[-1])
        need(more.startswith("the ") == english.startswith("the "))
        english, german = f"{english} and {more}", f"{german} und {mehr}"
    please, bitte = draw.one(((", please", ", bitte"), (", please", ", bitte"), ("", "")))
    kind = draw.one(("i", "i", "i", "we", "bare", "have"))
    if kind == "bare":
        need(not english.startswith("the "))
        return sentence(f"{english}, please"), sentence(f"{german}, bitte")
    if kind == "have":
        return (
            sentence(f"can I have {english}{please}", "?"),
            sentence(join(["kann ich", bitte[2:], german, "haben"]), "?"),
        )
    subject = ICH if kind == "i" else WIR
    would, moechte = ("I would like", "ich möchte") if subject is ICH else _WE_WOULD
    return sentence(f"{would} {english}{please}"), sentence(f"{moechte} {german}{bitte}")


_WE_WOULD = ("we would like", "wir möchten")


@pattern(95)
def weighed(draw):
    """I need a kilo of apples. I would like two kilos of potatoes, please."""
    english, german, nouns = draw.one(_WEIGHED)
    noun = NOUN[draw.one(nouns.split())]
    goods = (f"{english} {noun.english_plural}", f"{german} {noun.plural}")
    if draw.chance(0.5):
        return (
            sentence(f"I would like {goods[0]}, please"),
            sentence(f"ich möchte {goods[1]}, bitte"),
        )
    verb, tense = draw.one((("need", "present"), ("buy", "past"), ("buy", "will")))
    return both(told(speaker(draw), verb, *goods, tense))


_MEALS = paired(
    "for breakfast = zum Frühstück; for lunch = zum Mittagessen; for dinner = zum Abendessen"
)
_MORNING_FOOD = select(listed("breakfast; hotdrink; milk; orange juice; yogurt"))
_MAIN_FOOD = select(listed("cooked; dish; water; salad; bread"))


@pattern(180)
def at_meals(draw):
    """I eat bread for breakfast. What do you eat for lunch?"""
    meal, mahlzeit = draw.one(_MEALS)
    noun = draw.one(_MORNING_FOOD if "breakfast" in meal else _MAIN_FOOD)
    verb = "drink" if "drink" in noun.tags else "eat"
    if draw.chance(0.2):
        subject, call = asked_about(draw)
        tense = draw.one(("present", "past"))
        return asked(told(subject, verb, meal, mahlzeit, tense), ("what", "was"), call)
    need(noun.english not in ("potato", "vegetables", "cake"))
    countable = "mass" not in noun.tags and noun.english != "soup"
    phrase = NounPhrase(noun, "indef" if countable else "bare")
    tense, often = draw.one((("present", True), ("present", False), ("past", False)))
    how_often, wie_oft = draw.one(_HOW_OFTEN) if often else ("", "")
    worte = join([mahlzeit, wie_oft, german_phrase(phrase, "acc")])
    clause = told(speaker(draw), verb, f"{english_phrase(phrase)} {meal}", worte, tense)
    early = (Adverbial(how_often, "", "often"),) if often else ()
    return both(replace(clause, adverbials=early))


_HOW_OFTEN = paired(
    "often = oft; always = immer; usually = meistens; never = nie; sometimes = manchmal"
)
_GOODS = select(
    listed("clothes; worn; own; furniture; fruit; raw; dish; doll; blanket; towel; bowl")
)
_CHEAP_GOODS = {"count", "dish"}
_PRICES = paired(
    "a hundred = hundert; two hundred = zweihundert; three hundred = dreihundert; "
    "five hundred = fünfhundert"
)
_BIG_PRICES = paired("a thousand = tausend; two thousand = zweitausend; ten thousand = zehntausend")


def _goods(draw):
    noun = draw.one(_GOODS)
    need(noun.english not in ("passport", "credit card", "key"))
    plural = "count" in noun.tags or draw.chance(0.15)
    return NounPhrase(noun, draw.one(("def", "def", "this")), plural=plural)


@pattern(215)
def how_much(draw):
    """How much is the jacket? How much are these shoes?"""
    phrase = _goods(draw)
    if draw.chance(0.15):
        adjectives = [a for a in ADJECTIVES_OF[phrase.noun.english] if a.english in _COLORS_ASKED]
        phrase = replace(phrase, adjective=draw.one(adjectives))
    several = is_plural_in_english(phrase)
    english = f"how much {'are' if several else 'is'} {english_phrase(phrase)}"
    if draw.chance(0.25):
        english = f"how much {'do' if several else 'does'} {english_phrase(phrase)} cost"
    kosten = present("kosten", "", person_index(phrase))
    pair = (
        sentence(english, "?"),
        sentence(f"wie viel {kosten} {german_phrase(phrase, 'nom')}", "?"),
    )
    return excused(pair) if draw.chance(0.15) else pair


_COLORS_ASKED = listed("red; blue; green; black; white; yellow; brown; gray; pink; purple")


@pattern(155)
def it_costs(draw):
    """The shoes cost sixty euros. That is twelve euros, please."""
    if draw.chance(0.25):
        number, zahl = draw.one(NUMBERS[1:12] + ADULT_NUMBERS)
        please, bitte = draw.one(((", please", ", bitte"), ("", "")))
        return (
            sentence(f"that is {number} euros{please}"),
            sentence(f"das macht {zahl} Euro{bitte}"),
        )
    phrase = _goods(draw)
    number, zahl = draw.one(_prices_for(phrase.noun))
    return both(Clause(phrase, VERB["cost"], predicate=(f"{number} euros", f"{zahl} Euro")))


_STATIONERY = listed("pen; pencil; notebook; toothbrush; map; sock")
_DEAR_GOODS = listed(
    "laptop; camera; computer; guitar; violin; flute; bike; watch; ring; suit; phone"
)


def _prices_for(noun):
    """Numbers of euros that something may cost."""
    tags = set(noun.tags)
    if noun.english in ("car", "motorcycle"):
        return _BIG_PRICES
    if "furniture" in tags or noun.english in _DEAR_GOODS:
        return _PRICES
    if tags & _CHEAP_GOODS or noun.english in _STATIONERY:
        return NUMBERS[1:10]
    return ADULT_NUMBERS[2:]


# --- The way ---------------------------------------------------------------------------------

_SOUGHT = select(listed("building; shop; inn; sight; stop; airport; park; post office"))
_NOT_SOUGHT = ("house", "school", "university", "kindergarten", "factory", "church", "bridge")


def _sought(draw):
    noun = draw.one(_SOUGHT)
    need(noun.english not in _NOT_SOUGHT)
    return noun


_NEARBY = paired(
    "near here = hier in der Nähe; nearby = hier in der Nähe; here = hier; "
    "in the city = in der Stadt; on this street = in dieser Straße"
)


@pattern(360)
def where_is(draw):
    """Excuse me, where is the train station? Is there a bank near here?"""
    noun = _sought(draw)
    kind = draw.one(("where", "where", "next", "there", "get", "look"))
    phrase = NounPhrase(noun)
    if kind == "look":
        subject = draw.one((ICH, ICH, WIR))
        return both(Clause(subject, VERB["look for"], "progressive", (Complement(phrase),)))
    if kind == "there":
        need(noun.english not in ("airport", "post office"))
        where, wo = draw.one(_NEARBY)
        one = NounPhrase(noun, "indef")
        pair = (
            f"is there {english_phrase(one)} {where}",
            f"gibt es {wo} {german_phrase(one, 'acc')}",
        )
    elif kind == "get":
        zu = german_prepositional("zu", phrase, "dat")
        pair = (f"how do I get to {english_phrase(phrase)}", f"wie komme ich {zu}")
    elif kind == "next":
        ending = {"m": "der nächste", "f": "die nächste", "n": "das nächste"}[noun.gender]
        need(set(noun.tags) & {"shop", "inn", "stop"})
        pair = (f"where is the nearest {noun.english}", f"wo ist {ending} {noun.german}")
    else:
        pair = (f"where is {english_phrase(phrase)}", f"wo ist {german_phrase(phrase, 'nom')}")
    asking = tuple(sentence(text, "?") for text in pair)
    return excused(asking) if draw.chance(0.3) else asking


_APART = ("airport", "castle", "restroom")
_BEARINGS = paired(
    "next to = neben; in front of = vor; behind = hinter; across from = gegenüber von; "
    "near = in der Nähe von"
)


@pattern(180)
def situated(draw):
    """The bank is next to the church. The hotel is between the museum and the park."""
    noun, other, third = _sought(draw), _sought(draw), _sought(draw)
    need(len({noun, other, third}) == 3)
    need(not {noun.english, other.english, third.english} & set(_APART))
    need(noun.english not in ("park", "stadium") or draw.chance(0.2))
    phrase, second = NounPhrase(noun), NounPhrase(other)
    if draw.chance(0.3):
        last = NounPhrase(third)
        english = f"between {english_phrase(second)} and {english_phrase(last)}"
        german = f"zwischen {german_phrase(second, 'dat')} und {german_phrase(last, 'dat')}"
    else:
        english, german = draw.one(_BEARINGS)
        english = f"{english} {english_phrase(second)}"
        german = german_prepositional(german, second, "dat")
        german = german.replace("von dem ", "vom ")
    clause = told(phrase, "be", english, german)
    if draw.chance(0.15):
        return asked(clause)
    return both(clause)


_MOVES = paired(
    "go straight ahead = geh geradeaus = geht geradeaus = gehen Sie geradeaus; "
    "turn left = bieg links ab = biegt links ab = biegen Sie links ab; "
    "turn right = bieg rechts ab = biegt rechts ab = biegen Sie rechts ab; "
    "turn left at the corner = bieg an der Ecke links ab = biegt an der Ecke links ab = "
    "biegen Sie an der Ecke links ab; "
    "turn right at the traffic light = bieg an der Ampel rechts ab = "
    "biegt an der Ampel rechts ab = biegen Sie an der Ampel rechts ab; "
    "go left = geh nach links = geht nach links = gehen Sie nach links; "
    "go right = geh nach rechts = geht nach rechts = gehen Sie nach rechts; "
    "go to the traffic light = geh bis zur Ampel = geht bis zur Ampel = gehen Sie bis zur Ampel; "
    "go across the bridge = geh über die Brücke = geht über die Brücke = "
    "gehen Sie über die Brücke; "
    "go to the church = geh bis zur Kirche = geht bis zur Kirche = gehen Sie bis zur Kirche; "
    "go to the corner = geh bis zur Ecke = geht bis zur Ecke = gehen Sie bis zur Ecke; "
    "go through the park = geh durch den Park = geht durch den Park = gehen Sie durch den Park"
)
_TAKING = {DU: "nimm", IHR: "nehmt", SIE_POLITE: "nehmen Sie"}
_STREETS = paired("first = erste; second = zweite; third = dritte; next = nächste; fourth = vierte")
_SIDES = paired("left = links; right = rechts")
_LINES = paired("bus = den Bus; subway = die U-Bahn; tram = die Straßenbahn")


def _move(draw, pronoun):
    """A direction to take: ("turn left", "geh nach links")."""
    kind = draw.one(("go", "go", "go", "street", "line"))
    if kind == "street":
        (english, german), (side, seite) = draw.one(_STREETS), draw.one(_SIDES)
        return (
            f"take the {english} street on the {side}",
            f"{_TAKING[pronoun]} die {german} Straße {seite}",
        )
    if kind == "line":
        if draw.chance(0.2):
            city, stadt = draw.one(CITIES)
            return f"take the train to {city}", f"{_TAKING[pronoun]} den Zug nach {stadt}"
        (line, linie), noun = draw.one(_LINES), _sought(draw)
        need(noun.english not in ("restroom", "bus stop", "parking lot", "gas station"))
        zu = german_prepositional("zu", NounPhrase(noun), "dat")
        return f"take the {line} to the {noun.english}", f"{_TAKING[pronoun]} {linie} {zu}"
    english, *forms = draw.one(_MOVES)
    return english, forms[(DU, IHR, SIE_POLITE).index(pronoun)]


@pattern(250)
def directions(draw):
    """Go straight ahead and then turn left. Take the second street on the right, sir."""
    pronoun, *call = addressee(draw)
    english, german = _move(draw, pronoun)
    please = draw.one(("", "", "", "please ", ", please"))
    if not please and draw.chance(0.6):
        more, mehr = _move(draw, pronoun)
        need(not _same_way(english, more))
        english, german = f"{english} and then {more}", f"{german} und {_after_verb(mehr, 'dann')}"
    elif please == ", please":
        english, german = f"{english}, please", _after_verb(german, "bitte")
    elif please:
        english, german = f"please {english}", f"bitte {german}"
    return sentence(english + call[0]), sentence(german + call[1])


def _same_way(english, more):
    """Whether two directions say nearly the same: "turn left and then go left"."""
    turns = {"left", "right"}
    both_turn = turns & set(english.split()) and turns & set(more.split())
    return english == more or both_turn or english.split()[:2] == more.split()[:2]


def _after_verb(command, word):
    """A German command with a word behind its verb: "gehen Sie dann nach links"."""
    verb, _, rest = command.partition(" ")
    if rest.startswith("Sie "):
        verb, rest = f"{verb} Sie", rest[4:]
    return f"{verb} {word} {rest}"


_ROOMS_AND_FURNITURE = listed(
    "bedroom; room; bathroom; window; door; balcony; bed; chair; closet; lamp; table"
)


@pattern(170)
def home_has(draw):
    """Our apartment has three rooms. There are two bathrooms in our house."""
    noun = NOUN[draw.one(("house", "apartment", "room", "kitchen"))]
    english = draw.one(_ROOMS_AND_FURNITURE)
    in_room = english in listed("window; door; bed; chair; closet; lamp; table")
    need(in_room or noun.english in ("house", "apartment"))
    need(not in_room or noun.english in ("room", "kitchen"))
    need(english != "bed" or noun.english == "room")
    owner = draw.one((ICH, WIR, SIE, ER, DU, SIE_PLURAL, "this"))
    home, number = NounPhrase(noun, owner), draw.one(NUMBERS[:5])
    need(english not in ("bathroom", "balcony", "door", "closet", "bed") or number in NUMBERS[:2])
    one = number[0] == "one"
    things = NounPhrase(NOUN[english], "indef")
    if not one:
        things = NounPhrase(NOUN[english], "bare", plural=True, count=number)
    text, worte = english_phrase(things), german_phrase(things, "acc")
    if draw.chance(0.5) and not in_room:
        return both(told(home, "have", text, worte))
    be = "is" if one else "are"
    wo = german_prepositional("in", home, "dat")
    return (
        sentence(f"there {be} {text} in {english_phrase(home)}"),
        sentence(f"{wo} gibt es {worte}"),
    )


_GROUPS = paired(
    "in my class = in meiner Klasse = child boy girl; "
    "in our garden = in unserem Garten = tree flower bird; "
    "at the zoo = im Zoo = lion elephant monkey bear tiger wolf turtle; "
    "in the forest = im Wald = wolf bird bear tree; on the farm = auf dem Bauernhof = cow pig "
    "sheep horse duck"
)
_TOWNS = paired(
    "in the village = im Dorf = church house store; "
    "in the city = in der Stadt = hotel museum park hospital school bridge bank; "
    "at the train station = am Bahnhof = store restaurant café; "
    "on this street = in dieser Straße = house store restaurant bakery hotel"
)
_MANY = paired("many = viele; many = viele; no = keine; only two = nur zwei; a lot of = viele")


@pattern(155)
def there_are(draw):
    """There are twenty children in my class. There are many tigers at the zoo."""
    groups, numbers = draw.one(((_GROUPS, NUMBERS[1:14]), (_TOWNS, NUMBERS[1:5])))
    where, wo, nouns = draw.one(groups)
    noun = NOUN[draw.one(nouns.split())]
    if draw.chance(0.2):
        many = draw.one(("many", "a lot of"))
        return (
            sentence(f"are there {many} {noun.english_plural} {where}", "?"),
            sentence(f"gibt es {wo} viele {noun.plural}", "?"),
        )
    if draw.chance(0.2):
        return (
            sentence(f"how many {noun.english_plural} are there {where}", "?"),
            sentence(f"wie viele {noun.plural} gibt es {wo}", "?"),
        )
    number = draw.one(numbers + _MANY)
    return (
        sentence(f"there are {number[0]} {noun.english_plural} {where}"),
        sentence(f"{wo} gibt es {number[1]} {noun.plural}"),
    )


# --- Likes -----------------------------------------------------------------------------------

_LIKED = select(listed(
    "fruit; cookie; sausage; cheese; fish; meat; rice; soup; salad; pizza; ice cream; chocolate; "
    "coffee; tea; milk; beer; wine; juice; cola; lemonade; animal; music; honey; pasta; chicken; "
    "flower; bread; vegetables; hamburger; egg; butter; yogurt; orange juice; carrot"
))  # fmt: skip


@pattern(325)
def likes(draw):
    """I like cats. Do you like fish? My sister doesn't like coffee."""
    noun = draw.one(_LIKED)
    bare_singular = {"mass", "dish"} & set(noun.tags) and noun.english not in ("hamburger",)
    phrase = NounPhrase(noun, "bare", plural=not bare_singular and noun.plural != "-")
    if draw.chance(0.3):
        other = draw.one(_LIKED)
        need(other is not noun and set(other.tags) & set(noun.tags))
        need(not {noun.english, other.english} & {"vegetables", "fruit"})
        bare = {"mass", "dish"} & set(other.tags) and other.english not in ("hamburger",)
        second = NounPhrase(other, "bare", plural=not bare and other.plural != "-")
        text = f"{english_phrase(phrase)} and {english_phrase(second)}"
        worte = f"{german_phrase(phrase, 'acc')} und {german_phrase(second, 'acc')}"
        return both(told(speaker(draw), "like", text, worte))

    def about(subject):
        return Clause(subject, VERB["like"], "present", (Complement(phrase),))

    return said_or_asked(draw, about, 0.25, 0.35)


# English hobby ; verb in VERB whose German it has ; German rest before the verb
_HOBBIES = paired(
    "play soccer = play = Fußball; play tennis = play = Tennis; "
    "play basketball = play = Basketball; play volleyball = play = Volleyball; "
    "play chess = play = Schach; play cards = play = Karten; "
    "play the piano = play = Klavier; play the guitar = play = Gitarre; "
    "play the violin = play = Geige; play the flute = play = Flöte; "
    "play computer games = play = Computerspiele; "
    "swim = swim = ; dance = dance = ; sing = sing = ; cook = cook = ; read = read = ; "
    "paint = paint = ; travel = travel = ; hike = hike = ; jog = jog = ; ski = ski = ; "
    "ride bikes = ride bikes = ; fish = fish = ; camp = camp = ; bake = bake = ; draw = draw = ; "
    "go for a walk = go for a walk = ; go shopping = go shopping = ; "
    "watch television = watch television = ; exercise = exercise = ; sleep = sleep = ; "
    "listen to music = hear = Musik; write letters = write = Briefe; "
    "take photos = photograph = ; read books = read = Bücher; "
    "learn languages = learn = Sprachen; work in the garden = work = im Garten; "
    "cook Italian food = cook = italienisch; go to the movies = go = ins Kino; "
    "go to the theater = go = ins Theater; make phone calls = make phone calls = ; "
    "watch TV = watch television = ; drink coffee = drink = Kaffee; drink tea = drink = Tee; "
    "drink milk = drink = Milch; drink juice = drink = Saft; drink water = drink = Wasser; "
    "drink wine = drink = Wein; eat pizza = eat = Pizza; eat fish = eat = Fisch; "
    "eat fruit = eat = Obst; eat ice cream = eat = Eis; eat chocolate = eat = Schokolade; "
    "eat meat = eat = Fleisch; eat cake = eat = Kuchen; eat bread = eat = Brot"
)
_ASKED_FOR = listed("eat; drink; read; cook; play; learn; buy; paint")


def _hobby(draw):
    """A hobby: the English verb and rest, the German verb and rest."""
    english, verb, german = draw.one(_HOBBIES)
    return english, VERB[verb.strip()], german.strip()


def _gerund(english):
    """ "play tennis" as "playing tennis"."""
    return english_gerund(Clause(ICH, replace(VERB["play"], english=english)))


@pattern(600)
def likes_to(draw):
    """I like to swim. Do you like playing tennis? What does Anna like to cook?"""
    english, verb, german = _hobby(draw)
    verb = replace(verb, reflexive="")
    form, gern = f"to {english}" if draw.chance(0.55) else _gerund(english), "gern"
    if english in ("swim", "dance", "sing", "cook", "read", "travel", "ski") and draw.chance(0.3):
        form, gern = f"{form} very much", "sehr gern"

    def pair_about(subject):
        worte = join([gern, german])
        return told(subject, "like", form, ""), Clause(subject, verb, predicate=("", worte))

    if draw.chance(0.3):
        need(gern == "gern")
        subject, call = asked_about(draw)
        if draw.chance(0.2):
            what = draw.one(_ASKED_FOR)
            first = told(subject, "like", f"to {what}", "")
            second = Clause(subject, VERB[what], predicate=("", "gern"))
            return (
                sentence("what " + english_question(first) + call[0], "?"),
                sentence("was " + german_question(second) + call[1], "?"),
            )
        first, second = pair_about(subject)
        return (
            sentence(english_question(first) + call[0], "?"),
            sentence(german_question(second) + call[1], "?"),
        )
    negated = gern == "gern" and draw.chance(0.2)
    first, second = pair_about(speaker(draw))
    return (
        sentence(english_main(replace(first, negated=negated))),
        sentence(german_main(replace(second, negated=negated))),
    )


_LEISURE = paired(
    "on the weekend = am Wochenende; in the evening = am Abend; on Sundays = sonntags; "
    "after work = nach der Arbeit; after school = nach der Schule; in the summer = im Sommer; "
    "in the afternoon = am Nachmittag; on Saturdays = samstags"
)
_OUTDOORS = listed("swim; hike; ride bikes; fish; camp; go for a walk; work in the garden; travel")
_STRENUOUS = listed("play soccer; play basketball; play volleyball; camp; jog; play computer games")
_WEEKLY = listed("on the weekend; on Sundays; on Saturdays")
_NOT_LEISURE = listed("sleep; make phone calls; ski; learn languages; write letters")
_OFTEN = paired("often = oft; sometimes = manchmal; usually = meistens; always = immer")


def _leisure_time(draw, subject, english):
    """When a hobby is done: ("after school", "nach der Schule")."""
    if draw.chance(0.2):
        owner = subject.owner
        return (
            f"in {owner.english_possessive} free time",
            german_prepositional("in", NounPhrase(_FREE_TIME, owner), "dat"),
        )
    when, wann = draw.one(_LEISURE)
    schooled = subject in (ICH, WIR, SIE_PLURAL, ER, SIE) or is_young(subject)
    need("school" not in when or schooled)
    need((when == "in the summer") == (english in _OUTDOORS) or when != "in the summer")
    need(english not in ("hike", "camp") or when in (*_WEEKLY, "in the summer"))
    need(english != "travel" or when == "in the summer")
    return when, wann


_FREE_TIME = replace(NOUN["music"], german="Freizeit", english="free time")


@pattern(215)
def leisure(draw):
    """On the weekend we often play soccer. I read a lot in my free time."""
    english, verb, german = _hobby(draw)
    need(english not in _NOT_LEISURE)
    subject = speaker(draw)
    is_grand = isinstance(subject, NounPhrase) and subject.noun.english.startswith("grand")
    need(not (is_grand and english in _STRENUOUS))
    time = Adverbial(*_leisure_time(draw, subject, english), "time")
    bike = "bikes" if subject.plural else f"{subject.owner.english_possessive} bike"
    verb = replace(verb, english=english.replace("bikes", bike))
    clause = Clause(subject, verb, "present", (), (time,), predicate=("", german))
    if draw.chance(0.45):
        often = Adverbial(*draw.one(_OFTEN), "often")
        need(often.english != "always" or time.english in _WEEKLY)
        clause = replace(clause, adverbials=(time, often))
    return fronted(clause) if draw.chance(0.4) else both(clause)


@pattern(120)
def can_do(draw):
    """Can you swim? My sister can play the piano very well. I can't cook."""
    english, verb, german = _hobby(draw)
    need(english in _SKILLS)
    pretend = replace(verb, english=english.replace("bikes", "a bike"))
    kind = draw.one(("ask", "ask", "well", "plain", "not"))
    if kind == "ask":
        subject, call = asked_about(draw)
        return asked(Clause(subject, pretend, "can", predicate=("", german)), call=call)
    clause = Clause(speaker(draw), pretend, "can", predicate=("", german))
    if kind == "well":
        good = draw.one(paired("well = gut; very well = sehr gut"))
        clause = replace(clause, predicate=(good[0], join([good[1], german])))
    return both(replace(clause, negated=kind == "not"))


_SKILLS = listed(
    "swim; dance; sing; cook; ski; paint; draw; play chess; play tennis; play the piano; "
    "play the guitar; play the violin; play the flute; ride bikes; bake; play soccer"
)


# English favorite ; German compound ; its gender ; English and German answers
_FAVORITES = (
    ("color", "Lieblingsfarbe", "f", "blue = Blau; red = Rot; green = Grün; yellow = Gelb; "
     "black = Schwarz; white = Weiß; brown = Braun; purple = Lila; pink = Rosa; gray = Grau"),
    ("animal", "Lieblingstier", "n", "the dog = der Hund; the cat = die Katze; "
     "the horse = das Pferd; the elephant = der Elefant; the lion = der Löwe; "
     "the tiger = der Tiger; the monkey = der Affe; the rabbit = das Kaninchen"),
    ("food", "Lieblingsessen", "n", "pizza = Pizza; cake = Kuchen; fish = Fisch; "
     "chicken = Hähnchen; soup = Suppe; ice cream = Eis; rice = Reis; steak = Steak"),
    ("drink", "Lieblingsgetränk", "n", "coffee = Kaffee; tea = Tee; milk = Milch; water = Wasser; "
     "lemonade = Limonade; orange juice = Orangensaft; hot chocolate = Kakao; beer = Bier"),
    ("sport", "Lieblingssport", "m", "soccer = Fußball; tennis = Tennis; "
     "basketball = Basketball; volleyball = Volleyball; swimming = Schwimmen; skiing = Skifahren"),
    ("subject", "Lieblingsfach", "n", "mathematics = Mathematik; history = Geschichte; "
     "biology = Biologie; music = Musik; German = Deutsch; English = Englisch; art = Kunst; "
     "physics = Physik"),
    ("season", "Lieblingsjahreszeit", "f", "spring = der Frühling; summer = der Sommer; "
     "fall = der Herbst; winter = der Winter"),
    ("day", "Lieblingstag", "m", "Sunday = der Sonntag; Saturday = der Samstag; "
     "Friday = der Freitag"),
    ("month", "Lieblingsmonat", "m", "May = der Mai; June = der Juni; July = der Juli; "
     "August = der August; December = der Dezember; September = der September; "
     "April = der April; March = der März"),
    ("city", "Lieblingsstadt", "f", "Berlin = Berlin; Hamburg = Hamburg; Vienna = Wien; "
     "Rome = Rom; Paris = Paris; London = London; Prague = Prag; Cologne = Köln"),
    ("book", "Lieblingsbuch", "n", ""),
    ("movie", "Lieblingsfilm", "m", ""),
    ("song", "Lieblingslied", "n", ""),
)  # fmt: skip


@pattern(300)
def favorite(draw):
    """My favorite color is blue. What is your favorite animal, Paul?"""
    english, german, gender, answers = draw.one(_FAVORITES)
    compound = replace(NOUN["book"], german=german, gender=gender, english=f"favorite {english}")
    if draw.chance(0.35) or not answers:
        subject, call = asked_about(draw)
        need(not isinstance(subject, NounPhrase) and subject is not YOU_TWO)
        phrase = NounPhrase(compound, subject)
        return asked(told(phrase, "be", "", ""), ("what", "was"), call)
    owner = draw.one((ICH, ICH, ICH, ER, SIE))
    answer = draw.one(paired(answers))
    phrase = NounPhrase(compound, owner)
    if draw.chance(0.2):
        said, gesagt = answer
        return (
            sentence(f"{said} is {english_phrase(phrase)}"),
            sentence(f"{gesagt} ist {german_phrase(phrase, 'nom')}"),
        )
    return both(Clause(phrase, VERB["be"], predicate=answer))


@pattern(85)
def my_hobby(draw):
    """My hobby is swimming. My hobbies are music and reading."""
    first, second = draw.one(_NAMED_HOBBIES), draw.one(_NAMED_HOBBIES)
    owner = draw.one((ICH, ICH, ICH, ER, SIE))
    several = draw.chance(0.5)
    phrase = NounPhrase(NOUN["hobby"], owner, plural=several)
    need(first != second)
    answer = first
    if several:
        answer = (f"{first[0]} and {second[0]}", f"{first[1]} und {second[1]}")
    return both(Clause(phrase, VERB["be"], predicate=answer))


_NAMED_HOBBIES = paired(
    "swimming = Schwimmen; reading = Lesen; music = Musik; cooking = Kochen; dancing = Tanzen; "
    "soccer = Fußball; tennis = Tennis; hiking = Wandern; painting = Malen; traveling = Reisen; "
    "chess = Schach; sports = Sport; photography = Fotografie; singing = Singen; skiing = Skifahren"
)


# --- Health and needs ------------------------------------------------------------------------

_PAIRED_PARTS = listed("hand; arm; leg; foot; eye; ear; tooth; knee; finger; shoulder")


@pattern(250)
def hurting(draw):
    """My head hurts. Do your feet hurt, Anna? Her back doesn't hurt."""
    noun = draw.one(select(["body"]))
    need(noun.english not in ("mouth", "hair", "face"))
    plural = noun.english in _PAIRED_PARTS and draw.chance(0.4)
    if draw.chance(0.25):
        pronoun, *call = addressee(draw)
        need(pronoun is not IHR)
        clause = Clause(NounPhrase(noun, pronoun, plural=plural), VERB["hurt"])
        return asked(clause, call=call)
    owner = draw.one((ICH, ICH, ICH, ER, SIE))
    clause = Clause(NounPhrase(noun, owner, plural=plural), VERB["hurt"])
    if draw.chance(0.25):
        today = draw.one(paired("today = heute; again = wieder; very much = sehr"))
        clause = replace(clause, predicate=today)
        return both(clause)
    return both(replace(clause, negated=draw.chance(0.1)))


_WHEN_SICK = paired(
    "yesterday = gestern; last week = letzte Woche; this morning = heute Morgen; "
    "last night = gestern Abend; on Sunday = am Sonntag; on the weekend = am Wochenende"
)
_AILMENTS = paired(
    "a headache = Kopfschmerzen; a stomachache = Bauchschmerzen; a toothache = Zahnschmerzen; "
    "a backache = Rückenschmerzen; a sore throat = Halsschmerzen; a fever = Fieber; "
    "a cough = Husten; an earache = Ohrenschmerzen"
)


@pattern(180)
def ailment(draw):
    """I have a headache. Does your son have a fever? She had a toothache yesterday."""
    english, german = draw.one(_AILMENTS)
    tense = draw.one(("present", "present", "present", "past"))
    when = (Adverbial(*draw.one(_WHEN_SICK), "time"),) if tense == "past" else ()
    if not when and draw.chance(0.15):
        when = (Adverbial("today", "heute", "time"),)

    def about(subject):
        return Clause(subject, VERB["have"], tense, (), when, predicate=(english, german))

    if draw.chance(0.25):
        subject, call = asked_about(draw)
        return asked(about(subject), call=call)
    return both(about(speaker(draw)))


@pattern(95)
def body_parts(draw):
    """She has blue eyes. My brother has long hair. You have beautiful eyes."""
    looks = (
        ("blue eyes", "blaue Augen"),
        ("brown eyes", "braune Augen"),
        ("green eyes", "grüne Augen"),
        ("long hair", "lange Haare"),
        ("short hair", "kurze Haare"),
        ("black hair", "schwarze Haare"),
        ("brown hair", "braune Haare"),
        ("gray hair", "graue Haare"),
        ("big hands", "große Hände"),
        ("small feet", "kleine Füße"),
        ("beautiful eyes", "schöne Augen"),
        ("blond hair", "blonde Haare"),
        ("a small nose", "eine kleine Nase"),
        ("a small mouth", "einen kleinen Mund"),
        ("long legs", "lange Beine"),
        ("big ears", "große Ohren"),
    )
    look = draw.one(looks)

    def about(subject):
        need(not look[0].startswith("a ") or not subject.plural or subject is SIE_POLITE)
        return told(subject, "have", *look)

    return said_or_asked(draw, about, 0, 0.2)


# What people "have" in German but "are" in English.
_HAVING = paired(
    "hungry = Hunger; thirsty = Durst; afraid = Angst; hungry = Hunger; thirsty = Durst"
)


@pattern(215)
def hungry(draw):
    """I am hungry. Are you thirsty, children? She is not afraid."""
    english, german = draw.one(_HAVING)
    asking, negated, very = draw.chance(0.3), draw.chance(0.25), draw.chance(0.2)
    if english == "afraid" and draw.chance(0.6):
        noun = draw.one(select(listed("dog; wild; cow; mouse; horse; exam; dentist; bird")))
        plural = noun.plural != "-" and "event" not in noun.tags and noun.english != "dentist"
        phrase = NounPhrase(noun, "bare" if plural else "def", plural=plural)
        english = f"afraid of {english_phrase(phrase)}"
        german = f"Angst vor {german_phrase(phrase, 'dat')}"
        very = False
    if asking:
        subject, call = asked_about(draw)
        be, have = told(subject, "be", english, ""), told(subject, "have", "", german)
        return (
            sentence(english_question(be) + call[0], "?"),
            sentence(german_question(have) + call[1], "?"),
        )
    subject = speaker(draw)
    if negated:
        kein = "keine" if german.startswith("Angst") else "keinen"
        be = replace(told(subject, "be", english, ""), negated=True)
        have = told(subject, "have", "", f"{kein} {german}")
    elif very:
        big = "große" if german.startswith("Angst") else "großen"
        be, have = (
            told(subject, "be", f"very {english}", ""),
            told(subject, "have", "", f"{big} {german}"),
        )
    else:
        be, have = told(subject, "be", english, ""), told(subject, "have", "", german)
    return sentence(english_main(be)), sentence(german_main(have))


_FEELING = paired("cold = kalt; hot = heiß; cold = kalt; bored = langweilig")


@pattern(155)
def feeling_cold(draw):
    """I am cold. Are you bored, children? My brother is hot."""
    english, german = draw.one(_FEELING)
    today, heute = draw.one((("", ""), ("", ""), ("very", "sehr"), ("too", "zu")))
    need(not today or english != "bored")
    if draw.chance(0.3):
        subject, call = asked_about(draw)
        need(not _is_name(subject))
        return (
            sentence(english_question(told(subject, "be", english, "")) + call[0], "?"),
            sentence(f"ist {dative_of(subject)} {german}{call[1]}", "?"),
        )
    subject = speaker(draw)
    need(subject is not DU and not _is_name(subject))
    negated = draw.chance(0.2)
    need(not negated or today != "too")
    be = replace(told(subject, "be", join([today, english]), ""), negated=negated)
    nicht = "nicht" if negated else ""
    return (
        sentence(english_main(be)),
        sentence(join([dative_of(subject), "ist", nicht, heute, german])),
    )


def _is_name(subject):
    """Whether it is a name, whose dative does not show: "Anna ist kalt" would be misread."""
    return isinstance(subject, NounPhrase) and "name" in subject.noun.tags


_POSSESSED = paired(
    "a question = eine Frage; a problem = ein Problem; an idea = eine Idee; "
    "time = Zeit; no time = keine Zeit; an appointment = einen Termin; "
    "an exam = eine Prüfung; a plan = einen Plan; no money = kein Geld; "
    "a meeting = eine Besprechung; a course = einen Kurs; visitors = Besuch; "
    "a job = eine Stelle; a good job = eine gute Stelle; "
    "a lot of work = viel Arbeit; a lot of homework = viele Hausaufgaben; "
    "no homework = keine Hausaufgaben; a lot of time = viel Zeit"
)
_WHEN_HAVING = paired(
    "today = heute; tomorrow = morgen; on Monday = am Montag; on Friday = am Freitag; "
    "on the weekend = am Wochenende; this afternoon = heute Nachmittag; tonight = heute Abend; "
    "this week = diese Woche; next week = nächste Woche; on Tuesday = am Dienstag; "
    "on Wednesday = am Mittwoch; on Thursday = am Donnerstag; on Saturday = am Samstag"
)


@pattern(215)
def having_something(draw):
    """I have a question. Do you have time tomorrow? She has an appointment on Friday."""
    english, german = draw.one(_POSSESSED)
    timeless = listed("a question; a problem; an idea; a job; a good job; a plan; no money")
    when = () if english in timeless else (Adverbial(*draw.one(_WHEN_HAVING), "time"),)
    need(not english.startswith("no ") or not when or draw.chance(0.5))

    def about(subject):
        is_grand = isinstance(subject, NounPhrase) and subject.noun.english.startswith("grand")
        need(not (is_grand and re.search("exam|homework|course|job", english)))
        return Clause(subject, VERB["have"], "present", (), when, predicate=(english, german))

    if draw.chance(0.3) and not english.startswith(("no ", "a lot")):
        subject, call = asked_about(draw)
        return asked(about(subject), call=call)
    clause = about(speaker(draw))
    if english.startswith("no ") and draw.chance(0.5):
        some = english.replace("no ", "" if "time" in english else "any ")
        not_ = replace(clause, predicate=(some, ""), negated=True)
        return sentence(english_main(not_)), sentence(german_main(clause))
    return both(clause)


@pattern(155)
def appointment(draw):
    """My appointment is on Monday at three o'clock. I have an exam on Friday at nine o'clock."""
    event = NOUN[draw.one(_DATED)]
    hours = (4, 8) if event.english in _SHOWS else (7, 11)
    (on, am), (at, um) = draw.one(_DAYS), clock(draw, *hours)
    need(event.english in _SHOWS or on not in ("on Saturday", "on Sunday"))
    if draw.chance(0.4) and event.english not in _SHOWS:
        phrase = NounPhrase(event, "indef")
        subject = speaker(draw)
        clause = told(subject, "have", f"{english_phrase(phrase)} {on} {at}", "")
        german = f"{am} {um} {german_phrase(phrase, 'acc')}"
        have = told(subject, "have", "", german)
        return sentence(english_main(clause)), sentence(german_main(have))
    owner = draw.one((ICH, WIR, SIE, ER)) if event.english == "appointment" else "def"
    phrase = NounPhrase(event, owner)
    if draw.chance(0.25):
        return asked(told(phrase, "be", "", ""), ("when", "wann"))
    return both(told(phrase, "be", f"{on} {at}", f"{am} {um}"))


_DATED = listed("appointment; appointment; meeting; exam; course; concert; movie")
_SHOWS = ("concert", "movie")
_DAYS = paired(
    "on Monday = am Montag; on Tuesday = am Dienstag; on Wednesday = am Mittwoch; "
    "on Thursday = am Donnerstag; on Friday = am Freitag; on Saturday = am Samstag; "
    "today = heute; tomorrow = morgen; on Sunday = am Sonntag"
)


# --- Requests and suggestions ----------------------------------------------------------------

_PERMITTED = frozenset(listed(
    "open; close; use; borrow; read; eat; drink; watch; turn on; turn off; try on; take; "
    "invite; bring along; wear"
))  # fmt: skip
_FAVORS = frozenset(listed(
    "open; close; repair; explain; repeat; carry; pick up; call; cook; bake; buy; clean; tidy; "
    "wash; turn on; turn off; water; feed; bring along; iron; translate; spell; check; book; "
    "reserve; sign; cut; peel; pay; dry"
))  # fmt: skip


_AT_HOME_ANYWAY = listed("son; daughter; wife; husband; grandson; granddaughter; mother; father")
# A request has "bitte" behind the verb, wherever English says "please".
_REQUESTS = (
    (Adverbial("", "bitte", "often"), ", please"),
    (Adverbial("please", "bitte", "often"), ""),
    (None, ""),
    (None, ""),
)


def _requested(draw, clause):
    """A clause with or without "bitte", and what English adds behind it."""
    bitte, please = draw.one(_REQUESTS)
    if bitte:
        clause = replace(clause, adverbials=(bitte, *clause.adverbials))
    return clause, please


def _without_adjective(clause):
    """The clause, its object without an adjective."""
    item = clause.objects[0]
    return replace(clause, objects=(replace(item, phrase=replace(item.phrase, adjective=None)),))


@pattern(250)
def may_i(draw):
    """Can I open the window? May I please use your phone? Can we take the bus, please?"""
    subject = draw.one((ICH, ICH, WIR))
    clause = object_clause(draw, draw.one(("can", "may")), "h-", subject, verbs=_PERMITTED)
    if clause.verb.english not in ("eat", "drink", "wear", "read") or draw.chance(0.7):
        clause = _without_adjective(clause)
    need(clause.objects[0].phrase.noun.english not in _AT_HOME_ANYWAY)
    need(clause.objects[0].phrase.noun.english not in ("potato", "carrot", "onion"))
    if clause.verb.english == "use" and clause.objects[0].phrase.det is subject:
        your = replace(clause.objects[0].phrase, det=DU)
        clause = replace(clause, objects=(Complement(your),))
    clause, please = _requested(draw, clause)
    return asked(clause, call=(please, ""))


@pattern(205)
def can_you(draw):
    """Can you help me, please? Can you please repeat the question, sir?"""
    pronoun, *call = addressee(draw)
    if draw.chance(0.3):
        whom = draw.one((ICH, ICH, WIR, SIE, ER, kin(draw, ICH), name(draw)))
        need(not isinstance(whom, NounPhrase) or english_phrase(whom) not in call[0])
        clause = Clause(pronoun, VERB["help"], "can", (Complement(whom, "dat"),))
    else:
        clause = _without_adjective(object_clause(draw, "can", "h-", pronoun, verbs=_FAVORS))
        phrase = clause.objects[0].phrase
        if phrase.det is pronoun:  # what one asks for is one's own: "Can you iron my shirt?"
            clause = replace(clause, objects=(Complement(replace(phrase, det=ICH)),))
        noun = phrase.noun
        need(clause.verb.english != "buy" or set(noun.tags) & {"food", "drink"})
        need(clause.verb.english not in ("book", "reserve") or pronoun is not IHR)
        need(clause.objects[0].phrase.det != "indef" or draw.chance(0.5))
    need_suiting_call(clause, call[0])
    clause, please = _requested(draw, clause)
    need(not (please and call[0]))
    return asked(clause, call=(please + call[0], call[1]))


_JOINTLY = paired(
    "order a pizza = eine Pizza bestellen; drink a coffee = einen Kaffee trinken; "
    "take the bus = den Bus nehmen; take a taxi = ein Taxi nehmen; "
    "take the train = den Zug nehmen; buy a cake = einen Kuchen kaufen; "
    "watch a movie = einen Film ansehen; "
    "bake a cake = einen Kuchen backen; clean the kitchen = die Küche putzen; "
    "invite our friends = unsere Freunde einladen; "
    "visit our grandmother = unsere Großmutter besuchen; "
    "eat at the restaurant = im Restaurant essen; speak German = Deutsch sprechen; "
    "learn German = Deutsch lernen; learn the new words = die neuen Wörter lernen; "
    "stay at home = zu Hause bleiben; ask the teacher = den Lehrer fragen; "
    "eat in the garden = im Garten essen; eat something = etwas essen; cook soup = Suppe kochen; "
    "buy bread = Brot kaufen; play in the garden = im Garten spielen; call Anna = Anna anrufen; "
    "rent a car = ein Auto mieten; wait for the bus = auf den Bus warten; "
    "do the homework = die Hausaufgaben machen; open the window = das Fenster öffnen; "
    "go to Berlin = nach Berlin fahren; go to the mountains = in die Berge fahren"
)
_JOINT_HOBBIES = listed(
    "play soccer; play tennis; play basketball; play volleyball; play chess; play cards; "
    "play computer games; swim; dance; sing; cook; hike; jog; ride bikes; fish; bake; "
    "go for a walk; go shopping; watch television; exercise; listen to music; take photos; "
    "work in the garden"
)
_SOON_TOGETHER = paired(
    "today = heute; tomorrow = morgen; tonight = heute Abend; this afternoon = heute Nachmittag; "
    "on Saturday = am Samstag; on Sunday = am Sonntag; on Friday = am Freitag; now = jetzt; "
    "tomorrow morning = morgen früh; together = zusammen; later = später; "
    "on the weekend = am Wochenende"
)


_NOT_JOINT = listed(
    "bed; work; the office; the dentist; the doctor; the hairdresser; the hospital; the bus stop; "
    "the gas station; the factory; kindergarten"
)
_AT_ONCE = ("take", "wait", "open", "ask", "clean", "do")


def _joint_deed(draw):
    """Something to do together: ("go to the movies", "ins Kino gehen")."""
    kind = draw.one(("goal", "hobby", "text"))
    if kind == "text":
        return draw.one(_JOINTLY)
    if kind == "goal":
        where = goal(draw)
        need(where.english.removeprefix("to ") not in _NOT_JOINT)
        return f"go {where.english}", f"{where.german} gehen"
    english, verb, german = _hobby(draw)
    need(english in _JOINT_HOBBIES)
    if english == "go shopping":
        return english, "einkaufen gehen"
    return english, join([german, verb.prefix + verb.german])


@pattern(250)
def lets_go(draw):
    """Let's go to the movies tonight. Let's play soccer in the park!"""
    english, german = _joint_deed(draw)
    when, wann = draw.one(_SOON_TOGETHER) if draw.chance(0.5) else ("", "")
    need(when in ("", "now", "together") or english.split()[0] not in _AT_ONCE)
    need("bus" not in english or when != "together")
    mark = draw.one((".", "!"))
    return (
        sentence(join(["let's", english, when]), mark),
        sentence(join(["lass uns", wann, german]), mark),
    )


_FORBIDDEN = paired(
    "speak so fast = speak = so schnell; speak so loudly = speak = so laut; run = run = ; "
    "wait = wait = ; laugh = laugh = ; cry = cry = ; smoke = smoke = ; "
    "smoke in the house = smoke = im Haus; smoke here = smoke = hier; swim here = swim = hier; "
    "go home = go = nach Hause; "
    "go into the kitchen = go = in die Küche; drive so fast = drive = so schnell; "
    "sleep in the living room = sleep = im Wohnzimmer; "
    "play in the street = play = auf der Straße; swim in the river = swim = im Fluss; "
    "come so late = come = so spät; eat so fast = eat = "
    "so schnell; be sad = be = traurig; be so nervous = be = so nervös; "
    "be so loud = be = so laut; be angry = be = böse; be afraid = have = Angst; "
    "work so much = work = so viel; "
    "sing so loudly = sing = so laut; eat so much chocolate = eat = so viel Schokolade; "
    "drink so much coffee = drink = so viel Kaffee; be so lazy = be = so faul"
)


@pattern(155)
def do_not(draw):
    """Don't speak so fast, please! Don't play in the street, children!"""
    pronoun, *call = addressee(draw)
    english, verb, german = draw.one(_FORBIDDEN)
    need(pronoun is not SIE_POLITE or english not in _TO_CHILDREN)
    need(pronoun is not IHR or not re.search("smoke|drive|coffee|work", english))
    if german == "hier":
        german = ""
        here = (Adverbial("here", "hier", "already"),)
    else:
        here = ()
    command = german_command(
        Clause(pronoun, VERB[verb], "present", (), here, True, ("", german.strip()))
    )
    if verb == "have":
        command = {DU: "hab", IHR: "habt", SIE_POLITE: "haben Sie"}[pronoun] + " keine Angst"
    please, bitte = draw.one((("", ""), ("", ""), ("please ", "bitte ")))
    return (
        sentence(f"{please}don't {english}{call[0]}", "!"),
        sentence(f"{bitte}{command}{call[1]}", "!"),
    )


_TO_CHILDREN = listed(
    "run; cry; be so lazy; sleep in the living room; play in the street; go home; swim here; "
    "eat so much chocolate; swim in the river; go into the kitchen; sing so loudly"
)


@pattern(180)
def answered(draw):
    """Yes, I speak German. No, she doesn't have a car."""
    negated = draw.chance(0.5)
    if draw.chance(0.6):
        clause = object_clause(draw, "present", "s", speaker(draw))
        need(clause.verb.english not in ("see", "hear", "love", "hate"))
    else:
        english, german = draw.one(paired(
            "tired = müde; sick = krank; married = verheiratet; at home = zu Hause; happy = "
            "glücklich; nervous = nervös; busy = beschäftigt; alone = allein"
        ))  # fmt: skip
        clause = told(speaker(draw), "be", english, german)
    need(clause.subject is not DU)
    clause = replace(clause, negated=negated)
    yes, ja = ("no", "nein") if negated else ("yes", "ja")
    return sentence(f"{yes}, {english_main(clause)}"), sentence(f"{ja}, {german_main(clause)}")


# --- Weather ---------------------------------------------------------------------------------

_SKY = paired(
    "cold = kalt; warm = warm; hot = heiß; windy = windig; sunny = sonnig; cloudy = bewölkt; "
    "foggy = neblig; very cold = sehr kalt; very hot = sehr heiß; too hot = zu heiß; "
    "cool = kühl; very warm = sehr warm; very windy = sehr windig"
)
_NOW = paired(
    "today = heute; today = heute; this morning = heute Morgen; outside = draußen; now = jetzt"
)
_THEN = paired(
    "yesterday = gestern; last week = letzte Woche; on Sunday = am Sonntag; "
    "yesterday morning = gestern Morgen; the day before yesterday = vorgestern; "
    "on the weekend = am Wochenende; last weekend = letztes Wochenende"
)
_SOON = paired(
    "tomorrow = morgen; on Monday = am Montag; on the weekend = am Wochenende; "
    "next week = nächste Woche; this afternoon = heute Nachmittag; "
    "tomorrow morning = morgen früh; the day after tomorrow = übermorgen; tonight = heute Abend"
)
_WHERE = (("", ""), ("", ""), ("in the mountains", "in den Bergen"), ("at the seaside", "am Meer"))
_IT = Pronoun("it", "it", "its", "es", "es", "ihm", "sein")


def _weather_place(draw):
    if draw.chance(0.5):
        return draw.one(_WHERE)
    city, stadt = draw.one(CITIES)
    return f"in {city}", f"in {stadt}"


def _weather_clause(draw, subject, quality, place, tense, time):
    """That it, or the weather, is somehow somewhere, as English and as German clause."""
    (english, german), (where, wo) = quality, place
    negated = draw.chance(0.15) and not english.startswith(("too", "very", "better"))
    be = Clause(subject, VERB["be"], tense, (), (time,), negated, (join([english, where]), ""))
    worte = join([wo, "nicht" if negated else "", german])
    return be, Clause(subject, VERB["be"], tense, (), (time,), predicate=("", worte))


def _with_front(draw, first, second, time):
    """A statement of an English and a German clause, the time in front in both or in neither."""
    if time.english == "outside":
        return sentence(english_main(first)), sentence(german_main(second, time))
    if draw.chance(0.3):
        return sentence(english_fronted(first, time)), sentence(german_main(second, time))
    return sentence(english_main(first)), sentence(german_main(second))


@pattern(325)
def sky(draw):
    """It is cold today. It will be sunny in Berlin tomorrow. Is it windy outside?"""
    quality, place = draw.one(_SKY), _weather_place(draw)
    tense, times = draw.one(
        (("present", _NOW), ("present", _NOW), ("past", _THEN), ("will", _SOON))
    )
    time = Adverbial(*draw.one(times), "time")
    need(time.english != "outside" or not place[0])
    need(time.english != "tonight" or quality[0] not in ("sunny", "hot", "very hot", "too hot"))
    need(not quality[0].startswith("too") or tense != "will")
    first, second = _weather_clause(draw, _IT, quality, place, tense, time)
    if draw.chance(0.2) and not first.negated:
        return (
            sentence(english_question(first), "?"),
            sentence(german_question(second), "?"),
        )
    return _with_front(draw, first, second, time)


_SEASONS_OF_SNOW = listed("in the winter; in January; in February")
_SEASONS = paired(
    "in the winter = im Winter; in the summer = im Sommer; in the fall = im Herbst; "
    "in the spring = im Frühling; in November = im November; in April = im April; "
    "in January = im Januar; in February = im Februar"
)


@pattern(250)
def raining(draw):
    """It is raining in Munich. It will snow tomorrow. It often rains in the fall."""
    verb, place = VERB[draw.one(("rain", "snow"))], _weather_place(draw)
    need("seaside" not in place[0] or verb.english == "rain")
    # "nicht" follows the place: "Es hat gestern in Wien nicht geregnet."
    places = (Adverbial(*place, "already"),) if place[0] else ()
    if draw.chance(0.2):
        season, often = Adverbial(*draw.one(_SEASONS), "time"), draw.one(_OFTEN[:2])
        snowy = season.english in _SEASONS_OF_SNOW or "mountains" in place[0]
        need(verb.english == "rain" or (snowy and "summer" not in season.english))
        clause = Clause(_IT, verb, "present", (), (*places, season, Adverbial(*often, "often")))
        return fronted(clause) if draw.chance(0.5) else both(clause)
    tense, times = draw.one(
        (("progressive", _NOW), ("progressive", ()), ("past", _THEN), ("will", _SOON))
    )
    when = (Adverbial(*draw.one(times), "time"),) if times else ()
    outside = bool(when) and when[0].english == "outside"
    need(not (outside and places))
    clause = Clause(_IT, verb, tense, (), (*places, *when))
    if draw.chance(0.25):
        return asked(clause)
    clause = replace(clause, negated=draw.chance(0.15))
    if when:
        return _with_front(draw, clause, clause, when[0])
    return both(clause)


_QUALITIES = paired(
    "nice = schön; bad = schlecht; good = gut; very nice = sehr schön; terrible = schrecklich; "
    "very bad = sehr schlecht; wonderful = wunderbar; very good = sehr gut; better = besser"
)


@pattern(170)
def weather_was(draw):
    """The weather was nice yesterday. How is the weather in Hamburg? The sun is shining."""
    if draw.chance(0.25):
        return _asking_for_weather(draw)
    if draw.chance(0.15):
        (where, wo), (when, wann) = _weather_place(draw), draw.one((("", ""), *_NOW[:3]))
        return (
            sentence(join(["the sun is shining", where, when])),
            sentence(join(["die Sonne scheint", wann, wo])),
        )
    tense, times = draw.one((("present", _NOW[:2]), ("past", _THEN), ("will", _SOON)))
    quality = draw.one(_QUALITIES)
    need(quality[0] != "better" or tense != "present")
    time, weather = Adverbial(*draw.one(times), "time"), NounPhrase(NOUN["weather"])
    return _with_front(
        draw, *_weather_clause(draw, weather, quality, _weather_place(draw), tense, time), time
    )


def _asking_for_weather(draw):
    """What is the weather like in Rome today? How was the weather yesterday?"""
    where, wo = _weather_place(draw)
    be, ist, when, wann = draw.one(
        (
            ("is", "ist", "today", "heute"),
            ("was", "war", "yesterday", "gestern"),
            ("is", "ist", "", ""),
        )
    )
    how, like = draw.one((("how", ""), ("what", "like")))
    return (
        sentence(join([how, be, "the weather", like, where, when]), "?"),
        sentence(join([f"wie {ist} das Wetter", wann, wo]), "?"),
    )

"""Patterns that combine the common words of the first lessons freely in one simple sentence."""

import re
from dataclasses import dataclass, replace

from grammar import (
    DU,
    ER,
    ICH,
    IHR,
    SIE,
    SIE_PLURAL,
    SIE_POLITE,
    WIR,
    Adjective,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    Pronoun,
    adjective_ending,
    determiner,
    english_index,
    english_infinitive,
    english_main,
    english_phrase,
    english_question,
    german_command,
    german_main,
    german_phrase,
    german_prepositional,
    german_question,
    indefinite_article,
    inflect_adjective,
    is_plural_in_english,
    join,
    person_index,
    present,
    sentence,
)
from introductions import asked_about, told
from lexicon import ADJECTIVES, CITIES, COUNTRIES, NAMES, NOUN, VERB
from parts import (
    IT_DE,
    NUMBERS,
    WOMENS,
    addressee,
    is_male,
    is_several,
    is_young,
    listed,
    need,
    paired,
    pattern,
)
from questions import asked
from statements import MENS_JOBS, WOMENS_JOBS, both

_ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}
_ADJECTIVE["nice"] = Adjective("nice", "nicer", "nicest", "schön", "schöner", "schönst")

# --- People ----------------------------------------------------------------------------------

_BE = ("am", "are", "is", "are", "are", "are")
_KIN = listed(
    "mother; father; brother; sister; friend; son; daughter; grandmother; grandfather; uncle; "
    "aunt; cousin; husband; wife; neighbor; colleague; boss; parent; grandma; grandpa"
)
_PEERS = listed("brother; sister; friend; cousin; husband; wife; neighbor; colleague; parent")
_SPOUSES = {"husband": (ICH, SIE), "wife": (ICH, ER)}
_OWNERS = (ICH, ICH, ICH, WIR, ER, SIE, SIE_PLURAL, DU)
_SPOKEN = (ICH, ICH, ICH, ICH, ER, ER, SIE, SIE, WIR, WIR, SIE_PLURAL, SIE_PLURAL, DU)


def _relative(draw, kinship=_KIN, owners=_OWNERS, plural=0.15):
    """A relative or friend: "my brother", "her parents"."""
    noun, owner = NOUN[draw.one(kinship)], draw.one(owners)
    need(owner in _SPOUSES.get(noun.english, (owner,)))
    several = noun.english in _PLURAL_KIN and draw.chance(plural)
    return NounPhrase(noun, owner, plural=several)


_PLURAL_KIN = listed("brother; sister; friend; son; daughter; cousin; neighbor; colleague")


def _two(draw):
    """Two people as one subject: "Anna and Tom", "my brother and I"."""
    if draw.chance(0.5):
        first, second = draw.one(NAMES).german, draw.one(NAMES).german
        need(first != second)
        both_of = (f"{first} and {second}", f"{first} und {second}")
        return Pronoun(both_of[0], both_of[0], "their", *[both_of[1]] * 3, "ihr", 3, True)
    who = draw.one((lambda d: _relative(d, _PEERS, (ICH,), 0), _first_name))(draw)
    need(not who.plural)
    both_of = (f"{english_phrase(who)} and I", f"{german_phrase(who, 'nom')} und ich")
    return Pronoun(both_of[0], both_of[0], "our", *[both_of[1]] * 3, "unser", 1, True)


def _first_name(draw):
    return NounPhrase(draw.one(NAMES), "bare")


def _children(draw):
    noun, plural = draw.one((("child", True), ("child", True), ("girl", False), ("boy", False)))
    return NounPhrase(NOUN[noun], "def", plural=plural)


def _who(draw, kinship=_KIN, two=True):
    """Whom a sentence is about: mostly a pronoun, else a name or a relative."""
    if draw.chance(0.55):
        return draw.one(_SPOKEN)
    return draw.one(
        (
            _first_name,
            _first_name,
            lambda d: _relative(d, kinship),
            lambda d: _relative(d, kinship),
            _two if two else _first_name,
        )
    )(draw)


def _short(draw, pair, chance=0.2):
    """The pair, now and then with "is" shortened behind a noun: "my brother's at home"."""
    english, german = pair
    if draw.chance(chance) and not english.endswith("?"):
        english = _NOUN_IS.sub(r"\1's ", english)
    return english, german


_NOUN_IS = re.compile(
    r"^((?:The|My|Your|His|Her|Our|Their) "
    r"(?:mother|father|brother|sister|friend|son|daughter|uncle|aunt|husband|wife|cat|dog)|"
    + "|".join(noun.english for noun in NAMES if not noun.english.endswith(("s", "x")))
    + r") is (?=[a-z])"
)


def _with_got(draw, pair, chance=0.3):
    """The pair, now and then with "have got": "he's got a small dog"."""
    english, german = pair
    if draw.chance(chance):
        english = re.sub(r"^(I|You|We|They) have (?=\w)", r"\1've got ", english)
        english = re.sub(r"^(He|She) has (?=\w)", r"\1's got ", english)
    return english, german


def _is(subject, english, german, negated=False):
    """That somebody or something is somehow, as a clause."""
    return Clause(subject, VERB["be"], negated=negated, predicate=(english, german))


# --- Nouns with adjectives -------------------------------------------------------------------

_COLORS = listed("red; blue; green; black; white; yellow; brown; gray")
_CLOTHES = listed(
    "coat; jacket; shirt; dress; skirt; sweater; hat; cap; scarf; blouse; T-shirt; suit; tie; "
    "pants; jeans; shoe; boot; sock; glove; belt"
)
_KINDS_OF = {
    "coat jacket sweater scarf cap glove": "warm new old long nice cheap expensive thick",
    "shirt blouse T-shirt dress skirt": "new old nice pretty clean cheap expensive",
    "hat": "new old nice elegant cheap expensive",
    "shoe boot pants jeans suit sock belt tie": "new old nice cheap expensive clean",
    "dog cat": "small big old young black white brown gray smart",
    "horse": "beautiful old young black white brown",
    "house apartment": "small big new old nice beautiful modern expensive",
    "room kitchen garden": "small big nice beautiful",
    "car bike": "new old small red blue green black white fast cheap expensive",
    "bag backpack suitcase umbrella": "new old big small red blue black green gray",
    "table chair bed sofa lamp": "new old big small nice cheap brown white",
    "computer phone laptop": "new old good cheap expensive",
    "book movie": "good new interesting boring funny long",
    "family": "big small",
}
_KINDS_OF = {
    noun: listed(kinds.replace(" ", "; "))
    for nouns, kinds in _KINDS_OF.items()
    for noun in nouns.split()
}
_HAD = listed(
    "dog; dog; cat; cat; horse; house; apartment; room; kitchen; garden; car; bike; bag; computer; "
    "phone; laptop; suitcase; backpack; table; bed; umbrella; coat; sofa; jacket"
)
_NEEDED = listed(
    "bag; suitcase; backpack; umbrella; table; chair; bed; lamp; computer; phone; bike"
)
_BODY = paired(
    "eye = brown; eye = blue; eye = green; eye = big; hair = short; hair = long; hair = black; "
    "hair = brown; hair = gray; hand = small; hand = cold; foot = big; foot = cold; ear = big"
)


def _described(draw, english, det, plural=False):
    """A noun with an adjective that suits it, or with a color if it is worn."""
    noun = NOUN[english]
    kinds = _KINDS_OF.get(english, ())
    if english in _CLOTHES and (draw.chance(0.5) or not kinds):
        kinds = _COLORS
    return NounPhrase(noun, det, _ADJECTIVE[draw.one(kinds)], plural=plural)


def _worn(draw, subject, det="indef"):
    """Something to wear: "a red dress", "black pants"."""
    english = draw.one(_CLOTHES)
    need(not (is_male(subject) and english in WOMENS))
    need(english not in ("tie", "suit") or subject is not SIE)
    return _described(draw, english, det, is_several(subject) and english != "belt")


@pattern(275)
def described_object(draw):
    """I need a warm coat. She is wearing a red dress. He has a small brown dog."""
    subject = _who(draw)
    kind = draw.one(("wear", "wear", "have", "have", "have", "need", "need", "want", "look", "buy"))
    if kind == "have":
        if draw.chance(0.25):
            english, quality = draw.one(_BODY)
            phrase = NounPhrase(
                NOUN[english], "bare", _ADJECTIVE[quality], plural=english != "hair"
            )
        else:
            english = draw.one(_HAD)
            several = is_several(subject) and english in ("phone", "bag", "bike", "coat", "jacket")
            phrase = _described(draw, english, "indef", several)
        return _with_got(draw, both(Clause(subject, VERB["have"], objects=(Complement(phrase),))))
    if kind == "wear":
        phrase = _worn(draw, subject)
        negated = draw.chance(0.15)
        item = (Complement(phrase),)
        return both(Clause(subject, VERB["wear"], "progressive", item, negated=negated))
    phrase = _worn(draw, subject) if draw.chance(0.6) else None
    if phrase is None:
        phrase = _described(draw, draw.one(_NEEDED), "indef")
    kinds = {
        "need": ("need", "present"),
        "want": ("buy", "want to"),
        "look": ("look for", "progressive"),
        "buy": ("buy", "past"),
    }
    need(phrase.adjective.english not in ("old", "clean"))
    verb, tense = kinds[kind]
    need(not (phrase.adjective.english == "expensive" and kind == "need"))
    return both(Clause(subject, VERB[verb], tense, (Complement(phrase),)))


@pattern(155)
def liked_object(draw):
    """I like your blue sweater. Do you like the new teacher? We don't like this old car."""
    english = draw.one((*_CLOTHES, *_HAD, "book", "movie", "book"))
    owner = draw.one((DU, ER, SIE, SIE_PLURAL, "this", "def"))
    need(not (owner is ER and english in WOMENS))
    subject = draw.one((ICH, ICH, ICH, ER, SIE, WIR, SIE_PLURAL, _first_name(draw)))
    phrase = _described(draw, english, owner)
    need(english not in ("kitchen", "room", "family") or owner != "this")
    need(subject is not owner)
    need(phrase.adjective.english not in ("boring", "good", "long", "clean"))
    need(phrase.adjective.english != "blue" or english != "sweater" or owner is not DU)
    if draw.chance(0.25):
        need(owner is not DU)
        return asked(Clause(DU, VERB["like"], "present", (Complement(phrase),)))
    negated = draw.chance(0.2)
    return both(Clause(subject, VERB["like"], "present", (Complement(phrase),), negated=negated))


# Qualities, good and bad ones, each with its dimension: nothing is "big but small".
_ROOM_QUALITIES = paired(
    "nice = schön = + = look; big = groß = + = size; bright = hell = + = light; "
    "modern = modern = + = age; clean = sauber = + = dirt; quiet = ruhig = + = noise; "
    "warm = warm = + = heat; small = klein = - = size; dark = dunkel = - = light; "
    "old = alt = - = age; dirty = schmutzig = - = dirt; loud = laut = - = noise; "
    "cold = kalt = - = heat; expensive = teuer = - = price; cheap = billig = + = price"
)
_PEOPLE_QUALITIES = paired(
    "nice = nett = + = kind; friendly = freundlich = + = kind; funny = lustig = + = fun; smart = "
    "klug = + = wits; hardworking = fleißig = + = work; lazy = faul = - = work; young = jung = 0 "
    "= age; old = alt = 0 = age; tall = groß = 0 = size; shy = schüchtern = - = fun; quiet = "
    "ruhig = 0 = fun; rich = reich = + = money; poor = arm = - = money; strong = stark = + = "
    "health; slim = schlank = + = size"
)
_MOOD_QUALITIES = paired(
    "tired = müde = - = vigor; happy = glücklich = + = joy; sad = traurig = - = joy; sick = "
    "krank = - = health; nervous = nervös = - = calm; satisfied = zufrieden = + = joy; busy = "
    "beschäftigt = - = work; relaxed = entspannt = + = calm"
)
_GOODS_QUALITIES = paired(
    "nice = schön = + = look; new = neu = + = age; warm = warm = + = heat; cheap = billig = + = "
    "price; good = gut = + = worth; old = alt = - = age; expensive = teuer = - = price; big = "
    "groß = 0 = size; small = klein = 0 = size; pretty = hübsch = + = look; ugly = hässlich = - "
    "= look; practical = praktisch = + = worth"
)
_FOOD_QUALITIES = paired(
    "good = gut = + = taste; hot = heiß = 0 = heat; cold = kalt = 0 = heat; fresh = frisch = + = "
    "age; expensive = teuer = - = price; cheap = billig = + = price; healthy = gesund = + = "
    "health; delicious = lecker = + = taste; bad = schlecht = - = taste"
)
_QUALIFIED = {
    "room": (
        listed(
            "kitchen; room; apartment; hotel; house; living room; bathroom; bedroom; office; café"
        ),
        _ROOM_QUALITIES,
    ),
    "people": (
        listed(
            "mother; father; brother; sister; friend; boss; neighbor; teacher; uncle; "
            "aunt; grandmother; grandfather; husband; wife; son; daughter; colleague"
        ),
        _PEOPLE_QUALITIES,
    ),
    "goods": (
        listed(
            "coat; jacket; bag; sweater; shirt; dress; car; bike; table; sofa; lamp; shoe; phone; "
            "camera; hat; suitcase"
        ),
        _GOODS_QUALITIES,
    ),
    "food": (
        listed(
            "soup; pizza; cake; fish; bread; salad; coffee; tea; apple; roll; cheese; milk; chicken"
        ),
        _FOOD_QUALITIES,
    ),
}
_NOT_OF = {
    "soup": "fresh",
    "coffee": "healthy fresh",
    "tea": "healthy fresh",
    "cake": "hot cold healthy",
    "pizza": "fresh healthy",
    "apple": "hot cold delicious",
    "roll": "hot healthy",
    "bread": "hot cold",
    "cheese": "hot cold",
    "salad": "hot cold",
    "milk": "delicious",
    "hotel": "bright dark",
    "house": "bright dark dirty loud cheap",
    "café": "bright dark dirty",
    "kitchen": "expensive cheap quiet loud",
    "bathroom": "quiet loud expensive cheap",
    "living room": "expensive cheap",
    "bedroom": "expensive cheap loud",
    "office": "expensive cheap",
    "car": "warm",
    "bike": "warm",
    "bag": "warm",
    "table": "warm",
    "lamp": "warm",
    "phone": "warm",
    "camera": "warm",
    "shirt": "practical",
    "sofa": "warm",
    "suitcase": "warm",
    "dress": "practical",
    "hat": "practical",
}


def _subject_with_qualities(draw):
    """A subject that is described, and the qualities that it may have."""
    kind = draw.one(tuple(_QUALIFIED))
    nouns, qualities = _QUALIFIED[kind]
    english = draw.one(nouns)
    if kind == "people":
        if draw.chance(0.4):
            return draw.one((ER, SIE, SIE_PLURAL, _first_name(draw))), qualities
        owner = draw.one((ICH, ICH, DU, ER, SIE, WIR))
        need(owner in _SPOUSES.get(english, (owner,)))
        return NounPhrase(NOUN[english], owner), qualities
    owner = draw.one((ICH, DU, ER, SIE, WIR)) if kind == "goods" else "def"
    if kind == "room":
        own = english not in ("hotel", "café")
        owner = draw.one((ICH, DU, ER, SIE, WIR, "def") if own else ("this", "def"))
        need(english not in ("living room", "bathroom", "bedroom") or owner == "def")
    shared = english in ("car", "table", "sofa", "lamp", "camera")
    need(not (owner is ER and english in WOMENS) and (owner is not WIR or shared))
    det = draw.one((owner, owner, "this", "def")) if kind == "goods" else owner
    unfit = _NOT_OF.get(english, "").split()
    qualities = [row for row in qualities if row[0] not in unfit]
    plural = english == "apple"
    return NounPhrase(NOUN[english], det, plural=plural), qualities


def _is_elder(subject):
    """Whether the subject is somebody's parent or grandparent, whom nobody calls young."""
    return isinstance(subject, NounPhrase) and subject.noun.english in _ELDERS


_VERY = paired("very = sehr; too = zu; really = wirklich; always = immer; not = nicht; so = so")


@pattern(225)
def is_quality(draw):
    """My shoes are black. The gray hat is nice. Her husband is very friendly."""
    subject, qualities = _subject_with_qualities(draw)
    if isinstance(subject, NounPhrase) and draw.chance(0.25) and subject.noun.english in _CLOTHES:
        color = _ADJECTIVE[draw.one(_COLORS)]
        subject = replace(subject, adjective=color, det=draw.one(("def", "this")))
    word = draw.one(qualities)
    english, german = word[:2]
    plain = isinstance(subject, NounPhrase) and not subject.adjective
    if plain and subject.noun.english in _CLOTHES and draw.chance(0.5):
        color = _ADJECTIVE[draw.one((*_COLORS, "long", "short"))]
        long_or_short = color.english in ("long", "short")
        need(not long_or_short or subject.noun.english in ("coat", "dress"))
        return _short(draw, both(_is(subject, color.english, color.german)))
    how, wie = draw.one((("", ""), *_VERY[:3], ("", ""), _VERY[4]))
    need(how != "too" or word[3] in ("size", "price", "light", "heat", "noise"))
    need(how != "too" or english not in ("cheap", "bright", "slim"))
    need(english != "young" or not _is_elder(subject))
    need(how != "really" or word[3] != "age")
    need(how != "very" or english != "delicious")
    if how == "not":
        return both(_is(subject, english, german, negated=True))
    clause = _is(subject, join([how, english]), join([wie, german]))
    if draw.chance(0.2) and how != "too":
        return asked(clause)
    return _short(draw, both(clause))


@pattern(225)
def two_qualities(draw):
    """The room is big and bright. The hotel is old but nice. I'm tired but happy."""
    if draw.chance(0.25):
        subject, qualities = draw.one((ICH, ICH, ER, SIE, WIR, _first_name(draw))), _MOOD_QUALITIES
    else:
        subject, qualities = _subject_with_qualities(draw)
    first, second = draw.one(qualities), draw.one(qualities)
    need(first[3] != second[3])
    need("young" not in (first[0], second[0]) or not _is_elder(subject))
    marks = {first[2], second[2]}
    how, wie = draw.one((("", ""), ("", ""), ("very", "sehr")))
    need("delicious" not in (first[0], second[0]) or not how)
    if draw.chance(0.45):
        need(marks != {"+", "-"})
        english = f"{how} {first[0]} and {second[0]}"
        german = f"{wie} {first[1]} und {second[1]}"
        if draw.chance(0.15) and subject not in (ICH, WIR):
            return asked(_is(subject, english.strip(), german.strip()))
        return _short(draw, both(_is(subject, english.strip(), german.strip())))
    if draw.chance(0.3):  # "The room isn't big, but it's bright."
        it = _taken_up(subject)
        need(it and marks == {"+"})
        clause, rest = _is(subject, *first[:2], negated=True), _is(it, *second[:2])
        return (
            sentence(f"{english_main(clause)}, but {english_main(rest)}"),
            sentence(f"{german_main(clause)}, aber {german_main(rest)}"),
        )
    need(marks == {"+", "-"})
    english = join([how, f"{first[0]} but {second[0]}"])
    german = join([wie, f"{first[1]}, aber {second[1]}"])
    return _short(draw, both(_is(subject, english, german)))


def _taken_up(subject):
    """The pronoun that takes up a subject; German follows the gender of the noun."""
    if isinstance(subject, Pronoun):
        return subject
    if "person" in subject.noun.tags or "name" in subject.noun.tags:
        return SIE_PLURAL if subject.plural else {"m": ER, "f": SIE}.get(subject.noun.gender)
    if subject.plural:
        return SIE_PLURAL
    german = IT_DE[subject.gender]
    return Pronoun("it", "it", "its", german, german, "", "", 3)


# --- Two nouns joined ------------------------------------------------------------------------

_EATEN = paired(
    "bread and cheese = Brot und Käse; bread and butter = Brot und Butter; "
    "bread with jam = Brot mit Marmelade; bread with honey = Brot mit Honig; "
    "rolls with butter = Brötchen mit Butter; eggs and ham = Eier und Schinken; "
    "rice and vegetables = Reis und Gemüse; chicken with vegetables = Hähnchen mit Gemüse; "
    "fish with rice = Fisch mit Reis; fish with potatoes = Fisch mit Kartoffeln; "
    "meat and potatoes = Fleisch und Kartoffeln; sausages with salad = Würste mit Salat; "
    "chicken and salad = Hähnchen und Salat; pasta with cheese = Nudeln mit Käse; "
    "apples and pears = Äpfel und Birnen; yogurt with fruit = Joghurt mit Obst; "
    "cereal with milk = Müsli mit Milch; cake and ice cream = Kuchen und Eis; "
    "pizza with cheese = Pizza mit Käse; bread without butter = Brot ohne Butter; "
    "pasta without meat = Nudeln ohne Fleisch; rice with chicken = Reis mit Hähnchen; "
    "salad without onions = Salat ohne Zwiebeln; soup and bread = Suppe und Brot; "
    "steak with potatoes = Steak mit Kartoffeln; tomatoes and cheese = Tomaten und Käse"
)
_DRUNK = paired(
    "coffee with milk = Kaffee mit Milch; coffee with sugar = Kaffee mit Zucker; "
    "tea without sugar = Tee ohne Zucker; coffee without milk = Kaffee ohne Milch; "
    "coffee and tea = Kaffee und Tee; tea with milk = Tee mit Milch; "
    "tea with honey = Tee mit Honig; tea with lemon = Tee mit Zitrone; "
    "juice and water = Saft und Wasser; milk and cola = Milch und Cola; "
    "beer and wine = Bier und Wein; water and orange juice = Wasser und Orangensaft; "
    "coffee with milk and sugar = Kaffee mit Milch und Zucker; "
    "tea with milk but without sugar = Tee mit Milch, aber ohne Zucker; "
    "coffee without milk but with sugar = Kaffee ohne Milch, aber mit Zucker; "
    "coffee without milk and sugar = Kaffee ohne Milch und Zucker"
)
_MEALS = paired(
    "for breakfast = zum Frühstück; for lunch = zum Mittagessen; for dinner = zum Abendessen; "
    "in the morning = am Morgen; in the evening = am Abend; every day = jeden Tag"
)
_SERVED_WITH = paired(
    "the chicken = das Hähnchen; the fish = den Fisch; the steak = das Steak; the soup = die "
    "Suppe; the salad = den Salat; the pizza = die Pizza; the pasta = die Nudeln; a pizza = eine "
    "Pizza; a soup = eine Suppe; a salad = einen Salat; a steak = ein Steak; a coffee = einen "
    "Kaffee; a tea = einen Tee; a sandwich = ein Sandwich"
)
_SIDES = paired(
    "with rice = mit Reis; with potatoes = mit Kartoffeln; with salad = mit Salat; "
    "with vegetables = mit Gemüse; with cheese = mit Käse; without cheese = ohne Käse; "
    "with bread = mit Brot; without salad = ohne Salat; without meat = ohne Fleisch; "
    "with milk = mit Milch; without sugar = ohne Zucker; with sugar = mit Zucker; "
    "with tomatoes = mit Tomaten; without onions = ohne Zwiebeln"
)
_SIDES_OF = {
    "chicken": "rice potatoes salad vegetables",
    "fish": "rice potatoes salad vegetables",
    "steak": "rice potatoes salad vegetables",
    "soup": "bread vegetables meat",
    "salad": "cheese bread tomatoes onions",
    "pizza": "cheese tomatoes meat onions salad",
    "pasta": "cheese tomatoes meat vegetables salad",
    "coffee": "milk sugar",
    "tea": "milk sugar",
    "sandwich": "cheese tomatoes onions",
}


def _served(draw):
    """Something to order with a side dish: ("the fish with rice", "den Fisch mit Reis")."""
    dish, side = draw.one(_SERVED_WITH), draw.one(_SIDES)
    need(side[0].split()[1] in _SIDES_OF[dish[0].split()[1]].split())
    return f"{dish[0]} {side[0]}", f"{dish[1]} {side[1]}"


@pattern(260)
def food_together(draw):
    """I eat chicken with rice for lunch. She drinks coffee without sugar. I'll have the soup."""
    kind = draw.one(("eat", "eat", "drink", "served", "or", "want", "like", "only"))
    if kind == "served":
        english, german = _served(draw)
        subject = draw.one((ICH, ICH, WIR, ER, SIE))
        if subject is ICH and draw.chance(0.5):
            please, bitte = draw.one(((", please", ", bitte"), ("", "")))
            return sentence(f"I'll have {english}{please}"), sentence(f"ich nehme {german}{bitte}")
        verb, tense = draw.one((("eat", "past"), ("order", "past"), ("eat", "want to")))
        need(verb == "order" or not re.search("coffee|tea", english))
        return both(told(subject, verb, english, german, tense))
    drink = kind == "drink" or (kind != "eat" and draw.chance(0.4))
    verb = "drink" if drink else "eat"
    english, german = draw.one(_DRUNK if drink else _EATEN)
    if kind in ("or", "only"):
        stuffs = draw.one(_STUFFS[drink])
        first, second = draw.one(stuffs), draw.one(stuffs)
        need(first != second)
        if kind == "only":  # "We don't eat meat, only fish."
            stuff = Complement(NounPhrase(NOUN[first], "bare", plural=first in _COUNTED))
            only = _stuff(second)
            clause = Clause(_who(draw), VERB[verb], "present", (stuff,), negated=True)
            return (
                sentence(f"{english_main(clause)}, only {only[0]}"),
                sentence(f"{german_main(clause)}, nur {only[1]}"),
            )
        first, second = _stuff(first), _stuff(second)
        texts = f"{first[0]} or {second[0]}", f"{first[1]} oder {second[1]}"
        do, tun = draw.one(
            (
                (f"do you want to {verb}", f"willst du|{VERB[verb].german}"),
                (f"would you like to {verb}", f"möchtest du|{VERB[verb].german}"),
                (f"do you {verb}", {"drink": "trinkst du", "eat": "isst du"}[verb] + "|"),
            )
        )
        before, after = tun.split("|")
        return (sentence(f"{do} {texts[0]}", "?"), sentence(join([before, texts[1], after]), "?"))
    subject = _who(draw)
    if kind == "like":
        need(" but " not in english)
        negated = draw.chance(0.2)
        need(not negated)
        return both(told(subject, "like", english, german))
    if kind == "want":
        tense = draw.one(("want to", "would like to"))
        return both(told(subject, verb, english, german, tense))
    meal = Adverbial(*draw.one(_MEALS), "time")
    tense = draw.one(("present", "present", "progressive", "past"))
    often = Adverbial(*draw.one(_HOW_OFTEN), "often")
    extra = {"present": (meal, often), "progressive": (), "past": (meal,)}[tense]
    need(tense != "past" or meal.english.startswith("for "))
    need("breakfast" not in meal.english or drink or re.search(_AT_BREAKFAST, english))
    extra = extra[: draw.random.randrange(3)] if tense == "present" else extra
    if meal.english == "every day":
        extra = extra[:1]
    clause = told(subject, verb, english, german, tense)
    return both(replace(clause, adverbials=extra))


_COUNTED = listed("apple; egg; potato; banana; pear; cherry; cookie; sausage")
_STUFFS = {
    True: tuple(
        map(
            listed,
            ("coffee; tea; milk; juice", "water; juice; cola; lemonade; milk", "beer; wine; water"),
        )
    ),
    False: tuple(
        map(
            listed,
            (
                "meat; fish; chicken; cheese; vegetables; sausage",
                "rice; potato; pasta; bread",
                "cake; ice cream; chocolate; fruit; cookie",
                "apple; banana; pear; cherry",
                "soup; bread; egg; cheese; salad",
            ),
        )
    ),
}
_AT_BREAKFAST = "bread|rolls|eggs|yogurt|cereal"
_HOW_OFTEN = paired(
    "often = oft; always = immer; sometimes = manchmal; usually = meistens; never = nie; "
    "rarely = selten"
)


def _stuff(english):
    phrase = NounPhrase(NOUN[english], "bare", plural=english in _COUNTED)
    return english_phrase(phrase), german_phrase(phrase, "acc")


_OWNED = listed(
    "dog; cat; car; bike; phone; laptop; computer; garden; guitar; camera; brother; sister; son; "
    "daughter; house; umbrella; table; chair; motorcycle; television"
)
_PACKED = listed(
    "book; pen; pencil; notebook; key; phone; bag; ticket; umbrella; wallet; passport; camera; "
    "map; jacket; coat; hat; glove; shoe"
)
_LOOKED_FOR = listed("key; bag; phone; wallet; passport; ticket; glove; hat; jacket; umbrella")


def _joined(first, second, case="acc", word=("and", "und")):
    """Two noun phrases as text in both languages."""
    return (
        f"{english_phrase(first, True)} {word[0]} {english_phrase(second, True)}",
        f"{german_phrase(first, case)} {word[1]} {german_phrase(second, case)}",
    )


@pattern(215)
def things_together(draw):
    """She has a dog and a cat. I don't have a car or a bike. He bought a hat and a red coat."""
    subject = _who(draw, two=False)
    kind = draw.one(("have", "have", "neither", "pack", "clothes", "clothes", "people", "or"))
    if kind in ("have", "neither"):
        nouns = draw.one(_OWNED), draw.one(_OWNED)
        people = [noun in listed("brother; sister; son; daughter") for noun in nouns]
        need(nouns[0] != nouns[1] and people[0] == people[1])
        need(nouns[0] not in ("table", "chair") or nouns[1] in ("table", "chair"))
        need(nouns[1] not in ("table", "chair") or nouns[0] in ("table", "chair"))
        det = "neg" if kind == "neither" else "indef"
        first, second = (NounPhrase(NOUN[noun], det) for noun in nouns)
        german = f"{german_phrase(first, 'acc')} und {german_phrase(second, 'acc')}"
        bare = [english_phrase(replace(item, det="indef")) for item in (first, second)]
        word = " or " if kind == "neither" else " and "
        clause = told(subject, "have", word.join(bare), german)
        if kind == "neither":
            return sentence(english_main(replace(clause, negated=True))), sentence(
                german_main(clause)
            )
        return _with_got(draw, both(clause))
    if kind == "people":
        first, second = _relative(draw, plural=0), _relative(draw, plural=0)
        need(first.noun is not second.noun and first.det is second.det)
        need(subject not in (DU, first.det) or first.det is subject)
        need(isinstance(subject, Pronoun) and first.det is subject.owner)
        verb, tense = draw.one(
            (
                ("visit", "progressive"),
                ("visit", "past"),
                ("call", "past"),
                ("invite", "past"),
                ("meet", "past"),
            )
        )
        texts = _joined(first, second)
        return both(told(subject, verb, *texts, tense))
    if kind == "or":
        nouns = draw.one(_PACKED[:7]), draw.one(_PACKED[:7])
        need(nouns[0] != nouns[1])
        det = draw.one(("def", "indef"))
        texts = _joined(*(NounPhrase(NOUN[noun], det) for noun in nouns), word=("or", "oder"))
        verb, tense = draw.one(
            (("need", "present"), ("buy", "want to"), ("look for", "progressive"))
        )
        need(det == "indef" or verb == "look for")
        return asked(told(DU, verb, *texts, tense))
    if kind == "pack":
        nouns = draw.one(_LOOKED_FOR), draw.one(_LOOKED_FOR)
        need(nouns[0] != nouns[1] and not is_several(subject))
        first, second = (NounPhrase(NOUN[noun], subject.owner) for noun in nouns)
        verb, tense = draw.one((("look for", "progressive"), ("forget", "past"), ("lose", "past")))
        return both(told(subject, verb, *_joined(first, second), tense))
    need(not is_several(subject))
    verb, tense = draw.one((("wear", "progressive"), ("buy", "past"), ("need", "present")))
    first, second = _worn(draw, subject), _worn(draw, subject)
    need(first.noun is not second.noun and not _clashing(first, second))
    need(not (tense == "past" and "old" in (first.adjective.english, second.adjective.english)))
    if draw.chance(0.4):
        first = replace(first, adjective=None)
    return both(told(subject, verb, *_joined(first, second), tense))


_WORN_AT_ONCE = (  # nobody wears two of these at once
    {"dress", "pants", "jeans", "skirt", "suit"},
    {"dress", "shirt", "blouse", "T-shirt", "sweater"},
    {"shoe", "boot"},
    {"hat", "cap"},
    {"coat", "jacket"},
    {"tie", "T-shirt", "blouse", "scarf"},
)


def _clashing(first, second):
    """Whether nobody wears these two things together."""
    pair = {first.noun.english, second.noun.english}
    return any(pair <= group for group in _WORN_AT_ONCE)


# --- There is --------------------------------------------------------------------------------

# What there is; German verb; adjectives; where
_PLACED = """
table chair bed sofa lamp ; stehen ; big small new old white ; kitchen room living-room office \
balcony
table chair bed closet desk ; stehen ; big small new old brown ; bedroom room office hallway
tree car bike ; stehen ; big small old green red ; garden yard house-behind house-before
dog cat bird ; sein ; small big white black ; garden kitchen under-table under-bed tree-in \
house-before house-behind door-before yard sofa-on
garden tree parking-lot playground ; sein ; big small beautiful old ; house-behind \
school-behind hotel-behind house-before school-beside
bank pharmacy bakery supermarket hotel café restaurant ; geben ; new good big small nice ; \
street city train-station church-beside school-beside park-before hotel-behind square village
museum church park theater university castle ; geben ; big small old famous beautiful ; city \
village
book newspaper pen letter phone key ; liegen ; new old red ; table-on desk-on bed-on sofa-on \
table-under chair-under bag bed-beside
glass cup plate bottle ; stehen ; big small clean empty ; table-on desk-on kitchen
"""
_SPOTS = {
    "kitchen": ("in the kitchen", "in der Küche"),
    "room": ("in my room", "in meinem Zimmer"),
    "living-room": ("in the living room", "im Wohnzimmer"),
    "office": ("in the office", "im Büro"),
    "balcony": ("on the balcony", "auf dem Balkon"),
    "bedroom": ("in the bedroom", "im Schlafzimmer"),
    "hallway": ("in the hallway", "im Flur"),
    "garden": ("in the garden", "im Garten"),
    "yard": ("in the yard", "im Hof"),
    "house-behind": ("behind the house", "hinter dem Haus"),
    "house-before": ("in front of the house", "vor dem Haus"),
    "under-table": ("under the table", "unter dem Tisch"),
    "under-bed": ("under the bed", "unter dem Bett"),
    "tree-in": ("in the tree", "auf dem Baum"),
    "door-before": ("in front of the door", "vor der Tür"),
    "sofa-on": ("on the sofa", "auf dem Sofa"),
    "school-behind": ("behind the school", "hinter der Schule"),
    "hotel-behind": ("behind the hotel", "hinter dem Hotel"),
    "school-beside": ("next to the school", "neben der Schule"),
    "church-beside": ("next to the church", "neben der Kirche"),
    "park-before": ("in front of the park", "vor dem Park"),
    "street": ("on this street", "in dieser Straße"),
    "city": ("in the city", "in der Stadt"),
    "train-station": ("at the train station", "am Bahnhof"),
    "square": ("nearby", "hier in der Nähe"),
    "village": ("in our village", "in unserem Dorf"),
    "table-on": ("on the table", "auf dem Tisch"),
    "desk-on": ("on the desk", "auf dem Schreibtisch"),
    "bed-on": ("on the bed", "auf dem Bett"),
    "table-under": ("under the table", "unter dem Tisch"),
    "bag": ("in the bag", "in der Tasche"),
    "chair-under": ("under the chair", "unter dem Stuhl"),
    "bed-beside": ("next to the bed", "neben dem Bett"),
    "fridge": ("in the refrigerator", "im Kühlschrank"),
    "house-in": ("in the house", "im Haus"),
    "between": ("between the house and the street", "zwischen dem Haus und der Straße"),
}
_PLACED = [
    tuple(field.split() for field in line.split(" ; ")) for line in _PLACED.strip().split("\n")
]
_FOR_FRIDGE = listed(
    "milk; butter; cheese; juice; water; beer; ham; yogurt; fish; meat; salad; fruit; lemonade; "
    "cola; orange juice; chicken; vegetables"
)
_AT_HAND = listed(
    "coffee; tea; milk; bread; sugar; salt; water; cheese; fruit; juice; cake; paper; soap"
)


@pattern(260)
def there_is_somewhere(draw):
    """There is a small table in the kitchen. There's milk in the refrigerator. Is there a bank?"""
    if draw.chance(0.2):
        return _supply(draw)
    nouns, (verb,), kinds, spots = draw.one(_PLACED)
    noun = NOUN[draw.one(nouns).replace("-", " ")]
    where, wo = _SPOTS[draw.one(spots)]
    plural = draw.chance(0.2) and verb != "geben"
    count = draw.one((*NUMBERS[1:4], ("many", "viele"))) if plural else None
    adjective = _ADJECTIVE[draw.one(kinds)] if draw.chance(0.45) and not plural else None
    need(
        not adjective
        or adjective.english not in ("green", "red")
        or noun.english != "tree"
        or adjective.english == "green"
    )
    need(not adjective or adjective.english != "famous" or noun.english in ("museum", "church"))
    need(not plural or count[0] != "many" or "sein" in verb)
    det = "bare" if plural else "indef"
    phrase = NounPhrase(noun, det, adjective, plural, count)
    # German asks and denies with "gibt es" of towns and houses, else with the verb itself.
    german_verb = {"geben": "gibt es"}.get(verb) or present(verb, "", 5 if plural else 2)
    case = "acc" if verb == "geben" else "nom"
    be = "are" if plural else "is"
    english, german = english_phrase(phrase), german_phrase(phrase, case)
    kind = draw.one(("tell", "tell", "tell", "ask", "deny", "see"))
    if kind == "ask":
        need(verb != "liegen" and noun.english not in ("glass", "cup", "plate", "bottle"))
        if "animal" not in noun.tags:
            german_verb, german = "gibt es", german_phrase(phrase, "acc")
        gaps = f"{german_verb} {wo} {german}"
        return sentence(f"{be} there {english} {where}", "?"), sentence(gaps, "?")
    if kind == "deny":
        need(not plural)
        none = german_phrase(replace(phrase, det="neg"), case)
        isnt = draw.one((f"there isn't {english}", f"there is no {english.split(' ', 1)[1]}"))
        return sentence(f"{isnt} {where}"), sentence(f"{wo} {german_verb} {none}")
    if kind == "see":  # "The cat is under the bed."
        need(verb in ("sein", "liegen", "stehen") and not plural)
        need(noun.english not in ("garden", "tree", "playground", "parking lot"))
        which = replace(phrase, det="def")
        text = f"{german_phrase(which, 'nom')} {present(verb, '', 2)} {wo}"
        return _short(draw, (sentence(f"{english_phrase(which)} is {where}"), sentence(text)))
    return sentence(f"there {be} {english} {where}"), sentence(f"{wo} {german_verb} {german}")


def _supply(draw):
    """There is milk in the refrigerator. Is there any coffee? There isn't any bread."""
    if draw.chance(0.5):
        noun, (where, wo) = NOUN[draw.one(_FOR_FRIDGE)], _SPOTS["fridge"]
    else:
        noun = NOUN[draw.one(_AT_HAND)]
        where, wo = draw.one(
            ((" in the kitchen", "in der Küche"), (" at home", "zu Hause"), ("", ""))
        )
    phrase = NounPhrase(noun, "bare")
    several = is_plural_in_english(phrase) or phrase.gender == "p"
    ist = "sind" if several else "ist"
    english, german = english_phrase(phrase), german_phrase(phrase, "nom")
    be = "are" if noun.english == "vegetables" else "is"
    kind = draw.one(("tell", "deny", "ask"))
    if not wo:
        kein = german_phrase(replace(phrase, det="neg"), "acc")
        if kind == "ask":
            need(noun.english not in ("paper", "soap"))
            still, noch = draw.one((("", ""), (" still", " noch")))
            return sentence(f"is there{still} any {english}", "?"), sentence(
                f"gibt es{noch} {german}", "?"
            )
        need(kind == "deny")
        return sentence(f"there {be}n't any {english}"), sentence(f"es gibt {kein}")
    if kind == "ask":
        return (
            sentence(join([f"{be} there any {english}", where]), "?"),
            sentence(join(["gibt es", wo, german]), "?"),
        )
    if kind == "deny":
        kein = german_phrase(replace(phrase, det="neg"), "nom")
        return sentence(join([f"there {be}n't any {english}", where])), sentence(
            f"{wo} {ist} {kein}"
        )
    still, noch = draw.one((("", ""), ("still ", "noch "), ("", "")))
    return sentence(join([f"there {be} {still}{english}", where])), sentence(
        f"{wo} {ist} {noch}{german}"
    )


# --- Jobs ------------------------------------------------------------------------------------

_MALE_JOBS = [
    (english, german)
    for english, german in MENS_JOBS
    if english
    in {
        "teacher",
        "doctor",
        "police officer",
        "waiter",
        "cook",
        "engineer",
        "mechanic",
        "driver",
        "student",
        "salesman",
        "musician",
        "dentist",
        "lawyer",
        "artist",
        "pilot",
        "hairdresser",
        "baker",
        "farmer",
        "actor",
        "journalist",
        "programmer",
    }
]
_JOBS_IN_PLURAL = listed("teacher; doctor; police officer; waiter; cook; student")
_WORKED_AT = paired(
    "at a hotel = in einem Hotel = cook waiter waitress; at a restaurant = in einem Restaurant = "
    "cook waiter waitress; at a hospital = in einem Krankenhaus = doctor nurse; at a school = in "
    "einer Schule = teacher; in an office = in einem Büro = engineer secretary lawyer "
    "programmer; in Munich = in München = teacher doctor nurse cook engineer; in Berlin = in "
    "Berlin = waiter waitress police-officer actor journalist doctor; in Vienna = in Wien = "
    "musician singer teacher"
)


def _job(draw, subject):
    """A job for a subject: ("a doctor", "Ärztin")."""
    female = subject is SIE or (isinstance(subject, NounPhrase) and subject.noun.gender == "f")
    english, german = draw.one(WOMENS_JOBS if female else _MALE_JOBS)
    if subject.plural:
        noun = NOUN[draw.one(_JOBS_IN_PLURAL)]
        return noun.english_plural, noun.plural
    return f"{indefinite_article(english)} {english}", german


_FAMILY = listed("mother; father; brother; sister; uncle; aunt; friend; wife; husband; cousin")


def _worker(draw):
    """Somebody who has a job."""
    who = draw.one(
        (
            ER,
            ER,
            SIE,
            SIE,
            ICH,
            WIR,
            SIE_PLURAL,
            _first_name(draw),
            _first_name(draw),
            _relative(draw, _FAMILY, plural=0),
            _relative(draw, _FAMILY, plural=0),
        )
    )
    need(not (isinstance(who, NounPhrase) and who.det is DU))
    return who


@pattern(240)
def working_as(draw):
    """She is a doctor. He isn't a teacher, he's a cook. Tom wants to be a pilot."""
    subject = _worker(draw)
    english, german = _job(draw, subject)
    kind = draw.one(("be", "be", "want", "contrast", "two", "ask", "work", "work", "not"))
    if kind == "be":
        return _short(draw, both(_is(subject, english, german)), 0.4)
    if kind == "want":
        need(
            not isinstance(subject, NounPhrase) or subject.noun.english not in ("mother", "father")
        )
        be, tense = draw.one(
            (("be", "want to"), ("be", "want to"), ("become", "want to"), ("be", "would like to"))
        )
        clause = told(subject, "become", english, german, tense)
        if draw.chance(0.25):
            need(subject not in (ICH, WIR))
            pair = asked(clause)
        else:
            pair = both(replace(clause, negated=False))
        return pair[0].replace(" become ", f" {be} "), pair[1]
    if kind in ("contrast", "not"):
        no = "keine " if german.endswith("in") or subject.plural else "kein "
        no = "keine " if german == "Krankenschwester" else no
        clause = _is(subject, english, german, negated=True)
        not_one = f"{german_main(replace(clause, negated=False, predicate=('', no + german)))}"
        if kind == "not":
            return sentence(english_main(clause)), sentence(not_one)
        job, beruf = _job(draw, subject)
        need(job != english)
        taken_up = subject if isinstance(subject, Pronoun) else _taken_up(subject)
        rest = _is(taken_up, job, beruf)
        return (
            sentence(f"{english_main(clause)}, {english_main(rest)}"),
            sentence(f"{not_one}, {german_main(rest)}"),
        )
    if kind == "two":
        other = _worker(draw)
        related = isinstance(other, NounPhrase) and isinstance(subject, NounPhrase)
        need(
            (related and other != subject) or {subject, other} in ({ER, SIE}, {ICH, ER}, {ICH, SIE})
        )
        need(not related or subject.det == other.det)
        job, beruf = _job(draw, other)
        need(job != english)
        return (
            sentence(
                f"{english_main(_is(subject, english, german))} and "
                f"{english_main(_is(other, job, beruf))}"
            ),
            sentence(
                f"{german_main(_is(subject, english, german))} und "
                f"{german_main(_is(other, beruf, beruf))}"
            ),
        )
    if kind == "ask":
        if draw.chance(0.6):
            english, german = _job(draw, ICH)
            return asked(_is(DU, english, german))
        need(subject not in (ICH, WIR))
        return asked(_is(subject, english, german))
    where, wo, jobs = draw.one(_WORKED_AT)
    need(not subject.plural)
    need(english.split(" ", 1)[1].replace(" ", "-") in jobs.split())
    return both(told(subject, "work", f"as {english} {where}", f"als {german} {wo}"))


# --- Whose -----------------------------------------------------------------------------------

_NAMED = [noun for noun in NAMES if not noun.german.endswith(("s", "x"))]
_OF_NAMED = listed(
    "brother; sister; friend; mother; father; uncle; aunt; dog; cat; car; bike; room; house; "
    "apartment; phone; bag; birthday; coat; book"
)
_KIN_QUALITIES = paired(
    "nice = nett; very nice = sehr nett; funny = lustig; sick = krank; very friendly = sehr "
    "freundlich; tall = groß; tired = müde; married = verheiratet; at home = zu Hause; very nice "
    "= sehr nett; not at home = nicht zu Hause; here = hier; not here = nicht hier"
)
_THING_QUALITIES = paired(
    "new = neu; old = alt; very big = sehr groß; small = klein; very nice = sehr schön; "
    "expensive = teuer; very old = sehr alt; not new = nicht neu"
)
_CITY_LIFE = paired("live = wohnen; work = arbeiten; study = studieren")


def _possessed(draw, noun):
    """Something of somebody known: ("Maria's brother", "Marias Bruder", its gender)."""
    if draw.chance(0.7):
        owner = draw.one(_NAMED).german
        if "person" in noun.tags and draw.chance(0.2):
            kind = draw.one(("new", "little", "big", "best"))
            need(
                noun.english
                in {"best": ("friend",), "new": ("friend",)}.get(kind, ("brother", "sister"))
            )
            german = {"new": "neu", "little": "klein", "big": "groß", "best": "best"}[kind]
            ending = {"m": "er", "f": "e", "n": "es"}[noun.gender]
            return f"{owner}'s {kind} {noun.english}", f"{owner}s {german}{ending} {noun.german}"
        return f"{owner}'s {noun.english}", f"{owner}s {noun.german}"
    owners = "friend" if "person" in noun.tags else "brother; sister; friend; mother; father; uncle"
    who = _relative(draw, listed(owners), (ICH, ICH, ICH, DU, ER, SIE, WIR), 0)
    need(who.noun is not noun)
    of = german_prepositional("von", who, "dat")
    return (
        f"{english_phrase(who)}'s {noun.english}",
        f"{german_phrase(NounPhrase(noun), 'nom')} {of}",
    )


@pattern(215)
def of_somebody(draw):
    """Maria's brother lives in Berlin. Is that Tom's car? My sister's dog is very old."""
    noun = NOUN[draw.one(_OF_NAMED)]
    english, german = _possessed(draw, noun)
    is_person, is_pet = "person" in noun.tags, noun.english in ("dog", "cat")
    kind = draw.one(("this", "is", "is", "live", "where", "he", "be", "question"))
    need(noun.english != "birthday" or kind == "where")
    if kind == "this":
        that = draw.one(("this", "that"))
        if draw.chance(0.4):
            return sentence(f"is {that} {english}", "?"), sentence(f"ist das {german}", "?")
        isnt, nicht = draw.one((("is", ""), ("is", ""), ("isn't", "nicht ")))
        return sentence(f"{that} {isnt} {english}"), sentence(f"das ist {nicht}{german}")
    if kind in ("is", "question"):
        quality, eigenschaft = draw.one(
            _KIN_QUALITIES if is_person else _PET_QUALITIES if is_pet else _THING_QUALITIES
        )
        if kind == "question":
            need("not" not in quality)
            return sentence(f"is {english} {quality}", "?"), sentence(
                f"ist {german} {eigenschaft}", "?"
            )
        return sentence(f"{english} is {quality}"), sentence(f"{german} ist {eigenschaft}")
    if kind == "live":
        need(is_person)
        (verb, _), (city, stadt) = draw.one(_CITY_LIFE), draw.one((*CITIES, *_LANDS))
        subject = Pronoun(english, english, "", german, german, german, "")
        return both(told(subject, verb, f"in {city}", f"in {stadt}"))
    if kind == "where":
        if noun.english == "birthday":
            owner = english.removesuffix("'s birthday")
            need(owner in {item.german for item in _NAMED})
            return sentence(f"when is {english}", "?"), sentence(
                f"wann hat {owner} Geburtstag", "?"
            )
        how, wie = draw.one((("where", "wo"), ("how old", "wie alt")))
        need(how == "where" or is_person or is_pet)
        return sentence(f"{how} is {english}", "?"), sentence(f"{wie} ist {german}", "?")
    if kind == "he":
        need(is_person and noun.gender in "mf" and "von" not in german)
        subject = draw.one((ER,) if noun.gender == "m" else (SIE,))
        return both(_is(subject, english, german))
    need(is_person and "von" not in german)
    if draw.chance(0.5):
        return sentence(f"are you {english}", "?"), sentence(f"bist du {german}", "?")
    return sentence(f"I'm {english}"), sentence(f"ich bin {german}")


_LANDS = [(english, german) for english, german, *_ in COUNTRIES[:6]]
_PET_QUALITIES = paired(
    "very old = sehr alt; small = klein; very big = sehr groß; black = schwarz; sick = krank; "
    "white = weiß; always tired = immer müde; here = hier"
)
_ITS_OWNERS = {"mine": ICH, "yours": DU, "his": ER, "hers": SIE, "ours": WIR, "theirs": SIE_PLURAL}
_MINE = listed(
    "coat; bag; jacket; phone; umbrella; book; key; car; bike; suitcase; pen; dog; cup; room; "
    "hat; ticket; shoe; glove; house; glass; table"
)


def _standing_alone(owner, gender, case="nom"):
    """A German possessive without its noun: meiner, meine, meins."""
    neuter = "es" if owner is WIR else "s"
    endings = {"m": "en" if case == "acc" else "er", "f": "e", "n": neuter, "p": "e"}
    return owner.possessive + endings[gender]


@pattern(170)
def mine_or_yours(draw):
    """Which bag is yours? That isn't my coat, mine is brown. Is this your key or hers?"""
    noun = NOUN[draw.one(_MINE)]
    plural = "pairs" in noun.tags
    which = NounPhrase(noun, draw.one(("this", "def")), plural=plural)
    gender = which.gender
    whose = draw.one(tuple(_ITS_OWNERS))
    owner = _ITS_OWNERS[whose]
    be, sein = ("are", "sind") if plural else ("is", "ist")
    these = ("these", "those") if plural else ("this", "that")
    own = draw.one((ICH, DU, ER, SIE, WIR))
    mine = english_phrase(NounPhrase(noun, own, plural=plural))
    meiner = german_phrase(NounPhrase(noun, own, plural=plural), "nom")
    kind = draw.one(("which", "color", "or", "is", "is", "ask", "not", "whose"))
    if kind == "which":
        need(owner is not ICH or draw.chance(0.3))
        text = german_phrase(replace(which, det="which"), "nom")
        of_it = _standing_alone(owner, gender)
        return (
            sentence(f"which {english_phrase(replace(which, det='bare'))} {be} {whose}", "?"),
            sentence(f"{text} {sein} {of_it}", "?"),
        )
    if kind == "color":
        need(
            noun.english in _KINDS_OF or noun.english in _CLOTHES or noun.english in ("key", "pen")
        )
        quality = _ADJECTIVE[draw.one((*_COLORS, "new", "old", "small", "big"))]
        need(owner is not own)
        of_it = _standing_alone(owner, gender)
        need({owner, own} not in ({ICH, WIR}, {SIE, SIE_PLURAL}))
        need(
            noun.english != "dog" or quality.english in ("black", "white", "brown", "small", "big")
        )
        return (
            sentence(f"{these[1]} {be}n't {mine}, {whose} {be} {quality.english}"),
            sentence(f"das {sein} nicht {meiner}, {of_it} {sein} {quality.german}"),
        )
    if kind == "or":
        need(owner is not own and {owner, own} != {ICH, WIR})
        need({owner, own} != {SIE, SIE_PLURAL})
        need(noun.english != "bag" or (own, owner) != (DU, SIE))
        return (
            sentence(f"{be} {these[0]} {mine} or {whose}", "?"),
            sentence(f"{sein} das {meiner} oder {_standing_alone(owner, gender)}", "?"),
        )
    if kind == "whose":
        quality, german = draw.one(_COLORS), None
        german = _ADJECTIVE[quality].german
        det = determiner("def", gender, "nom")
        ending = adjective_ending("def", gender, "nom")
        need(
            noun.english
            in ("coat", "bag", "jacket", "umbrella", "car", "bike", "suitcase", "cup", "hat")
        )
        return (
            sentence(f"the {quality} {noun.english} is {whose}"),
            sentence(
                f"{det} {inflect_adjective(german, ending)} {noun.german} ist "
                f"{_standing_alone(owner, gender)}"
            ),
        )
    text = german_phrase(which, "nom"), _standing_alone(owner, gender)
    if kind == "ask":
        return sentence(f"{be} {english_phrase(which)} {whose}", "?"), sentence(
            f"{sein} {text[0]} {text[1]}", "?"
        )
    isnt, nicht = (f"{be}n't", "nicht ") if kind == "not" else (be, "")
    return (
        sentence(f"{english_phrase(which)} {isnt} {whose}"),
        sentence(f"{text[0]} {sein} {nicht}{text[1]}"),
    )


# --- Verbs with what goes with them ----------------------------------------------------------

_VERBS = VERB | {
    "have lunch": replace(
        VERB["eat"],
        english="have lunch",
        past="had lunch",
        participle="had lunch",
        prefix="zu Mittag ",
    ),
    "have dinner": replace(
        VERB["eat"],
        english="have dinner",
        past="had dinner",
        participle="had dinner",
        prefix="zu Abend ",
    ),
    "take a shower": replace(
        VERB["shower"], english="take a shower", past="took a shower", participle="taken a shower"
    ),
    "make": replace(VERB["do"], english="make", past="made", participle="made"),
    "rinse": replace(VERB["do"], german="spülen", german_participle="gespült"),
    "brush": replace(
        VERB["clean"], english="brush", past="brushed", participle="brushed", reflexive="dat"
    ),
    "watch TV": replace(
        VERB["watch television"], english="watch TV", past="watched TV", participle="watched TV"
    ),
    "take photos": replace(
        VERB["photograph"], english="take photos", past="took photos", participle="taken photos"
    ),
    "listen": replace(VERB["hear"], english="listen", past="listened", participle="listened"),
    "ride": replace(VERB["drive"], english="go", past="went", participle="gone"),
    "leave the house": replace(
        VERB["go"],
        english="leave the house",
        past="left the house",
        participle="left the house",
        prefix="aus dem Haus ",
    ),
    "park": replace(
        VERB["do"],
        english="park",
        past="parked",
        participle="parked",
        german="parken",
        german_participle="geparkt",
    ),
    "sit down": replace(
        VERB["set"],
        english="sit down",
        past="sat down",
        participle="sat down",
        german="setzen",
        german_participle="gesetzt",
        reflexive="acc",
    ),
    "start": VERB["start"],
}

# verb ; object (d the, p my, i a, n no article, N several) ; more English ; more German ; when:
# m morning, n noon, a afternoon, e evening, w on a weekday or once a week; l lasts, u you
# cannot want it, q never denied
_GROUPS = """
get up ; - ; - ; - ; m
wake up ; - ; - ; - ; mu
have breakfast ; - ; - ; - ; ml
have breakfast ; - ; at home ; zu Hause ; ml
have lunch ; - ; - ; - ; nl
have lunch ; - ; at work ; bei der Arbeit ; nl
have lunch ; - ; at school ; in der Schule ; nl
have dinner ; - ; - ; - ; el
have dinner ; - ; at home ; zu Hause ; el
have dinner ; - ; at a restaurant ; in einem Restaurant ; ew
have dinner ; - ; in a small restaurant ; in einem kleinen Restaurant ; ew
take a shower ; - ; - ; - ; mel
brush ; - ; {} teeth ; die Zähne ; meq
make ; n breakfast ; - ; - ; ml
make ; n lunch ; - ; - ; nl
make ; n dinner ; - ; - ; el
do>rinse ; - ; the dishes ; das Geschirr ; aelq
do ; p homework ; - ; - ; aelw
watch TV ; - ; - ; - ; ael
watch TV ; - ; in the living room ; im Wohnzimmer ; el
watch ; i movie ; - ; - ; elw
watch ; d movie ; - ; - ; elw
listen ; - ; to music ; Musik ; aelq
play ; - ; soccer ; Fußball ; alw
play ; - ; tennis ; Tennis ; alw
play ; - ; cards ; Karten ; elw
play ; - ; the piano ; Klavier ; aelw
play ; - ; the guitar ; Gitarre ; aelw
play ; - ; computer games ; Computerspiele ; aelq
play ; - ; in the garden ; im Garten ; alw
read ; i book ; - ; - ; aelw
read ; d newspaper ; - ; - ; mel
read ; d book ; - ; - ; ael
write ; i email ; - ; - ; malw
write ; i letter ; - ; - ; aelw
write ; N postcard ; - ; - ; alq
call ; p mother ; - ; - ; aew
call ; p grandmother ; - ; - ; aew
call ; p boss ; - ; - ; ma
meet ; P friend ; - ; - ; aew
meet ; p friend ; in the city ; in der Stadt ; aew
visit ; p grandparent ; - ; - ; aw
visit ; p aunt ; - ; - ; aw
visit ; p friend ; - ; - ; aew
help ; D mother ; - ; - ; maelw
help ; D father ; in the garden ; im Garten ; alw
wait for ; - ; for the bus ; auf den Bus ; malq
wait for ; - ; for the train ; auf den Zug ; malq
look for ; p key ; - ; - ; mal
look for ; p bag ; - ; - ; mal
clean ; d kitchen ; - ; - ; malw
clean ; d bathroom ; - ; - ; malw
clean ; d window ; - ; - ; alw
tidy ; p room ; - ; - ; alw
wash ; d car ; - ; - ; alw
cook ; n soup ; - ; - ; nelw
cook ; n pasta ; - ; - ; nelw
bake ; i cake ; - ; - ; alw
bake ; n bread ; - ; - ; malw
drink ; n coffee ; - ; - ; mal
drink ; n tea ; - ; - ; mael
drink ; n milk ; - ; - ; mel
drink ; n beer ; - ; - ; ew
eat ; n fish ; - ; - ; new
eat ; n meat ; - ; - ; ne
eat ; i apple ; - ; - ; mal
eat ; i sandwich ; - ; - ; nl
eat ; n ice cream ; - ; - ; alw
buy ; n bread ; - ; - ; ma
buy ; n bread ; at the bakery ; in der Bäckerei ; maw
buy ; n fruit ; at the market ; auf dem Markt ; maw
buy ; n milk ; at the supermarket ; im Supermarkt ; aw
go shopping ; - ; - ; - ; maw
go shopping ; - ; in the city ; in der Stadt ; aw
go ; - ; to the movies ; ins Kino ; ew
go ; - ; to the gym ; ins Fitnessstudio ; aew
go ; - ; to the supermarket ; in den Supermarkt ; aw
go ; - ; to the park ; in den Park ; aw
go ; - ; to the beach ; an den Strand ; mawl
go ; - ; to the doctor ; zum Arzt ; mawu
go ; - ; to school ; in die Schule ; mw
go ; - ; to work ; zur Arbeit ; mw
go ; - ; to church ; in die Kirche ; mw
go ; - ; to the library ; in die Bibliothek ; aw
go ; - ; home ; nach Hause ; ae
go ; - ; to bed ; ins Bett ; e
come ; - ; home ; nach Hause ; ae
come ; - ; to school ; in die Schule ; mu
go>ride ; - ; to work by bus ; mit dem Bus zur Arbeit ; mw
go>ride ; - ; to school by bike ; mit dem Fahrrad in die Schule ; mw
go>ride ; - ; into the city by bus ; mit dem Bus in die Stadt ; aw
take ; d bus ; - ; - ; ma
take ; d train ; - ; - ; ma
take ; i taxi ; - ; - ; aeu
ride bikes ; - ; - ; - ; alw
swim ; - ; in the lake ; im See ; alw
swim ; - ; - ; - ; alw
dance ; - ; - ; - ; elw
sing ; - ; - ; - ; aelw
work ; - ; in the garden ; im Garten ; malw
work ; - ; at home ; zu Hause ; malw
work ; - ; at the office ; im Büro ; malw
learn ; - ; German ; Deutsch ; maelw
learn ; - ; the new words ; die neuen Wörter ; aelq
go for a walk ; - ; - ; - ; aelw
go for a walk ; - ; in the park ; im Park ; aelw
stay ; - ; at home ; zu Hause ; aew
feed ; d dog ; - ; - ; mel
feed ; d cat ; - ; - ; mel
water ; d flower ; - ; - ; me
leave the house ; - ; - ; - ; mq
take photos ; - ; - ; - ; alw
rest ; - ; - ; - ; ael
exercise ; - ; - ; - ; maelw
"""


@dataclass(frozen=True)
class _Group:
    """A verb with what goes with it, and when that is done."""

    english: object
    german: object
    item: str
    words: tuple
    when: str


def _read_group(line):
    verb, item, english, german, when = (field.strip() for field in line.split(" ; "))
    first, _, second = verb.partition(">")
    words = tuple("" if text == "-" else text for text in (english, german))
    return _Group(_VERBS[first], _VERBS[second or first], item, words, when)


_GROUPS = [_read_group(line) for line in _GROUPS.strip().split("\n")]


def _group_items(group, subject):
    """The object of a verb group as complements; its possessive follows the subject."""
    if group.item == "-":
        return ()
    letter, _, english = group.item.partition(" ")
    noun = NOUN[english]
    det = {"d": "def", "i": "indef", "n": "bare", "N": "bare"}.get(letter, subject.owner)
    plural = letter in "NP" or english in ("flower", "window")
    phrase = NounPhrase(noun, det, plural=plural)
    return (Complement(phrase, "dat" if letter == "D" else "acc"),)


def _acted(subject, group, tense, english_extra=(), german_extra=(), negated=False):
    """The English and the German clause that somebody does the deed of a group."""
    items = _group_items(group, subject)
    english = group.words[0].replace("{}", subject.owner.english_possessive)
    first = Clause(subject, group.english, tense, items, english_extra, negated, (english, ""))
    if group.english.english == "wait for":
        first = replace(first, verb=VERB["wait"])
    clause = Clause(
        subject, group.german, tense, items, german_extra, negated, ("", group.words[1])
    )
    return first, clause


def _group(draw, subject, letters="", *, without=""):
    """A verb group that suits the subject and has one of the letters."""
    group = draw.one(_GROUPS)
    need(not letters or set(letters) & set(group.when))
    need(not set(without) & set(group.when))
    text = group.item + group.words[0]
    if isinstance(subject, NounPhrase):
        noun = subject.noun.english
        need(noun not in text.split())
        need(noun not in _ELDERS or not re.search(_OF_THE_YOUNG, text))
        need(noun in _PEERS or "name" in subject.noun.tags or "friend" not in text)
    if is_young(subject) or getattr(subject, "noun", None) is NOUN["child"]:
        need(
            not re.search(
                "work|coffee|beer|car|boss|office|gym|newspaper|restaurant|taxi|tea", text
            )
        )
    need(subject.plural or group.english.english != "ride bikes")
    need(group.item != "p room" or not is_several(subject))
    return group


_ELDERS = listed(
    "mother; father; grandmother; grandfather; uncle; aunt; parent; grandma; grandpa; boss"
)
_OF_THE_YOUNG = "school|homework|computer games|mother|father|soccer|grandparent|aunt|grandmother"


def _actor(draw):
    """Who does something: pronouns, names, relatives or the children."""
    if draw.chance(0.08):
        return _children(draw)
    return _who(draw)


# English = German : parts of the day, with "w" for what is done once in a while
_HABITUAL = paired(
    "every morning = jeden Morgen = m; in the morning = am Morgen = m; at seven o'clock = um "
    "sieben Uhr = me; at six in the morning = um sechs Uhr morgens = m; at eight o'clock = um "
    "acht Uhr = me; before breakfast = vor dem Frühstück = m; at noon = am Mittag = n; at twelve "
    "o'clock = um zwölf Uhr = n; at one o'clock = um ein Uhr = n; in the afternoon = am "
    "Nachmittag = a; after school = nach der Schule = a; after work = nach der Arbeit = e; after "
    "lunch = nach dem Mittagessen = a; every evening = jeden Abend = e; in the evening = am "
    "Abend = e; after dinner = nach dem Abendessen = e; at eight in the evening = um acht Uhr "
    "abends = e; at nine in the evening = um neun Uhr abends = e; every day = jeden Tag = mnae; "
    "every week = jede Woche = w; every weekend = jedes Wochenende = w; every Saturday = jeden "
    "Samstag = w; every Friday = jeden Freitag = w; on Sundays = sonntags = w; on Mondays = "
    "montags = w; on Saturdays = samstags = w; on the weekend = am Wochenende = w; twice a week "
    "= zweimal in der Woche = w; once a week = einmal in der Woche = w"
)
_DAYS_OF_WEEK = paired(
    "on Mondays = montags; on Tuesdays = dienstags; on Wednesdays = mittwochs; on Thursdays = "
    "donnerstags; on Fridays = freitags; on Saturdays = samstags; on Sundays = sonntags; "
    "every day = jeden Tag"
)
_GONE = paired(
    "yesterday = gestern = mnaew; yesterday = gestern = mnaew; yesterday evening = gestern Abend "
    "= e; last night = gestern Abend = e; this morning = heute Morgen = m; yesterday morning = "
    "gestern Morgen = m; last Saturday = letzten Samstag = w; last Sunday = letzten Sonntag = w; "
    "last week = letzte Woche = w; last weekend = letztes Wochenende = w; last Friday = letzten "
    "Freitag = w; on Sunday = am Sonntag = w; on Monday morning = am Montagmorgen = m; on "
    "Saturday evening = am Samstagabend = e; two days ago = vor zwei Tagen = w; on Sunday "
    "afternoon = am Sonntagnachmittag = a; after work = nach der Arbeit = e; after school = nach "
    "der Schule = a; today = heute = mnaew; last Wednesday = letzten Mittwoch = w; at noon = am "
    "Mittag = n"
)
_COMING = paired(
    "tomorrow = morgen = mnaew; tomorrow = morgen = mnaew; tonight = heute Abend = e; tomorrow "
    "morning = morgen früh = m; this afternoon = heute Nachmittag = a; on Saturday = am Samstag "
    "= w; on Sunday = am Sonntag = w; on Sunday morning = am Sonntagmorgen = m; on Friday "
    "evening = am Freitagabend = e; next week = nächste Woche = w; next Saturday = nächsten "
    "Samstag = w; next weekend = nächstes Wochenende = w; on the weekend = am Wochenende = w; on "
    "Saturday afternoon = am Samstagnachmittag = a; later = später = mnae; now = jetzt = mnae; "
    "after work = nach der Arbeit = e; after dinner = nach dem Abendessen = e; today = heute = "
    "mnaew; next Monday = nächsten Montag = w; soon = bald = w; in an hour = in einer Stunde = "
    "mnae; on Wednesday evening = am Mittwochabend = e; tomorrow evening = morgen Abend = e"
)


_WHOLE_DAYS = ("today", "tomorrow", "yesterday")  # nobody just gets up tomorrow


def _time(draw, times, group):
    """A time that suits a group, out of a table."""
    english, german, parts = draw.one(times)
    need(set(parts) & set(group.when))
    need(english not in _WHOLE_DAYS or set("lw") & set(group.when))
    return Adverbial(english, german, "time")


def _pair_of(draw, first, second, front=None, chance=0.2):
    """Both clauses as a statement, now and then with a time in front."""
    if front and draw.chance(chance):
        english = f"{front.english} {english_main(first, skip=(front,))}"
        return sentence(english), sentence(german_main(second, front))
    return sentence(english_main(first)), sentence(german_main(second))


@pattern(275)
def habits_of_mine(draw):
    """I always drink tea in the evening. He reads a book every week. We never eat meat."""
    subject = _actor(draw)
    group = _group(draw, subject, without="u")
    english, german = (), ()
    kind = draw.one(("often", "time", "time", "both", "two", "two", "together"))
    often = Adverbial(*draw.one(_HOW_OFTEN), "often")
    time = _time(draw, _HABITUAL, group)
    if kind in ("often", "both"):
        english = german = (often,)
    if kind in ("time", "both"):
        need(kind == "time" or not re.search("every|week|twice|once", time.english))
        need("before" not in time.english or "breakfast" not in group.english.english + group.item)
        need("after" not in time.english or "come" not in group.english.english)
        english, german = (*english, time), (time, *german)
    if kind == "two":
        day = Adverbial(*draw.one(_DAYS_OF_WEEK), "time")
        hour = re.match("at |after |before ", time.english)
        need(hour and set(group.when) & set("wm"))
        english, german = (time, day), (day, time)
        return _pair_of(draw, *_acted(subject, group, "present", english, german), day, 0.15)
    if kind == "together":
        need(is_several(subject) and "l" in group.when and not group.item.startswith(("p", "P")))
        together = Adverbial("together", "zusammen", "manner")
        english, german = (together, time), (time, together)
        if draw.chance(0.5):
            english = german = (together,)
    need(kind != "often" or subject is not DU or draw.chance(0.3))
    front = time if time in english else None
    return _pair_of(draw, *_acted(subject, group, "present", english, german), front)


_NOW = paired("now = jetzt; right now = gerade; today = heute; alone = allein; together = zusammen")


@pattern(225)
def doing_it_now(draw):
    """I'm cleaning the kitchen. The cat is sleeping under the bed. Is she watching TV?"""
    if draw.chance(0.15):
        return _animal_doing(draw)
    subject = _actor(draw)
    group = _group(draw, subject, "l")
    kind = draw.one(("plain", "plain", "now", "still", "again", "not", "ask"))
    english = german = ()
    if kind == "now":
        word = draw.one(_NOW)
        manner = word[0] in ("alone", "together")
        need(not manner or not group.item.startswith(("p", "P", "D")))
        need(word[0] != "alone" or not is_several(subject))
        need(word[0] != "together" or is_several(subject))
        english = german = (Adverbial(*word, "manner" if manner else "time"),)
    if kind == "still":
        need(group.english.english not in ("eat", "go"))
        english = german = (Adverbial("still", "noch", "often"),)
    if kind == "again":
        english = (Adverbial("again", "wieder", "time"),)
        german = (Adverbial("again", "wieder", "often"),)
        need("{}" not in group.words[0])
    if kind == "ask":
        if draw.chance(0.5):
            subject, group = DU, _group(draw, DU, "l")
        need(subject is not ICH and subject is not WIR)
        first, second = _acted(subject, group, "progressive")
        return sentence(english_question(first), "?"), sentence(german_question(second), "?")
    negated = kind == "not"
    need(not negated or "q" not in group.when)
    first, second = _acted(subject, group, "progressive", english, german, negated)
    return _short(draw, _pair_of(draw, first, second))


_ANIMAL_SPOTS = paired(
    "under the bed = unter dem Bett; on the sofa = auf dem Sofa; in the garden = im Garten; "
    "under the table = unter dem Tisch; in front of the door = vor der Tür; next to the chair = "
    "neben dem Stuhl; behind the house = hinter dem Haus; on the bed = auf dem Bett; "
    "in the kitchen = in der Küche; under the tree = unter dem Baum; on the chair = auf dem Stuhl"
)


def _animal_doing(draw):
    verb = draw.one(("sleep", "sleep", "lie", "sit", "play"))
    where, wo = draw.one(_ANIMAL_SPOTS)
    det = draw.one(("def", "def", ICH, ER, SIE, WIR))
    subject = NounPhrase(
        NOUN[draw.one(("cat", "dog"))], det, plural=det == "def" and draw.chance(0.2)
    )
    need(verb != "play" or "garden" in where or "house" in where)
    clause = Clause(subject, VERB[verb], "progressive", (), (Adverbial(where, wo, "place"),))
    if draw.chance(0.2):
        return asked(clause)
    return _short(draw, both(clause), 0.4)


@pattern(265)
def did_it(draw):
    """We had dinner at home last Saturday. She called her mother yesterday evening."""
    subject = _actor(draw)
    group = _group(draw, subject, without="u")
    time = _time(draw, _GONE, group)
    same = group.english.past == group.english.english
    kind = draw.one(("time", "time", "time", "plain", "not", "together", "ask"))
    need(not same or kind != "plain")
    if kind == "together":
        need(is_several(subject) and "l" in group.when and not group.item.startswith(("p", "P")))
        together = Adverbial("together", "zusammen", "manner")
        first, second = _acted(subject, group, "past", (together, time), (time, together))
        return _pair_of(draw, first, second)
    if kind == "ask":
        subject = DU if draw.chance(0.6) else subject
        need(subject is not ICH and subject is not WIR)
        first, second = _acted(subject, group, "past", (time,), (time,))
        return sentence(english_question(first), "?"), sentence(german_question(second), "?")
    negated = kind == "not"
    need(not negated or "q" not in group.when)
    times = () if kind == "plain" or (negated and draw.chance(0.4)) else (time,)
    first, second = _acted(subject, group, "past", times, times, negated)
    return _pair_of(draw, first, second, time if times else None)


# Short deeds of the perfect: verb = English rest = German rest = "k" for kein
_SHORT_DEEDS = paired(
    "come =  = ; call =  = ; eat =  = ; sleep =  = ; come = to school = in die Schule; go = home "
    "= nach Hause; arrive =  = ; pay =  = ; come back =  = ; wake up =  = ; get up =  = ; ask = "
    "the teacher = den Lehrer; understand = the question = die Frage; read = the book = das "
    "Buch; see = the movie = den Film; miss = the bus = den Bus; find = the hotel = das Hotel; "
    "forget = the key = den Schlüssel; forget = the appointment = den Termin; buy = bread = "
    "Brot; drink = coffee = Kaffee; "
    "have breakfast =  = ; do = {p} homework = {p} Hausaufgaben; answer =  = ; wait =  = ; "
    "work =  = ; "
    "write = the email = die E-Mail; pay = the bill = die Rechnung; have lunch =  = ; close = "
    "the door = die Tür; open = the letter = den Brief; learn = the words = die Wörter; go = to "
    "bed = ins Bett; have dinner =  = ; say = anything = nichts; eat = anything = nichts; buy = "
    "anything = nichts; lose = the ticket = die Fahrkarte; tidy = the room = das Zimmer; clean = "
    "the kitchen = die Küche; take a shower =  = ; sleep = well = gut; go = to the doctor = zum "
    "Arzt; go = to work = zur Arbeit"
)
_DONE_SOON = listed(
    "call; eat; pay; arrive; come back; wake up; get up; read; write; buy; tidy; clean; "
    "have breakfast; have lunch; have dinner; do; close; learn; take a shower; open; see"
)
_BARE_OBJECTS = ("bread", "coffee")


@pattern(260)
def done_or_not(draw):
    """He didn't come. She has already eaten. They haven't called yet. I've forgotten my pencil."""
    subject = _who(draw)
    if draw.chance(0.25):
        return _lost(draw, subject)
    verb, english, german = draw.one(_SHORT_DEEDS)
    english = english.replace("{p}", subject.owner.english_possessive)
    german = german.replace("{p}", determiner(subject.owner, "p", "acc"))
    entry = _VERBS[verb]
    definite = german.startswith(("den ", "die ", "das ", *(owner.possessive for owner in _OWNERS)))
    kind = draw.one(("past", "past", "yet", "already", "past", "ever"))

    def clauses(tense, negated, before="", after=""):
        first = Clause(subject, entry, tense, negated=negated, predicate=(english, ""))
        words = join([german, before] if definite else [before, german])
        return first, Clause(subject, entry, tense, predicate=("", join([words, after])))

    if kind == "past":
        none = english == "anything"
        nicht = "" if none else "nicht"
        if english in _BARE_OBJECTS:
            nicht = "kein" if english == "bread" else "keinen"
        first, second = clauses("past", True, nicht)
        if draw.chance(0.35):
            time = Adverbial(
                *draw.one(
                    _GONE[:2]
                    + paired(
                        "today = heute; last week = letzte Woche; this morning = heute Morgen; "
                        "on Monday = am Montag; yesterday evening = gestern Abend; last night = "
                        "gestern Abend"
                    )
                )[:2],
                "time",
            )
            need(not re.search("breakfast|lunch|dinner|get up|wake up", verb))
            first = replace(first, adverbials=(time,))
            second = replace(second, adverbials=(time,))
        return sentence(english_main(first)), sentence(german_main(second))
    need(verb in _DONE_SOON and english != "anything" and english not in _BARE_OBJECTS)
    if kind == "yet":
        first, second = clauses("perfect", True, "noch nicht")
        return sentence(f"{english_main(first)} yet"), sentence(german_main(second))
    first, second = clauses("perfect", False, "schon")
    first = replace(first, adverbials=(Adverbial("already", "", "already"),))
    if kind == "already":
        return sentence(english_main(first)), sentence(german_main(second))
    subject = draw.one((DU, DU, ER, SIE, SIE_PLURAL))
    german = (
        german if "homework" not in english else f"{determiner(subject, 'p', 'acc')} Hausaufgaben"
    )
    english = english if "homework" not in english else f"{subject.english_possessive} homework"
    first, second = clauses("perfect", False, "schon")
    first = replace(first, adverbials=())
    yet = draw.one((" yet", " already"))
    return sentence(english_question(first) + yet, "?"), sentence(german_question(second), "?")


_LOST_PLACES = paired(
    " = ;  = ; on the train = im Zug; on the bus = im Bus; at school = in der Schule; at the "
    "hotel = im Hotel; in the park = im Park; at the restaurant = im Restaurant; at home = zu "
    "Hause; at the station = am Bahnhof; in the car = im Auto; at the office = im Büro"
)


def _lost(draw, subject):
    """I lost my phone on the train. He has forgotten his bag."""
    noun = NOUN[draw.one(_PACKED)]
    need(not is_several(subject) or "pairs" in noun.tags)
    phrase = NounPhrase(noun, subject.owner)
    verb, tense = draw.one(
        (
            ("lose", "past"),
            ("forget", "past"),
            ("forget", "perfect"),
            ("lose", "perfect"),
            ("find", "past"),
        )
    )
    where, wo = draw.one(_LOST_PLACES)
    places = (Adverbial(where, wo, "place"),) if where else ()
    need(where != "at home" or verb in ("forget", "find"))
    clause = Clause(subject, VERB[verb], tense, (Complement(phrase),), places)
    english, german = both(clause)
    english = re.sub(r"^(I|You|We|They) have ", r"\1've ", english)
    return english, german


@pattern(275)
def must_and_can(draw):
    """I have to get up at six tomorrow. You should go to bed now. Can I take a shower?"""
    subject = _actor(draw)
    tense = draw.one(
        (
            "have to",
            "have to",
            "must",
            "should",
            "can",
            "want to",
            "want to",
            "need to",
            "would like to",
            "may",
        )
    )
    group = _group(
        draw, subject, without="u" if tense in ("want to", "would like to", "can") else ""
    )
    text = group.english.english + group.item
    need("wake" not in text)
    need(not re.search(_FUN, text + group.words[0]) or tense not in _DUTIES)
    need(not re.search(_CHORES, text + group.words[0]) or tense != "would like to")
    time = _time(draw, _COMING, group)
    times = (time,) if draw.chance(0.55) else ()
    kind = draw.one(("tell", "tell", "not", "ask"))
    need(time.english != "soon" or tense in ("have to", "want to", "must"))
    if tense == "may":
        kind = "ask"
    if kind == "ask":
        if tense in ("may", "should", "can", "have to", "must"):
            subject = draw.one((ICH, ICH, WIR))
        elif draw.chance(0.6):
            subject = DU
        need(subject is not ICH or tense not in ("want to", "need to", "would like to"))
        need(tense != "must")
        if not re.search("work|office", group.words[0]):
            group = _group(draw, subject, without="u")
            times = ()
        first, second = _acted(subject, group, tense, times, times)
        if tense == "should":
            second = replace(second, tense="must")
            first = replace(first, tense="should")
            german = german_question(replace(second, tense="present"))
            german = _should_question(subject, second)
            return sentence(english_question(first), "?"), sentence(german, "?")
        return sentence(english_question(first), "?"), sentence(german_question(second), "?")
    negated = kind == "not"
    need(not negated or (tense in ("can", "want to", "should") and "q" not in group.when))
    first, second = _acted(subject, group, tense, times, times, negated)
    return _pair_of(draw, first, second, time if times else None)


_DUTIES = ("have to", "must", "need to")
_FUN = (
    "beer|ice cream|tea|coffee|dance|sing|computer|beach|TV|movie|apple|sandwich|cards|soccer|swim"
)
_CHORES = "clean|tidy|dishes|wait|look for|boss|doctor|brush|feed|homework"


def _should_question(subject, clause):
    """A German question with "soll": "Soll ich das Fenster öffnen"."""
    text = german_question(replace(clause, tense="must"))
    _, rest = text.split(" ", 1)
    return f"{present('sollen', '', person_index(subject))} {rest}"


@pattern(240)
def will_do(draw):
    """I'll call my mother tomorrow. We're going to have dinner at a restaurant tonight."""
    subject = _actor(draw)
    group = _group(draw, subject)
    need("wake" not in group.english.english)
    time = _time(draw, _COMING, group)
    need(time.english not in ("now", "today") or draw.chance(0.4))
    times = (time,) if draw.chance(0.85) else ()
    negated = draw.chance(0.15)
    need(not negated or "q" not in group.when)
    first, second = _acted(subject, group, "will", times, times, negated)
    if draw.chance(0.2):
        if draw.chance(0.5):
            subject, group = DU, _group(draw, DU, "w")
            time = _time(draw, _COMING, group)
            first, second = _acted(subject, group, "will", (time,), (time,))
        need(subject not in (ICH, WIR) and not negated)
        are_you = f"{_BE[english_index(subject)]} {english_phrase(subject)}"
        question = f"{are_you} going to {english_infinitive(first)}"
        return sentence(question, "?"), sentence(german_question(second), "?")
    if draw.chance(0.5):
        be = _BE[english_index(subject)] + (" not" if negated else "")
        english = f"{english_phrase(subject)} {be} going to {english_infinitive(first)}"
        return sentence(english), sentence(german_main(second))
    return _pair_of(draw, first, second, time if times else None)


@pattern(165)
def do_you(draw):
    """Do you often watch TV? Did Anna go home? Does your brother play the guitar?"""
    subject, call = asked_about(draw)
    group = _group(draw, subject, without="u")
    kind = draw.one(("often", "time", "plain", "time"))
    english = german = ()
    if kind == "often":
        need("w" in group.when)
        english = german = (Adverbial(*draw.one(_HOW_OFTEN[:3]), "often"),)
    if kind == "time":
        english = german = (_time(draw, _HABITUAL, group),)
    need(
        kind != "plain"
        or re.match(
            "play|learn|exercise|swim|dance|sing|eat|drink|take photos", group.english.english
        )
    )
    first, second = _acted(subject, group, "present", english, german)
    return sentence(english_question(first) + call[0], "?"), sentence(
        german_question(second) + call[1], "?"
    )


# --- Questions -------------------------------------------------------------------------------

# question word in both languages ; tenses ; verb, English and German rest ; times
_ASKED = """
what was ; past will want ; do - - ; yesterday tonight today Saturday tomorrow last-weekend evening
what was ; past want will ; eat - - ; tonight today breakfast lunch yesterday
what was ; past want ; drink - - ; breakfast today
what was ; past want will ; buy - - ; yesterday today supermarket mother sister
what was ; past want will ; cook - - ; today tonight yesterday
what was ; prog past want ; read - - ; now today yesterday
what was ; present ; need - - ; breakfast none
where wo ; past want ; learn German Deutsch ; none
where wo ; present past ; work - - ; now last-year
where wo ; present past ; live - - ; now last-year
where wo ; past want will ; buy the-ticket die-Fahrkarte ; none
where wo ; past ; buy the-shoes die-Schuhe ; yesterday none
where wo ; past ; find the-key den-Schlüssel ; none
where wo ; past ; lose the-bag die-Tasche ; none
where wo ; past want will ; have-lunch - - ; today tomorrow yesterday
where wo ; past want will ; have-dinner - - ; tonight yesterday Saturday
where wo ; past want ; park the-car das-Auto ; none
where wohin ; prog past want will ; go - - ; today tomorrow Saturday so-late yesterday
where wohin ; prog past want will ; travel - - ; summer next-week
where wohin ; past ; go with-your-friends mit-deinen-Freunden ; yesterday last-weekend
when wann ; present past want will ; get-up - - ; tomorrow today Sundays morning
when wann ; present past want will ; go to-bed ins-Bett ; tonight yesterday evening
when wann ; prog past want will ; come home nach-Hause ; today tonight yesterday
when wann ; present want will ; have-breakfast - - ; Sundays tomorrow
when wann ; present past want will ; have-dinner - - ; tonight Sundays yesterday
when wann ; prog past want ; go to-the-doctor zum-Arzt ; none
when wann ; past want will ; visit your-grandparents deine-Großeltern ; none
when wann ; past want will ; do your-homework deine-Hausaufgaben ; none
how-long wie-lange ; past want will ; stay here hier ; none
how-long wie-lange ; past want will prog ; stay in-Berlin in-Berlin ; none
how-long wie-lange ; past want will ; wait - - ; today none
how-long wie-lange ; past ; sleep - - ; yesterday today
how-long wie-lange ; past present ; work - - ; today yesterday Mondays
how-often wie-oft ; present ; play tennis Tennis ; none
how-often wie-oft ; present ; call your-mother deine-Mutter ; none
how-often wie-oft ; present ; go to-the-movies ins-Kino ; none
how-often wie-oft ; present ; go-shopping - - ; none
how-often wie-oft ; present ; eat fish Fisch ; none
why warum ; prog past want ; learn German Deutsch ; none
why warum ; prog want past ; go home nach-Hause ; now so-early
why warum ; past prog ; stay at-home zu-Hause ; today yesterday
why warum ; past ; buy this-car dieses-Auto ; none
why warum ; past ; come home nach-Hause ; so-late
why warum ; want ; go to-bed ins-Bett ; now
who wen ; past want will ; call - - ; yesterday now tonight
who wen ; past want will ; visit - - ; Sunday yesterday summer tomorrow
who wen ; past want will ; invite - - ; Saturday none
who wen ; past want will ; meet - - ; tonight yesterday tomorrow
"""
_ASKED_TIMES = {
    "yesterday": ("yesterday", "gestern", "past"),
    "today": ("today", "heute", ""),
    "tonight": ("tonight", "heute Abend", "will want prog"),
    "tomorrow": ("tomorrow", "morgen", "will want prog"),
    "Saturday": ("on Saturday", "am Samstag", ""),
    "Sunday": ("on Sunday", "am Sonntag", ""),
    "last-weekend": ("last weekend", "letztes Wochenende", "past"),
    "evening": ("in the evening", "am Abend", "present"),
    "breakfast": ("for breakfast", "zum Frühstück", ""),
    "lunch": ("for lunch", "zum Mittagessen", ""),
    "now": ("now", "jetzt", "present prog want"),
    "last-year": ("last year", "letztes Jahr", "past"),
    "Sundays": ("on Sundays", "sonntags", "present"),
    "Mondays": ("on Mondays", "montags", "present"),
    "morning": ("in the morning", "am Morgen", "present"),
    "none": ("", "", ""),
    "summer": ("in the summer", "im Sommer", ""),
    "next-week": ("next week", "nächste Woche", "will want prog"),
    "so-late": ("so late", "so spät", "prog past"),
    "so-early": ("so early", "so früh", "prog past want"),
    "supermarket": ("at the supermarket", "im Supermarkt", "past"),
    "mother": ("for your mother", "für deine Mutter", "past"),
    "sister": ("for your sister", "für deine Schwester", "past will"),
}
_ASKED = [[field.split() for field in line.split(" ; ")] for line in _ASKED.strip().split("\n")]
_TENSES = {"past": "past", "present": "present", "prog": "progressive", "want": "want to"}


def _asked_about(draw):
    """Whom a question is about: mostly "you"."""
    if draw.chance(0.55):
        return DU
    return draw.one((ER, SIE, SIE_PLURAL, _first_name(draw), _relative(draw, _PEERS, (DU,))))


@pattern(300)
def asked_with_word(draw):
    """What did you do yesterday? Where is he going so late? When are you going to visit her?"""
    if draw.chance(0.3):
        return _short_question(draw)
    (word, wort), tenses, (verb, english, german), times = draw.one(_ASKED)
    tense = draw.one(tenses)
    time, zeit, suited = _ASKED_TIMES[draw.one(times)]
    need(not suited or tense in suited.split())
    subject = _asked_about(draw)
    english, german = (text.replace("-", " ").strip() for text in (english, german))
    if subject is not DU:
        need("your" not in time)
        english = english.replace("your", subject.owner.english_possessive)
        german = re.sub(r"\bdein(?=e)", subject.owner.possessive, german)
    clause = Clause(subject, _VERBS[verb.replace("-", " ")], _TENSES.get(tense, tense))
    first = replace(clause, predicate=(join([english, time]), ""))
    is_object = zeit.startswith(("so ", "für ", "zum "))
    timely = (Adverbial("", zeit, "time"),) if zeit and not is_object else ()
    nicht = ""
    if word == "why" and german and tense in ("past", "want") and draw.chance(0.4):
        need("dieses" not in german and not time)
        nicht, first = "nicht", replace(first, negated=True)
    rest = join([nicht, zeit if is_object else "", german])
    second = replace(clause, adverbials=timely, predicate=("", rest))
    asking, fragend = word.replace("-", " "), wort.replace("-", " ")
    frage = sentence(german_question(second, fragend), "?")
    if tense == "will":
        going = f"{_BE[english_index(subject)]} {english_phrase(subject)} going to"
        return sentence(f"{asking} {going} {english_infinitive(first)}", "?"), frage
    return sentence(english_question(first, asking), "?"), frage


_WHICH = paired(
    "which bus goes to the center = welcher Bus fährt ins Zentrum; which bus goes to the airport "
    "= welcher Bus fährt zum Flughafen; which train goes to Munich = welcher Zug fährt nach "
    "München; which train goes to Cologne = welcher Zug fährt nach Köln; which bus goes to the "
    "train station = welcher Bus fährt zum Bahnhof; which tram goes to the university = welche "
    "Straßenbahn fährt zur Universität; which tram goes to the center = welche Straßenbahn fährt "
    "ins Zentrum; which color do you like = welche Farbe magst du; which book are you reading = "
    "welches Buch liest du; which languages do you speak = welche Sprachen sprichst du; which "
    "bus do I have to take = welchen Bus muss ich nehmen; which train are you taking = welchen "
    "Zug nimmst du; which jacket do you like better, the red one or the blue one = welche Jacke "
    "magst du lieber, die rote oder die blaue; which color does she like better, blue or white = "
    "welche Farbe mag sie lieber, Blau oder Weiß; which color do you like better, black or brown "
    "= welche Farbe magst du lieber, Schwarz oder Braun; which movie did you see = welchen Film "
    "hast du gesehen; which day is it today = welcher Tag ist heute; which restaurant is better "
    "= welches Restaurant ist besser; which hotel is cheaper = welches Hotel ist billiger; which "
    "color is your car = welche Farbe hat dein Auto; which color is her dress = welche Farbe hat "
    "ihr Kleid; which color are your shoes = welche Farbe haben deine Schuhe"
)
_WHO_IS = paired(
    "the man with the hat = der Mann mit dem Hut; the woman with the dog = die Frau mit dem "
    "Hund; the boy with the ball = der Junge mit dem Ball; the girl with the red dress = das "
    "Mädchen mit dem roten Kleid; the man in the garden = der Mann im Garten; the woman in the "
    "car = die Frau im Auto; the girl with the long hair = das Mädchen mit den langen Haaren; "
    "the man with the black coat = der Mann mit dem schwarzen Mantel; the woman with the blue "
    "bag = die Frau mit der blauen Tasche; the boy next to Anna = der Junge neben Anna; the "
    "woman behind you = die Frau hinter dir; the man at the door = der Mann an der Tür; the girl "
    "on the bike = das Mädchen auf dem Fahrrad; the man next to your sister = der Mann neben "
    "deiner Schwester; the woman with the children = die Frau mit den Kindern"
)
_KNOWN_AS = paired(
    "my boss = mein Chef = m; my teacher = mein Lehrer = m; my uncle = mein Onkel = m; my aunt = "
    "meine Tante = f; my mother = meine Mutter = f; my neighbor = mein Nachbar = m; my sister = "
    "meine Schwester = fg; my brother = mein Bruder = mb; very friendly = sehr freundlich = mfgb; "
    "very tall = sehr groß = mfgb; our doctor = unser Arzt = m; Tom's father = Toms Vater = m; "
    "Anna's sister = Annas Schwester = fg; very funny = sehr lustig = mfgb"
)
_LETTER_OF = {"man": "m", "woman": "f", "girl": "g", "boy": "b"}


def _short_question(draw):
    """Which bus goes to the center? Who is the man with the hat? When's Tom's birthday?"""
    kind = draw.one(("which", "which", "who", "who", "is", "birthday", "color"))
    if kind == "which":
        english, german = draw.one(_WHICH)
        return sentence(english, "?"), sentence(german, "?")
    if kind == "who":
        who, wer = draw.one(_WHO_IS)
        return sentence(f"who is {who}", "?"), sentence(f"wer ist {wer}", "?")
    if kind == "is":
        (who, wer), (known, bekannt, letters) = draw.one(_WHO_IS), draw.one(_KNOWN_AS)
        need(_LETTER_OF[who.split()[1]] in letters)
        need("you" not in who and not ("Anna" in who and "Anna" in known))
        return sentence(f"{who} is {known}"), sentence(f"{wer} ist {bekannt}")
    if kind == "birthday":
        who = draw.one((_first_name(draw), _relative(draw, _PEERS, (DU,), 0), ER, SIE))
        is_pronoun = isinstance(who, Pronoun)
        need(is_pronoun or not (who.plural or english_phrase(who).endswith(("s", "x"))))
        owner = who.english_possessive if is_pronoun else f"{english_phrase(who)}'s"
        return (
            sentence(f"when is {owner} birthday", "?"),
            sentence(f"wann hat {german_phrase(who, 'nom')} Geburtstag", "?"),
        )
    noun = NOUN[draw.one(listed("car; coat; bike; bag; jacket; umbrella; sweater"))]
    phrase = NounPhrase(noun, draw.one((DU, ER, SIE)))
    return (
        sentence(f"{draw.one(('what', 'which'))} color is {english_phrase(phrase)}", "?"),
        sentence(f"welche Farbe hat {german_phrase(phrase, 'nom')}", "?"),
    )


# --- Open and closed, from when to when ------------------------------------------------------

_SHOPS = listed(
    "bank; store; museum; supermarket; pharmacy; library; restaurant; café; post office; bakery; "
    "swimming pool; market; office; bookstore"
)
_OPEN_TIMES = paired(
    "today = heute; tomorrow = morgen; on Sundays = sonntags; on Mondays = montags; on Saturdays "
    "= samstags; now = jetzt; on Sunday = am Sonntag; on the weekend = am Wochenende; in the "
    "evening = am Abend; every day = jeden Tag; at noon = am Mittag; this afternoon = heute "
    "Nachmittag"
)
_DAYS = paired(
    "Monday = Montag; Tuesday = Dienstag; Wednesday = Mittwoch; Thursday = Donnerstag; "
    "Friday = Freitag; Saturday = Samstag; Sunday = Sonntag"
)
_SPENT = paired(
    "work =  = ; work =  = ; work = at the office = im Büro; learn = German = Deutsch; "
    "be = at school = in der Schule; be = at work = bei der Arbeit; work = at home = zu Hause"
)


def _hours(draw):
    """A span of the day or week: ("from eight to four", "von acht bis vier")."""
    if draw.chance(0.25):
        first = draw.random.randrange(4)
        last = first + 2 + draw.random.randrange(5 - first)
        (day, tag), (last_day, letzter) = _DAYS[first], _DAYS[last]
        return f"from {day} to {last_day}", f"von {tag} bis {letzter}"
    first, erste = NUMBERS[6 + draw.random.randrange(5)]
    last, letzte = NUMBERS[draw.random.randrange(8)]
    need(first != last and (first, last) != ("nine", "five"))
    return f"from {first} to {last}", f"von {erste} bis {'eins' if letzte == 'ein' else letzte}"


@pattern(170)
def open_hours(draw):
    """The bank is open from eight to four. The museum is closed on Mondays. Is it open yet?"""
    if draw.chance(0.3):
        (verb, where, wo), (span, zeitraum) = draw.one(_SPENT), _hours(draw)
        need(verb != "learn" or "day" not in span)
        tense = draw.one(("present", "present", "past", "have to"))
        clause = Clause(_who(draw, _FAMILY), VERB[verb], tense)
        first = replace(clause, predicate=(join([where, span]), ""))
        return (
            sentence(english_main(first)),
            sentence(german_main(replace(clause, predicate=("", join([zeitraum, wo]))))),
        )
    shop = NounPhrase(NOUN[draw.one(_SHOPS)])
    state, zustand = draw.one(paired("open = geöffnet; open = geöffnet; closed = geschlossen"))
    time, zeit = draw.one(_OPEN_TIMES)
    kind = draw.one(("time", "time", "hours", "yet", "ask", "still", "not"))
    need(state == "open" or kind in ("time", "ask"))
    need(kind != "yet" or shop.noun.english != "bank")
    still, little = "", ""
    if kind == "hours":
        time, zeit = _hours(draw)
    elif kind == "yet":
        time, zeit, little = "yet", "", "noch nicht"
    elif kind == "still":
        time, zeit, still, little = "", "", "still", "noch"
    elif kind == "not":
        little = "nicht"
    negated = kind in ("yet", "not")
    first = _is(shop, join([still, state, time]), "", negated)
    second = _is(shop, "", join([zeit, little, zustand]))
    if kind == "ask" or (kind == "still" and draw.chance(0.5)):
        return sentence(english_question(first), "?"), sentence(german_question(second), "?")
    return _short(draw, (sentence(english_main(first)), sentence(german_main(second))))


# --- Comparisons -----------------------------------------------------------------------------

_COMPARED = {
    "car bike phone": "cheap expensive good big new old",
    "jacket hotel restaurant": "cheap expensive good big",
    "room apartment kitchen house": "big small nice old expensive",
    "book movie": "good interesting long boring",
    "coat sweater": "warm cheap nice big expensive",
    "bag suitcase table": "cheap nice big small expensive",
    "train bus": "fast slow cheap expensive",
    "shoe": "cheap expensive nice good",
}
_COMPARED = [
    (noun, quality)
    for nouns, qualities in _COMPARED.items()
    for noun in nouns.split()
    for quality in qualities.split()
]
_TALLER = listed("tall; old; young; smart; friendly; strong")
_NEAR_ONES = listed("brother; sister; mother; father; friend; cousin; son; daughter; husband; wife")
_LIKED = (
    listed("tea; coffee; milk; juice; water"),
    listed("beer; wine; water"),
    listed("bread; rice; pasta; potato"),
    listed("meat; fish; cheese; vegetables; chicken"),
    listed("cake; chocolate; ice cream; cookie"),
    listed("apple; banana; pear; cherry"),
    listed("dog; cat; horse"),
)
_LIKED_NAMES = (
    paired("Munich = München; Berlin = Berlin; Hamburg = Hamburg; Vienna = Wien"),
    paired("summer = den Sommer; winter = den Winter; spring = den Frühling"),
    paired("soccer = Fußball; tennis = Tennis; basketball = Basketball"),
    paired("English = Englisch; German = Deutsch; French = Französisch"),
)
_SEVERAL_LIKED = listed("potato; cookie; apple; banana; pear; cherry; dog; cat; horse")


@pattern(300)
def more_than(draw):
    """This car is cheaper. My brother is taller than me. She is as old as my sister."""
    kinds = (_more_of_people, _more_of_people, _more_of_things, _more_of_things, _superlative)
    return draw.one((*kinds, _liked_better, _liked_better, _warmer))(draw)


def _more_of_people(draw):
    """My brother is taller than me. She isn't as old as my sister."""
    owners = (ICH, ICH, ER, SIE)
    who = draw.one((ICH, ER, SIE, _first_name(draw), _relative(draw, _NEAR_ONES, owners, 0)))
    other = draw.one((ICH, DU, ER, SIE, _first_name(draw), _relative(draw, _NEAR_ONES, owners, 0)))
    need(who != other and not (who in (ER, SIE) and other in (ER, SIE)))
    if isinstance(who, NounPhrase):
        need(isinstance(other, Pronoun) or (who.noun is not other.noun and who.det == other.det))
        need(other is who.det or other not in (ER, SIE))
        need(other is not who.det or who.noun.english not in ("son", "daughter"))
    elif isinstance(other, NounPhrase):
        need(other.det in ("bare", who.owner, ICH))
    quality = _ADJECTIVE[draw.one(_TALLER)]
    than, als = english_phrase(other, as_object=True), german_phrase(other, "nom")
    if draw.chance(0.6):
        more = f"{quality.english_comparative} than {than}"
        need(more != "taller than me" or "brother" not in english_phrase(who))
        clause = _is(who, more, f"{quality.comparative} als {als}")
        return _short(draw, both(clause), 0.3)
    negated = draw.chance(0.4)
    if isinstance(other, Pronoun) and draw.chance(0.6):
        than = f"{other.english} {_BE[english_index(other)]}"
    equal = f"as {quality.english} as {than}", f"so {quality.german} wie {als}"
    return _short(draw, both(_is(who, *equal, negated)))


_WANTING = (
    ("need", "present", ICH),
    ("have", "present", DU),
    ("buy", "want to", WIR),
    ("need", "present", WIR),
    ("look for", "progressive", ICH),
    ("need", "present", SIE),
)
_COLORED = listed("car; bike; jacket; bag; coat; sweater; shoe; suitcase")


def _more_of_things(draw):
    """This car is cheaper. The red bag is bigger than the blue one. I need a bigger table."""
    english, quality = draw.one(_COMPARED)
    quality = _ADJECTIVE[quality]
    more, mehr = quality.english_comparative, quality.comparative
    which = NounPhrase(NOUN[english], draw.one(("this", "this", "def", ICH, DU)))
    kind = draw.one(("plain", "ones", "wanted", "mine"))
    if kind == "ones":
        need(english in _COLORED and quality.english not in ("new", "old"))
        color, other = _ADJECTIVE[draw.one(_COLORS)], _ADJECTIVE[draw.one(_COLORS)]
        need(color is not other)
        which = replace(which, det="def", adjective=color)
        one = "ones" if which.plural else "one"
        rest = german_phrase(replace(which, adjective=other), "nom").rsplit(" ", 1)[0]
        more = f"{more} than the {other.english} {one}"
        return both(_is(which, more, f"{mehr} als {rest}"))
    if kind == "wanted":
        need(english not in ("train", "bus", "kitchen", "hotel", "restaurant", "movie"))
        need(quality.english not in ("boring", "expensive", "old", "slow", "long"))
        verb, tense, subject = draw.one(_WANTING)
        adjective = Adjective(more, "", "", mehr, "", "")
        phrase = NounPhrase(which.noun, "indef", adjective)
        clause = Clause(subject, VERB[verb], tense, (Complement(phrase),))
        return asked(clause) if subject is DU else both(clause)
    if kind == "plain":
        return _short(draw, both(_is(which, more, mehr)))
    whose, owner = draw.one((("mine", ICH), ("yours", DU), ("his", ER), ("hers", SIE)))
    need(owner is not which.det)
    need(english not in ("hotel", "restaurant", "train", "bus", "movie"))
    alone = _standing_alone(owner, which.gender)
    return both(_is(which, f"{more} than {whose}", f"{mehr} als {alone}"))


def _liked_better(draw):
    """I like tea better than coffee. Do you like summer better than winter?"""
    if draw.chance(0.3):
        names = draw.one(_LIKED_NAMES)
        first, second = draw.one(names), draw.one(names)
    else:
        nouns = draw.one(_LIKED)
        first, second = _liked(draw.one(nouns)), _liked(draw.one(nouns))
    need(first != second)
    relative = _relative(draw, _FAMILY, (ICH,), 0)
    subject = draw.one((ICH, ICH, ER, SIE, WIR, _first_name(draw), relative))
    texts = f"{first[0]} better than {second[0]}", f"{first[1]} lieber als {second[1]}"
    need(subject is not ICH or texts[0] != "tea better than coffee")
    if draw.chance(0.15):
        return asked(told(DU, "like", *texts))
    return both(told(subject, "like", *texts))


def _liked(english):
    phrase = NounPhrase(NOUN[english], "bare", plural=english in _SEVERAL_LIKED)
    return english_phrase(phrase), german_phrase(phrase, "acc")


_BEST_OF = (
    ("church", "big old", "in the village", "im Dorf"),
    ("hotel", "good expensive cheap", "in the city", "in der Stadt"),
    ("restaurant", "good cheap expensive", "in Munich", "in München"),
    ("museum", "big old", "in Berlin", "in Berlin"),
    ("room", "big small", "in the house", "im Haus"),
    ("park", "big beautiful", "in Vienna", "in Wien"),
    ("river", "long", "in Germany", "in Deutschland"),
    ("mountain", "high", "in Austria", "in Österreich"),
    ("boy", "tall old", "in the class", "in der Klasse"),
    ("girl", "young small", "in the class", "in der Klasse"),
    ("café", "good nice", "on this street", "in dieser Straße"),
    ("bridge", "old long", "in the city", "in der Stadt"),
    ("store", "cheap big", "in the village", "im Dorf"),
    ("house", "old small", "on this street", "in dieser Straße"),
    ("student", "good", "in the class", "in der Klasse"),
    ("castle", "old big", "in Germany", "in Deutschland"),
)


def _superlative(draw):
    """The oldest house on this street: what is the most of its kind."""
    english, qualities, where, wo = draw.one(_BEST_OF)
    quality = _ADJECTIVE[draw.one(qualities.split())]
    most = Adjective(quality.english_superlative, "", "", quality.superlative, "", "")
    phrase = NounPhrase(NOUN[english], "def", most)
    texts = f"{english_phrase(phrase)} {where}", f"{german_phrase(phrase, 'nom')} {wo}"
    is_person = "person" in phrase.noun.tags
    if draw.chance(0.4):
        asking = ("who is", "wer ist")
        if not is_person:
            asking = draw.one((("where is", "wo ist"), ("what is", "was ist")))
        return sentence(f"{asking[0]} {texts[0]}", "?"), sentence(f"{asking[1]} {texts[1]}", "?")
    if is_person:
        who = _first_name(draw)
        need((who.noun.gender == "f") == (english == "girl"))
        return both(_is(who, *texts))
    return sentence(f"{draw.one(('this', 'that'))} is {texts[0]}"), sentence(f"das ist {texts[1]}")


_WARMER = paired("warmer = wärmer; colder = kälter; hotter = heißer; cooler = kühler")
_THAN_WHEN = paired(
    "yesterday = gestern; on Sunday = am Sonntag; last week = letzte Woche; in April = im April"
)


def _warmer(draw):
    """It's colder today than last week. It is colder in Berlin than in Rome."""
    word, wort = draw.one(_WARMER)
    if draw.chance(0.5):
        when, wann = draw.one(_THAN_WHEN)
        need(word != "warmer" or when != "yesterday")
        return sentence(f"it is {word} today than {when}"), sentence(
            f"es ist heute {wort} als {wann}"
        )
    (city, stadt), (other, andere) = draw.one(CITIES), draw.one(CITIES)
    need(city != other)
    today, heute = draw.one(((" today", "heute "), ("", "")))
    return (
        sentence(f"it is {word} in {city} than in {other}{today}"),
        sentence(f"es ist {heute}in {stadt} {wort} als in {andere}"),
    )


# --- Commands --------------------------------------------------------------------------------

# verb ; object ; English rest ; German rest : who is told so (c children only, a adults too)
_TOLD = """
close ; d door ; - ; - ; a
close ; d window ; - ; - ; a
open ; d window ; - ; - ; a
open ; d door ; - ; - ; a
turn on ; d light ; - ; - ; a
turn off ; d light ; - ; - ; a
turn off ; d television ; - ; - ; c
sit down ; - ; - ; - ; a
sit down ; - ; next to me ; neben mich ; a
sit down ; - ; on the chair ; auf den Stuhl ; a
come ; - ; here ; her ; a
come ; - ; with me ; mit mir ; a
come ; - ; to the table ; an den Tisch ; c
come ; - ; into the kitchen ; in die Küche ; c
come ; - ; home ; nach Hause ; c
be ; - ; quiet ; ruhig ; c
be ; - ; careful ; vorsichtig ; a
be ; - ; punctual ; pünktlich ; a
wait ; - ; for me ; auf mich ; a
wait ; - ; for us ; auf uns ; a
wait ; - ; here ; hier ; a
wait ; - ; at the bus stop ; an der Bushaltestelle ; a
wait ; - ; in the car ; im Auto ; c
wait ; - ; for me in front of the school ; vor der Schule auf mich ; a
wait ; - ; for us in front of the hotel ; vor dem Hotel auf uns ; a
wait ; - ; for me at the train station ; am Bahnhof auf mich ; a
help ; D ICH ; - ; - ; a
help ; D p mother ; - ; - ; c
help ; D p brother ; - ; - ; c
call ; A ICH ; tomorrow ; morgen ; a
call ; A ICH ; tonight ; heute Abend ; a
call ; p mother ; - ; - ; c
ask ; d teacher ; - ; - ; c
ask ; p mother ; - ; - ; c
go ; - ; home ; nach Hause ; a
go ; - ; to bed ; ins Bett ; c
go ; - ; into the garden ; in den Garten ; c
go ; - ; to the doctor ; zum Arzt ; a
get up ; - ; - ; - ; c
put on ; p jacket ; - ; - ; c
put on ; p shoe ; - ; - ; c
put on ; p coat ; - ; - ; c
put on ; p cap ; - ; - ; c
take off ; p shoe ; - ; - ; c
take off ; p coat ; - ; - ; a
do ; p homework ; - ; - ; c
tidy ; p room ; - ; - ; c
clean ; p room ; - ; - ; c
feed ; d dog ; - ; - ; c
feed ; d cat ; - ; - ; c
learn ; d word ; - ; - ; c
read ; d story ; - ; - ; c
eat ; d soup ; - ; - ; c
drink ; p milk ; - ; - ; c
eat ; p vegetables ; - ; - ; c
buy ; n bread ; - ; - ; a
buy ; n milk ; at the supermarket ; im Supermarkt ; a
take ; d bus ; - ; - ; a
take ; d umbrella ; - ; - ; a
write ; - ; me an email ; mir eine E-Mail ; a
write ; - ; me a letter ; mir einen Brief ; a
give ; - ; me the book ; mir das Buch ; a
give ; - ; me your bag ; mir {p.f} Tasche ; a
give ; - ; me the key ; mir den Schlüssel ; a
give ; - ; the dog some meat ; dem Hund etwas Fleisch ; c
give ; - ; the cat some water ; der Katze etwas Wasser ; c
give ; - ; the children some juice ; den Kindern etwas Saft ; a
give ; - ; the cat some milk ; der Katze etwas Milch ; c
bring ; - ; me a glass of water ; mir ein Glas Wasser ; a
show ; - ; me the photo ; mir das Foto ; a
speak ; - ; slowly ; langsam ; a
speak ; - ; German with me ; Deutsch mit mir ; a
stay ; - ; here ; hier ; a
stay ; - ; at home ; zu Hause ; a
stay ; - ; in bed ; im Bett ; a
put>set ; - ; the milk in the refrigerator ; die Milch in den Kühlschrank ; c
put>set ; - ; the glasses on the table ; die Gläser auf den Tisch ; a
put ; - ; the book on the table ; das Buch auf den Tisch ; a
put ; - ; the keys on the table ; die Schlüssel auf den Tisch ; a
put>set ; - ; the bottle next to the plate ; die Flasche neben den Teller ; a
"""
_TOLD = [[field.strip() for field in line.split(" ; ")] for line in _TOLD.strip().split("\n")]


def _told_clause(subject, row):
    """The English and the German clause of a command."""
    verb, item, english, german, _ = row
    first, _, second = verb.partition(">")
    items = ()
    if item != "-":
        case = "dat" if item.startswith("D ") else "acc"
        item = item.removeprefix("D ").removeprefix("A ")
        if item == "ICH":
            phrase = ICH
        else:
            letter, _, noun = item.partition(" ")
            det = {"d": "def", "n": "bare", "p": subject}[letter]
            several = subject is IHR and noun in ("jacket", "coat", "cap", "room")
            phrase = NounPhrase(NOUN[noun], det, plural=several or noun in ("hand", "word"))
        items = (Complement(phrase, case),)
    english, german = ("" if text == "-" else text for text in (english, german))
    german = german.replace("{p.f}", determiner(subject, "f", "acc"))
    return (
        Clause(subject, _VERBS[first], "present", items, predicate=(english, "")),
        Clause(subject, _VERBS[second or first], "present", items, predicate=("", german)),
    )


@pattern(260)
def commands(draw):
    """Close the door and sit down. Wait for me in front of the hotel, please. Come here, Anna!"""
    pronoun, *call = addressee(draw)
    if pronoun is not DU and draw.chance(0.4):
        pronoun, call = DU, ["", ""]
    row = draw.one(_TOLD)
    need(row[4] == "a" or pronoun is not SIE_POLITE)
    first, second = _told_clause(pronoun, row)
    english, german = english_infinitive(first), german_command(second)
    kind = draw.one(("plain", "please", "before", "and", "now"))
    if kind == "and":
        other = draw.one(_TOLD)
        need(other[4] == "a" or pronoun is not SIE_POLITE)
        need(other[0] != row[0] and other[1] != row[1] and row[0] not in ("be", "wait", "stay"))
        need((row[0], other[0]) in _IN_A_ROW)
        more, mehr = _told_clause(pronoun, other)
        english = f"{english} and {english_infinitive(more)}"
        german = f"{german} und {german_command(mehr)}"
    elif kind == "please":
        need(not call[0])
        bitte = replace(second, adverbials=(Adverbial("", "bitte", "time"),))
        english, german = f"{english}, please", german_command(bitte)
    elif kind == "before":
        english, german = f"please {english}", f"bitte {german}"
    elif kind == "now":
        need(row[0] in ("go", "get up", "put on", "close", "do", "tidy", "feed", "sit down"))
        jetzt = replace(second, adverbials=(Adverbial("", "jetzt", "time"),))
        english, german = f"{english} now", german_command(jetzt)
    mark = draw.one((".", "!"))
    return sentence(english + call[0], mark), sentence(german + call[1], mark)


_IN_A_ROW = {
    (first, second)
    for first, seconds in (
        ("close", "sit down help come"),
        ("open", "come sit down"),
        ("come", "help sit down eat drink"),
        ("get up", "wash put on help come close open"),
        ("take off", "sit down come wash"),
        ("put on", "come go wait"),
        ("wash", "come go sit down"),
        ("go", "help buy wash do call"),
        ("turn off", "come go close"),
        ("sit down", "read eat drink wait do learn"),
        ("do", "feed help go"),
        ("tidy", "help come do"),
        ("buy", "come"),
        ("take", "come"),
        ("turn on", "read close"),
        ("feed", "do come"),
    )
    for second in re.findall("sit down|put on|take off|get up|turn off|turn on|\\w+", seconds)
}


# --- Trips and meetings ----------------------------------------------------------------------

_DAYTIMES = paired(
    "in the morning = morgens = 5; in the evening = abends = 4; in the afternoon = nachmittags = 1"
)
_PARTS = paired(
    "morning = morgen; afternoon = nachmittag; evening = abend; evening = abend; morning = morgen"
)


def _day_part(draw):
    """A part of a day: ("on Sunday morning", "am Sonntagmorgen")."""
    (day, tag), (part, teil) = draw.one(_DAYS), draw.one(_PARTS)
    return f"on {day} {part}", f"am {tag}{teil}"


def _some_day(draw, past=False):
    """A day: "on Sunday morning", "next Friday", "tomorrow"."""
    if draw.chance(0.4):
        return _day_part(draw)
    day, tag = draw.one(_DAYS)
    if past:
        return draw.one(
            (
                (f"last {day}", f"letzten {tag}"),
                (f"on {day}", f"am {tag}"),
                ("yesterday", "gestern"),
                ("last week", "letzte Woche"),
            )
        )
    return draw.one(
        (
            (f"next {day}", f"nächsten {tag}"),
            (f"on {day}", f"am {tag}"),
            ("tomorrow", "morgen"),
            ("today", "heute"),
        )
    )


def _hour_of_day(draw):
    """An hour: ("at six in the evening", "um sechs Uhr abends")."""
    if draw.chance(0.5):
        (part, teil, first), hour = draw.one(_DAYTIMES), draw.random.randrange(5)
        number, zahl = NUMBERS[int(first) + hour - (0 if part != "in the afternoon" else 1)]
        return f"at {number} {part}", f"um {zahl} Uhr {teil}"
    number, zahl = draw.one(NUMBERS[:12])
    kind = draw.one(("o'clock", "half", "bare"))
    if kind == "half":
        following = NUMBERS[(NUMBERS.index((number, zahl)) + 1) % 12][1]
        return f"at half past {number}", f"um halb {'eins' if following == 'ein' else following}"
    if kind == "bare":
        return f"at {number}", f"um {'eins' if zahl == 'ein' else zahl}"
    return f"at {number} o'clock", f"um {zahl} Uhr"


_DRIVEN = paired(
    "by bus = mit dem Bus; by train = mit dem Zug; by car = mit dem Auto; by plane = mit dem "
    "Flugzeug"
)
_MET_AT = paired(
    "in the park = im Park; at the café = im Café; at the train station = am Bahnhof; at the bus "
    "stop = an der Bushaltestelle; in the city = in der Stadt; in front of the school = vor der "
    "Schule; in front of the movie theater = vor dem Kino; at the restaurant = im Restaurant; at "
    "the library = in der Bibliothek; at the airport = am Flughafen; at the supermarket = im "
    "Supermarkt"
)
_LINES = paired("train = der Zug; bus = der Bus; plane = das Flugzeug; train = der Zug")
_LINE_ENDS = paired(
    "the bus to the airport = der Bus zum Flughafen; the bus to the train station = der Bus zum "
    "Bahnhof; the train to the airport = der Zug zum Flughafen; the bus to the center = der Bus "
    "ins Zentrum; the bus to the beach = der Bus zum Strand; my train = mein Zug; our bus = "
    "unser Bus; your train = dein Zug; the next bus = der nächste Bus; the last train = der "
    "letzte Zug"
)


@pattern(275)
def trips(draw):
    """The train to Cologne leaves at six in the evening. We're going to Rome by train."""
    kind = draw.one(("line", "line", "go", "go", "meet", "meet", "saw", "work", "fly", "wait"))
    (city, stadt), (other, andere) = draw.one(CITIES), draw.one(CITIES)
    need(city != other)
    if kind == "line":
        vehicle, wagen = draw.one(_LINES)
        line, linie = f"the {vehicle} to {city}", f"{wagen} nach {stadt}"
        verb, tun = draw.one(paired("leaves = fährt|ab; leaves = fährt|ab; arrives = kommt|an"))
        if verb == "arrives":
            line, linie = f"the {vehicle} from {city}", f"{wagen} aus {stadt}"
        if draw.chance(0.5):
            line, linie = draw.one(_LINE_ENDS)
            need(verb == "leaves" or " to " not in line)
        plane = "plane" in line
        hour, stunde = (
            _hour_of_day(draw)
            if draw.chance(0.7)
            else draw.one(
                (
                    ("in ten minutes", "in zehn Minuten"),
                    ("in five minutes", "in fünf Minuten"),
                    ("in half an hour", "in einer halben Stunde"),
                    ("every ten minutes", "alle zehn Minuten"),
                    ("every hour", "jede Stunde"),
                    ("soon", "bald"),
                    ("in an hour", "in einer Stunde"),
                    ("at noon", "am Mittag"),
                )
            )
        )
        need(not plane or "every" not in hour)
        tun = "fliegt|ab" if plane and verb == "leaves" else tun
        need(verb == "leaves" or not ("every" in hour or "next" in line))
        before, after = tun.split("|")
        if draw.chance(0.2):
            do = verb.removesuffix("s")
            return sentence(f"when does {line} {do}", "?"), sentence(
                f"wann {before} {linie} {after}", "?"
            )
        return sentence(f"{line} {verb} {hour}"), sentence(f"{linie} {before} {stunde} {after}")
    subject = _who(draw)
    day, tag = _some_day(draw, past=kind == "saw")
    if kind in ("go", "fly"):
        how, womit = draw.one(_DRIVEN[:3])
        tense = draw.one(("progressive", "progressive", "past", "want to", "will"))
        if tense == "past":
            day, tag = _some_day(draw, past=True)
        if kind == "fly":
            english = f"from {city} to {other}" if draw.chance(0.5) else f"to {other}"
            german = (
                f"von {stadt} nach {andere}" if english.startswith("from") else f"nach {andere}"
            )
            verbs = VERB["fly"], VERB["fly"]
        else:
            english, german = f"to {city} {how}", f"{womit} nach {stadt}"
            verbs = VERB["go"], VERB["drive"]
            need(city not in ("New York",))
        clause = Clause(subject, verbs[0], tense)
        first = replace(clause, predicate=(join([english, day]), ""))
        second = replace(
            clause, verb=verbs[1], adverbials=(Adverbial("", tag, "time"),), predicate=("", german)
        )
        if draw.chance(0.15):
            first, second = replace(first, subject=DU), replace(second, subject=DU)
            return sentence(english_question(first), "?"), sentence(german_question(second), "?")
        return sentence(english_main(first)), sentence(german_main(second))
    (where, wo), (hour, stunde) = draw.one(_MET_AT), _hour_of_day(draw)
    if kind == "meet":
        whom = draw.one((_first_name(draw), _relative(draw, _PEERS, (subject.owner,), 0.4)))
        need(not isinstance(subject, NounPhrase) or subject.noun is not whom.noun)
        tense = draw.one(("progressive", "progressive", "will", "past"))
        times = ((hour, stunde),) if tense != "past" else (_some_day(draw, past=True),)
        if tense != "past" and draw.chance(0.3):
            times = ((hour, stunde), (day, tag))
            need("in the" not in hour or " " not in day.removeprefix("on ").removeprefix("next "))
        english = join([where, *(time for time, _ in times)])
        clause = Clause(subject, VERB["meet"], tense, (Complement(whom),))
        first = replace(clause, predicate=(english, ""))
        zeiten = join([zeit for _, zeit in times[::-1]])
        return sentence(english_main(first)), sentence(german_main(_met(clause, whom, zeiten, wo)))
    if kind == "saw":
        whom = draw.one((_first_name(draw), _relative(draw, _PEERS, (DU, ICH), 0), DU, ER, SIE))
        need(whom is not subject and not (whom in (ER, SIE, DU) and subject in (ER, SIE, DU)))
        need(not isinstance(whom, NounPhrase) or (whom.noun != getattr(subject, "noun", None)))
        need(getattr(whom, "det", None) is not subject and not isinstance(subject, NounPhrase))
        need(subject is not DU or getattr(whom, "det", None) is not ICH)
        clause = Clause(subject, VERB["see"], "past", (Complement(whom),))
        first = replace(clause, predicate=(f"{where} {day}", ""))
        return sentence(english_main(first)), sentence(german_main(_met(clause, whom, tag, wo)))
    if kind == "wait":
        whom, wen = draw.one((("you", "dich"), ("you", "dich"), ("him", "ihn"), ("her", "sie")))
        subject = draw.one((ICH, ICH, WIR))
        clause = Clause(subject, VERB["wait"], draw.one(("will", "will", "progressive")))
        time = f" {hour}" if clause.tense == "will" else ""
        first = replace(clause, predicate=(f"for {whom} {where}{time}", ""))
        timely = (Adverbial("", stunde, "time"),) if time else ()
        second = replace(clause, adverbials=timely, predicate=("", f"{wo} auf {wen}"))
        return sentence(english_main(first)), sentence(german_main(second))
    place, ort = draw.one(
        (
            ("at a hotel", "in einem Hotel"),
            ("at a school", "in einer Schule"),
            ("at a restaurant", "in einem Restaurant"),
            ("in an office", "in einem Büro"),
            ("at a bank", "bei einer Bank"),
            ("at a hospital", "in einem Krankenhaus"),
        )
    )
    need(place != "at a hotel" or city != "Munich")
    time, zeit = draw.one(
        (
            ("in the summer", "im Sommer"),
            ("", ""),
            ("on the weekend", "am Wochenende"),
            ("every day", "jeden Tag"),
            ("on Mondays", "montags"),
        )
    )
    clause = Clause(subject, VERB["work"], draw.one(("present", "present", "past")))
    need(clause.tense == "present" or time in ("", "in the summer"))
    first = replace(clause, predicate=(join([place, f"in {city}", time]), ""))
    timely = (Adverbial("", zeit, "time"),) if zeit else ()
    second = replace(clause, adverbials=timely, predicate=("", f"{ort} in {stadt}"))
    return sentence(english_main(first)), sentence(german_main(second))


def _met(clause, whom, when, where):
    """The German clause that somebody is met; the time stands behind a name or pronoun."""
    if isinstance(whom, Pronoun) or "name" in whom.noun.tags:
        return replace(clause, predicate=("", f"{when} {where}"))
    return replace(clause, adverbials=(Adverbial("", when, "time"),), predicate=("", where))


_MEETINGS = paired(
    "the meeting = die Besprechung; the course = der Kurs; the movie = der Film; the concert = "
    "das Konzert; the party = das Fest; the exam = die Prüfung; the test = der Test; the lesson "
    "= der Unterricht; the game = das Spiel; work = die Arbeit"
)
_IN_TIME = paired(
    "in ten minutes = in zehn Minuten; in five minutes = in fünf Minuten; in an hour = in einer "
    "Stunde; in half an hour = in einer halben Stunde; in two hours = in zwei Stunden; in two "
    "days = in zwei Tagen; in a week = in einer Woche; in three weeks = in drei Wochen; in "
    "twenty minutes = in zwanzig Minuten; soon = bald; at half past seven = um halb acht; at "
    "eight in the evening = um acht Uhr abends"
)
_FOR_TIME = paired(
    "for two years = zwei Jahre; for a year = ein Jahr; for three months = drei Monate; for a "
    "week = eine Woche; for two weeks = zwei Wochen; for three days = drei Tage; for an hour = "
    "eine Stunde; for two hours = zwei Stunden; all day = den ganzen Tag; all morning = den "
    "ganzen Morgen; all evening = den ganzen Abend; all week = die ganze Woche; for ten minutes "
    "= zehn Minuten"
)
_LASTING = paired(
    "live = in Germany = in Deutschland = y; live = in Berlin = in Berlin = y; live = in Italy = "
    "in Italien = y; live = in New York = in New York = y; work = in Munich = in München = yd; "
    "work = at a hotel = in einem Hotel = y; stay = at home = zu Hause = wdh; stay = at the "
    "hotel = im Hotel = wd; be = at home = zu Hause = wd; be = at the office = im Büro = d; be = "
    "in the city = in der Stadt = d; work =  =  = dh; sleep =  =  = dh; wait =  =  = hm; learn = "
    "German = Deutsch = yhd; read =  =  = hd; play = soccer = Fußball = h; stay = in Vienna = in "
    "Wien = wd; be = sick = krank = w; be = in bed = im Bett = d; be = in Paris = in Paris = w; "
    "study = in London = in London = y; talk = with Anna = mit Anna = hm; work = in the garden = "
    "im Garten = dh"
)


@pattern(180)
def in_and_for(draw):
    """The course starts in ten minutes. They lived in Italy for a year. I was in bed all day."""
    if draw.chance(0.35):
        what, was = draw.one(_MEETINGS)
        when, wann = draw.one(_IN_TIME)
        verb, tun = draw.one((("starts", "beginnt"), ("begins", "beginnt"), ("ends", "endet")))
        need(what != "the meeting" or verb != "begins" or when != "in ten minutes")
        need(("week" not in when and "days" not in when) or what not in ("work", "the lesson"))
        need(verb != "ends" or "day" not in when)
        if draw.chance(0.2):
            do = verb.removesuffix("s")
            return sentence(f"when does {what} {do}", "?"), sentence(f"wann {tun} {was}", "?")
        return sentence(f"{what} {verb} {when}"), sentence(f"{was} {tun} {wann}")
    verb, where, wo, units = draw.one(_LASTING)
    span, dauer = draw.one(_FOR_TIME)
    unit = "d" if span.startswith("all ") else span.split()[-1][0]
    unit = {"d": "d" if span.startswith("all ") else "w", "y": "y", "m": "y", "w": "w", "h": "h"}[
        unit
    ]
    unit = "m" if "minutes" in span else "w" if span == "all week" else unit
    need(unit in units)
    subject = _who(draw)
    need((where, span) != ("in Germany", "for two years") or subject is not SIE_PLURAL)
    need((where, span) != ("at home", "all day") or subject is not ICH)
    tense = draw.one(("past", "past", "want to", "will"))
    need(
        tense == "past"
        or (verb in ("live", "stay", "work", "be") and where not in ("sick", "in bed"))
    )
    entry = VERB["talk about"] if verb == "talk" else VERB[verb]
    entry = replace(entry, english="talk", past="talked") if verb == "talk" else entry
    clause = Clause(subject, entry, tense)
    first = replace(clause, predicate=(join([where, span]), ""))
    second = replace(clause, predicate=("", join([dauer, wo])))
    return sentence(english_main(first)), sentence(german_main(second))


# --- Where one is ----------------------------------------------------------------------------

# Each place has a group: of two places that are contrasted, both are in the same group.
_HERE = paired(
    "at home = zu Hause = oh; at the office = im Büro = o; at school = in der Schule = o; at "
    "work = bei der Arbeit = o; in the garden = im Garten = h; in the kitchen = in der Küche = "
    "h; at the supermarket = im Supermarkt = s; in Berlin = in Berlin = c; at the doctor's = "
    "beim Arzt = s; at the movies = im Kino = s; in bed = im Bett = h; in the city = in der "
    "Stadt = o; at the gym = im Fitnessstudio = s; here = hier = x; in Italy = in Italien = c; "
    "at the airport = am Flughafen = s; in my room = in meinem Zimmer = h; at the beach = am "
    "Strand = s; in the living room = im Wohnzimmer = h; at the library = in der Bibliothek = s; "
    "in the car = im Auto = h; at the restaurant = im Restaurant = s; in Munich = in München = "
    "c; on the bus = im Bus = x; on the train = im Zug = x; in the bathroom = im Badezimmer = h; "
    "at the train station = am Bahnhof = s; in Germany = in Deutschland = c; at the hotel = im "
    "Hotel = s; in Vienna = in Wien = c"
)
_WERE = paired(
    "yesterday = gestern; last weekend = letztes Wochenende; this morning = heute Morgen; last "
    "week = letzte Woche; on Sunday = am Sonntag; yesterday evening = gestern Abend; last "
    "Saturday = letzten Samstag; last summer = letzten Sommer; today = heute; on Monday morning "
    "= am Montagmorgen"
)
_ARE = paired(
    "today = heute; now = jetzt; this afternoon = heute Nachmittag; tonight = heute Abend; in "
    "the morning = am Morgen; on Sundays = sonntags; tomorrow = morgen; on the weekend = am "
    "Wochenende"
)
_LATER_ON = listed("in the morning; on Sundays; tomorrow; on the weekend")
_NOBODY = Pronoun("nobody", "nobody", "their", "niemand", "niemanden", "niemandem", "sein")


@pattern(225)
def where_one_is(draw):
    """We weren't in Berlin last weekend. He isn't at the office, he's at home. Is Anna here?"""
    subject = _NOBODY if draw.chance(0.1) else _actor(draw)
    where, wo, area = draw.one(_HERE)
    need(where != "in my room" or subject is ICH)
    tense = draw.one(("present", "past"))
    kind = draw.one(("tell", "tell", "time", "time", "not", "ask", "contrast", "soon"))
    time, zeit = draw.one(_WERE if tense == "past" else _ARE)
    need(not time.startswith("last ") or (time == "last Saturday" and area != "h") or area in "oc")
    need(tense == "past" or area not in "hx" or time in ("now", "today") or kind == "ask")
    need(tense == "past" or "o" in area or time not in _LATER_ON)
    need(area != "c" or time != "on Sundays")
    times = (Adverbial(time, zeit, "time"),) if kind in ("time", "not") else ()
    if kind == "contrast":
        there, da, group = draw.one(_HERE)
        need(where != there and there != "in my room" and subject is not _NOBODY)
        need(set(area) & set(group) and "x" not in area)
        need((where, there) != ("at the office", "at home") or subject is not ER)
        taken_up = _taken_up(subject)
        need(taken_up)
        first = told(subject, "be", where, "", tense)
        second = replace(first, predicate=("", f"nicht {wo}"))
        rest = told(taken_up, "be", there, da, tense)
        return (
            sentence(f"{english_main(replace(first, negated=True))}, {english_main(rest)}"),
            sentence(f"{german_main(second)}, {german_main(rest)}"),
        )
    if kind == "soon":
        word, wort = draw.one(
            (
                ("soon", "bald"),
                ("again soon", "bald wieder"),
                ("at six", "um sechs"),
                ("tomorrow", "morgen"),
                ("in ten minutes", "in zehn Minuten"),
            )
        )
        need(where in ("at home", "here", "in Berlin", "in Munich", "at the airport"))
        need((where, word) != ("here", "soon") or subject is not SIE_PLURAL)
        first = told(subject, "be", f"{where} {word}", f"{wort} {wo}", "will")
        return both(first)
    if kind == "ask":
        subject = DU if draw.chance(0.5) else subject
        need(subject is not _NOBODY and subject not in (ICH, WIR))
        if draw.chance(0.3):
            timely = (Adverbial(time, zeit, "time"),)
            return asked(Clause(subject, VERB["be"], tense, (), timely), ("where", "wo"))
        return asked(told(subject, "be", where, wo, tense))
    negated = kind == "not" and subject is not _NOBODY
    clause = replace(told(subject, "be", where, wo, tense), adverbials=times, negated=negated)
    return _short(draw, _pair_of(draw, clause, clause, times[0] if times else None), 0.3)


# --- Little words ----------------------------------------------------------------------------

_MUCH = paired(
    "time = Zeit = m; money = Geld = m; work = Arbeit = m; homework = Hausaufgaben = x; friend = "
    "Freunde = s; book = Bücher = s; problem = Probleme = s; question = Fragen = s; shoe = "
    "Schuhe = s; photo = Fotos = s; hobby = Hobbys = s; plant = Pflanzen = s"
)
_TOO = paired(
    "small = klein; big = groß; expensive = teuer; long = lang; short = kurz; heavy = schwer; "
    "old = alt; loud = laut; cold = kalt"
)
_TOO_WHAT = (
    ("jacket coat shirt dress sweater skirt shoe hat", "small big expensive long short"),
    ("bag suitcase backpack", "heavy big small expensive"),
    ("apartment house room", "small big expensive loud cold"),
    ("car hotel restaurant table bed", "expensive small old"),
)
_HOW_FAR = paired(
    "on foot = zu Fuß; by bus = mit dem Bus; by car = mit dem Auto; by train = mit dem Zug; "
    "by bike = mit dem Fahrrad; to the station = zum Bahnhof; to the center = ins Zentrum"
)


@pattern(265)
def little_words(draw):
    """I only have two euros. The bag is too heavy for her. He has a lot of friends, too."""
    kind = draw.one(("much", "much", "only", "only", "too", "too", "far", "rain", "so", "also"))
    subject = _who(draw, _FAMILY)
    if kind == "much":
        noun, german, letter = draw.one(_MUCH)
        several = NOUN[noun].english_plural if letter != "m" else noun
        amount, menge = draw.one(
            (("a lot of", "viel"), ("too much", "zu viel"), ("much", "viel"), ("enough", "genug"))
        )
        if letter != "m":
            amount, menge = draw.one(
                (("a lot of", "viele"), ("too many", "zu viele"), ("many", "viele"))
            )
            amount = "too much" if letter == "x" and amount == "too many" else amount
            need(letter != "x" or amount != "many")
        negated = amount in ("much", "enough") or draw.chance(0.15)
        need(not (negated and amount.startswith("too")))
        texts = f"{amount} {several}", f"{'nicht ' if negated else ''}{menge} {german}"
        clause = told(subject, "have", *texts)
        if draw.chance(0.15) and amount != "enough" and not amount.startswith("too"):
            amount = amount if letter == "m" else "many" if letter == "s" else "a lot of"
            need(subject not in (ICH, WIR))
            return asked(told(subject, "have", f"{amount} {several}", f"{menge} {german}"))
        second = sentence(german_main(clause))
        return _with_got(draw, (sentence(english_main(replace(clause, negated=negated))), second))
    if kind == "only":
        what = draw.one(("euros", "one", "minutes", "drink"))
        only = Adverbial("only", "nur", "often")
        if what == "drink":
            stuffs = draw.one(_STUFFS[draw.chance(0.5)])
            verb = "drink" if stuffs in _STUFFS[True] else "eat"
            clause = told(subject, verb, *_stuff(draw.one(stuffs)))
        elif what == "one":
            noun = NOUN[
                draw.one(listed("dog; cat; brother; sister; son; key; bike; bag; room; coat; car"))
            ]
            phrase = NounPhrase(noun, "indef")
            german = german_phrase(phrase, "acc")
            clause = told(subject, "have", f"one {noun.english}", german)
        else:
            number, zahl = draw.one(NUMBERS[1:12])
            unit = {"euros": "Euro", "minutes": "Minuten"}[what]
            clause = told(subject, "have", f"{number} {what}", f"{zahl} {unit}")
        return both(replace(clause, adverbials=(only,)))
    if kind == "too":
        nouns, qualities = draw.one(_TOO_WHAT)
        noun, quality = NOUN[draw.one(nouns.split())], draw.one(qualities.split())
        german = dict(_TOO)[quality]
        need(quality != "cold" or noun.english == "room")
        phrase = NounPhrase(noun, draw.one(("this", "this", "def", DU)))
        be = f"too {quality}", f"zu {german}"
        for_whom = draw.one((None, ICH, ICH, ER, SIE, WIR))
        if for_whom:
            need(not (noun.english == "jacket" and quality == "small" and for_whom is ICH))
            need(phrase.det is not DU)
            need(for_whom is not ER or noun.english not in WOMENS)
            be = f"{be[0]} for {for_whom.english_object}", f"{for_whom.dative} {be[1]}"
        clause = _is(phrase, *be)
        return asked(clause) if draw.chance(0.15) else _short(draw, both(clause))
    if kind == "far":
        (number, zahl), (how, womit) = (
            draw.one((*NUMBERS[1:12], NUMBERS[12], NUMBERS[13])),
            draw.one(_HOW_FAR),
        )
        only, nur = draw.one((("only ", "nur "), ("only ", "nur "), ("", "")))
        need((number, how) != ("five", "on foot"))
        return (
            sentence(f"it is {only}{number} minutes {how}"),
            sentence(f"es sind {nur}{zahl} Minuten {womit}"),
        )
    if kind == "rain":
        verb, tun = draw.one((("rain", "regnet"), ("snow", "schneit")))
        season, zeit = draw.one(
            (
                ("in the winter", "im Winter"),
                ("in the summer", "im Sommer"),
                ("here", "hier"),
                ("in Berlin", "in Berlin"),
                ("in the fall", "im Herbst"),
                ("in April", "im April"),
                ("in the spring", "im Frühling"),
                ("in Italy", "in Italien"),
            )
        )
        need(verb == "rain" or season not in ("in the summer", "in Italy"))
        if draw.chance(0.5):
            return (
                sentence(f"it doesn't {verb} much {season}"),
                sentence(f"es {tun} {zeit} nicht viel"),
            )
        often, oft = draw.one(
            paired(
                "often = oft; rarely = selten; sometimes = manchmal; never = nie; always = immer"
            )
        )
        need(often != "never" or verb == "snow")
        need(often != "always" or verb == "rain")
        if draw.chance(0.4) and season != "here":
            return sentence(f"{season} it {often} {verb}s"), sentence(f"{zeit} {tun} es {oft}")
        words = (oft, zeit) if zeit.startswith("in ") else (zeit, oft)
        return sentence(f"it {often} {verb}s {season}"), sentence(join([f"es {tun}", *words]))
    if kind == "so":
        why, warum = draw.one((("why", "warum"), ("why", "warum"), ("", "")))
        quality = draw.one((*_MOOD_QUALITIES[:5], *_PEOPLE_QUALITIES[:2]))
        need(quality[0] != "sick")
        today, heute = draw.one(((" today", "heute "), ("", "")))
        subject = draw.one((DU, DU, ER, SIE, _first_name(draw)))
        need((quality[0], today) != ("sad", " today") or subject is not DU)
        clause = _is(subject, f"so {quality[0]}{today}", f"{heute}so {quality[1]}")
        return asked(clause, (why, warum)) if why else both(clause)
    noun = NOUN[draw.one(_OWNED)]
    verb = draw.one(("have", "have", "need", "speak", "learn"))
    if verb in ("speak", "learn"):
        *_, english, german = draw.one(COUNTRIES[:6])
        tense = "present" if verb == "speak" else "progressive"
    else:
        phrase = NounPhrase(noun, "indef")
        need(
            verb == "have"
            or noun.english in ("car", "bike", "phone", "laptop", "umbrella", "table", "chair")
        )
        english, german, tense = english_phrase(phrase), german_phrase(phrase, "acc"), "present"
    clause = told(subject, verb, english, german, tense)
    auch = replace(clause, adverbials=(Adverbial("", "auch", "often"),))
    return sentence(f"{english_main(clause)}, too"), sentence(german_main(auch))


# --- Two short sentences joined --------------------------------------------------------------

# cause ; consequence, both as verb, English and German rest, joined by "because" or "so"
_CAUSES = paired(
    "be = tired = müde = bh; be = sick = krank = sdht; be = very tired = sehr müde = bht; "
    "have = a lot of work = viel Arbeit = k; have = an exam tomorrow = morgen eine Prüfung = ls; "
    "have = a headache = Kopfschmerzen = bhdt; have = no car = kein Auto = uz"
)
_CONSEQUENCES = paired(
    "go = to bed = ins Bett = b; go = home = nach Hause = h; stay = at home = zu Hause = slk; go "
    "= to the doctor = zum Arzt = d; take = the bus = den Bus = u; take = a taxi = ein Taxi = z; "
    "learn = German = Deutsch = l; stay = in bed = im Bett = t"
)
_OTHER_CAUSES = paired(
    "my car is broken = mein Auto ist kaputt = uz; it is raining = es regnet = sz; it is cold = "
    "es ist kalt = s; the weather is bad = das Wetter ist schlecht = s; it is late = es ist spät "
    "= hbz; the bike is broken = das Fahrrad ist kaputt = uz; the bus isn't coming = der Bus "
    "kommt nicht = z; today is Sunday = heute ist Sonntag = s; the store is closed = das "
    "Geschäft ist geschlossen = h; it is snowing = es schneit = su"
)


@pattern(275)
def two_sentences(draw):
    """I'm sick, so I'm staying at home. He gets up at six and takes a shower. I'm tired, but ..."""
    kind = draw.one(("so", "because", "and", "and", "but", "but", "while"))
    if kind in ("so", "because"):
        return _because(draw, kind)
    if kind == "and":
        return _one_after_another(draw)
    if kind == "while":
        subject, other = draw.one(
            ((ICH, SIE), (ICH, ER), (ER, SIE), (SIE, ER), (WIR, SIE_PLURAL), (None, None))
        )
        subject, other = subject or _first_name(draw), other or _first_name(draw)
        group, second = _group(draw, subject, "l"), _group(draw, other, "l")
        need(group is not second and subject != other)
        need("together" not in group.words[0] and group.english is not second.english)
        clauses = _acted(subject, group, "progressive"), _acted(other, second, "progressive")
        need(not set(group.when) & set("m") or set(second.when) & set("m"))
        return tuple(
            sentence(f"{main(clauses[0][i])} {word} {main(clauses[1][i])}")
            for i, (main, word) in enumerate(((english_main, "and"), (german_main, "und")))
        )
    return _but(draw)


def _because(draw, kind):
    """I'm staying at home because I'm sick. It's raining, so we're taking a taxi."""
    subject = draw.one((ICH, ICH, ICH, ER, SIE, WIR, SIE_PLURAL, _first_name(draw)))
    taken_up = subject if isinstance(subject, Pronoun) else _taken_up(subject)
    if draw.chance(0.5):
        cause, grund, letters = draw.one(_OTHER_CAUSES)
        need(not grund.startswith("mein") or subject in (ICH, WIR))
        cause_first = cause, grund
        taken_up = subject
    else:
        verb, english, german, letters = draw.one(_CAUSES)
        clause = told(subject, verb, english, german)
        cause_first = english_main(clause), german_main(clause)
    options = [row for row in _CONSEQUENCES if row[3][0] in letters or set(row[3]) & set(letters)]
    need(options)
    verb, english, german, _ = draw.one(options)
    tense = draw.one(("progressive", "progressive", "have to", "want to"))
    need(tense != "want to" or verb != "take")
    result = told(taken_up, verb, english, german, tense)
    if kind == "so":
        need((cause_first[0], english, tense) != ("my car is broken", "the bus", "progressive"))
        so = Adverbial("so", "deshalb", "time")
        return (
            sentence(f"{cause_first[0]}, so {english_main(result)}"),
            sentence(f"{cause_first[1]}, {german_main(result, so)}"),
        )
    verb_last = cause_first[1].split()
    if cause_first[0] == "the bus isn't coming":
        because = "weil der Bus nicht kommt"
    elif "today is" in cause_first[0]:
        because = "weil heute Sonntag ist"
    else:
        i = next(i for i, word in enumerate(verb_last) if word in _FINITE)
        because = join(["weil", *verb_last[:i], *verb_last[i + 1 :], verb_last[i]])
    main = replace(result, subject=subject) if isinstance(subject, NounPhrase) else result
    reason = cause_first
    if isinstance(subject, NounPhrase):
        pronoun = _taken_up(subject)
        name_ = english_phrase(subject)
        need(pronoun)
        reason = (cause_first[0].replace(name_, pronoun.english), "")
        because = because.replace(name_, pronoun.german)
    return (
        sentence(f"{english_main(main)} because {reason[0]}"),
        sentence(f"{german_main(main)}, {because}"),
    )


_FINITE = ("bin", "bist", "ist", "sind", "habe", "hast", "hat", "haben", "regnet", "schneit")


def _one_after_another(draw):
    """I get up at six and take a shower. He went home and watched TV."""
    subject = _who(draw, _PEERS)
    letter = draw.one("me")
    firsts, seconds = _ROWS_OF_DEEDS[letter]
    group = draw.one([g for g in _GROUPS if _name_of(g) in firsts])
    after = draw.one([g for g in _GROUPS if _name_of(g) in seconds])
    need(group is not after and group.english is not after.english)
    need(
        _name_of(after) not in firsts
        or firsts.index(_name_of(group)) < firsts.index(_name_of(after))
    )
    tense = draw.one(("present", "present", "past", "past"))
    need(tense == "present" or group.english.english != "wake up")
    hour = ()
    if letter == "m" and _name_of(group) == "get up" and draw.chance(0.7):
        number, zahl = draw.one(NUMBERS[4:9])
        hour = (Adverbial(f"at {number}", f"um {zahl}", "time"),)
        need(not (number == "six" and subject is ICH and tense == "present"))
    elif draw.chance(0.3):
        times = {
            "present": (("in the evening", "am Abend"), ("on Sundays", "sonntags")),
            "past": (("yesterday", "gestern"), ("yesterday", "gestern")),
        }
        hour = (Adverbial(*draw.one(times[tense]), "time"),)
        need(letter == "e" or "evening" not in hour[0].english)
    first, erst = _acted(subject, group, tense, hour, hour)
    second, dann = _acted(subject, after, tense)
    english = english_main(second).removeprefix(english_phrase(subject) + " ")
    german = german_main(dann).removeprefix(german_phrase(subject, "nom") + " ")
    if tense == "past" and erst.verb.auxiliary == dann.verb.auxiliary:
        german = german.split(" ", 1)[1]  # "Ich bin aufgestanden und nach Hause gegangen."
        need(not dann.verb.reflexive)
    return sentence(f"{english_main(first)} and {english}"), sentence(
        f"{german_main(erst)} und {german}"
    )


def _name_of(group):
    """A short name of a verb group."""
    return join(
        [group.english.english, group.item.split(" ", 1)[-1].replace("-", ""), group.words[0]]
    )


_ROWS_OF_DEEDS = {
    "m": (
        listed("get up; wake up; take a shower; brush {} teeth; make breakfast; have breakfast"),
        listed(
            "take a shower; brush {} teeth; make breakfast; have breakfast; go to work; read "
            "newspaper; go to school; drink coffee; feed dog; leave the house; drink tea; feed "
            "cat"
        ),
    ),
    "e": (
        listed("come home; go home; make dinner; have dinner; do the dishes; do homework"),
        listed(
            "make dinner; have dinner; watch TV; listen to music; read book; take a shower; do "
            "homework; go to bed; call mother; do the dishes; rest; play the guitar; play cards; "
            "watch movie; read newspaper"
        ),
    ),
}

_FIRST_SIDES = paired(
    "like = music = Musik = a; have = a guitar = eine Gitarre = a; be = tired = müde = b; "
    "be = sick = krank = b; like = fish = Fisch = c; like = coffee = Kaffee = e; have = a car = "
    "ein Auto = f; live = in Germany = in Deutschland = g; have = a headache = Kopfschmerzen = b; "
    "speak = English = Englisch = g; live = in Berlin = in Berlin = h; like = dogs = Hunde = i; "
    "be = rich = reich = j; have = time = Zeit = k; have = a big house = ein großes Haus = l; "
    "be = young = jung = j"
)
_SECOND_SIDES = {
    "a": (
        ("can", "dance", "", "", True),
        ("can", "sing", "", "", True),
        ("can", "play", "the piano", "Klavier", True),
    ),
    "b": (
        ("have to", "work", "", "", False),
        ("can", "sleep", "", "", True),
        ("want to", "go", "to school", "in die Schule", False),
        ("have to", "go", "shopping", "", False),
    ),
    "c": (
        ("present", "like", "meat", "Fleisch", None),
        ("present", "like", "chicken", "Hähnchen", None),
    ),
    "e": (("present", "like", "tea", "Tee", None), ("present", "drink", "beer", "Bier", None)),
    "f": (
        ("can", "drive", "", "", True),
        ("present", "have", "a bike", "Fahrrad", None),
        ("want to", "take", "the bus", "den Bus", False),
    ),
    "g": (
        ("can", "speak", "German", "Deutsch", True),
        ("present", "speak", "French", "Französisch", None),
    ),
    "h": (
        ("want to", "live", "in Munich", "in München", False),
        ("present", "work", "in Hamburg", "in Hamburg", False),
    ),
    "i": (("present", "have", "a dog", "Hund", None), ("present", "like", "cats", "Katzen", None)),
    "j": (
        ("present", "be", "happy", "glücklich", True),
        ("present", "be", "healthy", "gesund", True),
        ("present", "be", "sick", "krank", False),
    ),
    "k": (("present", "have", "money", "Geld", None), ("want to", "come", "", "", True)),
    "l": (
        ("present", "have", "a garden", "Garten", None),
        ("present", "have", "a car", "Auto", None),
    ),
}
_NONE_OF = {
    "Fahrrad": "kein",
    "Hund": "keinen",
    "Garten": "keinen",
    "Auto": "kein",
    "Geld": "kein",
    "Fleisch": "kein",
    "Hähnchen": "kein",
    "Tee": "keinen",
    "Bier": "kein",
    "Französisch": "kein",
    "Katzen": "keine",
}


def _but(draw):
    """I have a car, but I don't have a bike. She likes music, but she can't dance."""
    if draw.chance(0.35):
        return _but_of_things(draw)
    verb, english, german, letter = draw.one(_FIRST_SIDES)
    subject = draw.one((ICH, ICH, ER, SIE, WIR, SIE_PLURAL, _first_name(draw)))
    tense, other, more, mehr, negated = draw.one(_SECOND_SIDES[letter])
    if other == "go" and more == "shopping":
        other, more = "go shopping", ""
    it = subject if isinstance(subject, Pronoun) else _taken_up(subject)
    need(it)
    if negated is None:
        negated, none = True, f"{_NONE_OF[mehr]} {mehr}"
    else:
        none = join(["nicht" if negated else "", mehr])
    if other == "speak" and negated and tense == "can":
        none = "kein Deutsch"
    first = told(subject, verb, english, german)
    second = replace(told(it, other, more, none, tense), negated=False)
    return (
        sentence(f"{english_main(first)}, but {english_main(replace(second, negated=negated))}"),
        sentence(f"{german_main(first)}, aber {german_main(second)}"),
    )


_SIDES_OF_THINGS = (
    (
        "boss teacher neighbor",
        _PEOPLE_QUALITIES[:3],
        (("the work", "die Arbeit"), ("the office", "das Büro"), ("the course", "der Kurs")),
    ),
    (
        "soup pizza fish",
        (("good", "gut"), ("hot", "heiß"), ("delicious", "lecker")),
        (("the bread", "das Brot"), ("the salad", "der Salat"), ("the coffee", "der Kaffee")),
    ),
    (
        "room apartment house",
        (("big", "groß"), ("nice", "schön"), ("cheap", "billig")),
        (
            ("the kitchen", "die Küche"),
            ("the garden", "der Garten"),
            ("the bathroom", "das Badezimmer"),
        ),
    ),
    (
        "hotel restaurant",
        (("good", "gut"), ("nice", "schön"), ("new", "neu")),
        (("the rooms", "die Zimmer"), ("the tables", "die Tische"), ("the beds", "die Betten")),
    ),
)
_BAD_SIDES = {
    "work office course": paired(
        "difficult = schwierig; boring = langweilig; interesting = interessant"
    ),
    "bread salad coffee": paired("cold = kalt; bad = schlecht; old = alt"),
    "kitchen garden bathroom": paired("small = klein; old = alt; dark = dunkel"),
    "rooms tables beds": paired("small = klein; old = alt; dirty = schmutzig"),
}


def _but_of_things(draw):
    """The room is nice, but the bathroom is small."""
    nouns, goods, others = draw.one(_SIDES_OF_THINGS)
    noun, (good, gut, *_), (other, anderes) = (
        draw.one(nouns.split()),
        draw.one(goods),
        draw.one(others),
    )
    bads = next(rows for key, rows in _BAD_SIDES.items() if other.split()[1] in key.split())
    bad, schlecht = draw.one(bads)
    need(bad != "dark" or other != "the garden")
    need(bad != "difficult" or "office" not in other)
    need(bad != "old" or other not in ("the coffee", "the salad", "the garden"))
    need(bad != "boring" or other != "the office")
    negated = draw.chance(0.4)
    if bad == "interesting":
        negated = True
    det = ICH if noun in ("boss", "teacher", "neighbor", "room", "apartment", "house") else "def"
    first = _is(NounPhrase(NOUN[noun], draw.one((det, "def"))), good, gut)
    need(
        not (
            negated
            and bad in ("old", "dirty", "bad", "cold", "dark", "small", "difficult", "boring")
        )
    )
    need(noun not in ("neighbor",) and (noun != "teacher" or other == "the course"))
    need(noun != "boss" or other in ("the work", "the office"))
    be, sein = ("are", "sind") if other.endswith("s") and other != "the bus" else ("is", "ist")
    isnt, nicht = (f"{be}n't", "nicht ") if negated else (be, "")
    return (
        sentence(f"{english_main(first)}, but {other} {isnt} {bad}"),
        sentence(f"{german_main(first)}, aber {anderes} {sein} {nicht}{schlecht}"),
    )

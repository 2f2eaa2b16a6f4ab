"""Patterns of the first lesson: names, origin, age, work, family, languages and greetings."""

from dataclasses import replace

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
    english_index,
    english_main,
    english_phrase,
    english_question,
    german_main,
    german_phrase,
    german_prepositional,
    german_question,
    indefinite_article,
    join,
    person_index,
    present,
    sentence,
)
from lexicon import CITIES, COUNTRIES, HOMELANDS, NAMES, NATIONALITIES, NOUN, VERB, select
from parts import (
    GRANDPARENTS,
    NUMBERS,
    YOU_TWO,
    addressee,
    is_young,
    kin,
    listed,
    name,
    need,
    paired,
    pattern,
    polite_name,
    thing,
)
from questions import asked
from statements import MENS_JOBS, WOMENS_JOBS, both

HEISSEN, MACHEN = "heißen", VERB["do"]
ADULT_NUMBERS = paired(
    "eighteen = achtzehn; nineteen = neunzehn; twenty = zwanzig; "
    "twenty-one = einundzwanzig; twenty-two = zweiundzwanzig; twenty-three = dreiundzwanzig; "
    "twenty-four = vierundzwanzig; twenty-five = fünfundzwanzig; thirty = dreißig; "
    "thirty-five = fünfunddreißig; forty = vierzig; forty-five = fünfundvierzig; "
    "fifty = fünfzig; sixty = sechzig; seventy = siebzig; eighty = achtzig; ninety = neunzig"
)
SMALL_NUMBERS = NUMBERS[1:12] + paired(
    "thirteen = dreizehn; fourteen = vierzehn; fifteen = fünfzehn; sixteen = sechzehn; "
    "seventeen = siebzehn"
)


def speaker(draw):
    """The subject of a sentence about oneself or somebody one knows."""
    if draw.chance(0.4):
        return ICH
    relative = lambda d: kin(d, d.one(_OWNERS))  # noqa: E731
    return draw.one((name, relative, relative, lambda d: d.one(_SPOKEN_OF)))(draw)


# Nobody tells somebody how his own relatives are, and seldom how he is himself.
_OWNERS = (ICH, ICH, ICH, WIR, ER, SIE, SIE_PLURAL)
_SPOKEN_OF = (WIR, ER, SIE, SIE_PLURAL, DU)


def asked_about(draw):
    """Whom a question is about: mostly "you", and the form of address that goes with it."""
    if draw.chance(0.55):
        pronoun, *call = addressee(draw)
        return pronoun, call
    if draw.chance(0.1):
        return YOU_TWO, ("", "")
    subject = draw.one(
        (name, lambda d: kin(d, DU), lambda d: kin(d, DU), lambda d: d.one((ER, SIE, SIE_PLURAL)))
    )(draw)
    return subject, ("", "")


def said_or_asked(draw, clause_about, negated=0.15, questions=0.25):
    """A clause about somebody as a statement, a negation or a question."""
    if draw.chance(questions):
        subject, call = asked_about(draw)
        return asked(clause_about(subject), call=call)
    clause = clause_about(speaker(draw))
    return both(replace(clause, negated=draw.chance(negated)))


def told(subject, verb, english, german, tense="present"):
    """A clause whose rest is given as text in both languages."""
    return Clause(subject, VERB[verb], tense, predicate=(english, german))


def is_woman(subject, call=""):
    """Whether the subject is known to be a woman, or all women."""
    if "Mrs." in call or "ma'am" in call or subject is SIE:
        return True
    women = {f", {noun.english}" for noun in NAMES if noun.gender == "f"}
    return call in women or (isinstance(subject, NounPhrase) and subject.noun.gender == "f")


# --- Names -----------------------------------------------------------------------------------

GREETINGS = paired(
    "hello = hallo; hi = hallo; good morning = guten Morgen; good evening = guten Abend; "
    "good afternoon = guten Tag"
)


def _called(who, first_name):
    """That somebody bears a name: ("my name is Anna", "ich heiße Anna")."""
    owner = who.english_possessive if isinstance(who, Pronoun) else f"{english_phrase(who)}'s"
    german = f"{german_phrase(who, 'nom')} {present(HEISSEN, '', person_index(who))} {first_name}"
    return f"{owner} name is {first_name}", german


def _fitting_name(draw, gender):
    """A first name of a gender."""
    return draw.one([noun.english for noun in NAMES if not gender or noun.gender == gender])


@pattern(290)
def my_name_is(draw):
    """My name is Anna. My brother's name is Paul. Hello, I am Tom."""
    kind = draw.one(("name", "name", "hello", "hello", "am", "kin", "kin", "he"))
    if kind == "kin":
        who = kin(draw, draw.one(_OWNERS))
        need(not who.plural and who.noun.english not in ("mother", "father"))
        english, german = _called(who, _fitting_name(draw, who.gender))
        return sentence(english), sentence(german)
    if kind == "he":
        who = draw.one((ER, SIE))
        english, german = _called(who, _fitting_name(draw, "m" if who is ER else "f"))
        return sentence(english), sentence(german)
    first_name = _fitting_name(draw, "")
    english, german = _called(ICH, first_name)
    if kind == "am" or draw.chance(0.3):
        english, german = f"I am {first_name}", f"ich bin {first_name}"
    if kind == "hello":
        greeting, gruss = draw.one(GREETINGS)
        english, german = f"{greeting}, {english}", f"{gruss}, {german}"
    return sentence(english), sentence(german)


@pattern(105)
def name_and_origin(draw):
    """My name is Anna and I come from Italy."""
    english, german = _called(ICH, _fitting_name(draw, ""))
    where, _, aus, _ = draw.one(HOMELANDS)
    city, stadt = draw.one(CITIES)
    number, zahl = draw.one(ADULT_NUMBERS[:12])
    more, mehr = draw.one(
        (
            (f"I come from {where}", f"komme {aus}"),
            (f"I am from {where}", f"komme {aus}"),
            (f"I live in {city}", f"wohne in {stadt}"),
            (f"I am {number} years old", f"bin {zahl} Jahre alt"),
        )
    )
    return sentence(f"{english} and {more}"), sentence(f"{german} und {mehr}")


@pattern(95)
def what_is_your_name(draw):
    """What is your name, ma'am? What is your sister's name?"""
    subject, call = asked_about(draw)
    if draw.chance(0.5):
        subject, call = kin(draw, draw.one((DU, ER, SIE, SIE_PLURAL))), ("", "")
    need(not subject.plural or subject is SIE_POLITE)
    need(not isinstance(subject, NounPhrase) or "name" not in subject.noun.tags)
    is_pronoun = isinstance(subject, Pronoun)
    owner = subject.english_possessive if is_pronoun else f"{english_phrase(subject)}'s"
    verb = present(HEISSEN, "", person_index(subject))
    need(not call[0] or "sir" in call[0] or "ma'am" in call[0])
    what = draw.one(("what is", "what is", "what's"))
    return (
        sentence(f"{what} {owner} name{call[0]}", "?"),
        sentence(f"wie {verb} {german_phrase(subject, 'nom')}", "?"),
    )


@pattern(170)
def this_is(draw):
    """This is my friend Anna. This is my teacher, Mr. Klein. Is this your sister?"""
    kind = draw.one(("friend", "kin", "kin", "polite", "teacher", "question"))
    if kind == "polite":
        who, wer = polite_name(draw)
        return sentence(f"this is {who}"), sentence(f"das ist {wer}")
    if kind == "question":
        who = kin(draw, draw.one((DU, DU, SIE, ER)))
        be, ist = ("are these", "sind das") if who.plural else ("is this", "ist das")
        english, german = f"{be} {english_phrase(who)}", f"{ist} {german_phrase(who, 'nom')}"
        return sentence(english, "?"), sentence(german, "?")
    if kind == "teacher":
        (english, german), (who, wer) = draw.one(_TITLES), polite_name(draw)
        need(wer.startswith("Herr") == german.startswith(("mein ", "unser ")))
        return sentence(f"this is {english}, {who}"), sentence(f"das ist {german}, {wer}")
    first_name = draw.one(NAMES)
    if kind == "friend":
        owner = draw.one((ICH, ICH, WIR, ER, SIE))
        friend = {"m": "Freund", "f": "Freundin"}[first_name.gender]
        noun = replace(NOUN["friend"], german=friend, gender=first_name.gender)
        who = NounPhrase(noun, owner)
    else:
        who = kin(draw, draw.one((ICH, ICH, WIR, ER, SIE)))
    plural = who.plural
    need(plural or who.gender == first_name.gender)
    end = "" if plural else f" {first_name.english}"
    be, ist = ("these are", "das sind") if plural else ("this is", "das ist")
    return (
        sentence(f"{be} {english_phrase(who)}{end}"),
        sentence(f"{ist} {german_phrase(who, 'nom')}{end}"),
    )


_TITLES = paired(
    "my teacher = mein Lehrer; my teacher = meine Lehrerin; my boss = mein Chef; "
    "our neighbor = unser Nachbar; our neighbor = unsere Nachbarin; "
    "my doctor = meine Ärztin; my doctor = mein Arzt; our colleague = unser Kollege"
)


# --- Origin and home -------------------------------------------------------------------------


def _coming(draw):
    """Where somebody comes from, which English says with "come" or "be"."""
    where, _, aus, _ = draw.one(HOMELANDS)
    verb = draw.one(("come", "be"))

    def about(subject):
        return told(subject, verb, f"from {where}", aus), told(subject, "come", "", aus)

    return about


@pattern(250)
def coming_from(draw):
    """I am from Spain. Does your friend come from Poland? We don't come from Munich."""
    about = _coming(draw)
    if draw.chance(0.3):
        subject, call = asked_about(draw)
        english, german = about(subject)
        return (
            sentence(english_question(english) + call[0], "?"),
            sentence(german_question(german) + call[1], "?"),
        )
    negated = draw.chance(0.12)
    english, german = (replace(one, negated=negated) for one in about(speaker(draw)))
    return sentence(english_main(english)), sentence(german_main(german))


@pattern(170)
def where_from(draw):
    """Where do you come from, Mr. Klein? Where is your friend from?"""
    subject, call = asked_about(draw)
    come = Clause(subject, VERB["come"])
    verb = draw.one(("come", "be"))
    english = english_question(Clause(subject, VERB[verb]), "where")
    german = german_question(come, "woher")
    return (
        sentence(f"{english} from{call[0]}", "?"),
        sentence(f"{german}{call[1]}", "?"),
    )


@pattern(130)
def from_but_in(draw):
    """Maria comes from Brazil, but she lives in Berlin."""
    subject = speaker(draw)
    (where, _, aus, _), (city, stadt) = draw.one(HOMELANDS), draw.one(CITIES)
    need(where != city)
    again = subject if isinstance(subject, Pronoun) else subject.owner
    first, verb = told(subject, "come", f"from {where}", aus), draw.one(("live", "work"))
    second = told(again, verb, f"in {city}", f"in {stadt}")
    now = draw.chance(0.3)
    english = english_main(second) + (" now" if now else "")
    german = german_main(
        replace(second, predicate=("", f"jetzt in {stadt}" if now else f"in {stadt}"))
    )
    return (
        sentence(f"{english_main(first)}, but {english}"),
        sentence(f"{german_main(first)}, aber {german}"),
    )


@pattern(140)
def nationality(draw):
    """I am American. She is Spanish. Are you German, Mrs. Weber?"""
    english, man, woman, people = draw.one(NATIONALITIES)
    asking = draw.chance(0.3)
    subject, call = asked_about(draw) if asking else (speaker(draw), ("", ""))
    several = subject.plural and subject is not SIE_POLITE
    female = is_woman(subject, call[0])
    german = people if several else (woman if female else man)
    need(not (several and female))  # the table lacks "Amerikanerinnen"
    clause = told(subject, "be", english, german)
    if asking:
        return asked(clause, call=call)
    negated = draw.chance(0.15)
    if negated:
        kein = "keine" if several or is_woman(subject) else "kein"
        clause = replace(clause, predicate=(english, f"{kein} {german}"))
        be = sentence(english_main(replace(clause, negated=True)))
        return be, sentence(german_main(clause))
    return both(clause)


_HOMES = paired(
    "in a small house = in einem kleinen Haus; in a big apartment = in einer großen Wohnung; "
    "in a small village = in einem kleinen Dorf; in an old house = in einem alten Haus; "
    "in a big city = in einer großen Stadt; in the country = auf dem Land; "
    "on an island = auf einer Insel; in the city = in der Stadt; "
    "on a quiet street = in einer ruhigen Straße; in a new apartment = in einer neuen Wohnung; "
    "in a beautiful house = in einem schönen Haus; near the sea = in der Nähe vom Meer; "
    "in the north of Germany = im Norden von Deutschland; "
    "in the south of Germany = im Süden von Deutschland; in the east of Germany = im Osten von "
    "Deutschland; in the west of Germany = im Westen von Deutschland; "
    "near the train station = in der Nähe vom Bahnhof; in a farmhouse = auf einem Bauernhof"
)


@pattern(205)
def living(draw):
    """I live in a small house in Hamburg. She lives with her parents."""
    kind = draw.one(("home", "home", "city", "country", "with"))
    (home, heim), (city, stadt) = draw.one(_HOMES), draw.one(CITIES)
    country, in_, _, _ = draw.one(HOMELANDS)

    def about(subject):
        if kind == "with":
            relative = kin(draw, subject.owner)
            need("family" in relative.noun.tags and "spouse" not in relative.noun.tags)
            need(getattr(subject, "noun", None) is not relative.noun)
            mit = german_prepositional("bei", relative, "dat")
            return told(subject, "live", f"with {english_phrase(relative)}", mit)
        if kind == "home":
            town = draw.chance(0.3) and home.split()[-1] in ("house", "apartment", "street")
            where = (f"{home} in {city}", f"{heim} in {stadt}") if town else (home, heim)
            return told(subject, "live", *where)
        return told(subject, "live", *_city_or_country(kind, city, stadt, country, in_))

    return said_or_asked(draw, about, 0.1, 0.2)


def _city_or_country(kind, city, stadt, country, in_):
    return (f"in {city}", f"in {stadt}") if kind == "city" else (f"in {country}", in_)


@pattern(45)
def capital_of(draw):
    """Vienna is the capital of Austria."""
    city, stadt, country, land = draw.one(_CAPITALS)
    kind = draw.one(("is", "the", "question", "is it", "biggest", "biggest city"))
    if kind.startswith("biggest"):
        pair = (
            (f"{city} is", f"{stadt} ist") if kind == "biggest" else ("is " + city, "ist " + stadt)
        )
        mark = "." if kind == "biggest" else "?"
        return (
            sentence(f"{pair[0]} the biggest city in {country}", mark),
            sentence(f"{pair[1]} die größte Stadt in {land}", mark),
        )
    if kind == "is it":
        return (
            sentence(f"is {city} the capital of {country}", "?"),
            sentence(f"ist {stadt} die Hauptstadt von {land}", "?"),
        )
    if kind == "is":
        return (
            sentence(f"{city} is the capital of {country}"),
            sentence(f"{stadt} ist die Hauptstadt von {land}"),
        )
    if kind == "the":
        return (
            sentence(f"the capital of {country} is {city}"),
            sentence(f"die Hauptstadt von {land} ist {stadt}"),
        )
    return (
        sentence(f"what is the capital of {country}", "?"),
        sentence(f"wie heißt die Hauptstadt von {land}", "?"),
    )


_CAPITALS = paired(
    "Berlin = Berlin = Germany = Deutschland; Vienna = Wien = Austria = Österreich; "
    "Paris = Paris = France = Frankreich; London = London = England = England; "
    "Rome = Rom = Italy = Italien; Madrid = Madrid = Spain = Spanien; "
    "Warsaw = Warschau = Poland = Polen"
)


# --- Age -------------------------------------------------------------------------------------

_CHILDREN = ("son", "daughter", "grandson", "granddaughter")


@pattern(260)
def years_old(draw):
    """I am twenty-five years old. My son is six."""
    who = draw.one((ICH, ICH, ICH, ER, SIE, name(draw), kin(draw)))
    need(not who.plural)
    kinship = who.noun.english if isinstance(who, NounPhrase) else ""
    numbers = SMALL_NUMBERS if kinship in _CHILDREN else ADULT_NUMBERS
    if kinship in listed("brother; sister; friend; cousin") and draw.chance(0.5):
        numbers = SMALL_NUMBERS
    if kinship in listed("mother; father; uncle; aunt; boss"):
        numbers = ADULT_NUMBERS[9:14]
    if kinship in GRANDPARENTS:
        numbers = ADULT_NUMBERS[13:]
    number, jahre = draw.one(numbers)
    if draw.chance(0.2):
        return both(told(who, "be", number, jahre))
    return both(told(who, "be", f"{number} years old", f"{jahre} Jahre alt"))


@pattern(85)
def how_old(draw):
    """How old is your sister?"""
    subject, call = asked_about(draw)
    return asked(Clause(subject, VERB["be"]), ("how old", "wie alt"), call)


# --- Work ------------------------------------------------------------------------------------


def _job_for(draw, subject, call=""):
    """A profession in both languages in the gender of the subject: ("teacher", "Lehrerin")."""
    need(not is_young(subject) and (subject is SIE_POLITE or not subject.plural))
    need(not isinstance(subject, NounPhrase) or "job" not in subject.noun.tags)
    return draw.one(WOMENS_JOBS if is_woman(subject, call) else MENS_JOBS)


_WORKPLACES = paired(
    "in a hospital = in einem Krankenhaus; in an office = in einem Büro; "
    "in a restaurant = in einem Restaurant; in a hotel = in einem Hotel; "
    "in a school = in einer Schule; in a factory = in einer Fabrik; "
    "in a bakery = in einer Bäckerei; in a supermarket = in einem Supermarkt; "
    "in a library = in einer Bibliothek; in a bank = in einer Bank; "
    "in a store = in einem Geschäft; for a small company = für eine kleine Firma; "
    "for a big company = für eine große Firma; at the university = an der Universität; "
    "at home = zu Hause; in a kindergarten = in einem Kindergarten; "
    "in a pharmacy = in einer Apotheke; in a museum = in einem Museum"
)


@pattern(260)
def job(draw):
    """I am a teacher. My sister works as a nurse. Are you a doctor, Mr. Weber?"""
    asking = draw.chance(0.25)
    subject, call = asked_about(draw) if asking else (speaker(draw), ("", ""))
    english, german = _job_for(draw, subject, call[0])
    phrase = f"{indefinite_article(english)} {english}"
    if draw.chance(0.35):
        need(english != "student")
        clause = told(subject, "work", f"as {phrase}", f"als {german}")
    else:
        clause = told(subject, "be", phrase, german)
    if asking:
        return asked(clause, call=call)
    if draw.chance(0.12) and clause.verb.english == "be":
        kein = "keine" if is_woman(subject) else "kein"
        english = english_main(replace(clause, negated=True))
        return sentence(english), sentence(german_main(told(subject, "be", "", f"{kein} {german}")))
    return both(clause)


@pattern(260)
def workplace(draw):
    """My mother works in a hospital in Munich."""
    (where, wo), (city, stadt) = draw.one(_WORKPLACES), draw.one(CITIES)
    if draw.chance(0.4) and not where.endswith("home"):
        where, wo = f"{where} in {city}", f"{wo} in {stadt}"
    return said_or_asked(draw, lambda subject: told(subject, "work", where, wo), 0.1, 0.2)


@pattern(95)
def for_a_living(draw):
    """What do you do for a living, ma'am? Where does your father work?"""
    subject, call = asked_about(draw)
    need(not is_young(subject))
    if draw.chance(0.4):
        return asked(Clause(subject, VERB["work"]), ("where", "wo"), call)
    clause = told(subject, "do", "for a living", "beruflich")
    return asked(clause, ("what", "was"), call)


# --- Family and belongings -------------------------------------------------------------------

_COUNTED_KIN = paired(
    "brother = Bruder; sister = Schwester; son = Sohn; daughter = Tochter; child = Kind; "
    "cousin = Cousin"
)


def _counted(draw, english):
    """Some relatives: "a brother", "two sisters", "no children"."""
    noun, number = NOUN[english], draw.random.randrange(4)
    if number == 0:
        return NounPhrase(noun, "indef")
    return NounPhrase(noun, "bare", plural=True, count=NUMBERS[number])


@pattern(240)
def relatives(draw):
    """I have two brothers and a sister. Do you have children? She has no siblings."""
    subject = speaker(draw)
    english = draw.one(_COUNTED_KIN)[0]
    kind = draw.one(("one", "one", "and", "no", "ask"))
    need(getattr(subject, "noun", None) is not NOUN[english])
    if kind == "no":
        word, wort = draw.one(_NOBODY)
        have = english_main(told(subject, "have", f"no {word}", ""))
        return sentence(have), sentence(german_main(told(subject, "have", "", f"keine {wort}")))
    if kind == "ask":
        word, wort = draw.one(_NOBODY)
        subject, call = asked_about(draw)
        return asked(told(subject, "have", word, wort), call=call)
    first = _counted(draw, english)
    text, worte = english_phrase(first), german_phrase(first, "acc")
    if kind == "and":
        other = {"brother": "sister", "sister": "brother", "son": "daughter", "daughter": "son"}
        second = _counted(draw, other.get(english, "cousin"))
        need(english in other)
        text, worte = (
            f"{text} and {english_phrase(second)}",
            f"{worte} und {german_phrase(second, 'acc')}",
        )
    return both(told(subject, "have", text, worte))


_NOBODY = paired(
    "children = Kinder; brothers and sisters = Geschwister; sisters = Schwestern; "
    "brothers = Brüder; pets = Haustiere; friends in Berlin = Freunde in Berlin; "
    "cousins = Cousins"
)


@pattern(180)
def whose(draw):
    """This is my bag. Are these your books? That is Anna's car. Whose coat is this?"""
    noun = draw.one(select(listed("own; clothes; pet; house; apartment; room; pairs")))
    need("family" not in noun.tags)
    plural = draw.chance(0.25) or "pairs" in noun.tags
    if draw.chance(0.15):
        word = english_phrase(NounPhrase(noun, "bare", plural=plural))
        these, gehoeren = ("are these", "gehören") if plural else ("is this", "gehört")
        dies = german_phrase(NounPhrase(noun, "this", plural=plural), "nom")
        return sentence(f"whose {word} {these}", "?"), sentence(f"wem {gehoeren} {dies}", "?")
    if draw.chance(0.3):
        who = draw.one(NAMES).english
        bare = NounPhrase(noun, "bare", plural=plural)
        english = f"{who}'s {english_phrase(bare)}"
        german = f"{who}s {noun.plural if plural else noun.german}"
        need(not who.endswith(("s", "x", "z")))
    else:
        owner = draw.one((ICH, ICH, DU, ER, SIE, WIR, SIE_PLURAL))
        need(noun.english not in ("passport", "wallet", "toothbrush") or not plural)
        phrase = thing(draw, noun, owner, "", 0.25, plural)
        english, german = english_phrase(phrase), german_phrase(phrase, "nom")
    this = ("these are", "das sind") if plural else draw.one(_THIS)
    if draw.chance(0.25):
        this = tuple(" ".join(reversed(words.split())) for words in this)
        return sentence(f"{this[0]} {english}", "?"), sentence(f"{this[1]} {german}", "?")
    negated = draw.chance(0.15)
    not_, nicht = (" not", " nicht") if negated else ("", "")
    return sentence(f"{this[0]}{not_} {english}"), sentence(f"{this[1]}{nicht} {german}")


_THIS = (("this is", "das ist"), ("that is", "das ist"))


# --- Languages -------------------------------------------------------------------------------

_EXTENTS = paired(
    "{} = {}; {} = {}; a little {} = ein bisschen {}; {} very well = sehr gut {}; "
    "{} and {1} = {} und {1}; {} well = gut {}; only {} = nur {}"
)


@pattern(260)
def speaking(draw):
    """I speak a little German. Do you speak English, sir? She is learning Polish."""
    first, second = draw.one(COUNTRIES), draw.one(COUNTRIES)
    need(first is not second)
    if draw.chance(0.4):
        first = COUNTRIES[draw.one((0, 0, 4))]
    verb, tense = draw.one(
        (
            ("speak", "present"),
            ("speak", "present"),
            ("learn", "progressive"),
            ("understand", "present"),
            ("learn", "want to"),
        )
    )
    english, german = draw.one(_EXTENTS)
    need(verb != "learn" or "{1}" in english or english == "{}")
    text = english.replace("{1}", second[2]).replace("{}", first[2])
    worte = german.replace("{1}", second[3]).replace("{}", first[3])
    asking = draw.chance(0.35)
    need(not (asking and ("only" in english or "well" in english)))
    if asking:
        excuse = draw.chance(0.25)
        subject, call = asked_about(draw)
        clause = told(subject, verb, text, worte, tense)
        if excuse and subject.person == 2:
            return excused(asked(clause, call=call))
        return asked(clause, call=call)
    clause = told(speaker(draw), verb, text, worte, tense)
    negated = english == "{}" and draw.chance(0.3)
    if not negated:
        return both(clause)
    english = english_main(replace(clause, negated=True))
    kein = replace(clause, predicate=("", f"kein {worte}"))
    return sentence(english), sentence(german_main(kein))


def excused(pair):
    """A question that opens with "Excuse me"."""
    english, german = (text[0].lower() + text[1:] for text in pair)
    english = "I" + english[1:] if english.startswith("i ") else english
    return f"Excuse me, {english}", f"Entschuldigung, {german}"


# --- How people are, greetings, thanks -------------------------------------------------------


def dative_of(subject):
    """A person in the dative: mir, deiner Schwester."""
    return german_phrase(subject, "dat")


@pattern(130)
def how_are_you(draw):
    """How are you today, Anna? How is your mother?"""
    subject, call = asked_about(draw)
    today, heute = draw.one((("", ""), ("", ""), (" today", " heute")))
    be = ("am", "are", "is", "are", "are", "are")[english_index(subject)]
    english = f"how {be} {english_phrase(subject)}{today}{call[0]}"
    return sentence(english, "?"), sentence(
        f"wie geht es {dative_of(subject)}{heute}{call[1]}", "?"
    )


_BEING_WELL = paired(
    "fine = gut; fine = gut; very well = sehr gut; not well = nicht gut; "
    "better = besser; doing well = gut"
)


@pattern(130)
def doing_fine(draw):
    """I am fine. My mother is not well today. Anna is doing well."""
    subject = speaker(draw)
    need(subject is not DU)
    english, german = draw.one(_BEING_WELL)
    day, tag = draw.one((("", ""), ("", ""), (" today", " heute"), (" again", " wieder")))
    need(day != " again" or german == "gut")
    thanks, danke = draw.one((("", ""), (", thank you", ", danke"))) if subject is ICH else ("", "")
    need("not" not in english or not thanks)
    be = ("am", "are", "is", "are", "are", "are")[english_index(subject)]
    text = f"{english_phrase(subject)} {be} {english}{day}{thanks}"
    dative = dative_of(subject)
    return sentence(text), sentence(f"{dative} geht es{tag} {german}{danke}")


_PARTINGS = paired(
    "goodbye = auf Wiedersehen; bye = tschüss; see you tomorrow = bis morgen; "
    "see you later = bis später; see you soon = bis bald; see you on Monday = bis Montag; "
    "see you on Tuesday = bis Dienstag; see you on Wednesday = bis Mittwoch; "
    "see you on Thursday = bis Donnerstag; see you on Friday = bis Freitag; "
    "see you on Saturday = bis Samstag; see you on Sunday = bis Sonntag; "
    "see you next week = bis nächste Woche; good night = gute Nacht; "
    "have a nice day = einen schönen Tag noch; have a nice weekend = schönes Wochenende; "
    "have a nice evening = einen schönen Abend noch"
)
_AFTER_GREETING = (
    ("", {DU: "", IHR: "", SIE_POLITE: ""}),
    ("", {DU: "", IHR: "", SIE_POLITE: ""}),
    (
        "How are you?",
        {DU: "Wie geht es dir?", IHR: "Wie geht es euch?", SIE_POLITE: "Wie geht es Ihnen?"},
    ),
    (
        "How are you today?",
        {
            DU: "Wie geht es dir heute?",
            IHR: "Wie geht es euch heute?",
            SIE_POLITE: "Wie geht es Ihnen heute?",
        },
    ),
)  # fmt: skip


@pattern(265)
def greeting(draw):
    """Good morning, Mrs. Weber! Hi, Tom! How are you today? See you on Monday, Anna!"""
    pronoun, *call = addressee(draw)
    parting = draw.chance(0.45)
    english, german = draw.one(_PARTINGS if parting else GREETINGS)
    need(call[0] and (call[1] or not english.startswith("hi")))
    need(pronoun is not SIE_POLITE or english not in ("hi", "bye", "hello"))
    after, danach = ("", {pronoun: ""}) if parting else draw.one(_AFTER_GREETING)
    mark = "!"
    return (
        join([sentence(english + call[0], mark), after]),
        join([sentence(german + call[1], mark), danach[pronoun]]),
    )


_FAVORS = paired(
    "the coffee = den Kaffee; the tea = den Tee; the letter = den Brief; "
    "the gift = das Geschenk; the gifts = die Geschenke; the flowers = die Blumen; "
    "the cake = den Kuchen; the invitation = die Einladung; the photos = die Fotos; "
    "the meal = das Essen; the book = das Buch; the email = die E-Mail; "
    "the nice evening = den schönen Abend; the nice day = den schönen Tag; "
    "the beautiful flowers = die schönen Blumen; the good idea = die gute Idee; "
    "the answer = die Antwort; the information = die Information; "
    "the nice weekend = das schöne Wochenende; the postcard = die Postkarte; "
    "everything = alles; the delicious soup = die leckere Suppe; the ticket = die Fahrkarte"
)
_YOUR_FAVORS = paired(
    "help = Hilfe; letter = Brief; answer = Antwort; email = E-Mail; gift = Geschenk"
)
_THANKS = paired("thank you = danke; thanks = danke; thank you very much = vielen Dank")


@pattern(170)
def thanks(draw):
    """Thank you for the coffee. Thank you very much for your help, Mrs. Weber."""
    pronoun, *call = addressee(draw)
    english, german = draw.one(_THANKS)
    what, was = draw.one(_FAVORS)
    if draw.chance(0.4):
        what = draw.one(_YOUR_FAVORS)[0]
        phrase = NounPhrase(NOUN[what], pronoun)
        what, was = english_phrase(phrase), german_phrase(phrase, "acc")
    return (
        sentence(f"{english} for {what}{call[0]}"),
        sentence(f"{german} für {was}{call[1]}"),
    )


@pattern(130)
def glad_to_meet(draw):
    """Do you know my sister? I know your brother. I have known Anna for two years."""
    whom = draw.one((name, lambda d: kin(d, d.one((ICH, DU, ER, SIE, WIR)))))(draw)
    if draw.chance(0.3):
        number, zahl = draw.one(NUMBERS[1:9])
        unit, einheit = draw.one(paired("years = Jahren; months = Monaten; weeks = Wochen"))
        subject = draw.one((ICH, ICH, WIR, ER, SIE))
        need(whom.det not in (ER, SIE) or subject in (ICH, WIR))
        need(whom.det not in (ICH, WIR) or (whom.det is subject and "family" not in whom.noun.tags))
        have = "has" if person_index(subject) == 2 else "have"
        german = german_phrase(whom, "acc")
        kennen = present("kennen", "", person_index(subject))
        return (
            sentence(f"{subject.english} {have} known {english_phrase(whom)} for {number} {unit}"),
            sentence(f"{subject.german} {kennen} {german} seit {zahl} {einheit}"),
        )

    def about(subject):
        need(whom.det not in (subject, subject.owner, WIR if subject is ICH else None))
        need(whom.det is not ICH or subject is not WIR)
        need(getattr(subject, "noun", None) is not whom.noun)
        need((subject is not IHR and subject is not SIE_POLITE) or whom.det is not DU)
        need(subject is not YOU_TWO or whom.det is not DU)
        return Clause(subject, VERB["know"], "present", (Complement(whom),))

    return said_or_asked(draw, about, 0.2, 0.5)


@pattern(105)
def since_when(draw):
    """I have been a teacher for ten years. How long have you been living in Berlin?"""
    (number, zahl), (city, stadt) = draw.one(NUMBERS[1:11]), draw.one(CITIES)
    unit, einheit = draw.one(paired("years = Jahren; months = Monaten; years = Jahren"))
    if draw.chance(0.5):
        subject, call = asked_about(draw)
        verb, english, german = draw.one(
            (
                ("live", f"living in {city}", f"in {stadt}"),
                ("work", f"working in {city}", f"in {stadt}"),
                ("learn", "learning German", "Deutsch"),
                ("learn", "learning English", "Englisch"),
            )
        )
        need(verb != "work" or not is_young(subject))
        have = "has" if english_index(subject) == 2 else "have"
        text = f"how long {have} {english_phrase(subject)} been {english}{call[0]}"
        clause = told(subject, verb, "", f"schon {german}")
        return sentence(text, "?"), sentence(german_question(clause, "wie lange") + call[1], "?")
    subject = speaker(draw)
    english, german = _job_for(draw, subject)
    what, was = draw.one(
        ((f"{indefinite_article(english)} {english}", german), ("married", "verheiratet"))
    )
    have = "has" if english_index(subject) == 2 else "have"
    clause = told(subject, "be", "", f"seit {zahl} {einheit} {was}")
    return (
        sentence(f"{english_phrase(subject)} {have} been {what} for {number} {unit}"),
        sentence(german_main(clause)),
    )

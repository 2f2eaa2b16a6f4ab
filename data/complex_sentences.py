"""Patterns with two clauses: subordinate clauses, infinitives with "zu" and relative clauses."""

from dataclasses import replace

from grammar import (
    DU,
    ER,
    ICH,
    IHR,
    SIE,
    SIE_PLURAL,
    WIR,
    Adverbial,
    Clause,
    Complement,
    NounPhrase,
    Pronoun,
    english_gerund,
    english_infinitive,
    english_main,
    english_phrase,
    german_infinitive,
    german_main,
    german_phrase,
    german_subordinate,
    join,
    present,
    sentence,
)
from lexicon import ADJECTIVES_OF, DEEDS, MOODS, NAMES, NOUN, PLACES, VERB
from parts import (
    IT_DE,
    PRONOUNS,
    adjective_for,
    deed_clause,
    goal,
    habit,
    is_male,
    kin,
    name,
    need,
    object_clause,
    pattern,
    person,
    place_for,
    stranger,
    third_person_singular,
    time_for,
    topic_clause,
)
from statements import going

WEATHER = (("it is raining", "es regnet"), ("it is snowing", "es schneit"),
           ("it is cold", "es kalt ist"), ("the weather is bad", "das Wetter schlecht ist"))  # fmt: skip


def pronoun_of(subject):
    """The pronoun that takes up a subject in a second clause."""
    return subject if isinstance(subject, Pronoun) else subject.owner


def two_clauses(first, second, english_link, german_link, comma_in_english=False):
    """A main clause with a subordinate one behind it."""
    comma = "," if comma_in_english else ""
    english = f"{english_main(first)}{comma} {english_link} {english_main(second)}"
    return sentence(english), sentence(f"{german_main(first)}, {subordinate(second, german_link)}")


def subordinate(clause, conjunction):
    """A German subordinate clause."""
    return german_subordinate(clause, conjunction)


def being(subject, predicate, tense="present", negated=False):
    """A clause with "to be"."""
    return Clause(subject, VERB["be"], tense, negated=negated, predicate=predicate)


# --- Because, although, if, when -------------------------------------------------------------

_TIRED = [mood for mood in MOODS if mood[0] in ("tired", "sick", "busy", "sad", "nervous")]
_GLAD = [mood for mood in MOODS if mood[0] in ("happy", "excited", "satisfied", "proud")]
_UPSET = [mood for mood in MOODS if mood[0] in ("sad", "angry", "disappointed", "unhappy")]


def _staying_in(draw, subject):
    """What people do when they do not feel like going out."""
    kind = draw.random.randrange(4)
    if kind == 0:
        home = Adverbial("at home", "zu Hause", "place")
        return Clause(subject, VERB["stay"], "progressive", (), (home,))
    if kind == 1:
        return Clause(subject, VERB["come along"], "progressive", negated=True)
    if kind == 2:
        return replace(going(draw, "progressive", subject=subject), negated=True)
    return replace(deed_clause(draw, draw.one(("can", "want to")), subject, extra=0.3),
                   negated=True)  # fmt: skip


@pattern(200)
def because_state(draw):
    """I am staying at home because I am sick."""
    subject = person(draw, 0.6)
    first = _staying_in(draw, subject)
    need(not any(item.english == "home" for item in first.adverbials))
    need(first.verb.english not in ("laugh", "cry", "smile", "hurry", "rest", "sleep", "wait"))
    need(first.verb.english not in ("fall asleep", "wake up", "come back"))
    who = pronoun_of(subject)
    if draw.chance(0.3):
        no_time = (Complement(NounPhrase(NOUN["time"], "bare")),)
        second = Clause(who, VERB["have"], "present", no_time, negated=True)
    elif draw.chance(0.2):
        second = Clause(who, VERB["work"], "have to")
    else:
        second = being(who, draw.one(_TIRED))
    english = f"{english_main(first)} because {english_main(second)}"
    english = english.replace("doesn't have time", "has no time").replace(
        "don't have time", "have no time")  # fmt: skip
    return sentence(english), sentence(f"{german_main(first)}, {subordinate(second, 'weil')}")


@pattern(200)
def because_deed(draw):
    """Anna is happy because she found her key."""
    subject = person(draw, 0.5)
    who = pronoun_of(subject)
    moods, verbs = draw.one(
        ((_GLAD, {"find", "solve", "sell", "invite", "repair", "meet", "buy", "visit"}),
         (_UPSET, {"lose", "miss", "forget"}))
    )  # fmt: skip
    second = object_clause(draw, "past", "h-", who, verbs=verbs)
    need(second.verb.english != "buy" or "food" not in second.objects[0].phrase.noun.tags)
    return two_clauses(being(subject, draw.one(moods)), second, "because", "weil")


@pattern(110)
def because_weather(draw):
    """We are staying at home because it is raining."""
    subject = person(draw, 0.6)
    first = _staying_in(draw, subject)
    need(first.verb.english in ("stay", "go", "go for a walk", "swim", "run", "play"))
    need(not any(item.english == "home" for item in first.adverbials))
    need(first.verb.english != "play" or not first.adverbials)
    english, german = draw.one(WEATHER)
    return (
        sentence(f"{english_main(first)} because {english}"),
        sentence(f"{german_main(first)}, weil {german}"),
    )


@pattern(140)
def although(draw):
    """Although it is raining, the children are playing in the garden."""
    english, german = draw.one(WEATHER[:2] + WEATHER[3:])
    subject = person(draw, 0.5)
    clause = deed_clause(draw, "progressive", subject, extra=1.0)
    places = [item.english for item in clause.adverbials if item.kind == "place"]
    need(clause.verb.english in ("play", "run", "go for a walk", "swim", "dance", "wait", "work"))
    outdoors = ("in the garden", "in the park", "in the forest", "in the street", "at the lake",
                "on the beach", "in the lake", "in the sea", "in the mountains")  # fmt: skip
    need(places and places[0] in outdoors)
    front = Adverbial("", f"obwohl {german},", "time")
    if draw.chance(0.5):
        return (
            sentence(f"although {english}, {english_main(clause)}"),
            sentence(german_main(clause, front)),
        )
    return (
        sentence(f"{english_main(clause)} although {english}"),
        sentence(f"{german_main(clause)}, obwohl {german}"),
    )


@pattern(90)
def although_state(draw):
    """Although she is tired, Anna is cleaning the kitchen."""
    subject = person(draw, 0.6)
    verbs = {"clean", "tidy", "cook", "bake", "wash", "repair", "carry", "watch", "water"}
    clause = object_clause(draw, "progressive", "h-", subject, verbs=verbs)
    state = being(pronoun_of(subject), draw.one([m for m in _TIRED if m[0] in ("tired", "sick")]))
    return two_clauses(clause, state, "although", "obwohl")


@pattern(190)
def if_weather(draw):
    """If it rains tomorrow, we will stay at home."""
    english, german, verbs = draw.one(_IF_WEATHER)
    subject = person(draw, 0.6)
    if verbs == "home":
        home = Adverbial("at home", "zu Hause", "place")
        clause = Clause(subject, VERB["stay"], "will", (), (home,))
        if draw.chance(0.5):
            clause = object_clause(
                draw, "will", "h-", subject,
                verbs={"read", "watch", "clean", "tidy", "bake", "cook", "paint"},
            )  # fmt: skip
    elif draw.chance(0.5):
        clause = replace(going(draw, "will", subject=subject))
        outside = ("to the park", "to the lake", "to the beach", "to the zoo", "into the forest",
                   "into the garden", "to the market")  # fmt: skip
        need(clause.adverbials[0].english in outside)
    else:
        clause = deed_clause(draw, "will", subject, extra=0.9)
        need(clause.adverbials and clause.adverbials[0].english in _OUTDOORS)
    front = Adverbial("", f"wenn {german},", "time")
    return sentence(f"if {english}, {english_main(clause)}"), sentence(german_main(clause, front))


_OUTDOORS = (
    "in the garden", "in the park", "in the forest", "at the lake", "on the beach", "in the lake",
    "in the sea", "in the mountains",
)  # fmt: skip
_IF_WEATHER = (
    ("it rains", "es regnet", "home"),
    ("it snows tomorrow", "es morgen schneit", "home"),
    ("it rains tomorrow", "es morgen regnet", "home"),
    ("the weather is bad", "das Wetter schlecht ist", "home"),
    ("the weather is good", "das Wetter gut ist", "out"),
    ("it is warm tomorrow", "es morgen warm ist", "out"),
    ("the sun shines", "die Sonne scheint", "out"),
    ("it doesn't rain", "es nicht regnet", "out"),
)


@pattern(130)
def if_time(draw):
    """If I have time, I will visit my aunt."""
    who = draw.one(PRONOUNS)
    stuff = draw.one((("time", "Zeit"), ("money", "Geld"), ("enough time", "genug Zeit"),
                      ("enough money", "genug Geld")))  # fmt: skip
    money = "money" in stuff[0]
    verbs = {"buy", "rent", "plan"} if money else {
        "visit", "call", "read", "clean", "tidy", "bake", "cook", "repair", "meet", "wash",
        "paint", "draw", "watch", "write", "try on",
    }  # fmt: skip
    clause = object_clause(draw, "will", "h-l", who, verbs=verbs)
    need(not money or "food" not in clause.objects[0].phrase.noun.tags)
    have = Clause(who, VERB["have"], "present", predicate=stuff)
    front = Adverbial("", subordinate(have, "wenn") + ",", "time")
    return (
        sentence(f"if {english_main(have)}, {english_main(clause)}"),
        sentence(german_main(clause, front)),
    )


@pattern(90)
def unreal(draw):
    """If I had money, I would buy a house."""
    who = draw.one(PRONOUNS)
    english, german, verbs = draw.one(
        (("more time", "mehr Zeit", {"visit", "read", "learn", "bake", "paint", "meet", "call"}),
         ("more money", "mehr Geld", {"buy", "rent", "build"}))
    )  # fmt: skip
    clause = object_clause(draw, "would", "h-l", who, verbs=verbs)
    need("food" not in clause.objects[0].phrase.noun.tags or "time" in english)
    index = (3 if who.plural else 0) + who.person - 1
    had = "hätte" + ("", "st", "", "n", "t", "n")[index]
    front = Adverbial("", f"wenn {who.german} {german} {had},", "time")
    return (
        sentence(f"if {who.english} had {english}, {english_main(clause)}"),
        sentence(german_main(clause, front)),
    )


@pattern(100)
def when_past(draw):
    """When I was a child, I often played in the garden."""
    who = draw.one((ICH, ER, SIE, DU))
    if draw.chance(0.5):
        clause = deed_clause(draw, "past", who, extra=0.9)
        need(clause.verb.english in ("play", "sing", "dance", "swim", "run", "laugh", "read"))
        need(all(item.kind == "place" for item in clause.adverbials))
    else:
        verbs = {"read", "eat", "drink", "visit", "paint", "feed", "sing", "wear", "bake", "watch"}
        clause = object_clause(draw, "past", "h", who, verbs=verbs)
        need(clause.objects[0].phrase.noun.english not in ("beer", "wine"))
    often = Adverbial(*draw.one((("often", "oft"), ("always", "immer"), ("sometimes", "manchmal"),
                                 ("never", "nie"), ("rarely", "selten"))), "often")  # fmt: skip
    clause = replace(clause, adverbials=(often, *clause.adverbials))
    be = being(who, ("a child", "ein Kind"), "past")
    front = Adverbial("", subordinate(be, "als") + ",", "time")
    english = f"when {english_main(be)}, {english_main(clause)}"
    return sentence(english), sentence(german_main(clause, front))


@pattern(110)
def before(draw):
    """Before I go to school, I eat a roll."""
    who = draw.one(PRONOUNS)
    links = (("before", "bevor"), ("after", "nachdem"))
    second = draw.one(
        (Clause(who, VERB["fall asleep"]), Clause(who, VERB["get up"]),
         going(draw, "present", subject=who), Clause(who, VERB["go shopping"]))
    )  # fmt: skip
    verbs = {"read", "eat", "drink", "feed", "tidy", "clean", "call", "write", "water", "wash"}
    if second.verb.english == "fall asleep":
        verbs = {"read", "drink"}
    clause = object_clause(draw, "present", "h", who, verbs=verbs)
    need(second.verb.english not in ("get up",))
    often = Adverbial(*draw.one((("always", "immer"), ("often", "oft"), ("usually", "meistens"),
                                 ("sometimes", "manchmal"))), "often")  # fmt: skip
    clause = replace(clause, adverbials=(often,))
    english_link, german_link = links[0]
    front = Adverbial("", subordinate(second, german_link) + ",", "time")
    english = f"{english_link} {english_main(second)}, {english_main(clause)}"
    return sentence(english), sentence(german_main(clause, front))


# --- That, whether, where --------------------------------------------------------------------


def _thinking(draw):
    """A main clause that a "that" clause hangs on."""
    who = draw.one((ICH, ER, SIE, WIR, SIE_PLURAL)) if draw.chance(0.6) else name(draw)
    verb, tense = draw.one((("know that", "present"), ("think", "present"), ("hope", "present"),
                            ("say", "past"), ("say", "present"), ("know that", "past")))  # fmt: skip
    clause = Clause(who, VERB[verb], tense)
    english = english_main(clause).replace(" that", "") + " that"
    return who, english, german_main(clause) + ",", verb


@pattern(330)
def that(draw):
    """I think that the baker sold his house."""
    who, english, german, verb = _thinking(draw)
    subject = person(draw, 0.4)
    need(subject is not who)
    tense, aspects, when = draw.one(
        (("past", "h-l", None), ("present", "s", None), ("will", "h-l", "future"),
         ("past", "h-l", "past"), ("can", "h-", None))
    )  # fmt: skip
    if draw.chance(0.25):
        clause = being(subject, draw.one(MOODS))
    elif draw.chance(0.2):
        clause = deed_clause(draw, "will", subject, when="future", extra=0)
    else:
        clause = object_clause(draw, tense, aspects, subject, when=when)
    need(not ("said" in english or "knew" in english) or clause.tense == "past")
    text = f"{english} {english_main(clause)}"
    need(len(text.split()) <= 12)
    return sentence(text), sentence(f"{german} {subordinate(clause, 'dass')}")


@pattern(190)
def whether(draw):
    """I don't know whether the waiter is married."""
    english, german = draw.one(
        (("I don't know whether", "ich weiß nicht, ob"), ("do you know whether", "weißt du, ob"),
         ("we don't know whether", "wir wissen nicht, ob"), ("can you tell me whether",
         "kannst du mir sagen, ob"), ("she is asking whether", "sie fragt, ob"))
    )  # fmt: skip
    subject = person(draw, 0.35)
    need(subject is not DU and subject is not ICH)
    kind = draw.random.randrange(3)
    if kind == 0:
        clause = being(subject, draw.one(MOODS))
    elif kind == 1:
        clause = deed_clause(draw, "will", subject, when="future", extra=0)
    else:
        tense, aspects = draw.one((("past", "h-"), ("will", "h-"), ("present", "s"), ("can", "-")))
        clause = object_clause(draw, tense, aspects, subject)
    mark = "?" if german.startswith(("weißt", "kannst")) else "."
    text = f"{english} {english_main(clause)}"
    need(len(text.split()) <= 12)
    return sentence(text, mark), sentence(f"{german} {subordinate(clause, '').strip()}", mark)


@pattern(170)
def indirect_question(draw):
    """Do you know where my key is?"""
    opening = draw.one(
        (("I don't know", "ich weiß nicht", "."), ("do you know", "weißt du", "?"),
         ("can you tell me", "kannst du mir sagen", "?"), ("please tell me", "bitte sag mir", "."),
         ("nobody knows", "niemand weiß", "."))
    )  # fmt: skip
    word, wort, verbs, tense = draw.one(
        (("why", "warum", None, "past"), ("when", "wann", {"visit", "sell", "buy", "call", "meet",
         "repair", "clean", "invite"}, "will"), ("where", "wo", {"buy", "find", "lose", "meet",
         "hide", "see"}, "past"), ("what", "was", {"buy", "cook", "eat", "read", "write", "draw",
         "forget", "order", "sell"}, "past"), ("why", "warum", None, "progressive"))
    )  # fmt: skip
    subject = person(draw, 0.4)
    need(subject is not DU)
    clause = object_clause(draw, tense, "h-s", subject, verbs=verbs)
    need(clause.verb.english not in ("like", "love", "know", "need", "have") or tense == "past")
    need(tense != "progressive" or clause.verb.english not in ("see", "hear", "understand", "need"))
    if word == "what":
        clause = replace(clause, objects=())
    text = f"{opening[0]} {word} {english_main(clause)}"
    need(len(text.split()) <= 12)
    german = f"{opening[1]}, {subordinate(clause, wort)}"
    return sentence(text, opening[2]), sentence(german, opening[2])


# --- Relative clauses ------------------------------------------------------------------------

_RELATIVE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "p": "denen"},
}


def relative_subject(phrase):
    """The relative pronoun as the subject of its clause."""
    german = _RELATIVE["nom"][phrase.gender]
    like = SIE_PLURAL if phrase.plural else (SIE if phrase.noun.gender == "f" else ER)
    return replace(like, english="who", german=german)


@pattern(190)
def relative_person(draw):
    """The man who repaired the car is my neighbor."""
    who = stranger(draw)
    need(who.adjective is None or draw.chance(0.3))
    pronoun = relative_subject(who)
    if draw.chance(0.5):
        tense, when = draw.one((("past", None), ("progressive", None)))
        clause = object_clause(draw, tense, "h-", pronoun, when=when)
        need(clause.objects[0].phrase.det is not pronoun)
    else:
        clause = deed_clause(draw, "progressive", pronoun, extra=0.7)
    predicate = draw.one([m for m in MOODS if m[0] not in ("at home", "alone")])
    if draw.chance(0.4) and not who.plural and who.gender == "m":
        predicate = draw.one((("my neighbor", "mein Nachbar"), ("my uncle", "mein Onkel"),
                              ("our teacher", "unser Lehrer"), ("my brother", "mein Bruder"),
                              ("a good friend of mine", "ein guter Freund von mir")))  # fmt: skip
        need(who.noun.english not in ("boy", "teacher", "neighbor"))
    be = being(replace(pronoun), predicate)
    verb = english_main(be, subject="")
    finite = present("sein", "", 5 if who.plural else 2)
    english = join([english_phrase(who), english_main(clause), verb])
    need(len(english.split()) <= 12)
    head = f"{german_phrase(who, 'nom')}, {german_subordinate(clause, '')},"
    return sentence(english), sentence(join([head, finite, predicate[1]]))


@pattern(190)
def relative_thing(draw):
    """The book that I am reading is boring."""
    subject = person(draw, 0.7)
    tense = draw.one(("past", "progressive"))
    clause = object_clause(draw, tense, "h-l", subject, verbs=_RELATIVE_DEEDS)
    phrase = clause.objects[0].phrase
    need("mass" not in phrase.noun.tags and phrase.noun.english in ADJECTIVES_OF)
    head = NounPhrase(phrase.noun, "def")
    fitting = [a for a in ADJECTIVES_OF[phrase.noun.english] if a.english not in ("hungry",)]
    need(fitting)
    adjective = draw.one(fitting)
    rest = replace(clause, objects=())
    finite = english_main(being(ER, ("", "")), subject="")
    be = "was" if tense == "past" and draw.chance(0.4) else finite
    ist = "war" if be == "was" else "ist"
    english = f"{english_phrase(head)} that {english_main(rest)} {be} {adjective.english}"
    relative = german_subordinate(rest, _RELATIVE["acc"][head.gender])
    german = f"{german_phrase(head, 'nom')}, {relative}, {ist} {adjective.german}"
    return sentence(english), sentence(german)


_RELATIVE_DEEDS = {
    "buy", "read", "write", "order", "rent", "build", "watch", "try on", "wear", "bake", "repair",
    "sell", "solve", "find", "visit", "plan", "cook", "paint", "sing",
}  # fmt: skip


@pattern(130)
def relative_object(draw):
    """I like the coat that you are wearing."""
    opening, oeffnung, kinds = draw.one(
        (("where is", "wo ist", "?"), ("this is", "das ist", "."), ("is this", "ist das", "?"))
    )
    subject = draw.one(PRONOUNS) if draw.chance(0.6) else person(draw)
    clause = object_clause(draw, "past", "h-l", subject, verbs=_RELATIVE_DEEDS | {"lose", "forget"})
    noun = clause.objects[0].phrase.noun
    need("mass" not in noun.tags and "person" not in noun.tags)
    need(opening != "where is" or not set(noun.tags) & {"home", "building", "sight", "heard"})
    if opening == "where is" and "matter" in noun.tags:
        need(False)
    adjective = adjective_for(draw, noun) if draw.chance(0.3) else None
    head = NounPhrase(noun, "def", adjective)
    rest = replace(clause, objects=())
    english = f"{opening} {english_phrase(head)} that {english_main(rest)}"
    relative = german_subordinate(rest, _RELATIVE["acc"][head.gender])
    german = f"{oeffnung} {german_phrase(head, 'nom')}, {relative}"
    return sentence(english, kinds), sentence(german, kinds)


# --- Infinitives -----------------------------------------------------------------------------


def infinitive_after(first, second, english_link="to", introduction=""):
    """A main clause followed by an infinitive clause."""
    english = f"{english_main(first)} {english_link} {english_infinitive(second)}"
    return sentence(english), sentence(f"{german_main(first)}, {german_infinitive(second, introduction)}")


@pattern(260)
def infinitive(draw):
    """She forgot to close the window."""
    subject = person(draw)
    verb, tense, verbs = draw.one(
        (("forget", "past", _FORGOTTEN), ("try", "progressive", _TRIED), ("try", "past", _TRIED),
         ("hope", "present", {"find", "visit", "meet", "sell", "solve", "buy", "see"}),
         ("promise", "past", _PROMISED), ("decide", "past", _DECIDED))
    )  # fmt: skip
    clause = object_clause(draw, "present", "h-ls", subject, verbs=verbs)
    need(verb != "hope" or clause.verb.english != "buy"
         or "food" not in clause.objects[0].phrase.noun.tags)  # fmt: skip
    return infinitive_after(Clause(subject, VERB[verb], tense), clause)


_FORGOTTEN = {
    "close", "turn off", "turn on", "buy", "call", "water", "feed", "pay", "invite", "wash",
    "bring along", "pick up", "order", "clean", "take",
}  # fmt: skip
_TRIED = {
    "open", "close", "repair", "solve", "find", "understand", "sell", "explain", "draw", "bake",
    "build", "photograph", "hide", "call", "carry", "turn on",
}  # fmt: skip
_PROMISED = {
    "visit", "call", "repair", "clean", "tidy", "cook", "bake", "pick up", "bring along", "water",
    "feed", "wash", "pay", "explain", "sell",
}  # fmt: skip
_DECIDED = {"sell", "buy", "rent", "build", "visit", "invite", "take", "write", "learn"}


@pattern(150)
def it_is_hard(draw):
    """It is difficult to solve this problem."""
    english, german, verbs = draw.one(
        (("difficult", "schwierig", _TRIED | {"understand"}), ("easy", "einfach", _TRIED),
         ("important", "wichtig", {"clean", "wash", "water", "feed", "understand", "repeat",
         "call", "pay", "solve", "explain"}), ("nice", "schön", {"visit", "meet", "see", "paint",
         "sing", "bake", "hear"}), ("dangerous", "gefährlich", {"photograph", "feed", "wash"}),
         ("expensive", "teuer", {"rent", "repair", "build", "buy"}))
    )  # fmt: skip
    clause = object_clause(draw, "present", "h-ls", draw.one((ICH, ER)), verbs=verbs)
    phrase = clause.objects[0].phrase
    need(not isinstance(phrase.det, Pronoun) and phrase.det != "indef" or english == "expensive")
    need(not isinstance(phrase.det, Pronoun))
    if english == "dangerous":
        need(phrase.noun.english in ("bear", "horse", "bird", "window"))
        need(phrase.noun.english == "bear")
    need(english != "expensive" or "food" not in phrase.noun.tags)
    negated = draw.chance(0.3)
    be = "isn't" if negated else "is"
    ist = "ist nicht" if negated else "ist"
    return (
        sentence(f"it {be} {english} to {english_infinitive(clause)}"),
        sentence(f"es {ist} {german}, {german_infinitive(clause)}"),
    )


@pattern(130)
def time_to(draw):
    """I don't have time to clean the kitchen."""
    subject = person(draw, 0.6)
    verbs = {"clean", "tidy", "cook", "bake", "read", "visit", "call", "repair", "wash", "write",
             "water", "watch", "paint", "meet", "buy"}  # fmt: skip
    clause = object_clause(draw, "present", "h-l", subject, verbs=verbs)
    have = Clause(subject, VERB["have"], "present", (Complement(NounPhrase(NOUN["time"], "bare")),),
                  negated=True)  # fmt: skip
    return infinitive_after(have, clause)


_ERRANDS = (
    ("to the supermarket", {"buy"}, ("food", "drink")),
    ("to the market", {"buy"}, ("food", "fruit")),
    ("to the bakery", {"buy"}, ("bread", "roll", "cake")),
    ("to the library", {"read"}, ("text",)),
    ("to the train station", {"pick up"}, ("person",)),
    ("to the airport", {"pick up"}, ("person",)),
    ("to the museum", {"photograph"}, ()),
    ("to the restaurant", {"eat", "drink", "meet"}, ("food", "drink", "person")),
    ("to the café", {"meet", "drink"}, ("person", "coffee", "tea")),
    ("to the park", {"meet", "read", "paint"}, ("person", "text", "flower", "tree")),
    ("into the kitchen", {"cook", "bake", "clean"}, ("food", "room")),
    ("to the city", {"buy", "meet"}, ("clothes", "person")),
    ("into the garden", {"water", "read", "feed"}, ("plant", "text", "cat", "dog", "rabbit")),
    ("home", {"cook", "read", "watch", "tidy"}, ("food", "text", "movie", "room")),
)


@pattern(220)
def purpose(draw):
    """He is going to the supermarket to buy bread."""
    where, verbs, kinds = draw.one(_ERRANDS)
    subject = person(draw)
    first = going(draw, draw.one(("progressive", "past", "want to")), subject=subject)
    goals = [p.goal for p in PLACES if p.goal and p.goal.english == where]
    need(goals)
    first = replace(first, adverbials=(goals[0],))
    second = object_clause(draw, "present", "h-", subject, verbs=verbs)
    noun = second.objects[0].phrase.noun
    need(noun.english in kinds or set(noun.tags) & set(kinds))
    return infinitive_after(first, second, introduction="um")


# --- Likes, coordination ---------------------------------------------------------------------


@pattern(180)
def likes_doing(draw):
    """Anna likes reading novels."""
    subject = person(draw)
    if draw.chance(0.4):
        clause = deed_clause(draw, "present", subject, aspects="h", extra=0.5)
        need(all(item.kind == "place" for item in clause.adverbials))
    else:
        clause = object_clause(draw, "present", "h", subject, verbs=_LIKED)
        phrase = clause.objects[0].phrase
        if phrase.det == "indef":
            clause = replace(clause, objects=(Complement(replace(phrase, det="bare", plural=True)),))
        need(not isinstance(phrase.det, Pronoun) or "person" in phrase.noun.tags)
    like = Clause(subject, VERB["like"], "present")
    gern = Adverbial("", "gern", "already")
    english = f"{english_main(like)} {english_gerund(clause)}"
    tail = german_main(replace(clause, adverbials=(*clause.adverbials, gern)))
    return sentence(english), sentence(tail)


_LIKED = {"eat", "drink", "read", "write", "cook", "bake", "visit", "feed", "wear", "sing", "paint"}


@pattern(160)
def and_but(draw):
    """Anna is cooking and Paul is cleaning the kitchen."""
    first, second = person(draw, 0.2), person(draw, 0.2)
    need(first is not second)
    need(not isinstance(first, NounPhrase) or not isinstance(second, NounPhrase)
         or first.noun is not second.noun)  # fmt: skip
    link = draw.one((("and", " und"), ("but", ", aber")))
    one = deed_clause(draw, "progressive", first, extra=0.2)
    two = object_clause(draw, "progressive", "h", second)
    need(one.verb.english not in ("fall asleep", "wake up", "come along", "come back"))
    comma = "," if link[0] == "but" else ""
    english = f"{english_main(one)}{comma} {link[0]} {english_main(two)}"
    need(len(english.split()) <= 12)
    return sentence(english), sentence(f"{german_main(one)}{link[1]} {german_main(two)}")


@pattern(150)
def but_cannot(draw):
    """I want to buy a car, but I have no money."""
    subject = person(draw, 0.5)
    who = pronoun_of(subject)
    verbs, english, german = draw.one(
        (({"buy", "rent", "build"}, "no money", "kein Geld"),
         ({"visit", "clean", "tidy", "read", "bake", "cook", "call", "wash", "repair"}, "no time",
          "keine Zeit"))
    )  # fmt: skip
    clause = object_clause(draw, "want to", "h-l", subject, verbs=verbs)
    have = Clause(who, VERB["have"], "present", predicate=(english, german))
    text = f"{english_main(clause)}, but {english_main(have)}"
    need(len(text.split()) <= 12)
    return sentence(text), sentence(f"{german_main(clause)}, aber {german_main(have)}")


@pattern(200)
def lost_thing(draw):
    """Where is my key? I can't find it."""
    owner = draw.one((ICH, WIR, ER, SIE, SIE_PLURAL))
    verb, tense, negated = draw.one(
        (("find", "can", True), ("need", "present", False), ("look for", "progressive", False),
         ("need", "present", False), ("see", "can", True))
    )  # fmt: skip
    clause = object_clause(draw, "present", "h-", owner, verbs={"look for", "forget", "lose"})
    phrase = clause.objects[0].phrase
    need(not phrase.plural and phrase.det is owner)
    it = Pronoun("it", "it", "its", IT_DE[phrase.gender], {"m": "ihn", "f": "sie", "n": "es"}[
        phrase.gender], "", "")  # fmt: skip
    clause = Clause(owner, VERB[verb], tense, (Complement(it),), negated=negated)
    head = f"where is {english_phrase(phrase)}"
    kopf = f"wo ist {german_phrase(phrase, 'nom')}"
    return (
        f"{sentence(head, '?')} {sentence(english_main(clause))}",
        f"{sentence(kopf, '?')} {sentence(german_main(clause))}",
    )


@pattern(130)
def it_is(draw):
    """I bought a coat. It is expensive."""
    subject = person(draw, 0.8)
    clause = object_clause(draw, "past", "h-l", subject, verbs={"buy", "find", "watch", "read",
                           "rent", "build", "write", "order", "bake"})  # fmt: skip
    phrase = clause.objects[0].phrase
    need(phrase.det == "indef" and not phrase.plural and not phrase.adjective)
    fitting = ADJECTIVES_OF[phrase.noun.english]
    need(fitting)
    adjective = draw.one(fitting)
    very = draw.one((("", ""), ("very", "sehr")))
    need(adjective.english not in ("empty", "dirty"))
    need(not (very[0] and adjective.english in ("delicious", "black", "white", "red", "blue",
                                                "green", "yellow", "brown")))  # fmt: skip
    return (
        f"{sentence(english_main(clause))} {sentence(join(['it is', very[0], adjective.english]))}",
        f"{sentence(german_main(clause))} "
        f"{sentence(join([IT_DE[phrase.gender], 'ist', very[1], adjective.german]))}",
    )

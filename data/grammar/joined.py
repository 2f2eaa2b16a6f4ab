"""Patterns that join sentences of other patterns, or add a greeting, a name or an answer."""

import comparisons
import facts
import infinitives
import introductions
import lessons
import particles
import questions
import routines
import statements
import whereabouts
from lexicon import NAMES
from parts import PATTERNS, listed, need, paired, pattern

_MODULES = (
    comparisons, facts, infinitives, introductions, lessons, particles, questions, routines,
    statements, whereabouts,
)  # fmt: skip
_NAMES = {module.__name__ for module in _MODULES}
_SENTENCES = [function for _, function, _ in sorted(PATTERNS) if function.__module__ in _NAMES]

_ENGLISH_STARTS = frozenset(
    listed(
        "a; an; are; at; can; could; did; do; does; don't; every; go; have; he; her; here; his; "
        "how; in; is; it; last; let's; may; my; nobody; on; our; put; she; should; take; that; "
        "the; their; there; these; they; this; those; today; tomorrow; tonight; turn; wait; we; "
        "what; when; where; which; who; whose; why; will; would; yesterday; you; your"
    )
)
_GERMAN_STARTS = frozenset(
    listed(
        "am; bin; bist; darf; darfst; das; dein; deine; deinen; der; die; diese; dieser; dieses; "
        "du; dürfen; ein; eine; einen; er; es; für; geh; gehen; gehst; gestern; gibt; haben; habt; "
        "hast; hat; heute; hier; ich; ihr; ihre; im; in; ist; jeden; jede; jetzt; kann; kannst; "
        "komm; kommen; kommst; kommt; können; könnte; könnten; könntest; lass; letzte; letzten; "
        "letztes; lies; magst; mein; meine; meinen; mir; mit; morgen; möchtest; muss; musst; nimm; "
        "niemand; schau; schreib; sein; seine; seit; sie; sind; soll; sollen; unser; unsere; um; "
        "vor; warte; warum; was; welche; welchen; welcher; welches; wem; wer; wie; will; willst; "
        "wir; wird; wo; woher; wohin; zu; zwei"
    )
)
_FAMILY = paired("Mom = Mama; Dad = Papa; Grandma = Oma; Grandpa = Opa")
_GREETINGS = paired(
    "Hi = Hallo; Hello = Hallo; Good morning = Guten Morgen; Good evening = Guten Abend; "
    "Sorry = Tut mir leid; Thank you = Danke; Thanks = Danke"
)
_FAREWELLS = paired("Good night = Gute Nacht; Goodbye = Auf Wiedersehen; Bye = Tschüss")
_POLITE = listed("sir; ma'am; Mr.; Mrs.; children; you two; You two")


def _short(draw, longest, marks):
    """A sentence of another pattern with one of these marks at its end, and without a name."""
    english, german = draw.one(_SENTENCES)(draw)
    need(english[-1] in marks and german[-1] == english[-1])
    need(len(english.split()) <= longest)
    need(not any(mark in english for mark in _POLITE))
    need("," not in english and "," not in german)
    return english, german


def _inside(pair):
    """A sentence in both languages, written as it is behind a comma."""
    english, german = pair
    first = english.split()[0].lower()
    if first.split("'")[0] != "i":
        need(first in _ENGLISH_STARTS or first.split("'")[0] in _ENGLISH_STARTS)
        english = english[0].lower() + english[1:]
    need(german.split()[0].lower() in _GERMAN_STARTS)
    return english, german[0].lower() + german[1:]


def _somebody(draw):
    """A name or "Mom", in both languages."""
    if draw.chance(0.2):
        return draw.one(_FAMILY)
    somebody = draw.one(NAMES)
    return somebody.english, somebody.german


@pattern(600)
def greeting_and_sentence(draw):
    """Hi Tom, where do you live? Thanks, I am fine. Good night, Mom, we are tired."""
    english, german = _inside(_short(draw, 8, ".?"))
    hello, hallo = draw.one(_GREETINGS + _FAREWELLS if english[-1] == "." else _GREETINGS)
    if draw.chance(0.6):
        (name, german_name), comma = _somebody(draw), "" if hello in ("Hi", "Hello") else ","
        hello, hallo = f"{hello}{comma} {name}", f"{hallo}{comma} {german_name}"
    return f"{hello}, {english}", f"{hallo}, {german}"


@pattern(345)
def answer_and_sentence(draw):
    """Yes, he is a doctor. No, we don't have a car. Excuse me, is the bank open?"""
    mark = draw.one(".?")
    english, german = _inside(_short(draw, 9, mark))
    if mark == "?":
        return f"Excuse me, {english}", f"Entschuldigung, {german}"
    if "n't" in english or " not " in english:
        return f"No, {english}", f"Nein, {german}"
    yes, ja = draw.one((("Yes", "Ja"), ("Of course", "Natürlich")))
    return f"{yes}, {english}", f"{ja}, {german}"


@pattern(430)
def name_and_sentence(draw):
    """What are you doing, Peter? Come in, Anna! Mom, where is my bag?"""
    english, german = _short(draw, 9, ".?!")
    name, german_name = _somebody(draw)
    need(name not in english)
    if draw.chance(0.4):
        english, german = _inside((english, german))
        return f"{name}, {english}", f"{german_name}, {german}"
    return f"{english[:-1]}, {name}{english[-1]}", f"{german[:-1]}, {german_name}{german[-1]}"


@pattern(430)
def sentence_and_sentence(draw):
    """I am tired. Where is my bed?"""
    (first, erster), (second, zweiter) = (_short(draw, 6, ".?!") for _ in range(2))
    return f"{first} {second}", f"{erster} {zweiter}"


@pattern(600)
def sentence_and_clause(draw):
    """I am tired, and my brother is hungry. It is late, but the bank is still open."""
    first, erster = _short(draw, 6, ".")
    second, zweiter = _inside(_short(draw, 6, "."))
    link, glied = draw.one((("and", "und"), ("but", "aber")))
    return f"{first[:-1]}, {link} {second}", f"{erster[:-1]}, {glied} {zweiter}"


_COMMANDS = listed(
    "Please; Take; Go; Turn; Don't; Do; Put; Open; Close; Give; Write; Call; Buy; Wait; Come; Be; "
    "Sit; Let's; Read; Bring; Ask; Help; Show; Look; Eat; Drink; Drive; Speak; Listen; Try; Learn"
)
_REASONS = paired(
    "it is cold = es ist kalt; it is very cold = es ist sehr kalt; it is hot = es ist heiß; "
    "it is raining = es regnet; it is snowing = es schneit; it is windy = es ist windig; "
    "it is late = es ist spät; it is already late = es ist schon spät; "
    "it is dark = es ist dunkel; it is not far = es ist nicht weit; "
    "it is important = es ist wichtig; it is fun = es macht Spaß; it is easy = es ist einfach; "
    "it isn't healthy = es ist nicht gesund; it is healthy = es ist gesund; "
    "it is too loud here = es ist hier zu laut; it is too cold here = es ist hier zu kalt; "
    "it is dangerous = es ist gefährlich; it isn't dangerous = es ist nicht gefährlich; "
    "I am tired = ich bin müde; I am very tired = ich bin sehr müde; I am sick = ich bin krank; "
    "I am hungry = ich habe Hunger; I am thirsty = ich habe Durst; I am cold = mir ist kalt; "
    "I am bored = mir ist langweilig; I am coming = ich komme; "
    "I am in a hurry = ich habe es eilig; "
    "I have no time = ich habe keine Zeit; I don't have time = ich habe keine Zeit; "
    "we have no time = wir haben keine Zeit; we have a lot of time = wir haben viel Zeit; "
    "the baby is sleeping = das Baby schläft; the children are sleeping = die Kinder schlafen; "
    "the street is wet = die Straße ist nass; the sun is shining = die Sonne scheint; "
    "the weather is nice = das Wetter ist schön; the weather is bad = das Wetter ist schlecht; "
    "I have to work = ich muss arbeiten; I want to sleep = ich will schlafen; "
    "I will be right back = ich bin gleich zurück; the bus is coming = der Bus kommt; "
    "the train is leaving = der Zug fährt ab; dinner is ready = das Abendessen ist fertig"
)


@pattern(300)
def command_and_reason(draw):
    """Close the window, it is cold. Please wait, I am coming."""
    first, erster = _short(draw, 7, "!.")
    need(first.split()[0] in _COMMANDS)
    second, zweiter = draw.one(_REASONS)
    return f"{first[:-1]}, {second}.", f"{erster[:-1]}, {zweiter}."

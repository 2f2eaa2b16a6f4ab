"""A small grammar of English and German: from one clause to a sentence in each language.

A `Clause` says who does what to whom, when and where. `english_clause` and `german_clause`
write it down in the word order asked for. The German side knows articles, cases, adjective
endings, verb forms, the sentence bracket and the place of "nicht"; the English side knows
do-support, the progressive and a/an.

Genders are "m", "f", "n" and "p" (plural, which has no gender of its own); cases are "nom",
"acc" and "dat". The genitive is left out, as everyday German hardly needs it.
"""

from dataclasses import dataclass, replace

# --- Words -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noun:
    """A noun; `weak` marks the n-declension (der Junge, den Jungen)."""

    german: str
    gender: str
    plural: str
    english: str
    english_plural: str
    weak: bool = False
    tags: tuple = ()


@dataclass(frozen=True)
class Adjective:
    """An adjective with the forms of comparison in both languages and the nouns it suits."""

    english: str
    english_comparative: str
    english_superlative: str
    german: str
    comparative: str
    superlative: str
    suits: tuple = ()


@dataclass(frozen=True)
class Verb:
    """A verb; `changed` is the stem of du and er where it differs (nehmen: nimm)."""

    english: str
    past: str
    participle: str
    german: str
    changed: str
    german_participle: str
    auxiliary: str = "haben"
    prefix: str = ""
    reflexive: str = ""


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, or anything else that stands alone as a subject or object."""

    english: str
    english_object: str
    english_possessive: str
    german: str
    accusative: str
    dative: str
    possessive: str
    person: int = 3
    plural: bool = False
    definite = True

    @property
    def owner(self):
        """The pronoun whose possessive refers back to this one: itself."""
        return self


ICH = Pronoun("I", "me", "my", "ich", "mich", "mir", "mein", 1)
DU = Pronoun("you", "you", "your", "du", "dich", "dir", "dein", 2)
ER = Pronoun("he", "him", "his", "er", "ihn", "ihm", "sein")
SIE = Pronoun("she", "her", "her", "sie", "sie", "ihr", "ihr")
WIR = Pronoun("we", "us", "our", "wir", "uns", "uns", "unser", 1, True)
IHR = Pronoun("you", "you", "your", "ihr", "euch", "euch", "euer", 2, True)
SIE_PLURAL = Pronoun("they", "them", "their", "sie", "sie", "ihnen", "ihr", 3, True)
# Polite "Sie" takes plural verbs in both languages; its capital sets it apart.
SIE_POLITE = Pronoun("you", "you", "your", "Sie", "Sie", "Ihnen", "Ihr", 3, True)
# German takes up "das Kind" and "das Mädchen" by their grammatical gender.
ES = Pronoun("it", "it", "its", "es", "es", "ihm", "sein")
ES_GIRL = Pronoun("she", "her", "her", "es", "es", "ihm", "sein")


# --- Noun phrases ----------------------------------------------------------------------------

_STRONG = {
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
_DEFINITE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
}
_DER_WORDS = {"this": "dies", "that": "dies", "which": "welch", "every": "jed"}
_ENGLISH_DER_WORDS = {"def": "the"} | {word: word for word in _DER_WORDS}


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner, adjectives and number.

    `det` is "def", "indef", "neg" (kein), "bare", "this", "that", "which", "every" or the
    `Pronoun` of an owner. `count` is an (English, German) number word, `measured` the stuff in a
    measure ("a cup of tea").
    """

    noun: Noun
    det: object = "def"
    adjective: Adjective | None = None
    plural: bool = False
    count: tuple | None = None
    measured: Noun | None = None
    person = 3

    def __post_init__(self):
        """Makes the phrase plural if the noun is always said in the plural ("parents")."""
        if "pairs" in self.noun.tags:
            object.__setattr__(self, "plural", True)

    @property
    def gender(self):
        """The gender that articles and endings follow."""
        return "p" if self.plural else self.noun.gender

    @property
    def definite(self):
        """Whether the phrase is known to the hearer, which decides its place and negation."""
        return self.det not in ("indef", "bare", "neg") or "name" in self.noun.tags

    @property
    def owner(self):
        """The pronoun whose possessive refers back to this phrase."""
        if self.plural:
            return SIE_PLURAL
        if self.noun.gender == "n" and "name" not in self.noun.tags:
            return ES_GIRL if self.noun.english == "girl" else ES
        return SIE if self.noun.gender == "f" else ER


def is_ein_word(det):
    """Whether a determiner declines like "ein": ein, kein and the possessives."""
    return det in ("indef", "neg") or isinstance(det, Pronoun)


def determiner(det, gender, case):
    """The German determiner in a gender and case; empty where there is none."""
    if det == "bare" or (det == "indef" and gender == "p"):
        return ""
    if det == "def":
        return _DEFINITE[case][gender]
    if det in _DER_WORDS:
        return _DER_WORDS[det] + _STRONG[case][gender]
    stem = det.possessive if isinstance(det, Pronoun) else {"indef": "ein", "neg": "kein"}[det]
    ending = "" if _bare_ein(gender, case) else _STRONG[case][gender]
    if stem == "euer" and ending:
        stem = "eur"
    return stem + ending


def _bare_ein(gender, case):
    """Whether an ein-word has no ending here, so that the adjective must show the gender."""
    return (gender, case) in (("m", "nom"), ("n", "nom"), ("n", "acc"))


def adjective_ending(det, gender, case):
    """The ending of an adjective after a determiner (strong, weak or mixed declension)."""
    if det == "bare" or (det == "indef" and gender == "p"):
        return _STRONG[case][gender]
    if is_ein_word(det) and _bare_ein(gender, case):
        return _STRONG[case][gender]
    weak_e = (case == "nom" and gender != "p") or (case == "acc" and gender in "fn")
    return "e" if weak_e else "en"


def inflect_adjective(adjective, ending):
    """The German adjective with an ending: teuer, teure; dunkel, dunkle; hoch, hohe."""
    if not ending:
        return adjective
    irregular = {"teuer": "teur", "dunkel": "dunkl", "hoch": "hoh", "sauer": "saur"}
    if adjective in ("rosa", "lila"):
        return adjective
    return irregular.get(adjective, adjective).removesuffix("e") + ending


def noun_form(noun, plural, case):
    """The German noun in number and case, with dative plural -n and the weak declension."""
    if plural:
        needs_n = case == "dat" and not noun.plural.endswith(("n", "s"))
        return noun.plural + "n" if needs_n else noun.plural
    return noun.plural if noun.weak and case != "nom" else noun.german


def german_phrase(phrase, case):
    """A German noun phrase or pronoun in a case."""
    if isinstance(phrase, Pronoun):
        return {"nom": phrase.german, "acc": phrase.accusative, "dat": phrase.dative}[case]
    words = [determiner(phrase.det, phrase.gender, case)]
    if phrase.count:
        words.append(phrase.count[1])
    if phrase.adjective:
        ending = adjective_ending(phrase.det, phrase.gender, case)
        words.append(inflect_adjective(phrase.adjective.german, ending))
    words.append(noun_form(phrase.noun, phrase.plural, case))
    if phrase.measured:
        words.append(phrase.measured.german)
    return join(words)


def indefinite_article(following):
    """English "a" or "an", by the sound the next word begins with."""
    spoken_consonant = following.lower().startswith(("uni", "euro", "use", "one"))
    silent_h = following.startswith(("hour", "honest"))
    return "an" if silent_h or (following[0] in "aeiou" and not spoken_consonant) else "a"


def english_phrase(phrase, as_object=False):
    """An English noun phrase or pronoun."""
    if isinstance(phrase, Pronoun):
        return phrase.english_object if as_object else phrase.english
    noun = phrase.noun.english_plural if phrase.plural else phrase.noun.english
    words = [phrase.count[0] if phrase.count else ""]
    words += [phrase.adjective.english if phrase.adjective else "", noun]
    if phrase.measured:
        words.append("of " + phrase.measured.english)
    rest = join(words)
    return join([_english_determiner(phrase, rest), rest])


def _english_determiner(phrase, following):
    if isinstance(phrase.det, Pronoun):
        return phrase.det.english_possessive
    several = is_plural_in_english(phrase)
    if phrase.det in ("this", "that") and several:
        return "these" if phrase.det == "this" else "those"
    if phrase.det in _ENGLISH_DER_WORDS:
        return _ENGLISH_DER_WORDS[phrase.det]
    return indefinite_article(following) if phrase.det == "indef" and not several else ""


_CONTRACTIONS = {
    "in dem": "im", "in das": "ins", "an dem": "am",
    "zu dem": "zum", "zu der": "zur", "von dem": "vom", "bei dem": "beim",
}  # fmt: skip


def german_prepositional(preposition, phrase, case):
    """A German preposition with its phrase; preposition and article merge (im, zum, ans)."""
    text = f"{preposition} {german_phrase(phrase, case)}"
    if isinstance(phrase, Pronoun) or phrase.det != "def":
        return text
    head = " ".join(text.split()[:2])
    if head.endswith("das") and phrase.adjective:
        return text  # "in das neue Haus": "ins" would sound careless before an adjective
    return _CONTRACTIONS.get(head, head) + text[len(head) :]


# --- German verbs ----------------------------------------------------------------------------

_IRREGULAR_PRESENT = {
    "sein": "bin bist ist sind seid sind",
    "haben": "habe hast hat haben habt haben",
    "werden": "werde wirst wird werden werdet werden",
    "können": "kann kannst kann können könnt können",
    "müssen": "muss musst muss müssen müsst müssen",
    "wollen": "will willst will wollen wollt wollen",
    "sollen": "soll sollst soll sollen sollt sollen",
    "dürfen": "darf darfst darf dürfen dürft dürfen",
    "mögen": "mag magst mag mögen mögt mögen",
    "wissen": "weiß weißt weiß wissen wisst wissen",
    "tun": "tue tust tut tun tut tun",
}
_PRETERITE_STEMS = {
    "sein": "war", "haben": "hatte", "werden": "wurde", "können": "konnte", "müssen": "musste",
    "wollen": "wollte", "sollen": "sollte", "dürfen": "durfte", "mögen": "mochte",
    "wissen": "wusste",
}  # fmt: skip
_SUBJUNCTIVE_STEMS = {"möchten": "möchte", "würden": "würde", "hätten": "hätte", "wären": "wäre"}
_SUBJUNCTIVE_STEMS |= {"könnten": "könnte", "sollten": "sollte"}
_INSEPARABLE = ("be", "ver", "er", "ent", "emp", "ge", "zer")


def person_index(subject):
    """Where a subject stands in a row of six verb forms (ich, du, er, wir, ihr, sie)."""
    is_plural = subject.plural or getattr(subject, "gender", "") == "p"
    return (3 if is_plural else 0) + subject.person - 1


def is_plural_in_english(subject):
    """Whether a subject takes plural verbs in English, as "pants" does."""
    return subject.plural or "several" in getattr(getattr(subject, "noun", None), "tags", ())


def english_index(subject):
    """Where a subject stands in a row of six English verb forms."""
    return (3 if is_plural_in_english(subject) else 0) + subject.person - 1


def verb_stem(infinitive):
    """The infinitive less its ending: mach-, erinner-, sammel-."""
    return infinitive[:-1] if infinitive.endswith(("ern", "eln")) else infinitive[:-2]


def needs_linking_e(stem):
    """Whether endings in -t and -st need an e before them (arbeitest, öffnet)."""
    return stem.endswith(("t", "d", "chn", "ffn", "gn", "tm"))


def present(infinitive, changed, index):
    """A present form of a German verb without its prefix, by row index (see person_index)."""
    if infinitive in _IRREGULAR_PRESENT:
        return _IRREGULAR_PRESENT[infinitive].split()[index]
    stem = verb_stem(infinitive)
    if index in (3, 5):
        return infinitive
    if index == 0:
        return stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    if index == 4:
        return stem + ("et" if needs_linking_e(stem) else "t")
    return _second_or_third(changed or stem, bool(changed), index)


def _second_or_third(stem, is_changed, index):
    """The du or er form; a changed stem takes no linking e (du hältst, er hält)."""
    link = "e" if needs_linking_e(stem) and not is_changed else ""
    if index == 1:
        return stem + ("t" if stem.endswith(("s", "ß", "z", "x")) else link + "st")
    return stem if is_changed and stem.endswith("t") else stem + link + "t"


def preterite(infinitive, index):
    """A past form of sein, haben, werden, wissen or a modal verb."""
    stem = _PRETERITE_STEMS[infinitive]
    if stem.endswith("e"):
        return stem + ("", "st", "", "n", "t", "n")[index]
    return stem + ("", "st", "", "en", "t", "en")[index]


def subjunctive(infinitive, index):
    """A form of möchte, würde, hätte, wäre, könnte or sollte, named by its plural."""
    return _SUBJUNCTIVE_STEMS[infinitive] + ("", "st", "", "n", "t", "n")[index]


def weak_participle(infinitive):
    """The regular past participle: gemacht, besucht, repariert."""
    stem = verb_stem(infinitive)
    ending = "et" if needs_linking_e(stem) else "t"
    prefix = "" if infinitive.endswith("ieren") or stem.startswith(_INSEPARABLE) else "ge"
    return prefix + stem + ending


def imperative(verb, subject=DU):
    """The German command form for du, ihr or Sie, without prefix or pronoun."""
    if verb.german == "sein":
        return {DU: "sei", IHR: "seid", SIE_POLITE: "seien"}[subject]
    if subject is not DU:
        return present(verb.german, verb.changed, person_index(subject))
    stem = verb_stem(verb.german)
    if verb.changed and "ä" not in verb.changed:
        return verb.changed
    return stem + "e" if needs_linking_e(stem) or stem.endswith(("er", "ig")) else stem


def zu_infinitive(verb):
    """The infinitive with "zu": zu kaufen, anzurufen, spazieren zu gehen."""
    if verb.prefix.endswith(" "):
        return f"{verb.prefix}zu {verb.german}"
    return f"{verb.prefix}zu{verb.german}" if verb.prefix else f"zu {verb.german}"


_GERMAN_MODALS = {
    "can": "können", "must": "müssen", "have to": "müssen", "need to": "müssen",
    "want to": "wollen",
    "be allowed to": "dürfen", "may": "dürfen",
}  # fmt: skip
_GERMAN_PAST_MODALS = {"could": "können", "had to": "müssen", "wanted to": "wollen"}
_GERMAN_SUBJUNCTIVES = {"would": "würden", "would like to": "möchten", "should": "sollten"}


def german_verbs(verb, tense, subject):
    """The finite verb and the words that close the sentence bracket."""
    index = person_index(subject)
    infinitive = verb.prefix + verb.german
    if tense in ("present", "progressive"):
        return present(verb.german, verb.changed, index), verb.prefix
    if tense in ("past", "perfect"):
        return _german_past(verb, index)
    if tense == "will":
        return present("werden", "", index), infinitive
    if tense in _GERMAN_SUBJUNCTIVES:
        return subjunctive(_GERMAN_SUBJUNCTIVES[tense], index), infinitive
    if tense in _GERMAN_PAST_MODALS:
        return preterite(_GERMAN_PAST_MODALS[tense], index), infinitive
    return present(_GERMAN_MODALS[tense], "", index), infinitive


def _german_past(verb, index):
    """Spoken German says the past with the perfect, but war, hatte and wusste."""
    if verb.german in _PRETERITE_STEMS:
        return preterite(verb.german, index), ""
    return present(verb.auxiliary, "", index), verb.prefix + verb.german_participle


# --- Clauses ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Complement:
    """An object: a phrase with its German case, and prepositions where a verb asks for them."""

    phrase: object
    case: str = "acc"
    german_preposition: str = ""
    english_preposition: str = ""


@dataclass(frozen=True)
class Adverbial:
    """An adverbial in both languages.

    `kind` is "time", "often" (English puts it before the verb), "already" (German puts it
    behind a definite object), "manner", "place" or "direction".
    """

    english: str
    german: str
    kind: str


@dataclass(frozen=True)
class Clause:
    """One clause, in neither language yet. `tense` names the English form."""

    subject: object
    verb: Verb
    tense: str = "present"
    objects: tuple = ()
    adverbials: tuple = ()
    negated: bool = False
    predicate: tuple = ()  # (English, German) behind "to be" and the like


def join(words):
    """The non-empty words, with single spaces between them."""
    return " ".join(word.strip() for word in words if word)


def sentence(words, mark="."):
    """A written sentence: first letter capital, mark at the end."""
    text = words if isinstance(words, str) else join(words)
    return text[0].upper() + text[1:] + mark


def _complement_text(complement, negated):
    phrase = complement.phrase
    if negated and takes_kein(complement):
        phrase = replace(phrase, det="neg")
    if complement.german_preposition:
        return german_prepositional(complement.german_preposition, phrase, complement.case)
    return german_phrase(phrase, complement.case)


def takes_kein(complement):
    """Whether "not" joins this object as "kein"."""
    phrase = complement.phrase
    if complement.german_preposition or isinstance(phrase, Pronoun):
        return False
    return not phrase.definite and not phrase.count


# Where the parts of the German middle field stand, from left to right.
_PRONOUN, _TIME, _DATIVE, _KNOWN, _ALREADY, _NOT, _MANNER, _PLACE, _NEW, _ABOUT, _GOAL = range(11)
_ADVERBIAL_RANKS = {
    "time": _TIME, "often": _TIME, "already": _ALREADY, "manner": _MANNER,
    "place": _PLACE, "direction": _GOAL,
}  # fmt: skip


def _rank(complement):
    if complement.german_preposition:
        return _ABOUT
    if isinstance(complement.phrase, Pronoun):
        # Of two pronouns the accusative comes first: "Er gibt es mir."
        return _PRONOUN + (0.5 if complement.case == "dat" else 0)
    if complement.case == "dat":
        return _DATIVE
    return _KNOWN if complement.phrase.definite else _NEW


def reflexive_pronoun(verb, subject):
    """The reflexive pronoun of a subject: mich, dir, sich; empty for other verbs."""
    if not verb.reflexive:
        return ""
    if isinstance(subject, NounPhrase) or subject.person == 3:
        return "sich"
    return german_phrase(subject, verb.reflexive)


def middle_field(clause, skip=()):
    """The German words between the two halves of the sentence bracket, subject apart."""
    has_kein = any(takes_kein(item) for item in clause.objects)
    parts = [(_rank(item), _complement_text(item, clause.negated)) for item in clause.objects]
    parts += [
        (_ADVERBIAL_RANKS[item.kind], item.german) for item in clause.adverbials if item not in skip
    ]
    if clause.negated and not has_kein:
        parts.append((_NOT, "nicht"))
    parts.sort(key=lambda part: part[0])
    words = [text for _, text in parts]
    return join([*words, clause.predicate[1] if clause.predicate else ""])


def _subject_and_reflexive(clause):
    """A reflexive pronoun stands before a subject noun but behind a subject pronoun."""
    subject = german_phrase(clause.subject, "nom")
    reflexive = reflexive_pronoun(clause.verb, clause.subject)
    return [subject, reflexive] if isinstance(clause.subject, Pronoun) else [reflexive, subject]


def german_main(clause, front=None):
    """A German main clause: the finite verb second, an adverbial in front if one is given."""
    finite, closing = german_verbs(clause.verb, clause.tense, clause.subject)
    if front is None:
        reflexive = reflexive_pronoun(clause.verb, clause.subject)
        head = [german_phrase(clause.subject, "nom"), finite, reflexive]
        return join([*head, middle_field(clause), closing])
    head = [front.german, finite, *_subject_and_reflexive(clause)]
    return join([*head, middle_field(clause, skip=(front,)), closing])


def german_question(clause, word=""):
    """A German question: the finite verb first, or right behind the question word."""
    finite, closing = german_verbs(clause.verb, clause.tense, clause.subject)
    return join([word, finite, *_subject_and_reflexive(clause), middle_field(clause), closing])


def german_wh_subject(clause, word="wer"):
    """A German question for the subject: "Wer hat den Kuchen gegessen"."""
    finite, closing = german_verbs(clause.verb, clause.tense, ER)
    reflexive = "sich" if clause.verb.reflexive else ""
    return join([word, finite, reflexive, middle_field(clause), closing])


def german_subordinate(clause, conjunction):
    """A German subordinate clause: the finite verb last, a separable prefix joined to it."""
    finite, closing = german_verbs(clause.verb, clause.tense, clause.subject)
    if clause.verb.prefix and closing == clause.verb.prefix:
        ending = closing + finite
    else:
        ending = join([closing, finite])
    return join([conjunction, *_subject_and_reflexive(clause), middle_field(clause), ending])


def german_infinitive(clause, introduction=""):
    """A German infinitive clause with "zu", opened by "um" and the like if given."""
    reflexive = reflexive_pronoun(clause.verb, clause.subject)
    return join([introduction, reflexive, middle_field(clause), zu_infinitive(clause.verb)])


def german_command(clause):
    """A German command to the clause's subject: du, ihr or Sie."""
    addressee = "Sie" if clause.subject is SIE_POLITE else ""
    reflexive = reflexive_pronoun(clause.verb, clause.subject)
    head = [imperative(clause.verb, clause.subject), addressee, reflexive]
    return join([*head, middle_field(clause), clause.verb.prefix])


# --- English verbs and clauses ---------------------------------------------------------------

_VOWELS = "aeiou"
_ENGLISH_BE = {"present": ("am", "are", "is", "are", "are", "are")}
_ENGLISH_BE["past"] = ("was", "were", "was", "were", "were", "were")
_ENGLISH_MODALS = {
    "will": "will", "would": "would", "can": "can", "must": "must", "should": "should",
    "could": "could", "would like to": "would like to", "may": "may",
}  # fmt: skip
_AUXILIARIES = (
    "am", "is", "are", "was", "were", "has", "have", "will", "would", "can", "must", "should",
    "could", "may", "do", "does", "did",
)  # fmt: skip


def third_person(base):
    """The English form with -s: goes, watches, carries."""
    word, _, rest = base.partition(" ")
    if word == "have":
        form = "has"
    elif word.endswith(("s", "sh", "ch", "x", "z", "o")):
        form = word + "es"
    elif word.endswith("y") and word[-2] not in _VOWELS:
        form = word[:-1] + "ies"
    else:
        form = word + "s"
    return join([form, rest])


_DOUBLED = frozenset(
    (
        "run",
        "swim",
        "sit",
        "get",
        "put",
        "cut",
        "forget",
        "begin",
        "plan",
        "stop",
        "jog",
        "hug",
        "win",
    )
)


def ing_form(base):
    """The English form with -ing: making, running, lying."""
    word, _, rest = base.partition(" ")
    if word.endswith("ie"):
        form = word[:-2] + "ying"
    elif word.endswith("e") and not word.endswith("ee") and word != "be":
        form = word[:-1] + "ing"
    elif word in _DOUBLED:
        form = word + word[-1] + "ing"
    else:
        form = word + "ing"
    return join([form, rest])


def english_verbs(verb, tense, subject):
    """The English verb group as a list, the finite verb first."""
    index = english_index(subject)
    third = index == 2
    if verb.english.split()[0] == "be" and tense in _ENGLISH_BE:
        return [_ENGLISH_BE[tense][index], verb.english[3:]]
    if tense == "present":
        return [third_person(verb.english) if third else verb.english]
    if tense == "past":
        return [verb.past]
    if tense == "progressive":
        return [_ENGLISH_BE["present"][index], ing_form(verb.english)]
    if tense == "perfect":
        return ["has" if third else "have", verb.participle]
    return _english_modal(verb, tense, index)


def _english_modal(verb, tense, index):
    third = index == 2
    if tense == "be allowed to":
        return [_ENGLISH_BE["present"][index], "allowed to " + verb.english]
    if tense in _ENGLISH_MODALS:
        first, _, rest = _ENGLISH_MODALS[tense].partition(" ")
        return [first, join([rest, verb.english])]
    first, _, rest = tense.partition(" ")
    inflected = third and tense not in _GERMAN_PAST_MODALS
    return [third_person(first) if inflected else first, f"{rest} {verb.english}"]


_PLAIN_FORMS = {"had": "have", "wanted": "want"}


def _with_do(verb, tense, subject):
    """The verb group made fit for a question or negation: an auxiliary stands first."""
    group = english_verbs(verb, tense, subject)
    is_auxiliary = group[0] in _AUXILIARIES and verb.english not in ("have", "do")
    if is_auxiliary and tense != "have to":
        return group
    if verb.english in ("have", "do") and group[0] in _AUXILIARIES and len(group) > 1:
        return group
    if tense == "past":
        return ["did", verb.english]
    if tense in ("had to", "wanted to"):
        first, rest = tense.split()
        return ["did", f"{_PLAIN_FORMS[first]} {rest} {verb.english}"]
    modal = tense if tense in ("have to", "need to", "want to") else ""
    return ["does" if english_index(subject) == 2 else "do", join([modal, verb.english])]


def negate_english(auxiliary):
    """An English auxiliary with "not", contracted where English does so."""
    special = {"am": "am not", "can": "can't", "will": "won't"}
    return special.get(auxiliary, auxiliary + "n't")


def _split_particle(words, objects):
    """Place a particle behind a pronoun object: "pick him up", but "pick up the boy"."""
    verb, _, particle = words.rpartition(" ")
    if not (verb and objects and isinstance(objects[0].phrase, Pronoun)):
        return words, ""
    if particle in ("up", "on", "off") and not objects[0].english_preposition:
        return verb, particle
    return words, ""


def _english_objects(clause):
    return [
        join([item.english_preposition, english_phrase(item.phrase, as_object=True)])
        for item in clause.objects
    ]


_ENGLISH_ORDER = {"manner": 0, "direction": 1, "place": 2, "time": 3, "already": 3}


def _english_tail(clause, skip=()):
    """What follows the English verb: objects, then manner, place and time."""
    late = [a for a in clause.adverbials if not _is_early(a) and a not in skip]
    late.sort(key=lambda item: _ENGLISH_ORDER[item.kind])
    predicate = clause.predicate[0] if clause.predicate else ""
    return join([*_english_objects(clause), predicate, *(item.english for item in late)])


def _is_early(adverbial):
    """Whether English says an adverbial before the verb: "often", "already"."""
    return adverbial.kind == "often" or adverbial.english == "already"


def _early(clause, skip=()):
    return join([a.english for a in clause.adverbials if _is_early(a) and a not in skip])


def english_main(clause, subject=None, skip=()):
    """An English statement, or any clause in its word order; `subject` overrides its text."""
    subject = english_phrase(clause.subject) if subject is None else subject
    early, tail = _early(clause, skip), _english_tail(clause, skip)
    if clause.negated:
        first, *rest = _with_do(clause.verb, clause.tense, clause.subject)
        main, particle = _split_particle(join(rest), clause.objects)
        return join(
            [subject, negate_english(first), early, main, tail_with(particle, tail, clause)]
        )
    group = english_verbs(clause.verb, clause.tense, clause.subject)
    if len(group) > 1 and group[0] in _AUXILIARIES:
        main, particle = _split_particle(join(group[1:]), clause.objects)
        return join([subject, group[0], early, main, tail_with(particle, tail, clause)])
    main, particle = _split_particle(join(group), clause.objects)
    return join([subject, early, main, tail_with(particle, tail, clause)])


def tail_with(particle, tail, clause):
    """The tail with a verb's particle behind the pronoun that opens it."""
    if not particle:
        return tail
    pronoun = clause.objects[0].phrase.english_object
    return join([pronoun, particle, tail[len(pronoun) + 1 :]])


def english_fronted(clause, front):
    """An English statement with an adverbial in front: "Tomorrow we will …"."""
    return join([front.english, english_main(clause, skip=(front,))])


def english_question(clause, word=""):
    """An English question with do-support, opened by a question word if one is given."""
    first, *rest = _with_do(clause.verb, clause.tense, clause.subject)
    if clause.negated:
        first = negate_english(first)
    main, particle = _split_particle(join(rest), clause.objects)
    tail = tail_with(particle, _english_tail(clause), clause)
    return join([word, first, english_phrase(clause.subject), _early(clause), main, tail])


def english_wh_subject(clause, word="who"):
    """An English question for the subject: "Who ate the cake"."""
    return english_main(replace(clause, subject=ER), subject=word)


def english_infinitive(clause):
    """What follows "to": "buy the bread at the market"."""
    main, particle = _split_particle(clause.verb.english, clause.objects)
    return join([main, tail_with(particle, _english_tail(clause), clause)])


def english_gerund(clause):
    """What follows "like": "swimming in the lake"."""
    return join([ing_form(clause.verb.english), _english_tail(clause)])

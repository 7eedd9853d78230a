"""A small grammar that writes an English sentence and its French translation side by side.

What the French needs and the English does not say: gender and number of articles and adjectives, the adjective's
place, conjugation by person, ne ... pas around the verb, de after a negation, object pronouns before the verb,
elision (l', n', qu') and contraction (au, du).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import count, islice, pairwise
from typing import NamedTuple, TypeVar

from .demo_words import (
    ADJECTIVES,
    ANY,
    BE,
    BEFORE_VOWEL,
    COLORS,
    CONTRACTIONS,
    CREATURES,
    GO,
    MANNERS,
    MOODS,
    MY,
    NOT,
    NOUNS,
    PLAIN,
    PREPOSITIONS,
    PRONOUNS,
    SOME,
    THE,
    THIS,
    TRANSITIVE,
    WANT,
    WANTED,
    WITH_OBJECT_PRONOUN,
    Adjective,
    Determiner,
    Manner,
    Noun,
    Verb,
)

VOWELS = tuple("aeiouâéèêîôœh")  # every French h of the corpus is mute
ENGLISH_VOWELS = tuple("aeiou")
Option = TypeVar("Option")


class Draw:
    """Choices that follow from a number alone, so that they are the same on every machine and in every version."""

    def __init__(self, number: int):
        self._left = int.from_bytes(hashlib.sha512(str(number).encode()).digest(), "big")

    def among(self, options: Sequence[Option]) -> Option:
        self._left, choice = divmod(self._left, len(options))
        return options[choice]

    def once_in(self, times: int) -> bool:
        return self.among(range(times)) == 0


class Phrase(NamedTuple):
    """A subject or an object in both languages; ``person`` counts as in ``Verb.forms``."""

    english: str
    french: str
    person: int
    gender: str | None


class Complement(NamedTuple):
    """The words after the verb; ``clitic`` is the object pronoun that French puts before it."""

    english: str
    french: str
    clitic: str = ""


def sentence(number: int) -> tuple[str, str]:
    """Sentence ``number`` of the corpus: English and French, tokens separated by spaces."""
    draw = Draw(number)
    question = draw.once_in(7)
    manner = PLAIN if question else draw.among(MANNERS)
    subject, verb, complement = draw.among(CLAUSES)(draw, manner)
    return _english(subject, verb, manner, complement, question), _french(subject, verb, manner, complement, question)


def _action(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    verb = draw.among(TRANSITIVE)
    phrase = _object(draw, verb, manner)
    return _subject(draw, verb.subjects), verb, Complement(phrase.english, phrase.french)


def _wish(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    verb = draw.among(WANTED)
    phrase = _object(draw, verb, manner)
    wish = Complement(f"{verb.english} {phrase.english}", f"{verb.infinitive} {phrase.french}")
    return _subject(draw, WANT.subjects), WANT, wish


def _action_on_pronoun(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    verb = draw.among(WITH_OBJECT_PRONOUN)
    subject = _subject(draw, verb.subjects)
    # "I see us" and "you see you" would need a reflexive; he may well see another him.
    reflexive = {0: (0, 2), 2: (0, 2), 3: (3,)}.get(subject.person, ())
    pronoun = draw.among([pronoun for pronoun in PRONOUNS if pronoun.person not in reflexive])
    return subject, verb, Complement(pronoun.english_object, "", pronoun.clitic)


def _quality(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    passing = manner not in (PLAIN, NOT)  # what is never or often so is a mood, and no size or color
    noun = draw.among([noun for noun in NOUNS if noun.kind in (CREATURES.split() if passing else BE.subjects.split())])
    fitting = MOODS if passing else [adjective for adjective in ADJECTIVES if noun.kind in adjective.kinds.split()]
    if noun.kind in CREATURES.split() and draw.once_in(2):
        # Not I, we or you: their gender is unknown, and with it the adjective's form.
        subject = _coordination(draw) if draw.once_in(2) else _pronoun(draw, (1, 4))
        fitting = [adjective for adjective in fitting if adjective.kinds == CREATURES]
    else:
        subject = _noun_phrase(draw, noun, draw.among((THE, THE, MY, THIS)), draw.once_in(2), adjectives=False)
    adjective = draw.among(fitting)
    return subject, BE, Complement(adjective.english, _agreeing(adjective, subject.gender, subject.person == 4))


def _location(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    preposition = draw.among(PREPOSITIONS)
    place = _place(draw, preposition.nouns.split())
    subject = _subject(draw, preposition.subjects, (THE, THE, MY, THIS))
    return subject, BE, Complement(f"{preposition.english} {place.english}", f"{preposition.french} {place.french}")


def _direction(draw: Draw, manner: Manner) -> tuple[Phrase, Verb, Complement]:
    place = _place(draw, [noun.english for noun in NOUNS if noun.kind == "place"])
    return _subject(draw, GO.subjects), GO, Complement(f"to {place.english}", f"à {place.french}")


CLAUSES = (*(_action,) * 6, *(_wish,) * 2, *(_action_on_pronoun,) * 2, *(_quality,) * 3, *(_location,) * 2, _direction)


def _subject(draw: Draw, kinds: str, determiners: Sequence[Determiner] = (THE, THE, MY, THIS, SOME)) -> Phrase:
    nouns = [noun for noun in NOUNS if noun.kind in kinds.split()]
    if "adult" in kinds and draw.once_in(2):
        return _coordination(draw) if draw.once_in(5) else _pronoun(draw, (0, 1, 2, 3, 4))
    return _noun_phrase(draw, draw.among(nouns), draw.among(determiners), draw.once_in(2))


def _pronoun(draw: Draw, persons: Sequence[int]) -> Phrase:
    pronoun = draw.among([pronoun for pronoun in PRONOUNS if pronoun.person in persons])
    return Phrase(pronoun.english, pronoun.french, pronoun.person, pronoun.gender)


def _coordination(draw: Draw) -> Phrase:
    """Join two nouns; the masculine wins."""
    people = [noun for noun in NOUNS if noun.kind in CREATURES.split()]
    first = draw.among(people)
    second = draw.among([noun for noun in people if noun != first])
    left, right = (_noun_phrase(draw, noun, draw.among((THE, THE, MY)), False, adjectives=False) for noun in (first, second))
    gender = "f" if left.gender == right.gender == "f" else "m"
    return Phrase(f"{left.english} and {right.english}", f"{left.french} et {right.french}", 4, gender)


def _object(draw: Draw, verb: Verb, manner: Manner) -> Phrase:
    noun = draw.among([noun for noun in NOUNS if noun.kind in verb.objects.split()])
    indefinite = (ANY if manner.negative else SOME,) * 2 if verb.indefinite else ()
    return _noun_phrase(draw, noun, draw.among((THE, THE, MY, THIS, *indefinite)), bool(noun.french_plural) and draw.once_in(2))


def _place(draw: Draw, names: Sequence[str]) -> Phrase:
    noun = draw.among([noun for noun in NOUNS if noun.english in names])
    return _noun_phrase(draw, noun, draw.among((THE, THE, MY)), False)


def _noun_phrase(draw: Draw, noun: Noun, determiner: Determiner, plural: bool, adjectives: bool = True) -> Phrase:
    chosen = []
    if adjectives and draw.once_in(2):
        fitting = [adjective for adjective in ADJECTIVES if noun.kind in adjective.kinds.split()]
        chosen.append(draw.among(fitting))
        colors = [adjective for adjective in fitting if adjective in COLORS]
        if chosen[0].before_noun and colors and draw.once_in(4):
            chosen.append(draw.among(colors))
    english = [determiner.english_plural if plural else determiner.english, *(adjective.english for adjective in chosen)]
    english.append(noun.english_plural if plural else noun.english)
    french = _french_noun_phrase(noun, determiner, plural, chosen)
    return Phrase(" ".join(english), " ".join(french), 4 if plural else 1, noun.gender)


def _french_noun_phrase(noun: Noun, determiner: Determiner, plural: bool, adjectives: Sequence[Adjective]) -> list[str]:
    name = noun.french_plural if plural else noun.french
    article = determiner.plural if plural else determiner.masculine if noun.gender == "m" else determiner.feminine
    before = [_agreeing(adjective, noun.gender, plural, name) for adjective in adjectives if adjective.before_noun]
    behind = [_agreeing(adjective, noun.gender, plural) for adjective in adjectives if not adjective.before_noun]
    if article == "des" and before:
        article = "de"  # des before an adjective: de vieux livres
    return [article, *before, name, *behind]


def _agreeing(adjective: Adjective, gender: str | None, plural: bool, following: str = "") -> str:
    forms = adjective.forms.split()
    if len(forms) == 5 and gender == "m" and not plural and following.startswith(VOWELS):
        return forms[4]
    return forms[2 * plural + (gender == "f")]


def _english(subject: Phrase, verb: Verb, manner: Manner, complement: Complement, question: bool) -> str:
    third = subject.person == 1
    if verb is BE:
        form = "is" if third else "am" if subject.person == 0 else "are"
        words = [form, subject.english] if question else [subject.english, form, manner.english]
    elif question or manner is NOT:
        do = "does" if third else "do"
        words = [do, subject.english] if question else [subject.english, do, "not"]
        words.append(verb.english)
    else:
        words = [subject.english, manner.english, verb.english_third if third else verb.english]
    tokens = " ".join([*words, complement.english, "?" if question else "."]).split()
    for position, (word, following) in enumerate(pairwise(tokens)):
        if word == "a" and following.startswith(ENGLISH_VOWELS):
            tokens[position] = "an"
    return " ".join(tokens)


def _french(subject: Phrase, verb: Verb, manner: Manner, complement: Complement, question: bool) -> str:
    words = ["est-ce que"] if question else []
    words += [subject.french, "ne" if manner.negative else "", complement.clitic, verb.forms.split()[subject.person]]
    tokens = " ".join([*words, manner.french, complement.french, "?" if question else "."]).split()
    return " ".join(_contracted(_elided(tokens)))


def _elided(tokens: list[str]) -> list[str]:
    pairs = pairwise([*tokens, ""])
    return [BEFORE_VOWEL.get(word, word) if following.startswith(VOWELS) else word for word, following in pairs]


def _contracted(tokens: list[str]) -> list[str]:
    joined: list[str] = []
    for word in tokens:
        if joined and (joined[-1], word) in CONTRACTIONS:
            joined[-1] = CONTRACTIONS[joined[-1], word]
        else:
            joined.append(word)
    return joined


MAX_TOKENS = 12
NUM_TEST = 400
NUM_TRAIN = 3200


def demo_sentences() -> Iterator[tuple[str, str]]:
    """Pairs without end (the grammar has far more than are ever wanted), none of them twice."""
    seen = set()
    for number in count():
        english, french = sentence(number)
        if english not in seen and max(len(english.split()), len(french.split())) <= MAX_TOKENS:
            seen.add(english)
            yield english, french


def demo_pairs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(training pairs, test pairs), always the same.

    The test sentences are new combinations: each of their words occurs in training, no sentence of either language
    does.
    """
    pairs = list(islice(demo_sentences(), NUM_TEST + NUM_TRAIN))
    return pairs[NUM_TEST:], pairs[:NUM_TEST]

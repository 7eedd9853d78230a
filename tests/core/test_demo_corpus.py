"""The built-in corpus: a fair split, and French that agrees. The expected sentences were translated by hand."""

import os
import re
import subprocess
import sys
from itertools import islice, pairwise

import pytest

from transformer_mb.data import build_vocabularies, demo_pairs, demo_sentences, text_pipeline

TRAIN, TEST = demo_pairs()
PAIRS = TRAIN + TEST
TRANSLATION = dict(PAIRS)

BY_HAND = {
    # conjugation by person, and je before a vowel
    "i love the young actresses .": "j' aime les jeunes actrices .",
    "we have some letters .": "nous avons des lettres .",
    "you want to read an old book .": "vous voulez lire un vieux livre .",
    "he goes to my house .": "il va à ma maison .",
    "they always want to read the letter .": "ils veulent toujours lire la lettre .",
    "these birds see a cow .": "ces oiseaux voient une vache .",
    # negation around the verb, n' before a vowel, de and d' for the indefinite article
    "i do not love the queens .": "je n' aime pas les reines .",
    "i do not read this good book .": "je ne lis pas ce bon livre .",
    "she never has my birds .": "elle n' a jamais mes oiseaux .",
    "we do not look for a student .": "nous ne cherchons pas d' étudiant .",
    "she does not look for any children .": "elle ne cherche pas d' enfants .",
    "the tired queens do not buy any dresses .": "les reines fatiguées n' achètent pas de robes .",
    "a queen does not want to see an old man .": "une reine ne veut pas voir de vieil homme .",
    "the bird does not see any young boys .": "l' oiseau ne voit pas de jeunes garçons .",
    # des becomes de before an adjective
    "she eats some good cheeses .": "elle mange de bons fromages .",
    "this old teacher wants to read some good books .": "ce vieux professeur veut lire de bons livres .",
    # articles and possessives before a vowel
    "my orange is not good .": "mon orange n' est pas bonne .",
    "my apple is not good .": "ma pomme n' est pas bonne .",
    "this tree is white .": "cet arbre est blanc .",
    "is this bird beautiful ?": "est-ce que cet oiseau est beau ?",
    "this old man looks for her .": "ce vieil homme la cherche .",
    "does the old woman sell these cows ?": "est-ce que la vieille femme vend ces vaches ?",
    "do you go to the beautiful hotel ?": "est-ce que vous allez au bel hôtel ?",
    # contraction, or none before l'
    "i do not go to the market .": "je ne vais pas au marché .",
    "i often go to the church .": "je vais souvent à l' église .",
    "my actress and my cat are always near the big market .": "mon actrice et mon chat sont toujours près du grand marché .",
    "my tired queen is always near the hotel .": "ma reine fatiguée est toujours près de l' hôtel .",
    # the adjective's place and form
    "the beautiful black cat is always on the chair .": "le beau chat noir est toujours sur la chaise .",
    "do we find the green chair ?": "est-ce que nous trouvons la chaise verte ?",
    "you do not want to have these white clocks .": "vous ne voulez pas avoir ces horloges blanches .",
    "the teacher does not find any happy horses .": "le professeur ne trouve pas de chevaux heureux .",
    "the happy women never go to my big house .": "les femmes heureuses ne vont jamais à ma grande maison .",
    "is my newspaper old ?": "est-ce que mon journal est vieux ?",
    # two subjects: the masculine wins
    "the woman and the student are not young .": "la femme et l' étudiant ne sont pas jeunes .",
    "the teacher and the dog are not happy .": "le professeur et le chien ne sont pas heureux .",
    "the child and the actress are always tired .": "l' enfant et l' actrice sont toujours fatigués .",
    # object pronouns before the verb
    "we do not see her .": "nous ne la voyons pas .",
    "do you find us ?": "est-ce que vous nous trouvez ?",
    "my beautiful child does not find them .": "mon bel enfant ne les trouve pas .",
    "my children often look for you .": "mes enfants vous cherchent souvent .",
    "the boys see me .": "les garçons me voient .",
    "does she sell some old hats ?": "est-ce qu' elle vend de vieux chapeaux ?",
}


@pytest.mark.parametrize(("english", "french"), BY_HAND.items())
def test_translations_by_hand(english, french):
    assert TRANSLATION[english] == french


def test_the_sizes_of_the_split():
    assert len(TRAIN) == 3200 and len(TEST) == 400


def test_no_sentence_of_either_language_occurs_twice():
    more = list(islice(demo_sentences(), 8000))
    assert more[: len(PAIRS)] == TEST + TRAIN
    for side in (0, 1):
        assert len({pair[side] for pair in more}) == len(more)


@pytest.mark.parametrize("side", [0, 1])
def test_the_test_sentences_are_new_combinations_of_known_words(side):
    known = {word for pair in TRAIN for word in pair[side].split(" ")}
    assert {word for pair in TEST for word in pair[side].split(" ")} <= known
    assert 100 <= len(known) <= 230
    assert not {pair[side] for pair in TEST} & {pair[side] for pair in TRAIN}


def test_each_word_occurs_several_times_in_training():
    for side in (0, 1):
        words = [word for pair in TRAIN for word in pair[side].split(" ")]
        assert min(words.count(word) for word in set(words)) >= 4


def test_sentences_are_short_and_already_tokenized():
    for text in (text for pair in PAIRS for text in pair):
        assert 3 <= len(text.split(" ")) <= 12
        assert text_pipeline("words").encode(text) == text_pipeline("d2l").encode(text) == text.split(" ")


def test_another_process_makes_the_same_corpus():
    program = "from transformer_mb.data import demo_pairs; print(demo_pairs())"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True, env=environment)
    assert other.stdout.strip() == str((TRAIN, TEST))


def test_vocabularies_of_about_a_hundred_and_fifty_words():
    source, target = build_vocabularies(TRAIN, "d2l")
    assert 110 <= len(source) <= 200 and 150 <= len(target) <= 230


VOWELS = tuple("aeiouâéèêîôœh")


def bigrams(side):
    return {two for pair in PAIRS for two in pairwise(pair[side].split(" "))}


def test_french_elides_before_a_vowel_and_only_there():
    for word, following in bigrams(1):
        if word in {"le", "la", "je", "ne", "de", "me", "que", "ce", "ma"}:
            assert not following.startswith(VOWELS), (word, following)
        if word.endswith("'") or word in {"cet", "vieil", "bel"}:
            assert following.startswith(VOWELS), (word, following)


def test_english_says_an_before_a_vowel_and_only_there():
    for word, following in bigrams(0):
        if word in {"a", "an"}:
            assert (word == "an") == following.startswith(tuple("aeiou")), (word, following)


def test_contractions_are_made():
    assert not bigrams(1) & {("à", "le"), ("à", "les"), ("de", "le"), ("de", "les")}


def test_both_halves_of_a_negation_are_there():
    for english, french in PAIRS:
        negative = bool({"not", "never"} & set(english.split()))
        assert negative == bool(re.search(r"\b(ne|n')( me| la| le| les| nous| vous)? \S+ (pas|jamais) ", french)), french


def test_questions_are_questions_in_both_languages():
    for english, french in PAIRS:
        assert english.endswith(" ?") == french.endswith(" ?") == french.startswith("est-ce ")
        assert english.endswith((" ?", " .")) and french.endswith((" ?", " ."))


# What may stand right before some nouns, by their gender and number.
BEFORE = {
    "pomme": {"la", "ma", "cette", "une", "de", "petite", "bonne"},
    "pommes": {"les", "mes", "ces", "des", "de", "petites", "bonnes"},
    "chevaux": {"les", "mes", "ces", "des", "de", "petits", "grands", "jeunes", "vieux", "beaux"},
    "arbre": {"l'", "mon", "cet", "un", "d'", "petit", "grand", "vieil", "bel"},
    "école": {"l'", "mon", "cette", "une", "d'", "grande", "vieille", "belle"},
    "homme": {"l'", "mon", "cet", "un", "d'", "jeune", "vieil", "bel"},
}
# And what may follow directly, if it is an adjective.
BEHIND = {"robe": "rouge noire blanche verte chère", "robes": "rouges noires blanches vertes chères",
          "chapeau": "rouge noir blanc vert cher", "chapeaux": "rouges noirs blancs verts chers",
          "filles": "heureuses fatiguées", "homme": "heureux fatigué"}  # fmt: skip
ADJECTIVE = re.compile(r"((rouge|noir|blanc|vert|heureu|fatigué)\w*|chers?|chères?)$")


@pytest.mark.parametrize("noun", BEFORE)
def test_articles_and_adjectives_before_a_noun_agree_with_it(noun):
    found = {word for word, following in bigrams(1) if following == noun}
    assert len(found) >= 4 and found <= BEFORE[noun]


@pytest.mark.parametrize("noun", BEHIND)
def test_adjectives_behind_a_noun_agree_with_it(noun):
    found = {following for word, following in bigrams(1) if word == noun and ADJECTIVE.match(following)}
    assert found and found <= set(BEHIND[noun].split())


VERB_AFTER = {
    "nous": "sommes allons voulons voyons cherchons trouvons mangeons aimons avons achetons vendons lisons",
    "vous": "êtes allez voulez voyez cherchez trouvez mangez aimez avez achetez vendez lisez",
    "ils": "sont vont veulent voient cherchent trouvent mangent aiment ont achètent vendent lisent",
    "elle": "est va veut voit cherche trouve mange aime a achète vend lit",
}


@pytest.mark.parametrize("pronoun", VERB_AFTER)
def test_the_verb_agrees_with_its_pronoun(pronoun):
    middle = {"ne", "n'", "me", "le", "la", "les", "nous", "vous"}
    found = set()
    for _, french in PAIRS:
        words = french.removeprefix("est-ce que ").removeprefix("est-ce qu' ").split(" ")
        if words[0] == pronoun:
            found.add(next(word for word in words[1:] if word not in middle))
    assert found == set(VERB_AFTER[pronoun].split())

"""The words of the built-in corpus, as tables.

Every French ``h`` here is mute, so that elision only has to look at the first letter.
"""

from __future__ import annotations

from typing import NamedTuple

PEOPLE = "adult child"
CREATURES = "adult child animal"


class Noun(NamedTuple):
    """Places have no plural: it would be too rare to be learned."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    kind: str


class Adjective(NamedTuple):
    """``forms``: masculine, feminine, masculine plural, feminine plural, then the masculine before a vowel if it differs."""

    english: str
    forms: str
    before_noun: bool
    kinds: str


class Verb(NamedTuple):
    """``forms``: with je, il, nous, vous, ils. Negated, ``indefinite`` verbs turn un, une, des into de."""

    english: str
    english_third: str
    infinitive: str
    forms: str
    subjects: str = PEOPLE
    objects: str = ""
    indefinite: bool = True


class Pronoun(NamedTuple):
    """``person`` counts as in ``Verb.forms``; ``clitic`` is the French object pronoun, which precedes the verb."""

    english: str
    english_object: str
    french: str
    clitic: str
    person: int
    gender: str | None = None


class Determiner(NamedTuple):
    english: str
    english_plural: str
    masculine: str
    feminine: str
    plural: str


class Preposition(NamedTuple):
    """``nouns``: what may follow; ``subjects``: what may be there."""

    english: str
    french: str
    nouns: str
    subjects: str


class Manner(NamedTuple):
    """A word that changes how a verb holds: ``french`` follows the conjugated verb, with ``ne`` before it if negative."""

    english: str
    french: str
    negative: bool


NOUNS = (
    Noun("man", "men", "homme", "hommes", "m", "adult"),
    Noun("woman", "women", "femme", "femmes", "f", "adult"),
    Noun("teacher", "teachers", "professeur", "professeurs", "m", "adult"),
    Noun("student", "students", "étudiant", "étudiants", "m", "adult"),
    Noun("queen", "queens", "reine", "reines", "f", "adult"),
    Noun("actress", "actresses", "actrice", "actrices", "f", "adult"),
    Noun("boy", "boys", "garçon", "garçons", "m", "child"),
    Noun("girl", "girls", "fille", "filles", "f", "child"),
    Noun("child", "children", "enfant", "enfants", "m", "child"),
    Noun("cat", "cats", "chat", "chats", "m", "animal"),
    Noun("dog", "dogs", "chien", "chiens", "m", "animal"),
    Noun("horse", "horses", "cheval", "chevaux", "m", "animal"),
    Noun("bird", "birds", "oiseau", "oiseaux", "m", "animal"),
    Noun("cow", "cows", "vache", "vaches", "f", "animal"),
    Noun("mouse", "mice", "souris", "souris", "f", "animal"),
    Noun("apple", "apples", "pomme", "pommes", "f", "food"),
    Noun("orange", "oranges", "orange", "oranges", "f", "food"),
    Noun("egg", "eggs", "œuf", "œufs", "m", "food"),
    Noun("cake", "cakes", "gâteau", "gâteaux", "m", "food"),
    Noun("cheese", "cheeses", "fromage", "fromages", "m", "food"),
    Noun("car", "cars", "voiture", "voitures", "f", "thing"),
    Noun("hat", "hats", "chapeau", "chapeaux", "m", "thing"),
    Noun("dress", "dresses", "robe", "robes", "f", "thing"),
    Noun("chair", "chairs", "chaise", "chaises", "f", "thing"),
    Noun("tree", "trees", "arbre", "arbres", "m", "thing"),
    Noun("clock", "clocks", "horloge", "horloges", "f", "thing"),
    Noun("book", "books", "livre", "livres", "m", "text"),
    Noun("letter", "letters", "lettre", "lettres", "f", "text"),
    Noun("newspaper", "newspapers", "journal", "journaux", "m", "text"),
    Noun("garden", "", "jardin", "", "m", "place"),
    Noun("house", "", "maison", "", "f", "place"),
    Noun("school", "", "école", "", "f", "place"),
    Noun("station", "", "gare", "", "f", "place"),
    Noun("market", "", "marché", "", "m", "place"),
    Noun("hotel", "", "hôtel", "", "m", "place"),
    Noun("church", "", "église", "", "f", "place"),
)

COLORS = (
    Adjective("red", "rouge rouge rouges rouges", False, "thing"),
    Adjective("black", "noir noire noirs noires", False, "animal thing"),
    Adjective("white", "blanc blanche blancs blanches", False, "animal thing"),
    Adjective("green", "vert verte verts vertes", False, "thing"),
)
MOODS = (
    Adjective("happy", "heureux heureuse heureux heureuses", False, CREATURES),
    Adjective("tired", "fatigué fatiguée fatigués fatiguées", False, CREATURES),
)
ADJECTIVES = (
    Adjective("small", "petit petite petits petites", True, "animal food thing"),
    Adjective("big", "grand grande grands grandes", True, "animal thing place"),
    Adjective("good", "bon bonne bons bonnes", True, "food text"),
    Adjective("young", "jeune jeune jeunes jeunes", True, CREATURES),
    Adjective("old", "vieux vieille vieux vieilles vieil", True, "adult animal thing text place"),
    Adjective("beautiful", "beau belle beaux belles bel", True, "adult child animal thing place"),
    Adjective("expensive", "cher chère chers chères", False, "food thing"),
    *MOODS,
    *COLORS,
)

BE = Verb("be", "is", "être", "suis est sommes êtes sont", "adult child animal food thing text")
GO = Verb("go", "goes", "aller", "vais va allons allez vont", CREATURES)
WANT = Verb("want to", "wants to", "vouloir", "veux veut voulons voulez veulent")

TRANSITIVE = (
    Verb("see", "sees", "voir", "vois voit voyons voyez voient", CREATURES, "adult child animal thing place"),
    Verb(
        "look for",
        "looks for",
        "chercher",
        "cherche cherche cherchons cherchez cherchent",
        CREATURES,
        "adult child animal text",
    ),
    Verb("find", "finds", "trouver", "trouve trouve trouvons trouvez trouvent", CREATURES, "animal food thing text"),
    Verb("eat", "eats", "manger", "mange mange mangeons mangez mangent", CREATURES, "food"),
    Verb("love", "loves", "aimer", "aime aime aimons aimez aiment", CREATURES, "adult child animal text place", False),
    Verb("have", "has", "avoir", "ai a avons avez ont", objects="animal thing text"),
    Verb("buy", "buys", "acheter", "achète achète achetons achetez achètent", objects="food thing text"),
    Verb("sell", "sells", "vendre", "vends vend vendons vendez vendent", objects="animal food thing"),
    Verb("read", "reads", "lire", "lis lit lisons lisez lisent", objects="text"),
)
# Their French starts with a consonant, before which him and her stay apart (le, la); before a vowel both are l'.
WITH_OBJECT_PRONOUN = TRANSITIVE[:3]
WANTED = tuple(verb for verb in TRANSITIVE if verb.english != "love")

PRONOUNS = (
    Pronoun("i", "me", "je", "me", 0),
    Pronoun("he", "him", "il", "le", 1, "m"),
    Pronoun("she", "her", "elle", "la", 1, "f"),
    Pronoun("we", "us", "nous", "nous", 2),
    Pronoun("you", "you", "vous", "vous", 3),
    Pronoun("they", "them", "ils", "les", 4, "m"),
)

THE = Determiner("the", "the", "le", "la", "les")
MY = Determiner("my", "my", "mon", "ma", "mes")
THIS = Determiner("this", "these", "ce", "cette", "ces")
SOME = Determiner("a", "some", "un", "une", "des")
ANY = Determiner("a", "any", "de", "de", "de")

PREPOSITIONS = (
    Preposition("in", "dans", "garden house school station market hotel church car", CREATURES),
    Preposition("near", "près de", "garden house school station market hotel church tree", CREATURES),
    Preposition("behind", "derrière", "house school station hotel church tree car", CREATURES),
    Preposition("under", "sous", "tree chair car", "animal text"),
    Preposition("on", "sur", "chair car", "animal text"),
)

PLAIN = Manner("", "", False)
NOT = Manner("not", "pas", True)
MANNERS = (
    *(PLAIN,) * 4,
    *(NOT,) * 3,
    Manner("never", "jamais", True),
    Manner("often", "souvent", False),
    Manner("always", "toujours", False),
)

# What a word becomes before a vowel, and what two words become together.
BEFORE_VOWEL = {
    "le": "l'", "la": "l'", "je": "j'", "ne": "n'", "de": "d'", "que": "qu'", "me": "m'", "ma": "mon", "ce": "cet",
}  # fmt: skip
CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}

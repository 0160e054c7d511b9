"""The determiners: articles, possessives, quantifiers and numbers."""

from __future__ import annotations

from regard.corpora.inflection import (
    DEFINITE,
    EIN,
    MIXED,
    STRONG,
    UNINFLECTED,
    WEAK,
    Determiner,
)
from regard.corpora.lexicon.tables import entries

THE = Determiner("the", "the", "", DEFINITE, WEAK)
A = Determiner("a", "", "ein", EIN, MIXED, definite=False)
NO = Determiner("no", "no", "kein", EIN, MIXED, definite=False)
BARE = Determiner("", "", "", UNINFLECTED, STRONG, definite=False)
THIS = Determiner("this", "these", "dies", STRONG, WEAK)
EVERY = Determiner("every", "", "jed", STRONG, WEAK)
ALL = Determiner("", "all", "all", STRONG, WEAK)
MANY = Determiner("", "many", "viel", STRONG, STRONG, definite=False)
SOME = Determiner("", "some", "einig", STRONG, STRONG, definite=False)
WHICH = Determiner("which", "which", "welch", STRONG, WEAK)
HOW_MANY = Determiner("", "how many", "wie viel", STRONG, STRONG, definite=False)
POSSESSIVE_TABLE = "my mein; your dein; his sein; her ihr; our unser; their ihr"
POSSESSIVES = [
    Determiner(english, english, german, EIN, MIXED)
    for english, german in map(str.split, entries(POSSESSIVE_TABLE))
]
NUMBER_TABLE = """
    two zwei; three drei; four vier; five fünf; six sechs; seven sieben; eight acht; nine neun
    ten zehn; eleven elf; twelve zwölf
"""
NUMBERS = [
    Determiner("", english, german, UNINFLECTED, STRONG, definite=False)
    for english, german in map(str.split, entries(NUMBER_TABLE))
]

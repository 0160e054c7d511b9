"""The circumstances: when, how often and where something happens."""

from __future__ import annotations

from regard.corpora.inflection import Adverbial, Rendering, Tense
from regard.corpora.lexicon.tables import entries, rows

# Bars separate the chunks, which are aligned one to one.
TIME_TABLES = {
    Tense.PAST: """
        yesterday=gestern; on|Monday=am|Montag; on|Sunday=am|Sonntag; in the|evening=am|Abend
        this|morning=heute|Morgen; last|night=letzte|Nacht; last|week=letzte|Woche
    """,
    Tense.PRESENT: "today=heute; now=jetzt",
    Tense.FUTURE: "tomorrow=morgen; on|Friday=am|Freitag; on|Saturday=am|Samstag",
    Tense.PERFECT: "today=heute; this|week=diese|Woche",
}
# Long ago, habitually or in the far future: not for questions, negations and modal verbs.
WIDER_TIME_TABLES = {
    Tense.PAST: "last|year=letztes|Jahr; last|summer=letzten|Sommer",
    Tense.PRESENT: "every|day=jeden|Tag; every|week=jede|Woche; every|morning=jeden|Morgen",
    Tense.FUTURE: """
        soon=bald; next|week=nächste|Woche; next|year=nächstes|Jahr; next|summer=nächsten|Sommer
    """,
}


def read_time(entry: str) -> Adverbial:
    """Read an entry such as `in the|evening=am|Abend`."""
    english, german = (
        tuple(tuple(chunk.split()) for chunk in side.split("|")) for side in entry.split("=")
    )
    return Adverbial(english, german)


TIMES = {tense: list(map(read_time, entries(table))) for tense, table in TIME_TABLES.items()}
WIDER_TIMES = {
    tense: list(map(read_time, entries(table))) for tense, table in WIDER_TIME_TABLES.items()
}
FREQUENCIES = [
    ("never", "nie"),
    ("often", "oft"),
    ("always", "immer"),
    ("sometimes", "manchmal"),
    ("rarely", "selten"),
]
# Where things happen: English and German preposition, and the nouns.
LOCATION_TABLE = """
    in>in garden kitchen park forest house school hotel library cellar room village
    in>in city museum office barn hut castle restaurant garage theater factory
    on>auf bench sofa ship island bridge roof
    under>unter tree bridge
    behind>hinter house church school hedge barn castle
    in_front_of>vor house church school hotel museum theater bakery
    next_to>neben church tree pharmacy gate bakery river
"""
ANIMAL_LOCATION_TABLE = """
    in>in garden park forest barn house stable cave
    under>unter tree table bridge bed
    behind>hinter house hedge barn wall
    next_to>neben tree gate river bench
"""


def read_location(row: str) -> tuple[Rendering, list[str]]:
    """Read a preposition and the nouns it goes with."""
    prepositions, *names = row.split()
    english, _, german = prepositions.replace("_", " ").partition(">")
    return (english, german), names


LOCATIONS = [read_location(row) for row in rows(LOCATION_TABLE)]
ANIMAL_LOCATIONS = [read_location(row) for row in rows(ANIMAL_LOCATION_TABLE)]

"""The adjectives, and which kinds of noun they can describe."""

from __future__ import annotations

from regard.corpora.inflection import Adjective
from regard.corpora.lexicon.tables import entries

# An exclamation mark means absolute: it cannot be "too" or "very".
ADJECTIVE_TABLE = """
    old alt; young jung; new neu; big groß; small klein; good gut; bad schlecht
    friendly freundlich; tired müde; sick krank
    hungry hungrig; thirsty durstig; happy glücklich; sad traurig; angry wütend; lazy faul
    clever klug; strong stark; weak schwach; rich reich; poor arm; famous berühmt; nice nett
    polite höflich; brave mutig; frightened ängstlich; nervous nervös; curious neugierig
    careful vorsichtig; patient geduldig; honest ehrlich; quiet ruhig; loud laut; fast schnell
    slow langsam; thick dick; thin dünn; wide breit; narrow schmal; deep tief; steep steil
    icy vereist; closed gesperrt !; muddy schlammig; slippery rutschig; flooded überflutet !
    busy belebt; high hoch; low niedrig; long lang; short kurz; heavy schwer; light leicht
    expensive teuer; cheap billig; broken kaputt !; dirty schmutzig; clean sauber; empty leer !
    full voll; hard hart; soft weich; spicy scharf; blunt stumpf; rusty rostig; brittle brüchig
    moldy schimmelig; fresh frisch; sweet süß; sour sauer; bitter bitter; salty salzig; hot heiß
    cold kalt; warm warm; tasty lecker; juicy saftig; dry trocken; frozen gefroren !; tough zäh
    red rot !; blue blau !; green grün !; yellow gelb !; white weiß !; black schwarz !
    brown braun !; gray grau !; beautiful schön; ugly hässlich; modern modern
    interesting interessant; boring langweilig; difficult schwierig
    important wichtig; funny lustig; dark dunkel; bright hell; comfortable bequem
    dangerous gefährlich; greedy gierig; playful verspielt; sleepy schläfrig
    injured verletzt !; shy scheu; exhausted erschöpft !; colorful bunt; sturdy stabil
    strange seltsam; elegant elegant; valuable wertvoll; useful nützlich; tiny winzig !
    huge riesig !; restless unruhig; overloaded überladen !; agile flink; shallow flach
    bumpy holprig; crowded überfüllt; wet nass
    clumsy ungeschickt; stubborn stur; bulky sperrig; torn zerrissen !; crooked schief
"""

# The adjectives that can describe each kind of noun, before it or after "is".
DESCRIBES = {
    "person": "old young friendly tired sick hungry thirsty happy sad angry lazy clever strong weak"
    " rich poor famous nice polite brave nervous curious careful patient honest quiet funny",
    "animal": "old young small big tired hungry thirsty lazy clever strong weak fast slow"
    " frightened curious brown black white nervous shy greedy beautiful",
    "food": "fresh tasty good bad expensive cheap cold warm",
    "fodder": "fresh dry wet",
    "drink": "cold warm good bad expensive cheap",
    "reading": "old new long short interesting boring important funny good bad",
    "clothing": "old new big small red blue green yellow white black brown gray beautiful ugly"
    " expensive cheap warm dirty clean wet elegant modern",
    "vehicle": "old new big small heavy expensive cheap broken dirty red blue green",
    "transport": "old new big small fast slow modern full empty white yellow",
    "furniture": "old new big small heavy expensive cheap beautiful ugly modern white brown black",
    "container": "old new big small heavy empty full red blue brown black",
    "object": "old new big small beautiful ugly expensive cheap valuable useful",
    "tool": "old new long short heavy useful good bad",
    "instrument": "old new expensive cheap beautiful valuable broken loud",
    "building": "old new big small modern famous beautiful ugly empty dark",
    "room": "big small dark bright warm cold clean dirty empty beautiful",
    "area": "big small dark quiet beautiful dangerous",
    "way": "wide beautiful dangerous",
    "nature": "big small beautiful",
    "barrier": "old new",
    "part": "big small old",
    "abstract": "new interesting boring difficult funny strange good bad",
}


def read_adjective(entry: str) -> Adjective:
    """Read an entry such as `tired müde` or `closed gesperrt !`."""
    english, german, *mark = entry.split()
    return Adjective(english, german, absolute=bool(mark))


ADJECTIVES = {
    adjective.english: adjective for adjective in map(read_adjective, entries(ADJECTIVE_TABLE))
}
ADJECTIVES_OF = {
    kind: [ADJECTIVES[name] for name in names.split()] for kind, names in DESCRIBES.items()
}
DEGREES = [("too", "zu"), ("so", "so"), ("very", "sehr"), ("quite", "ziemlich")]

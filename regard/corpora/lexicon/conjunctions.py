"""The conjunctions that join two clauses."""

from __future__ import annotations

from regard.corpora.inflection import Rendering, Tense

AND = ("and", "und")
BUT = ("but", "aber")
THAT = ("that", "dass")
WHETHER = ("whether", "ob")
BECAUSE = ("because", "weil")
SINCE = ("since", "da")
ALTHOUGH = ("although", "obwohl")

# With the tenses of the main and the other clause: "when" is als in the past, otherwise wenn.
TEMPORAL = [
    (("when", "wenn"), Tense.PRESENT, Tense.PRESENT),
    (("when", "als"), Tense.PAST, Tense.PAST),
    (("while", "während"), Tense.PAST, Tense.PAST),
    (("before", "bevor"), Tense.PAST, Tense.PAST),
    (("if", "falls"), Tense.FUTURE, Tense.PRESENT),
]


def causal(tense: Tense) -> list[Rendering]:
    """Conjunctions that give a reason; after a perfect, "since" would be temporal."""
    return [BECAUSE] if tense is Tense.PERFECT else [BECAUSE, SINCE]

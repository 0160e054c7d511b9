"""Personal pronouns, question pronouns and names."""

from __future__ import annotations

from regard.corpora.inflection import Pronoun
from regard.corpora.lexicon.tables import entries

# English subject and object; German nominative, accusative and dative; person and number.
PRONOUN_TABLE = """
    I me ich mich mir 1; you you du dich dir 2; he him er ihn ihm 3; she her sie sie ihr 3
    we us wir uns uns 1 plural; they them sie sie ihnen 3 plural
"""


def read_pronoun(entry: str) -> Pronoun:
    """Read an entry such as `we us wir uns uns 1 plural`."""
    subject, as_object, nominative, accusative, dative, person, *plural = entry.split()
    forms = (nominative, accusative, dative)
    return Pronoun(subject, as_object, forms, int(person), plural=bool(plural))


PRONOUNS = {pronoun.subject: pronoun for pronoun in map(read_pronoun, entries(PRONOUN_TABLE))}
WHO = Pronoun("who", "whom", ("wer", "wen", "wem"), 3, plural=False)
WHAT = Pronoun("what", "what", ("was", "was", "was"), 3, plural=False)

MEN = ["Peter", "Thomas", "Paul", "Max", "Jonas", "Martin", "Felix", "David"]
WOMEN = ["Anna", "Maria", "Lena", "Julia", "Sophie", "Laura", "Emma", "Clara"]

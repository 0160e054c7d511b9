"""How often Python may wait for the device, by kind of family: in a step of training, and on
average in a step of search, which waits more often where hypotheses end. A family that writes in
one pass has one step."""

from __future__ import annotations

from typing import NamedTuple


class Bound(NamedTuple):
    training: int
    search: float


WAITS = {
    "transformer": Bound(13, 5),  # batch normalisation waits once per layer, trees once per level
    "recurrent": Bound(8, 7),  # copying waits four times, and learns to end early
    "convolutional": Bound(4, 4),
    "bytenet": Bound(5, 4),
    "turing": Bound(5, 6.5),
    "language": Bound(4, 4),
    "ensemble": Bound(10, 4),  # of three members
    "nonautoregressive": Bound(8, 28),
    "tagger": Bound(7, 10),
    "classifier": Bound(6, 9),
    "hierarchical": Bound(15, 18),  # sentences are laid out anew
    "entity": Bound(13, 16),
    "spatial": Bound(5, 4),
    "pointer": Bound(4, 4),
}

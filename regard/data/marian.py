"""Pieces as Marian models have them: SentencePiece segments, a list of its own numbers."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Sequence

import sentencepiece

from regard.data.batch import EOS, UNKNOWN
from regard.data.tokenizer import RESERVED, Tokenizer, utf8

_TAG = re.compile(r">>.*?<<")  # of the target language, in front of a line
_SPACE = "\u2581"


class MarianPieces(Tokenizer):
    """The segments of a SentencePiece model, numbered by a list, the first of them with id 4.

    Each side has a model of its own, and usually both have the same list; a segment that is not in
    it is unknown. A tag such as >>de<< in front of a line is one piece. The model may normalise
    text, so a line does not always come back as it was.
    """

    kind = "marian"

    def __init__(self, model: bytes, entries: Sequence[str]) -> None:
        self._model = model
        self._entries = list(entries)
        self._ids = {entry: id for id, entry in enumerate(self._entries, RESERVED)}
        if len(self._ids) != len(self._entries):
            raise ValueError("an entry is in the vocabulary twice")
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @staticmethod
    def of_content(content: list[str]) -> MarianPieces:
        model, *entries = content
        return MarianPieces(base64.b64decode(model, validate=True), entries)

    def content(self) -> list[str]:
        return [base64.b64encode(self._model).decode("ascii"), *self._entries]

    @property
    def model(self) -> bytes:
        """The SentencePiece model, as in its file."""
        return self._model

    @property
    def size(self) -> int:
        return RESERVED + len(self._entries)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        find = self._ids.get
        return [[find(piece, UNKNOWN) for piece in self._segment(line)] for line in lines]

    def _segment(self, line: str) -> list[str]:
        tag = _TAG.match(line)
        if tag is None:
            return list(self._processor.encode(utf8(line), out_type=str))
        return [tag[0], *self._processor.encode(utf8(line[tag.end() :]), out_type=str)]

    def decode(self, ids: Sequence[int]) -> str:
        pieces = self.pieces([id for id in ids if EOS < id < self.size])
        return str(self._processor.decode_pieces(pieces)).replace(_SPACE, " ").strip()

    def _piece(self, id: int) -> str:
        return self._entries[id - RESERVED]

    def put_first(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        first = {*range(RESERVED), *seen}
        order = sorted(range(RESERVED, self.size), key=lambda id: (id not in first, id))
        return MarianPieces(self._model, [self._piece(id) for id in order]), len(first)

    def limited_to(self, count: int) -> Tokenizer:
        return MarianPieces(self._model, self._entries[: count - RESERVED])

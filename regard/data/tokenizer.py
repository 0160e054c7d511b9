"""Text to ids and back: what every tokenizer does, and words, characters and bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from itertools import count
from typing import ClassVar, Literal, Optional

from pydantic import Field, ValidationInfo, field_validator, model_validator

from regard.config import MAX_COUNT, Settings
from regard.data.annotations import MARKER
from regard.data.batch import BOS, EOS, PAD, UNKNOWN
from regard.data.tags import TagKind
from regard.errors import UsageError

Kind = Literal["bpe", "unigram", "word", "character", "byte", "number", "line", "index", "marian"]
SourceKind = Literal["bpe", "unigram", "word", "character", "byte", "number", "marian"]
TargetKind = Literal["bpe", "unigram", "word", "character", "byte", "line", "index"]

SAMPLED: tuple[SourceKind, ...] = ("bpe", "unigram")
"""The kinds that have several segmentations of a text to draw from."""

RESERVED = 4
"""The ids 0 to 3."""

_NAMES = {PAD: "<pad>", BOS: "<s>", EOS: "</s>", UNKNOWN: "⁇"}


class TokenizerSettings(Settings):
    """How text is segmented; with `sampling`, differently in each epoch of training.

    `target` is the kind of the target's own tokenizer, if it is not that of the source. `marker` is
    the word between the sentences of a line, for models that read sentences.

    Sampling is the probability of dropping a merge (BPE-dropout, Provilkov et al. 2020,
    arXiv:1910.13267) or the smoothing of the unigram model (subword regularisation, Kudo 2018,
    arXiv:1804.10959).
    """

    kind: SourceKind = Field(
        default="bpe",
        description="How lines are segmented into pieces; marian: as an imported model does.",
    )
    target: Optional[TargetKind] = Field(
        default=None, description="How target lines are segmented; null: like source lines."
    )
    vocabulary: int = Field(
        default=8000, gt=RESERVED, le=MAX_COUNT, description="Maximum number of pieces."
    )
    joint: bool = Field(default=True, description="One vocabulary for source and target.")
    marker: str = Field(
        default=MARKER,
        description="Separates the sentences of a line, for models that read sentences.",
    )
    tags: Optional[TagKind] = Field(
        default=None,
        description="Tag each source line with its target language, or with both languages, for "
        "models of several directions; null: no tags.",
    )
    sampling: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="bpe, unigram: randomness of the segmentation in training; 0: none.",
    )

    @field_validator("marker")
    @classmethod
    def _one_word(cls, value: str) -> str:
        if value.split() != [value]:
            raise ValueError("give one word, without spaces")
        return value

    @field_validator("sampling")
    @classmethod
    def _only_subwords(cls, value: float, info: ValidationInfo) -> float:
        if value and info.data.get("kind") not in SAMPLED:
            raise ValueError("only the kinds bpe and unigram have sampling; set it to 0")
        return value

    @model_validator(mode="after")
    def _fits(self) -> TokenizerSettings:
        if self.joint and self.target not in (None, self.kind):
            raise ValueError("a tokenizer of the target's own needs tokenizer.joint=false")
        if self.kind == "number" and self.target is None:
            raise ValueError("numbers are not written: set tokenizer.target, such as index")
        return self


class Tokenizer(ABC):
    """A fixed vocabulary; ids 0 to 3 are PAD, BOS, EOS and UNKNOWN in each of them."""

    kind: Kind
    samples: ClassVar[bool] = False
    """Whether a text has several segmentations to draw from."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of ids."""

    @abstractmethod
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without BOS and EOS."""

    def sample(self, lines: Sequence[str], sampling: float, seed: int) -> list[list[int]]:
        """A random segmentation of each line, which depends on the arguments alone."""
        self.check_samples()
        raise NotImplementedError

    def check_samples(self) -> None:
        if not self.samples:
            raise UsageError(
                f"The tokenizer kind '{self.kind}' has no sampling: set tokenizer.sampling=0."
            )

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of any ids; those without text are ignored."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """One readable piece for each id; one that does not exist is shown as unknown."""
        last = self.size - 1
        return [_NAMES.get(id) or self._piece(id) if 0 <= id <= last else "⁇" for id in ids]

    @abstractmethod
    def _piece(self, id: int) -> str:
        """The readable piece of an id from 4 on."""

    @abstractmethod
    def content(self) -> str | list[str]:
        """What must be stored to build the same tokenizer again."""

    @abstractmethod
    def put_first(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        """The same pieces, renumbered so that those seen and those always needed come first.

        Also returns how many these are.
        """

    @abstractmethod
    def limited_to(self, count: int) -> Tokenizer:
        """The same with the first `count` ids only; text is segmented without the others."""


class _Listed(Tokenizer):
    """A vocabulary that is a list of strings, the first of them with id 4."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = list(entries)
        self._ids = {entry: id for id, entry in enumerate(self._entries, RESERVED)}
        if len(self._ids) != len(self._entries):
            raise ValueError("an entry is in the vocabulary twice")

    @property
    def size(self) -> int:
        return RESERVED + len(self._entries)

    @staticmethod
    @abstractmethod
    def split(line: str) -> Sequence[str]:
        """The entries a line is made of."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        find = self._ids.get
        return [[find(entry, UNKNOWN) for entry in self.split(line)] for line in lines]

    def _texts(self, ids: Sequence[int]) -> list[str]:
        return self.pieces([id for id in ids if EOS < id < self.size])

    def _piece(self, id: int) -> str:
        return self._entries[id - RESERVED]

    def content(self) -> list[str]:
        return self._entries

    def put_first(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        first = {*range(RESERVED), *seen}
        order = sorted(range(RESERVED, self.size), key=lambda id: (id not in first, id))
        return type(self)([self._piece(id) for id in order]), len(first)

    def limited_to(self, count: int) -> Tokenizer:
        return type(self)(self._entries[: count - RESERVED])


class Words(_Listed):
    """Each word between white space is one id."""

    kind = "word"

    @staticmethod
    def split(line: str) -> Sequence[str]:
        return line.split()

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self._texts(ids))


class WholeLines(_Listed):
    """Each line, without the white space around it, is one id: a label or an answer."""

    kind = "line"

    @staticmethod
    def split(line: str) -> Sequence[str]:
        return [stripped] if (stripped := line.strip()) else []

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self._texts(ids))


class Characters(_Listed):
    """Each character is one id, the space among them."""

    kind = "character"

    @staticmethod
    def split(line: str) -> Sequence[str]:
        return line

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._texts(ids))


class _Unlearned(Tokenizer):
    """A tokenizer that is the same for any text."""

    def content(self) -> str:
        return ""

    def put_first(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        return self, self.size

    def limited_to(self, count: int) -> Tokenizer:
        return self


class NumberWords(_Unlearned):
    """Every word is the same id: what it says is in the annotation `Numbers`."""

    kind = "number"

    @property
    def size(self) -> int:
        return RESERVED + 1

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[RESERVED] * len(line.split()) for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces([id for id in ids if id == RESERVED]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Words are shown by their index, #1 to #n, as a target writes it."""
        number = count(1)
        return [f"{each}{next(number)}" if each == "#" else each for each in super().pieces(ids)]

    def _piece(self, id: int) -> str:
        return "#"


class Indices(_Unlearned):
    """Positions of the source's words, counted from 1: k is the id 3 + k."""

    kind = "index"

    @property
    def size(self) -> int:
        return 1 << 16

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[self._id(word) for word in line.split()] for line in lines]

    def _id(self, word: str) -> int:
        known = word.isascii() and word.isdigit() and len(word) <= 5
        id = UNKNOWN + int(word) if known else UNKNOWN
        return id if UNKNOWN < id < self.size else UNKNOWN

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces([id for id in ids if RESERVED <= id < self.size]))

    def _piece(self, id: int) -> str:
        return str(id - UNKNOWN)


class Bytes(_Unlearned):
    """Each byte of the UTF-8 text is one id; nothing is learned."""

    kind = "byte"

    @property
    def size(self) -> int:
        return RESERVED + 256

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[byte + RESERVED for byte in utf8(line)] for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        known = bytes(id - RESERVED for id in ids if RESERVED <= id < self.size)
        return known.decode("utf-8", "replace")

    def _piece(self, id: int) -> str:
        byte = id - RESERVED
        return chr(byte) if 0x20 < byte < 0x7F else f"<{byte:02X}>"


def utf8(line: str) -> bytes:
    """Text from a JSON request may hold half a surrogate pair, which UTF-8 cannot express."""
    return line.encode("utf-8", "replace")

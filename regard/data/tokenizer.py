"""Text to ids and back: subwords (SentencePiece), words, characters or bytes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, Optional

import sentencepiece
from pydantic import Field, ValidationInfo, field_validator

from regard.config import Settings
from regard.data.batch import BOS, EOS, PAD, UNKNOWN
from regard.data.sampling import drop_merges, walk_lattice
from regard.files import write_text
from regard.problem import Misuse, Problem

Kind = Literal["bpe", "unigram", "word", "character", "byte"]
Lines = Callable[[], Iterable[str]]
"""Text from its beginning, as often as it is asked for."""

_RESERVED = 4
_NAMES = {PAD: "<pad>", BOS: "<s>", EOS: "</s>", UNKNOWN: "⁇"}
_TRAINING_LINES = 1_000_000
_TRAINING_LENGTH = 1_000
_SMALL_ALPHABET = 1_000
_FEW_LINES = 64
_LINES_AT_ONCE = 10_000
_WORD = re.compile("\u2581[^\u2581]*|[^\u2581]+")  # U+2581 stands for a space
_DRAWS = 32
_REMEMBERED = 400_000
_FORMAT = "regard tokenizer 2"
_FIRST_FORMAT = "regard tokenizer 1"  # its target had all ids, and its digest was of less


class TokenizerSettings(Settings):
    """How text is cut; `sampling` cuts the training text anew at each reading.

    It is the probability of dropping a merge (BPE-dropout, Provilkov et al. 2020,
    arXiv:1910.13267) or the smoothing of the unigram model (subword regularisation, Kudo 2018,
    arXiv:1804.10959).
    """

    kind: Kind = "bpe"
    vocabulary: int = Field(default=8000, gt=_RESERVED)
    joint: bool = True
    sampling: float = Field(default=0.0, ge=0.0, lt=1.0)

    @field_validator("sampling")
    @classmethod
    def _only_subwords(cls, value: float, info: ValidationInfo) -> float:
        if value and info.data.get("kind") not in ("bpe", "unigram"):
            raise ValueError("only the kinds bpe and unigram have sampling; set it to 0")
        return value


class Tokenizer(ABC):
    """A fixed vocabulary; ids 0 to 3 are PAD, BOS, EOS and UNKNOWN in each of them."""

    kind: Kind

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of ids."""

    @abstractmethod
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without BOS and EOS."""

    def sample(self, lines: Sequence[str], sampling: float, seed: int) -> list[list[int]]:
        """One random cut of each line, a function of the arguments alone."""
        raise Misuse(f"The tokenizer kind '{self.kind}' has no sampling: set tokenizer.sampling=0.")

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of any ids; those that stand for no text are passed over."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """One readable piece for each id; one that does not exist is shown as unknown."""
        last = self.size - 1
        return [_NAMES.get(id) or self._piece(id) if 0 <= id <= last else "⁇" for id in ids]

    @abstractmethod
    def _piece(self, id: int) -> str:
        """The readable piece of an id from 4 on."""

    @abstractmethod
    def content(self) -> str | list[str]:
        """What has to be stored to build the same tokenizer again."""

    @abstractmethod
    def beginning_with(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        """The same pieces, numbered so that those seen and those that must be come first.

        With it comes how many these are.
        """

    @abstractmethod
    def first(self, count: int) -> Tokenizer:
        """The same without the pieces from this id on; text is cut without them."""


class SentencePiece(Tokenizer):
    """Subwords with bytes for whatever the vocabulary lacks, so no text is unknown.

    Text comes back as it was, but for runs of spaces, which become one, and for U+2581, the mark
    that SentencePiece uses for a space.
    """

    def __init__(
        self, kind: Literal["bpe", "unigram"], model: bytes, size: Optional[int] = None
    ) -> None:
        self.kind: Literal["bpe", "unigram"] = kind
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        reserved = [
            self._processor.pad_id(),
            self._processor.bos_id(),
            self._processor.eos_id(),
            self._processor.unk_id(),
        ]
        if reserved != [PAD, BOS, EOS, UNKNOWN]:
            raise ValueError("the reserved ids are not 0 to 3")
        self._size = self._processor.get_piece_size() if size is None else size
        self._cut_of = lru_cache(_REMEMBERED)(self._random_cut)
        self._parts_of = lru_cache(_REMEMBERED)(self._cut_further)

    @property
    def size(self) -> int:
        return self._size

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        texts = [_utf8(line) for line in lines]
        if len(texts) < _FEW_LINES:  # starting the library's threads would cost more than the work
            encoded = [self._processor.encode(text) for text in texts]
        else:
            encoded = self._processor.encode(texts)
        if self._size == self._processor.get_piece_size():
            return encoded
        return [list(chain.from_iterable(map(self._parts_of, ids))) for ids in encoded]

    def _cut_further(self, id: int) -> list[int]:
        """An id that is not there any more, by the merges that are; any other as it is."""
        if id < self._size:
            return [id]
        return self._ids(drop_merges(self._processor.id_to_piece(id), self._scores, 0.0, _never))

    def sample(self, lines: Sequence[str], sampling: float, seed: int) -> list[list[int]]:
        """Cuts drawn here and not by the library, whose random numbers cannot be repeated.

        SentencePiece 0.2.2 mixes a number of the process into every seed. Each word has a fixed
        set of random cuts and an occurrence takes one of them, so that most cost a look-up.
        """
        if not sampling:
            return self.encode(lines)
        draw, cut_of, split = random.Random(seed).random, self._cut_of, _WORD.findall
        return [
            list(chain(*[cut_of(word, int(draw() * _DRAWS), sampling) for word in split(text)]))
            for text in map(self._processor.normalize, lines)
        ]

    def _random_cut(self, word: str, number: int, sampling: float) -> list[int]:
        draw = random.Random(f"{number} {word}").random
        return self._ids(_CUTS[self.kind](word, self._scores, sampling, draw))

    @cached_property
    def _scores(self) -> dict[str, float]:
        """What each piece of text is worth; bytes and reserved pieces are not text."""
        get = self._processor
        return {
            get.id_to_piece(id): get.get_score(id)
            for id in range(_RESERVED, self.size)
            if not (get.is_byte(id) or get.is_control(id))
        }

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        find, ids = self._processor.piece_to_id, list[int]()
        for piece in pieces:
            if piece in self._scores:
                ids.append(find(piece))
            else:
                ids += (find(f"<0x{byte:02X}>") for byte in _utf8(piece))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        size = self.size
        return str(self._processor.decode([int(id) for id in ids if EOS < id < size]))

    def _piece(self, id: int) -> str:
        return str(self._processor.id_to_piece(int(id)))

    def content(self) -> str:
        return base64.b64encode(self._model).decode("ascii")

    def beginning_with(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        """Bytes and the space must be, as any text can be written with them."""
        bytes_, space = filter(self._processor.is_byte, range(self._size)), "\u2581"
        first = {*range(_RESERVED), *bytes_, self._processor.piece_to_id(space), *seen}
        order = sorted(range(self._size), key=lambda id: (id not in first, id))
        return SentencePiece(self.kind, _reordered(self._model, order)), len(first)

    def first(self, count: int) -> Tokenizer:
        return SentencePiece(self.kind, self._model, count)


class _Listed(Tokenizer):
    """A vocabulary that is a list of strings, the first of them with id 4."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = list(entries)
        self._ids = {entry: id for id, entry in enumerate(self._entries, _RESERVED)}
        if len(self._ids) != len(self._entries):
            raise ValueError("an entry stands in the vocabulary twice")

    @property
    def size(self) -> int:
        return _RESERVED + len(self._entries)

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
        return self._entries[id - _RESERVED]

    def content(self) -> list[str]:
        return self._entries

    def beginning_with(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        first = {*range(_RESERVED), *seen}
        order = sorted(range(_RESERVED, self.size), key=lambda id: (id not in first, id))
        return type(self)([self._piece(id) for id in order]), len(first)

    def first(self, count: int) -> Tokenizer:
        return type(self)(self._entries[: count - _RESERVED])


class Words(_Listed):
    """Whatever stands between white space is one id."""

    kind = "word"

    @staticmethod
    def split(line: str) -> Sequence[str]:
        return line.split()

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


class Bytes(Tokenizer):
    """Each byte of the UTF-8 text is one id; nothing has to be learned."""

    kind = "byte"

    @property
    def size(self) -> int:
        return _RESERVED + 256

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[byte + _RESERVED for byte in _utf8(line)] for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        known = bytes(id - _RESERVED for id in ids if _RESERVED <= id < self.size)
        return known.decode("utf-8", "replace")

    def _piece(self, id: int) -> str:
        byte = id - _RESERVED
        return chr(byte) if 0x20 < byte < 0x7F else f"<{byte:02X}>"

    def content(self) -> str:
        return ""

    def beginning_with(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        return self, self.size

    def first(self, count: int) -> Tokenizer:
        return self


def train(settings: TokenizerSettings, lines: Iterable[str]) -> Tokenizer:
    """Learn a vocabulary of at most the size asked for; little text gives a smaller one."""
    if settings.kind == "byte":
        return Bytes()
    if settings.kind == "word":
        return Words(_most_frequent(map(Words.split, lines), settings.vocabulary))
    if settings.kind == "character":
        return Characters(_most_frequent(lines, settings.vocabulary))
    return _train_subwords(settings.kind, settings.vocabulary, _evenly(lines))


def save(tokenizer: Tokenizer, path: Path, targets: Optional[int] = None) -> None:
    """Write one JSON file; it appears whole or not at all. `targets` is how many ids are theirs."""
    content: dict[str, Any] = {"kind": tokenizer.kind, "content": tokenizer.content()}
    if targets is not None:
        content["targets"] = targets
    record = {"format": _FORMAT, "digest": _digest(content), **content}
    try:
        write_text(path, json.dumps(record))
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror}.") from None


def load(path: Path) -> Tokenizer:
    """Read what `save` wrote; a file that is not exactly that is refused."""
    return _load(path)[0]


def _load(path: Path) -> tuple[Tokenizer, int]:
    """With how many ids the target has; all of them if the file says nothing."""
    try:
        record = json.loads(path.read_bytes())
        form, digest = record.pop("format"), record.pop("digest")
        hashed = {_FORMAT: record, _FIRST_FORMAT: record["content"]}[form]
        if digest != _digest(hashed):
            raise ValueError("its content is not what was written")
        tokenizer = _build(record["kind"], record["content"])
        targets = record.get("targets", tokenizer.size)
        if type(targets) is not int or not _RESERVED <= targets <= tokenizer.size:
            raise ValueError("the target has ids that there are not")
        return tokenizer, targets
    except OSError as error:
        raise Misuse(f"Cannot read the tokenizer {path}: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, RecursionError):
        raise Misuse(f"{path} is not a whole tokenizer file: restore it from a copy.") from None


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides.

    Joint ones number their pieces alike. The target has the first of them: those that its text in
    training is made of. A model could learn nothing about writing the others, and would have to
    weigh each of them at every place.
    """

    source: Tokenizer
    target: Tokenizer
    joint: bool = False

    @staticmethod
    def one(tokenizer: Tokenizer, targets: Optional[int] = None) -> Tokenizers:
        """The same for both sides, the target with its first ids alone if so many are given."""
        if targets is None or targets == tokenizer.size:
            return Tokenizers(tokenizer, tokenizer, joint=True)
        return Tokenizers(tokenizer, tokenizer.first(targets), joint=True)

    @staticmethod
    def train(settings: TokenizerSettings, sources: Lines, targets: Lines) -> Tokenizers:
        if settings.joint:
            both = train(settings, chain(sources(), targets()))
            return Tokenizers.one(*both.beginning_with(_seen(both, targets())))
        return Tokenizers(train(settings, sources()), train(settings, targets()))

    @staticmethod
    def given(path: Path) -> Tokenizers:
        """Those of a folder, or one for both sides from a tokenizer file or SentencePiece model."""
        if path.is_dir():
            return Tokenizers.load(path)
        if path.suffix == ".model":
            return Tokenizers.one(_load_model(path))
        return Tokenizers.one(*_load(path))

    def save(self, folder: Path) -> None:
        if self.joint:
            save(self.source, folder / "tokenizer.json", self.target.size)
        else:
            save(self.source, folder / "source.tokenizer.json")
            save(self.target, folder / "target.tokenizer.json")

    @staticmethod
    def load(folder: Path) -> Tokenizers:
        if (folder / "tokenizer.json").exists():
            return Tokenizers.one(*_load(folder / "tokenizer.json"))
        return Tokenizers(
            load(folder / "source.tokenizer.json"), load(folder / "target.tokenizer.json")
        )


def _load_model(path: Path) -> SentencePiece:
    """A model that SentencePiece wrote itself; BPE's scores are ranks, unigram's are logarithms."""
    try:
        model = SentencePiece("bpe", path.read_bytes())
    except OSError as error:
        raise Misuse(f"Cannot read the tokenizer {path}: {error.strerror}.") from None
    except RuntimeError:
        raise Misuse(f"{path} is not a SentencePiece model: give another file.") from None
    except ValueError:
        raise Misuse(
            f"{path} numbers its pieces in another way: train it with "
            "--pad_id=0 --bos_id=1 --eos_id=2 --unk_id=3."
        ) from None
    ranked = all(score.is_integer() for score in model._scores.values())
    return model if ranked else SentencePiece("unigram", model._model)


def _build(kind: Kind, content: Any) -> Tokenizer:
    if kind == "bpe" or kind == "unigram":
        return SentencePiece(kind, base64.b64decode(content, validate=True))
    if kind == "byte":
        return Bytes()
    if not isinstance(content, list) or not all(isinstance(entry, str) for entry in content):
        raise ValueError("the vocabulary is not a list of strings")
    return {"word": Words, "character": Characters}[kind](content)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


def _seen(tokenizer: Tokenizer, lines: Iterable[str]) -> set[int]:
    seen, rest = set[int](), iter(lines)
    while some := list(islice(rest, _LINES_AT_ONCE)):
        seen.update(chain.from_iterable(tokenizer.encode(some)))
    return seen


def _reordered(model: bytes, order: Sequence[int]) -> bytes:
    """A SentencePiece model with its pieces in another order, which is that of their ids.

    The file is a row of fields, each a tag of one byte, its length in groups of seven bits with the
    lowest first, and so many bytes; 0x0A is the tag of a piece.
    """
    pieces, rest, place = list[bytes](), list[bytes](), 0
    while place < len(model):
        begin, length, shift = place, 0, 0
        while True:
            place += 1
            length |= (model[place] & 0x7F) << shift
            shift += 7
            if model[place] < 0x80:
                break
        place += 1 + length
        (pieces if model[begin] == 0x0A else rest).append(model[begin:place])
    return b"".join([*(pieces[id] for id in order), *rest])


def _never() -> float:
    """A draw that passes no merge over."""
    return 1.0


def _utf8(line: str) -> bytes:
    """Text from a JSON request may hold half a surrogate pair, which UTF-8 cannot express."""
    return line.encode("utf-8", "replace")


def _most_frequent(lines: Iterable[Iterable[str]], vocabulary: int) -> list[str]:
    counts = Counter(chain.from_iterable(lines))
    if not counts:
        raise Misuse("There is no text to learn a vocabulary from: give files with some text.")
    ranked = sorted(counts, key=lambda entry: (-counts[entry], entry))
    return ranked[: vocabulary - _RESERVED]


def _evenly(lines: Iterable[str], limit: int = _TRAINING_LINES) -> list[str]:
    """At most `limit` lines from all over the text, the same ones each time.

    Multiples of the golden ratio spread evenly over the circle, and they have no period that
    could fall in with a pattern of the text such as source and target by turns.
    """
    bound, kept = 1 << 32, list[tuple[int, str]]()
    for number, line in enumerate(lines):
        place = number * 2_654_435_769 % (1 << 32)
        if place < bound:
            kept.append((place, line))
        if len(kept) > limit:
            bound //= 2
            kept = [(place, line) for place, line in kept if place < bound]
    return [line for _, line in kept]


def _short(lines: Iterable[str]) -> Iterator[bytes]:
    """SentencePiece ends the whole process at a word of 65,536 characters: cut before that."""
    for line in lines:
        for start in range(0, len(line), _TRAINING_LENGTH):
            yield _utf8(line[start : start + _TRAINING_LENGTH])


def _train_subwords(
    kind: Literal["bpe", "unigram"], vocabulary: int, lines: list[str]
) -> SentencePiece:
    """Train, and again with the largest size that the text allows if less than was asked for."""
    alphabet = set(chain.from_iterable(lines))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(
                _short(lines) if kind == "bpe" else dict.fromkeys(_short(lines))
            ),
            model_writer=model,
            model_type=kind,
            vocab_size=vocabulary,
            byte_fallback=True,
            normalization_rule_name="identity",
            character_coverage=1.0 if len(alphabet) <= _SMALL_ALPHABET else 0.9995,
            max_sentence_length=4 * _TRAINING_LENGTH,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNKNOWN,
            num_threads=2,  # a fixed number, since unigram sums in the order of the threads
            minloglevel=2,
        )
    except RuntimeError as error:
        largest = re.search(r"set it to a value <= (\d+)", str(error))
        least = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        if largest and int(largest[1]) < vocabulary:
            return _train_subwords(kind, int(largest[1]), lines)
        if least:
            raise Misuse(
                f"tokenizer.vocabulary={vocabulary} is too small for the characters of this text: "
                f"set it to at least {least[1]}."
            ) from None
        raise Misuse(
            "There is no text to learn a vocabulary from: give files with some text."
        ) from None
    return SentencePiece(kind, model.getvalue())


_CUTS = {"bpe": drop_merges, "unigram": walk_lattice}

"""Subwords by SentencePiece: frequent words whole, others in pieces."""

from __future__ import annotations

import base64
import io
import random
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, Optional

import sentencepiece

from regard.data.batch import BOS, EOS, PAD, UNKNOWN
from regard.data.sampling import drop_merges, walk_lattice
from regard.data.tags import is_tag
from regard.data.tokenizer import RESERVED, Tokenizer, utf8
from regard.errors import UsageError

_TRAINING_LINES = 1_000_000
_TRAINING_LENGTH = 1_000
_TRAINING_CHARACTERS = 10_000  # of one line; much more without spaces takes unigram minutes
_SMALL_ALPHABET = 1_000
_FEW_LINES = 64
_WORD = re.compile("\u2581[^\u2581]*|[^\u2581]+")  # U+2581 stands for a space
_DRAWS = 32
_REMEMBERED = 400_000
_CUTS = {"bpe": drop_merges, "unigram": walk_lattice}


class SentencePiece(Tokenizer):
    """Subwords with bytes for whatever the vocabulary lacks, so no text is unknown.

    Text comes back as it was, but for runs of spaces, which become one, and for U+2581, the mark
    that SentencePiece uses for a space.
    """

    samples = True

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
        texts = [utf8(line) for line in lines]
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
        set of random segmentations and each occurrence takes one, so most cost only a look-up.
        """
        if not sampling:
            return self.encode(lines)
        draw, cut_of, split = random.Random(seed).random, self._cut_of, _WORD.findall
        return [
            list(chain(*[cut_of(word, int(draw() * _DRAWS), sampling) for word in split(text)]))
            for text in map(self._processor.normalize, lines)
        ]

    def _random_cut(self, word: str, number: int, sampling: float) -> list[int]:
        if (tag := self._tags.get(word)) is not None:
            return [tag]
        draw = random.Random(f"{number} {word}").random
        return self._ids(_CUTS[self.kind](word, self._scores, sampling, draw))

    @cached_property
    def _tags(self) -> dict[str, int]:
        """The pieces that are never split; a piece begins with the space before it."""
        pieces = ((self._piece(id), id) for id in range(RESERVED, self.size))
        return {piece: id for piece, id in pieces if is_tag(piece[1:])}

    @cached_property
    def _scores(self) -> dict[str, float]:
        """What each piece of text is worth; bytes and reserved pieces are not text."""
        get = self._processor
        return {
            get.id_to_piece(id): get.get_score(id)
            for id in range(RESERVED, self.size)
            if not (get.is_byte(id) or get.is_control(id))
        }

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        find, ids = self._processor.piece_to_id, list[int]()
        for piece in pieces:
            if piece in self._scores:
                ids.append(find(piece))
            else:
                ids += (find(f"<0x{byte:02X}>") for byte in utf8(piece))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        size = self.size
        return str(self._processor.decode([int(id) for id in ids if EOS < id < size]))

    def _piece(self, id: int) -> str:
        return str(self._processor.id_to_piece(int(id)))

    def content(self) -> str:
        return base64.b64encode(self._model).decode("ascii")

    def put_first(self, seen: Collection[int]) -> tuple[Tokenizer, int]:
        """Bytes and the space must be, as any text can be written with them."""
        bytes_, space = filter(self._processor.is_byte, range(self._size)), "\u2581"
        first = {*range(RESERVED), *bytes_, self._processor.piece_to_id(space), *seen}
        order = sorted(range(self._size), key=lambda id: (id not in first, id))
        return SentencePiece(self.kind, _reordered(self._model, order)), len(first)

    def limited_to(self, count: int) -> Tokenizer:
        return SentencePiece(self.kind, self._model, count)


def read_model(path: Path) -> SentencePiece:
    """A model that SentencePiece wrote itself; BPE's scores are ranks, unigram's are logarithms."""
    try:
        model = SentencePiece("bpe", path.read_bytes())
    except OSError as error:
        raise UsageError(f"Cannot read the tokenizer {path}: {error.strerror}.") from None
    except RuntimeError:
        raise UsageError(f"{path} is not a SentencePiece model: give another file.") from None
    except ValueError:
        raise UsageError(
            f"{path} numbers its pieces differently: train it with "
            "--pad_id=0 --bos_id=1 --eos_id=2 --unk_id=3."
        ) from None
    ranked = all(score.is_integer() for score in model._scores.values())
    return model if ranked else SentencePiece("unigram", model._model)


def train_subwords(
    kind: Literal["bpe", "unigram"], vocabulary: int, lines: list[str], tags: Sequence[str] = ()
) -> SentencePiece:
    """Train, and again with the largest size that the text allows if less than was asked for.

    Tags are pieces of their own, with the space that each line begins with.
    """
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
            user_defined_symbols=[f"\u2581{tag}" for tag in tags],
            num_threads=2,  # a fixed number, since unigram sums in the order of the threads
            minloglevel=2,
        )
    except RuntimeError as error:
        largest = re.search(r"set it to a value <= (\d+)", str(error))
        least = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        if largest and int(largest[1]) < vocabulary:
            return train_subwords(kind, int(largest[1]), lines, tags)
        if least:
            raise UsageError(
                f"tokenizer.vocabulary={vocabulary} is too small for the characters of this text: "
                f"set it to at least {least[1]}."
            ) from None
        raise UsageError(
            "There is no text to learn a vocabulary from: give files with some text."
        ) from None
    return SentencePiece(kind, model.getvalue())


def sample_evenly(lines: Iterable[str], limit: int = _TRAINING_LINES) -> list[str]:
    """At most `limit` lines from all over the text, always the same ones.

    Multiples of the golden ratio spread evenly over the circle, and they have no period that
    could coincide with a pattern of the text, such as alternating source and target.
    """
    bound, kept = 1 << 32, list[tuple[int, str]]()
    for number, line in enumerate(lines):
        rank = number * 2_654_435_769 % (1 << 32)
        if rank < bound:
            kept.append((rank, line))
        if len(kept) > limit:
            bound //= 2
            kept = [(rank, line) for rank, line in kept if rank < bound]
    return [line for _, line in kept]


def _short(lines: Iterable[str]) -> Iterator[bytes]:
    """Split long lines: SentencePiece aborts the process at a word of 65,536 characters."""
    for line in lines:
        for start in range(0, min(len(line), _TRAINING_CHARACTERS), _TRAINING_LENGTH):
            yield utf8(line[start : start + _TRAINING_LENGTH])


def _reordered(model: bytes, order: Sequence[int]) -> bytes:
    """A SentencePiece model with its pieces in another order, which is that of their ids.

    The file is a row of fields, each a tag of one byte, its length in groups of seven bits with the
    lowest first, and so many bytes; 0x0A is the tag of a piece.
    """
    pieces, rest, offset = list[bytes](), list[bytes](), 0
    while offset < len(model):
        start, length, shift = offset, 0, 0
        while True:
            offset += 1
            length |= (model[offset] & 0x7F) << shift
            shift += 7
            if model[offset] < 0x80:
                break
        offset += 1 + length
        (pieces if model[start] == 0x0A else rest).append(model[start:offset])
    return b"".join([*(pieces[id] for id in order), *rest])


def _never() -> float:
    """A draw that passes no merge over."""
    return 1.0

"""The vocabulary of a Marian folder, renumbered so that PAD, BOS, EOS and UNKNOWN come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from torch import Tensor

from regard.config import MAX_COUNT
from regard.data.batch import BOS, PAD
from regard.data.languages import Languages
from regard.data.marian import MarianPieces
from regard.data.subwords import SentencePiece, read_model
from regard.data.tokenizer import RESERVED
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.interop.fitting import NEVER_WRITTEN
from regard.interop.reading import read_bytes, read_object

Vocabulary = Mapping[str, int]
Side = MarianPieces | SentencePiece


@dataclass(frozen=True)
class Numbering:
    """One side: their id for each of ours, the pieces from id 4 on, and our ids that are copies of
    others, which must never be written."""

    order: tuple[int, ...]
    pieces: tuple[str, ...]
    copies: tuple[int, ...]

    def rows_of(self, table: Tensor) -> Tensor:
        """Their table (their ids, D) as ours (our ids, D)."""
        return table[list(self.order)]

    def bias(self, theirs: Optional[Tensor]) -> Tensor:
        """Their bias (1, their ids), if they have one, as ours (our ids,)."""
        bias = torch.zeros(len(self.order)) if theirs is None else self.rows_of(theirs.flatten())
        bias[list(self.copies)] = NEVER_WRITTEN
        return bias


@dataclass(frozen=True)
class Pieces:
    """Both sides of a folder."""

    folder: Path
    source: Numbering
    target: Numbering
    joint: bool
    languages: Languages

    def tokenizers(self, targets: int) -> Tokenizers:
        """The target has the first `targets` ids."""
        source, target = self._side("source", self.source), self._side("target", self.target)
        if self.joint and source.content() == target.content():
            return Tokenizers.one(source, targets)
        return Tokenizers(source, target.limited_to(targets), self.joint)

    def _side(self, name: str, numbering: Numbering) -> Side:
        """Our own subwords where SentencePiece numbers the pieces in the same way."""
        path = self.folder / f"{name}.spm"
        model = read_bytes(path)
        try:
            if not model:
                raise RuntimeError
            found = MarianPieces(model, numbering.pieces)
        except RuntimeError:
            raise UsageError(
                f"{path} is damaged: it is not a SentencePiece model; download it again."
            ) from None
        try:
            own = read_model(path)
        except UsageError:
            return found
        return own if tuple(own.pieces(range(RESERVED, own.size))) == numbering.pieces else found


def vocabulary_size(settings: Mapping[str, Any], side: str) -> int:
    """The number of ids of a side, according to config.json."""
    size = settings.get("vocab_size")
    if side == "target" and not settings.get("share_encoder_decoder_embeddings", True):
        size = settings.get("decoder_vocab_size") or size
    if type(size) is not int or not RESERVED <= size <= MAX_COUNT:
        raise UsageError(f"vocab_size={size} in config.json is not a number of pieces.")
    return size


def read_pieces(folder: Path, settings: Mapping[str, Any], joint: bool) -> Pieces:
    """The vocabularies, checked against the sizes in config.json."""
    path = folder / "tokenizer_config.json"
    names = read_object(path) if path.exists() else {}
    source = _read_vocabulary(folder / "vocab.json", vocabulary_size(settings, "source"))
    separate = bool(names.get("separate_vocabs", False))
    target = source
    if separate:
        target = _read_vocabulary(folder / "target_vocab.json", vocabulary_size(settings, "target"))
    ids = {name: _id(settings, name) for name in ("pad", "eos", "decoder_start")}
    start = ids["pad"] if ids["decoder_start"] is None else ids["decoder_start"]
    written = _numbering(
        *(folder, target, vocabulary_size(settings, "target"), start),
        pad=ids["pad"],
        eos=ids["eos"],
        unknown=_named(folder, target, names, "unk"),
    )
    if joint or not separate:
        return Pieces(folder, written, written, joint, _languages(names))
    pad = _named(folder, source, names, "pad")
    read = _numbering(
        *(folder, source, vocabulary_size(settings, "source"), pad),
        pad=pad,
        eos=_named(folder, source, names, "eos"),
        unknown=_named(folder, source, names, "unk"),
    )
    return Pieces(folder, read, written, joint, _languages(names))


def _read_vocabulary(path: Path, size: int) -> Vocabulary:
    found = read_object(path)
    ids = list(found.values())
    if not _is_text(found):
        raise UsageError(f"{path} is damaged: it has pieces that are not text; download it again.")
    if not all(type(id) is int and 0 <= id < size for id in ids) or len(set(ids)) < len(ids):
        raise UsageError(
            f"{path} does not number its pieces from 0 to {size - 1:,}, each once: models with "
            "factors cannot be imported, and a damaged file must be downloaded again."
        )
    return found


def _is_text(pieces: Iterable[str]) -> bool:
    """JSON can spell half of a surrogate pair, which no file of text can hold."""
    try:
        return "".join(pieces).encode() is not None
    except UnicodeEncodeError:
        return False


def _numbering(
    folder: Path,
    vocabulary: Vocabulary,
    size: int,
    start: Optional[int],
    pad: Optional[int],
    eos: Optional[int],
    unknown: int,
) -> Numbering:
    reserved = (pad, start, eos, unknown)
    known = [id for id in reserved if id is not None and id < size]
    if len(known) < RESERVED or eos == unknown:
        raise UsageError(
            f"{folder / 'config.json'} does not name the ids of padding, start, end and unknown "
            f"pieces among its {size:,}."
        )
    names = {id: piece for piece, id in vocabulary.items()}
    rest = [id for id in range(size) if id not in known]
    copies = [BOS] if start in (pad, eos, unknown) else []
    if pad in (start, eos, unknown):
        copies.append(PAD)
    pieces = tuple(names.get(id, f"<unused {id}>") for id in rest)
    return Numbering((*known, *rest), pieces, tuple(copies))


def _id(settings: Mapping[str, Any], name: str) -> Optional[int]:
    value = settings.get(f"{name}_token_id")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if type(value) is int and value >= 0 else None


def _named(folder: Path, vocabulary: Vocabulary, names: Mapping[str, Any], kind: str) -> int:
    """The id of a special piece by its name."""
    usual = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}[kind]
    name = names.get(f"{kind}_token") or usual
    piece = str(name.get("content") if isinstance(name, dict) else name)
    if piece not in vocabulary:
        raise UsageError(f"The vocabulary of {folder} has no piece {piece}: it is not complete.")
    return vocabulary[piece]


def _languages(names: Mapping[str, Any]) -> Languages:
    """Those of the tokenizer's settings, if they are tags."""
    given = (names.get("source_lang"), names.get("target_lang"))
    try:
        return Languages.of(*(each if isinstance(each, str) and each else None for each in given))
    except UsageError:
        return Languages()

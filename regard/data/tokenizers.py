"""The tokenizers of both sides: how they are made, and the files that keep them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Optional, Union

from regard.data.marian import MarianPieces
from regard.data.subwords import SentencePiece, read_model, sample_evenly, train_subwords
from regard.data.tags import tags_in
from regard.data.tokenizer import (
    RESERVED,
    Bytes,
    Characters,
    Indices,
    Kind,
    NumberWords,
    Tokenizer,
    TokenizerSettings,
    WholeLines,
    Words,
)
from regard.errors import RegardError, UsageError
from regard.files import write_text

Lines = Callable[[], Iterable[str]]
"""Starts reading the text from the beginning each time it is called."""

MAX_COUNTED = 4_000_000
"""Different words that are counted at a time, some 600 MB of them."""

_LINES_AT_ONCE = 10_000
_FORMAT = "regard tokenizer 2"
_FIRST_FORMAT = "regard tokenizer 1"  # its target had all ids, and its digest was of less


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides.

    Joint ones number their pieces in the same way. The target has only the first of them: those
    that occur in the training targets. A model could not learn to write the others, yet would have
    to score each of them at every position. It can if it copies them from the source: then the
    target has all ids.
    """

    source: Tokenizer
    target: Tokenizer
    joint: bool = False

    @staticmethod
    def one(tokenizer: Tokenizer, targets: Optional[int] = None) -> Tokenizers:
        """The same for both sides; the target has the first `targets` ids only, if given."""
        if targets is None or targets == tokenizer.size:
            return Tokenizers(tokenizer, tokenizer, joint=True)
        return Tokenizers(tokenizer, tokenizer.limited_to(targets), joint=True)

    @staticmethod
    def train(
        settings: TokenizerSettings, sources: Lines, targets: Lines, whole: bool = False
    ) -> Tokenizers:
        """With `whole`, the target of joint ones has all ids."""
        tags = tags_in(sources())
        if settings.joint:
            both = train(settings, chain(sources(), targets()), tags=tags)
            if whole:
                return Tokenizers.one(both)
            return Tokenizers.one(*both.put_first(_seen(both, targets())))
        source = train(settings, sources(), tags=tags)
        return Tokenizers(source, train(settings, targets(), settings.target))

    @staticmethod
    def given(path: Path) -> Tokenizers:
        """The tokenizers of a folder, or one for both sides from a tokenizer file or SentencePiece
        model."""
        if path.is_file() and path.suffix == ".model":
            return Tokenizers.one(read_model(path))
        try:
            return Tokenizers.load(path) if path.is_dir() else Tokenizers.one(*_load(path)[:2])
        except UsageError:
            what = "is not a tokenizer" if path.is_file() else "has no tokenizer"
            raise UsageError(
                f"{path} {what if path.exists() else 'does not exist'}: give the folder of a run, "
                "a tokenizer.json, or a SentencePiece model whose name ends in .model."
            ) from None

    def whole(self) -> Tokenizers:
        """Joint ones whose target has all ids."""
        return Tokenizers.one(self.source)

    def save(self, folder: Path) -> None:
        """One file, or one for each side where they differ in more than the number of ids."""
        if self.joint and Tokenizers.one(self.source, self.target.size).digest() == self.digest():
            save(self.source, folder / "tokenizer.json", self.target.size)
        else:
            save(self.source, folder / "source.tokenizer.json", joint=self.joint)
            save(self.target, folder / "target.tokenizer.json", joint=self.joint)

    def digest(self) -> str:
        """A hash of everything that decides which ids a text gets."""
        sides = (self.source, self.target)
        return _digest([[side.kind, side.content(), side.size] for side in sides])

    @staticmethod
    def load(folder: Path) -> Tokenizers:
        if (folder / "tokenizer.json").exists():
            return Tokenizers.one(*_load(folder / "tokenizer.json")[:2])
        source, _, joint = _load(folder / "source.tokenizer.json")
        target, _, both = _load(folder / "target.tokenizer.json")
        return Tokenizers(source, target, joint and both)


_UNLEARNED: dict[str, Callable[[], Tokenizer]] = {
    "byte": Bytes,
    "number": NumberWords,
    "index": Indices,
}
_LISTED: dict[str, Union[type[Words], type[Characters], type[WholeLines]]] = {
    "word": Words,
    "character": Characters,
    "line": WholeLines,
}


def train(
    settings: TokenizerSettings,
    lines: Iterable[str],
    kind: Optional[Kind] = None,
    tags: Sequence[str] = (),
) -> Tokenizer:
    """Learn a vocabulary of at most the size asked for; little text gives a smaller one.

    A tag is one entry of it, unless lines are segmented into characters or bytes.
    """
    kind, vocabulary = kind or settings.kind, settings.vocabulary
    if kind in _UNLEARNED:
        return _UNLEARNED[kind]()
    if kind == "marian":
        raise UsageError(
            "tokenizer.kind=marian is that of an imported model: give --from RUN or --tokenizer "
            "RUN, or set another kind."
        )
    if kind in _LISTED:
        listed = _LISTED[kind]
        found = _most_frequent(map(listed.split, lines), vocabulary)
        first = list(tags) if kind == "word" else []
        return listed([*first, *(each for each in found if each not in first)][: len(found)])
    assert kind == "bpe" or kind == "unigram"
    return train_subwords(kind, vocabulary, sample_evenly(lines), tags)


def _most_frequent(lines: Iterable[Iterable[str]], vocabulary: int) -> list[str]:
    """The rarest of very many are forgotten on the way, so that the memory is bounded."""
    counts, rest = Counter[str](), iter(lines)
    while some := list(islice(rest, _LINES_AT_ONCE)):
        counts.update(chain.from_iterable(some))
        if len(counts) > MAX_COUNTED:
            counts = Counter(dict(counts.most_common(max(vocabulary, MAX_COUNTED // 2))))
    if not counts:
        raise UsageError("There is no text to learn a vocabulary from: give files with some text.")
    ranked = sorted(counts, key=lambda entry: (-counts[entry], entry))
    return ranked[: vocabulary - RESERVED]


def _seen(tokenizer: Tokenizer, lines: Iterable[str]) -> set[int]:
    seen, rest = set[int](), iter(lines)
    while some := list(islice(rest, _LINES_AT_ONCE)):
        seen.update(chain.from_iterable(tokenizer.encode(some)))
    return seen


def save(
    tokenizer: Tokenizer, path: Path, targets: Optional[int] = None, joint: bool = False
) -> None:
    """Write one JSON file, all of it or nothing. `targets` is the number of ids of the target;
    `joint` is whether the file of the other side numbers its pieces in the same way."""
    content: dict[str, Any] = {"kind": tokenizer.kind, "content": tokenizer.content()}
    if targets is not None:
        content["targets"] = targets
    if joint:
        content["joint"] = True
    record = {"format": _FORMAT, "digest": _digest(content), **content}
    try:
        write_text(path, json.dumps(record))
    except OSError as error:
        raise RegardError(f"Cannot write {path}: {error.strerror}.") from None


def load(path: Path) -> Tokenizer:
    """Read what `save` wrote; a corrupt file is refused."""
    return _load(path)[0]


def _load(path: Path) -> tuple[Tokenizer, int, bool]:
    """Also returns how many ids the target has, all of them if the file does not say, and whether
    the file of the other side numbers its pieces in the same way."""
    try:
        record = json.loads(path.read_bytes())
        form, digest = record.pop("format"), record.pop("digest")
        hashed = {_FORMAT: record, _FIRST_FORMAT: record["content"]}[form]
        if digest != _digest(hashed):
            raise ValueError("its content is not what was written")
        tokenizer = _build(record["kind"], record["content"])
        targets = record.get("targets", tokenizer.size)
        if type(targets) is not int or not RESERVED <= targets <= tokenizer.size:
            raise ValueError("the target has ids that do not exist")
        return tokenizer, targets, record.get("joint") is True
    except OSError as error:
        raise UsageError(f"Cannot read the tokenizer {path}: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, RecursionError):
        raise UsageError(
            f"{path} is not a complete tokenizer file: restore it from a copy."
        ) from None


def _build(kind: Kind, content: Any) -> Tokenizer:
    if kind == "bpe" or kind == "unigram":
        return SentencePiece(kind, base64.b64decode(content, validate=True))
    if kind in _UNLEARNED:
        return _UNLEARNED[kind]()
    if not isinstance(content, list) or not all(isinstance(entry, str) for entry in content):
        raise ValueError("the vocabulary is not a list of strings")
    return MarianPieces.of_content(content) if kind == "marian" else _LISTED[kind](content)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()

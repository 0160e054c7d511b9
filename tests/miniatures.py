"""Small complete configs of every architecture, and the files that each of them trains on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from toy import write_lines

from regard.data.annotations import SentenceIndex
from regard.data.store import BatchSettings
from regard.data.tokenizer import TokenizerSettings
from regard.models import Architecture
from regard.recipes.config import TARGET_KINDS, Config
from regard.training.average import AverageSettings
from regard.training.optimizers import OptimizerSettings
from regard.training.settings import TrainingSettings

Corpus = dict[str, Path]

MEMBERS: list[tuple[str, Any, str]] = [
    (f"{config.kind}-{number}-{kind}", config, kind)
    for member in get_args(get_args(Architecture)[0])
    for number, config in enumerate(member.miniatures())
    for kind in (("ema", "last") if number == 0 else ("ema",))
]
"""A name, a model and a kind of average, for every miniature of every family."""


def with_dropout(model: Any) -> Any:
    """The same model with dropout on, in every member of an ensemble too."""
    if model.kind == "ensemble":
        return model.changed(member=with_dropout(model.member))
    return model.changed(dropout=0.2)


def settings_for(model: Any, kind: str) -> Config:
    """Everything on that could make a difference: dropout, accumulation, averaging, sampling."""
    target = TARGET_KINDS.get(model.writes)
    reads, sampling = "bpe", 0.2
    if any(kind.replaces_ids for kind in model.annotations):
        reads, sampling, target = "number", 0.0, target or "word"
    return Config(
        tokenizer=TokenizerSettings(
            kind=reads, vocabulary=300, sampling=sampling, target=target, joint=target is None
        ),
        batch=BatchSettings(tokens=100, window=50),
        model=with_dropout(model),
        training=TrainingSettings(
            optimizer=OptimizerSettings(warmup=3),
            average=AverageSettings(kind=kind, count=2, every=2),
            accumulate=2,
            log_every=3,
            validate_every=4,
            validation_lines=4,
            save_every=4,
        ),
    )


def with_trees(corpus: Corpus, folder: Path) -> Corpus:
    """The files, and for each source a tree in which every word hangs on the one before it."""
    files = dict(corpus)
    for name in ("source", "valid_source"):
        lines = corpus[name].read_text().splitlines()
        chains = (" ".join(map(str, range(len(line.split())))) for line in lines)
        trees = name.replace("source", "trees")
        files[trees] = write_lines(folder / trees, chains)
    return files


def with_alignments(corpus: Corpus, folder: Path) -> Corpus:
    """The files, and the links of each training pair: the words are turned round."""
    lengths = [len(line.split()) for line in corpus["source"].read_text().splitlines()]
    links = (" ".join(f"{i}-{n - 1 - i}" for i in range(n)) for n in lengths)
    return {**corpus, "alignments": write_lines(folder / "alignments", links)}


def with_labels(corpus: Corpus, folder: Path) -> Corpus:
    """The files, with the first word of each target as its label."""
    files = dict(corpus)
    for name in ("target", "valid_target"):
        lines = corpus[name].read_text().splitlines()
        files[name] = write_lines(folder / name, (line.split()[0] for line in lines))
    return files


def with_points(corpus: Corpus, folder: Path, numbers: int) -> Corpus:
    """The files, with a point for each word and the indices of the words turned round."""
    files = dict(corpus)
    for part in ("", "valid_"):
        lines = [line.split() for line in corpus[f"{part}source"].read_text().splitlines()]
        points = (
            " ".join(
                ",".join(f"{len(word) / (n + 2):.3f}" for n in range(numbers)) for word in line
            )
            for line in lines
        )
        orders = (" ".join(str(k) for k in range(len(line), 0, -1)) for line in lines)
        files[f"{part}source"] = write_lines(folder / f"{part}source", points)
        files[f"{part}target"] = write_lines(folder / f"{part}target", orders)
    return files


def with_sentences(corpus: Corpus, folder: Path, marker: str) -> Corpus:
    """The files, with every two words of a source as a sentence."""
    files = dict(corpus)
    for name in ("source", "valid_source"):
        lines = (line.split() for line in corpus[name].read_text().splitlines())
        stories = (
            f" {marker} ".join(" ".join(words[k : k + 2]) for k in range(0, len(words), 2))
            for words in lines
        )
        files[name] = write_lines(folder / name, stories)
    return files


def with_pictures(corpus: Corpus, folder: Path, height: int) -> Corpus:
    """The files, with a picture for each source: a column for each letter of it."""
    files = dict(corpus)
    for name in ("source", "valid_source"):
        lines = [line[:6] for line in corpus[name].read_text().splitlines()]
        pictures = (
            " ".join(",".join(str(ord(a) + row) for a in line) for row in range(height))
            for line in lines
        )
        files[name] = write_lines(folder / name, pictures)
    return files


def files_for(config: Config, corpus: Corpus, folder: Path) -> Corpus:
    """The files that an architecture reads, made from those of a toy corpus."""
    model = config.model
    sides = ("source", "target") if config.reads_source else ("target",)
    files = {name: path for name, path in corpus.items() if name.endswith(sides)}
    options = [kind.option for kind in config.annotations]
    if "trees" in options:
        files = with_trees(files, folder)
    if "alignments" in options:
        files = with_alignments(files, folder)
    if config.writes == "label":
        files = with_labels(files, folder)
    if config.writes == "indices":
        files = with_points(files, folder, model.numbers)
    if any(isinstance(kind, SentenceIndex) for kind in config.annotations):
        files = with_sentences(files, folder, config.tokenizer.marker)
    if model.kind == "spatial":
        files = with_pictures(files, folder, model.height)
    return files

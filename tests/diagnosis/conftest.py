"""A clean corpus, and what the doctor says of changed copies of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from regard import Parallel, doctor
from regard.corpora import grammar
from regard.diagnosis.report import Report

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """English and German, 1,200 different pairs."""
    folder = tmp_path_factory.mktemp("grammar")
    grammar.write(grammar.generate(1400), folder)
    sides = [
        (folder / f"train.{tag}").read_text(encoding="utf-8").splitlines() for tag in ("en", "de")
    ]
    pairs = list(dict.fromkeys(zip(*sides, strict=True)))
    long = [pair for pair in pairs if len("".join(pair)) > 60]
    assert len(long) >= 900
    return long[:900]


@pytest.fixture
def data(tmp_path: Path) -> Callable[..., Parallel]:
    def write(pairs: Sequence[tuple[str, str]], name: str = "train") -> Parallel:
        paths = [tmp_path / f"{name}.{tag}" for tag in ("en", "de")]
        for side, path in enumerate(paths):
            path.write_bytes("".join(f"{pair[side]}\n" for pair in pairs).encode())
        return Parallel(*paths)

    return write


@pytest.fixture
def report_of(data: Callable[..., Parallel]) -> Callable[..., Report]:
    def report(pairs: Sequence[tuple[str, str]]) -> Report:
        return doctor(data(pairs))

    return report

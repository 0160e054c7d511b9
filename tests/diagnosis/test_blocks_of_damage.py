"""Neighbouring lines that are damaged in the same way are named by their damage, not as a shift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from regard import Parallel, doctor
from regard.diagnosis.report import Report

Pairs = list[tuple[str, str]]
ReportOf = Callable[..., Report]

FIRST, LAST = 300, 360

FRENCH = (
    "Les enfants jouent dans le jardin pendant que leur mère prépare le repas numéro {}.",
    "Une femme traverse la rue avec ses {} chiens et un parapluie rouge.",
    "Nous avons acheté {} kilos de légumes frais au marché ce matin.",
)


def french(index: int) -> str:
    return FRENCH[index % 3].format(index)


def damaged(clean: Pairs, change: Callable[[int, str, str], tuple[str, str]]) -> Pairs:
    """With a block of lines that are changed."""
    return [
        change(index, *pair) if FIRST <= index < LAST else pair for index, pair in enumerate(clean)
    ]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("untranslated", lambda index, source, target: (source, source)),
        ("untranslated", lambda index, source, target: (target, target)),
        ("language", lambda index, source, target: (source, french(index))),
        ("language", lambda index, source, target: (french(index), target)),
        ("language", lambda index, source, target: (source, "Мы видели двух собак у реки.")),
    ],
)
def test_a_block_is_named_by_its_damage(
    kind: str,
    change: Callable[[int, str, str], tuple[str, str]],
    clean: Pairs,
    data: Callable[..., Parallel],
    tmp_path: Path,
) -> None:
    report = doctor(data(damaged(clean, change)), clean=tmp_path / "cleaned")
    assert report.stretches == ()
    assert not {"misaligned", "unrelated"} & set(report.damage)
    rows = (tmp_path / "cleaned" / "removed.tsv").read_text(encoding="utf-8").splitlines()[1::2]
    reasons = [row.split("\t")[2] for row in rows]
    assert reasons.count(kind) >= 0.95 * (LAST - FIRST)
    assert len(reasons) <= LAST - FIRST


def test_unrelated_lines_are_still_a_stretch(clean: Pairs, report_of: ReportOf) -> None:
    moved = damaged(clean, lambda index, source, target: (source, clean[index + 400][1]))
    [stretch] = report_of(moved).stretches
    assert stretch.shift is None
    assert abs(stretch.pairs - (LAST - FIRST)) <= 6


def test_a_shift_goes_on_behind_a_block_of_copies(clean: Pairs, report_of: ReportOf) -> None:
    targets = [target for _, target in clean]
    targets.insert(250, "Das Wetter war an diesem Tag in ganz Europa sehr schlecht.")
    pairs = list(zip([source for source, _ in clean], targets, strict=False))
    report = report_of(damaged(pairs, lambda index, source, target: (source, source)))
    [stretch] = report.stretches
    assert stretch.shift == 1
    assert abs(stretch.pairs - 650) <= 3
    assert report.damage["untranslated"] >= 0.95 * (LAST - FIRST)

"""Neighbouring lines that are damaged in the same way are named by their damage, not as a shift."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
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


WHO = (
    *(("my father", "父"), ("my mother", "母"), ("a student", "学生"), ("the teacher", "先生")),
    *(("a doctor", "医者"), ("the child", "子供"), ("his friend", "友達"), ("a dog", "犬")),
)
WHERE = (
    *(("at the station", "駅"), ("in the garden", "庭"), ("at school", "学校"), ("here", "ここ")),
    *(("in the park", "公園"), ("in the house", "家"), ("on the bridge", "橋"), ("there", "そこ")),
)
DOES = (
    *(("is waiting for the bus", "バスを待っている"), ("reads a book", "本を読む")),
    *(("drinks cold water", "冷たい水を飲む"), ("sings a song", "歌を歌う")),
    *(("is taking a picture", "写真を撮っている"), ("buys flowers", "花を買う")),
    *(("eats an apple", "りんごを食べる"), ("writes a letter", "手紙を書く")),
    *(("is looking for a key", "鍵を探している"), ("plays tennis", "テニスをする")),
)


def test_a_block_among_short_lines_of_japanese_is_in_another_language(
    report_of: ReportOf,
) -> None:
    """Most lines have fewer than 20 letters, so that only the French ones seem long enough."""
    pairs = [
        (f"{who[0]} {does[0]} {where[0]} .".capitalize(), f"{who[1]}は{where[1]}で{does[1]}。")
        for does, who, where in product(DOES, WHO, WHERE)
    ]
    report = report_of(damaged(pairs, lambda index, source, target: (source, french(index))))
    assert report.stretches == ()
    assert report.damage["language"] >= 0.95 * (LAST - FIRST)
    assert "misaligned" not in report.damage

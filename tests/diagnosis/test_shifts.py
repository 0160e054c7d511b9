"""Lines that were inserted, deleted or moved are named, without a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from regard import Parallel, doctor
from regard.diagnosis.report import Report

Pairs = list[tuple[str, str]]
ReportOf = Callable[..., Report]


def lines(report: Report) -> list[tuple[int, int, int | None]]:
    return [
        (int(each.first.rsplit(":")[-1]), int(each.last.rsplit(":")[-1]), each.shift)
        for each in report.stretches
    ]


def beside(sources: list[str], targets: list[str]) -> Pairs:
    return list(zip(sources, targets, strict=False))


@pytest.mark.parametrize("place", [0, 15, 450, 870])
def test_an_inserted_line_is_named(place: int, clean: Pairs, report_of: ReportOf) -> None:
    sources, targets = map(list, zip(*clean, strict=True))
    targets.insert(place, "Das Wetter war an diesem Tag in ganz Europa sehr schlecht.")
    [(first, last, shift)] = lines(report_of(beside(sources, targets)))
    assert abs(first - 1 - place) <= 3
    assert (last, shift) == (len(clean), 1)


def test_a_deleted_line_is_named(clean: Pairs, report_of: ReportOf) -> None:
    sources, targets = map(list, zip(*clean, strict=True))
    del targets[400]
    report = report_of(beside(sources, targets))
    [(first, last, shift)] = lines(report)
    assert abs(first - 401) <= 3
    assert (last, shift) == (len(clean) - 1, -1)
    assert "1 line further up" in report.warnings[0]


def test_an_inserted_and_a_deleted_line_enclose_a_stretch(
    clean: Pairs, report_of: ReportOf
) -> None:
    sources, targets = map(list, zip(*clean, strict=True))
    targets[200:300] = ["Das Wetter war schlecht.", *targets[200:299]]
    [(first, last, shift)] = lines(report_of(beside(sources, targets)))
    assert abs(first - 201) <= 3
    assert abs(last - 300) <= 3
    assert shift == 1


@pytest.mark.parametrize("block", [100, 5000])
def test_a_stretch_is_named_by_the_lines_of_a_file_whose_records_have_several(
    block: int, clean: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.diagnosis.blocks.PAIRS", block)
    sources, targets = map(list, zip(*clean, strict=True))
    targets[250:350] = ["Das Wetter war schlecht.", *targets[250:349]]
    path = tmp_path / "pairs.csv"
    rows = [f'"{source}\n{source}","{target}"\n' for source, target in beside(sources, targets)]
    path.write_text("source,target\n" + "".join(rows), encoding="utf-8")
    report = doctor(Parallel(pairs=path))
    [(first, last, shift)] = lines(report)
    assert abs(first - (2 + 2 * 250)) <= 6
    assert abs(last - (2 + 2 * 349)) <= 6
    assert (report.stretches[0].pairs, shift) == ((last - first) // 2 + 1, 1)


def test_blocks_that_were_swapped_are_found(clean: Pairs, report_of: ReportOf) -> None:
    sources, targets = map(list, zip(*clean, strict=True))
    moved = targets[:300] + targets[500:700] + targets[300:500] + targets[700:]
    [(first, last, shift)] = lines(report_of(beside(sources, moved)))
    assert abs(first - 301) <= 5
    assert abs(last - 700) <= 5
    assert shift is None


def test_files_that_are_not_translations_are_warned_of(clean: Pairs, report_of: ReportOf) -> None:
    targets = [target for _, target in clean]
    report = report_of([(source, targets[i * 389 % 900]) for i, (source, _) in enumerate(clean)])
    assert any("nothing in common that can be learned" in each for each in report.warnings)


def test_a_few_pairs_are_not_judged(clean: Pairs, report_of: ReportOf) -> None:
    report = report_of(clean[:50])
    assert (report.damaged, report.warnings) == (0, [])
    assert any("cannot be judged" in each.sentence for each in report.findings)


def test_shifts_are_followed_across_blocks(
    clean: Pairs, report_of: ReportOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.diagnosis.blocks.PAIRS", 100)
    sources, targets = map(list, zip(*clean, strict=True))
    targets.insert(399, "Das Wetter war an diesem Tag in ganz Europa sehr schlecht.")
    [(first, last, shift)] = lines(report_of(beside(sources, targets)))
    assert abs(first - 400) <= 3
    assert (last, shift) == (len(clean), 1)


def test_files_of_different_length_are_an_error_that_names_the_line(
    clean: Pairs, report_of: ReportOf, data: Callable[..., object]
) -> None:
    from regard import Parallel, doctor

    given = data(clean)
    assert isinstance(given, Parallel)
    source = given.source
    assert source is not None
    assert not isinstance(source, (str, list, tuple))
    kept = [pair[0] for pair in clean]
    del kept[600]
    path = getattr(source, "parent") / "shorter.en"  # noqa: B009
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    report = doctor(Parallel(path, given.target))
    assert "line n of one must belong to line n of the other" in report.errors[0]
    [(first, _, shift)] = lines(report)
    assert abs(first - 601) <= 3
    assert shift == 1

"""The study of writing in one pass: repeated words are counted, and phrasing can be free."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from regard.corpora.sentences import SentenceSampler
from regard.studies import one_pass
from regard.studies.laboratory import Laboratory


def test_repeated_neighbours_are_counted() -> None:
    assert one_pass.repeats(["die die Katze schläft", "ein Hund und ein Hund bellt"]) == 10
    assert one_pass.without_repeats("die die die Katze schläft") == "die Katze schläft"


def test_free_phrasing_changes_the_target_only() -> None:
    rows = []
    for freedom in (0.0, 1.0):
        sampler, draw = SentenceSampler(random.Random(1)), random.Random(2)
        rows.append([one_pass.phrased(sampler.sentence(), draw, freedom) for _ in range(100)])
    fixed, free = rows
    assert [source for source, _, _ in fixed] == [source for source, _, _ in free]
    changed = sum(a[1] != b[1] for a, b in zip(fixed, free, strict=True))
    assert 20 < changed < 100
    for source, target, links in (*fixed, *free):
        pairs = [link.split("-") for link in links.split()]
        assert max(int(one) for one, _ in pairs) < len(source.split())
        assert max(int(other) for _, other in pairs) < len(target.split())


def test_parts_have_no_source_in_common(tmp_path: Path) -> None:
    task = one_pass.PhrasingTask(Laboratory(tmp_path, quick=True, seeds=(1,)), 0.5)
    sources = [
        line
        for part in ("train", "valid", "test")
        for line in (task.folder / f"{part}.en").read_text().splitlines()
    ]
    assert len(set(sources)) == len(sources)


def test_speed_is_a_ratio_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(one_pass.time, "perf_counter", lambda: now[0])

    def taking(seconds: float) -> Any:
        def predict(lines: list[str]) -> None:
            now[0] += seconds * len(lines)

        return predict

    assert one_pass.times_as_fast(taking(4), taking(0.5), [["a"], ["b", "c"]] * 5) == 8

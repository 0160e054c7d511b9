"""The bottleneck and the gradient's path respond to attention."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from regard.nn.recurrent import CellKind
from regard.studies import gradient_path, symbol_task
from regard.studies.laboratory import Laboratory
from regard.studies.symbol_task import SymbolTask


def test_a_target_is_its_source_in_another_alphabet() -> None:
    source, target = symbol_task.draw(random.Random(1), 5)
    assert target == source.replace("a", "b")
    assert len(set(source.split())) == 5


def test_the_score_counts_symbols_in_their_position(tmp_path: Path) -> None:
    task = SymbolTask(Laboratory(tmp_path, quick=True, seeds=(1,)), 2, 4, 100, 2)
    pairs = dict(task.lines("test", 4, 3, 3))

    class Perfect(Laboratory):
        def predictor(self, run: object, beam: int = 1) -> object:  # type: ignore[override]
            return lambda lines: [pairs[line] for line in lines]

    class Shifted(Laboratory):
        def predictor(self, run: object, beam: int = 1) -> object:  # type: ignore[override]
            return lambda lines: [f"x {pairs[line]}" for line in lines]

    for kind, expected in ((Perfect, 100.0), (Shifted, 0.0)):
        task = SymbolTask(kind(tmp_path), 2, 4, 100, 2)
        assert task.right(None, 3, 4) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_attention_keeps_the_gradient_of_a_distant_word(cell: CellKind) -> None:
    fixed, attending = (
        gradient_path.kept(gradient_path.untrained(cell, timing, 1), 32, 1)
        for timing in gradient_path.TIMINGS
    )
    assert fixed < attending
    near = gradient_path.kept(gradient_path.untrained(cell, "none", 1), 2, 1)
    assert fixed < near / 10  # the shorter the path, the less is lost

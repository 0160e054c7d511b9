"""What is printed while a model trains where there is no terminal."""

from __future__ import annotations

import pytest

from regard.training.display import STEPS_PER_LINE, Display


def test_the_time_left_is_printed_until_the_last_step(capsys: pytest.CaptureFixture[str]) -> None:
    display, last = Display(), 2 * STEPS_PER_LINE
    for step in (STEPS_PER_LINE, last):
        display.advance(step, last, 4.0)
        display.step(step, 1.5, 1000.0)
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"step {STEPS_PER_LINE}: loss 1.500, 1,000 tokens/s, 0:00:04 left"
    assert second == f"step {last}: loss 1.500, 1,000 tokens/s"

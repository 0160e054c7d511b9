"""Fertilities above the words of the source, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shown import Shown, width
from untrained import untrained

from regard.inspection.look import look
from regard.inspection.page import save_page
from regard.models.nonautoregressive import NonAutoregressiveConfig

SMALL = NonAutoregressiveConfig.miniatures()[1]


def test_fertilities_are_above_the_source(browser: Any, tmp_path: Path) -> None:
    found = look(untrained(SMALL), "ant bee cat", target="fox gnu hen ant")
    values = found.source_values["fertility"][:3]
    assert sum(values) == 4
    save_page([found], tmp_path / "look.html")
    for pixels in (1200, 420):
        with width(browser, pixels):
            shown = Shown(browser, tmp_path / "look.html")
            above, words = shown.all(".pair rt"), shown.all(".pair ruby bdi")
            assert [each.text for each in words] == ["ant", "bee", "cat"]
            assert [each.text for each in above] == [str(value) for value in values]
            for number, word in zip(above, words, strict=True):
                assert number.rect["y"] < word.rect["y"]
                middles = [each.rect["x"] + each.rect["width"] / 2 for each in (number, word)]
                assert abs(middles[0] - middles[1]) < 2
            assert shown.overflow() == 0
            columns = [
                str(each.get_attribute("textContent")) for each in shown.all(".across .name")
            ]
            assert columns[:3] == [
                f"{word} ×{value}"
                for word, value in zip(("ant", "bee", "cat"), values, strict=True)
            ]
            assert shown.errors() == []


def test_a_model_that_reads_no_target_has_no_moment_of_reading(
    browser: Any, tmp_path: Path
) -> None:
    found = look(untrained(SMALL), "ant bee cat", target="fox gnu hen ant")
    assert found.read is None
    assert found.attention_heads.moment == "writing"
    save_page([found], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    assert not shown.all("[data-choice=moment]")
    assert shown.all(".down .name")[0].get_attribute("textContent") == "fox"
    shown.press("alignment", "Alignment")
    assert not shown.all("[data-choice=moment]")
    assert shown.errors() == []

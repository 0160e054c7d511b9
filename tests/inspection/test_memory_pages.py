"""Where the heads of a Neural Turing Machine read and write, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shown import Shown, width
from untrained import untrained

from regard.cli import main
from regard.data.line import Line, Pair
from regard.inspection.look import look
from regard.inspection.page import save_page
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig
from regard.models.turing import TuringConfig
from regard.runs.folder import Run
from regard.runs.snapshot import save_snapshot, snapshot

SMALL = TuringConfig.miniatures()[1].changed(slots=11)  # two heads of each kind
STEPS = ["ant", "bee", "cat", "</s>", "fox", "gnu", "</s>"]


def names(shown: Shown, side: str) -> list[str]:
    """Those on an axis, also the ones that appear only when they are pointed at."""
    found = [each.get_attribute("textContent") for each in shown.all(f".map {side} .name")]
    return list(map(str, found))


def test_look_shows_each_head_over_the_slots(browser: Any, tmp_path: Path) -> None:
    found = look(untrained(SMALL), "ant bee cat", target="fox gnu")
    save_page([found], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    assert [each.text for each in shown.all("[data-choice=view]")] == ["map", "all heads"]
    assert len(shown.all(".map")) == 1
    assert names(shown, ".down") == STEPS
    assert names(shown, ".across") == [str(number) for number in range(1, SMALL.slots + 1)]
    for kind in ("reads", "writes"):
        shown.press("kind", f"{kind[:-1]} heads")
        for head in (1, 2):
            shown.only(f"1.{head}")
            said = shown.point_at(shown.all(".map .body")[0]).rpartition(" ")
            assert said[0] == f"</s> {kind} slot 6"  # the cell in the middle
            weight = found.attention(kind, 1, head, words=True)[3, 5]
            assert float(said[2]) == pytest.approx(weight, abs=6e-4)
    shown.press("view", "all heads")
    assert len(shown.all(".heads button")) == 2
    shown.press("alignment", "Alignment")
    assert "no attention to the source" in shown.all(".note")[0].text
    assert shown.errors() == []


@pytest.mark.parametrize("slots", [11, 128])
def test_all_slots_of_a_memory_fit_the_screen(browser: Any, tmp_path: Path, slots: int) -> None:
    """With names that do not overlap."""
    found = look(untrained(SMALL.changed(slots=slots)), "ant bee cat", target="fox gnu")
    save_page([found], tmp_path / "look.html")
    with width(browser, 1200):
        shown = Shown(browser, tmp_path / "look.html")
        assert shown.overflow() == 0
        (map_,) = shown.all(".scroll:has(.map)")
        script = "return arguments[0].scrollWidth - arguments[0].clientWidth"
        assert browser.execute_script(script, map_) == 0
        visible = [each.rect["x"] for each in shown.all(".across .name") if each.is_displayed()]
        assert (len(visible) == slots) == (slots == 11)
        assert np.diff(visible).min() >= 12
        hidden = [each for each in shown.all(".across .name") if not each.is_displayed()]
        shown.point_at(shown.all(".map .body")[0])
        shown.all(".map .body")[0].click()
        shown.keys("ARROW_RIGHT")
        lit = shown.all(".across .lit")
        assert [each.is_displayed() for each in lit] == [True]
        assert slots == 11 or lit[0] in hidden
        assert shown.errors() == []


def test_watch_shows_the_heads_of_each_snapshot(
    browser: Any, transformer: Path, tmp_path: Path
) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    pair = Pair(1, Line("ant bee cat"), Line("fox gnu"))
    facts = snapshot(untrained(SMALL), [pair], ["fox gnu"])
    save_snapshot(Run.open(tmp_path / "run"), 9, facts)
    assert main(["watch", str(tmp_path / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    headings = [each.text for each in shown.all(".maps h3")]
    assert [each.partition(":")[0] for each in headings] == ["read heads", "write heads"]
    assert names(shown, ".down") == STEPS * 2
    assert names(shown, ".across") == [str(number) for number in range(1, SMALL.slots + 1)] * 2
    pixels = 255 - shown.pixels(".maps canvas").sum(axis=2) / 3
    weights = look(untrained(SMALL), "ant bee cat", target="fox gnu").attention("reads", words=True)
    scaled = pixels.reshape(weights.shape)
    assert np.array_equal(scaled.argmax(axis=1), weights.argmax(axis=1))
    assert shown.errors() == []


STORY = "ant bee cat ||| dog bee eel fox gnu hen ant bee cat dog eel ||| cat eel"
NAMES = ("ant bee cat", "dog bee eel fox gnu hen ant bee cat dog…", "cat eel")


def test_the_sentences_of_a_story_are_named() -> None:
    for config, kind in (
        (EntityConfig(width=8, slots=4), "sentences-memory"),
        (HierarchicalConfig(width=8), "sentences-source"),
    ):
        looking, _ = look(untrained(config), STORY).sides(kind)
        assert looking.words == NAMES


def test_look_shows_the_gates_of_each_sentence(browser: Any, tmp_path: Path) -> None:
    found = look(untrained(EntityConfig(width=8, slots=4)), STORY)
    save_page([found], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    assert shown.pressed("kind") == ["gates of the memory"]
    assert names(shown, ".down") == list(NAMES)
    assert names(shown, ".across") == ["1", "2", "3", "4"]
    weight = found.attention("sentences-memory")
    assert weight[:-1].min() > 0.1
    assert not weight[-1].any()  # the question changes nothing
    shown.press("kind", "answer to memory")
    assert names(shown, ".across") == ["1", "2", "3", "4"]
    assert shown.errors() == []


def test_look_shows_a_document_by_its_sentences(browser: Any, tmp_path: Path) -> None:
    """With the weights of the words in each and of the sentences for the label, also on a phone."""
    found = look(untrained(HierarchicalConfig(width=8)), STORY)
    save_page([found], tmp_path / "look.html")
    words, sentences = found.attention("sentences-source"), found.attention("target-sentences")[0]
    for pixels in (1200, 400):
        with width(browser, pixels):
            shown = Shown(browser, tmp_path / "look.html")
            texts = [each.text.split() for each in shown.all(".document .reading")]
            assert texts == [part.split() for part in STORY.split(" ||| ")]
            said = [float(each.text) for each in shown.all(".document .weight small")]
            np.testing.assert_allclose(said, sentences, atol=0.006)
            said = shown.point_at(shown.all(".document .word")[4])
            assert said == f"{NAMES[1]} attends to bee {words[1, 4]:.3f}"
            assert shown.overflow() == 0
            shown.press("view", "map")
            assert names(shown, ".down") == list(NAMES)
            shown.press("kind", "label to sentences")
            assert names(shown, ".across") == list(NAMES)
            assert not shown.all("[data-choice=view]")
            assert shown.errors() == []


@pytest.mark.parametrize(
    ("config", "maps"),
    [
        (EntityConfig(width=8, slots=4), {"gates of the memory": 3, "answer to memory": 2}),
        (HierarchicalConfig(width=8), {"label to sentences": 2}),
    ],
)
def test_watch_shows_both_levels_of_what_is_read_by_sentences(
    browser: Any, transformer: Path, tmp_path: Path, config: Any, maps: dict[str, int]
) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    facts = snapshot(untrained(config), [Pair(1, Line(STORY), Line("CAT"))], ["DOG"])
    save_snapshot(Run.open(tmp_path / "run"), 9, facts)
    assert main(["watch", str(tmp_path / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    found = look(untrained(config), STORY, target="DOG")
    headings = [each.text for each in shown.all(".maps h3")]
    if config.kind == "hierarchical":
        assert headings.pop(0) == "sentences to words"
        texts = [each.text.split() for each in shown.all(".document .reading")]
        assert texts == [part.split() for part in STORY.split(" ||| ")]
        weight = found.attention("sentences-source")[2, -3]
        name, _, said = shown.point_at(shown.all(".document .word")[-2]).rpartition(" ")
        assert (name, float(said)) == ("cat eel attends to cat", pytest.approx(weight, abs=0.01))
        assert names(shown, ".across") == list(NAMES)
    else:
        assert names(shown, ".down") == [*NAMES, "DOG", "</s>"]
    assert headings == list(maps)
    assert [
        len(each.find_elements("css selector", ".down .name")) for each in shown.all(".map")
    ] == list(maps.values())
    assert shown.errors() == []


def test_cells_of_a_watched_map_can_be_pointed_at(
    browser: Any, transformer: Path, tmp_path: Path
) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    facts = snapshot(untrained(SMALL), [Pair(1, Line("ant bee"), Line("fox"))], ["fox gnu"])
    save_snapshot(Run.open(tmp_path / "run"), 9, facts)
    assert main(["watch", str(tmp_path / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    said = shown.point_at(shown.all(".map .body")[1])
    assert said.startswith("</s> writes slot 6 ")
    shown.all(".map .body")[1].click()
    shown.point_at(shown.all(".map .body")[0])
    shown.keys("ESCAPE")
    assert not shown.all(".map .lit")
    assert shown.errors() == []

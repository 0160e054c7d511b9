"""A run that read pictures from files that are gone, and its attention over a picture."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from shown import Shown

import regard
from regard.cli import main
from regard.corpora import drawn_words

SMALL = [
    "model.width=16",
    "batch.tokens=512",
    "training.processes=1",
    "training.validate_every=3",
    "search.max_length_extra=3",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn words, and a run that trained on their files for a few steps; the others are gone."""
    folder = tmp_path_factory.mktemp("pictures")
    drawn_words.write(drawn_words.generate(1, held_out=30), folder)
    shutil.copy(folder / drawn_words.PICTURES / "00001.png", folder / "first.png")
    data = regard.Parallel(folder / "test.paths", folder / "test.target")
    regard.train("spatial", data, run=folder / "run", steps=3, settings=SMALL, quiet=True)
    shutil.rmtree(folder / drawn_words.PICTURES)
    return folder


def test_a_run_keeps_its_pictures(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "run", tmp_path / "run")
    regard.train(run=tmp_path / "run", steps=3, more=True, quiet=True)
    assert regard.evaluate(tmp_path / "run")["perplexity"] > 1
    with pytest.raises(regard.UsageError, match=r"test\.paths:1 names the picture"):
        regard.evaluate(
            tmp_path / "run", regard.Parallel(folder / "test.paths", folder / "test.target")
        )


def test_a_path_and_its_grey_values_are_read_the_same(folder: Path) -> None:
    read = regard.load(folder / "run")
    text = (folder / "test.source").read_text().splitlines()[0]
    assert read(str(folder / "first.png")) == read(text)
    ((one, _),) = read.score([(text, "AB")])
    ((other, _),) = read.score([(str(folder / "first.png"), "AB")])
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("translate", "run", "--input", "first", "--shortlist", "5"),
            "A shortlist depends on the words of the source",
        ),
        (
            ("translate", "run", "--input", "first", "--alignments", "links"),
            "reads and writes text aligns words",
        ),
        (("align", "run", "--source", "first", "--target", "first"), "reads and writes text"),
        (("serve", "run:en:de"), "does not translate text"),
    ],
)
def test_patches_are_not_words(
    arguments: tuple[str, ...],
    said: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "first").write_text("first.png\n")
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "links").exists()


def test_look_lays_attention_over_the_picture(browser: Any, folder: Path, tmp_path: Path) -> None:
    picture = str(folder / "first.png")
    found = regard.look(regard.load(folder / "run"), picture, target="AB")
    assert found.picture is not None
    assert found.title == picture
    height, width = found.picture.pixels.shape
    found.save(tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    assert [each.text for each in shown.all(".pictures bdi")] == ["A", "B", "</s>"]
    pixels = shown.pixels(".pictures canvas")
    assert pixels.shape == (height, width, 3)
    weights = found.picture.laid_over(found.attention())[0][1]
    tint = np.ptp(pixels, axis=2)  # grey has none; the attention has the colour of its head
    expected = 0.7 * np.sqrt(weights)
    white = found.picture.pixels > 200
    assert np.corrcoef(tint[white], expected[white])[0, 1] > 0.5
    assert "attends to" in shown.point_at(shown.all(".pictures figure")[1])
    shown.press("view", "map")
    assert len(shown.all(".map")) == 1
    shown.press("alignment", "Alignment")
    assert "no words to be aligned" in shown.all(".note")[0].text
    assert shown.errors() == []
    found.save(tmp_path / "look.png")
    assert Image.open(tmp_path / "look.png").width > 300


def test_watch_shows_the_pictures(browser: Any, folder: Path, tmp_path: Path) -> None:
    assert main(["watch", str(folder / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    assert "by 16 pixels" in shown.all(".sentence")[0].text
    assert shown.errors() == []

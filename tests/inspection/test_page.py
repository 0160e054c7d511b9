"""The page in a real browser: what one can do with it, and text that would like to be code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shown import Shown, width
from untrained import untrained

import regard
from regard.cli import main
from regard.data.tokenizer import Words
from regard.data.tokenizers import Tokenizers
from regard.inspection.alignment import (
    METHODS,
    MOMENTS,
    AttentionHeads,
    Method,
    between_words,
    links,
)
from regard.inspection.look import Look, look
from regard.inspection.page import STEPS, as_json, frame, page, save_page
from regard.metrics.alignment import pharaoh
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.labelling import TaggerConfig
from regard.models.language import LanguageConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.predict import Predictor

HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><img/src=x/onerror=document.title='taken'>",
    "\"'`&amp;${1+1}$data",
    "\u202egnp.exe\u202c",
    "مرحبا",
    "\u2028\u2029",
]


def hostile_look() -> Look:
    words = Words(HOSTILE)
    predictor = untrained(TransformerConfig.miniatures()[0])
    model = TransformerConfig.miniatures()[0].build(words.size, words.size)
    hostile = Predictor(model, Tokenizers.one(words), predictor.search)
    return look(hostile, " ".join(HOSTILE[:5]), target=" ".join(reversed(HOSTILE[:5])))


def test_no_text_can_end_the_element_it_stands_in() -> None:
    written = as_json({"text": "".join(HOSTILE)})
    assert not set("<>&\u2028\u2029\u202e") & set(written)
    assert json.loads(written) == {"text": "".join(HOSTILE)}


def test_the_page_reaches_for_nothing() -> None:
    text = page([hostile_look()])
    addresses = set(re.findall(r"(?:https?:)?//[a-z][^\s\"']*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert text.count("<script") == 2
    assert "taken" not in re.sub(r"(?s)<script.*?</script>", "", text)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    found = hostile_look()
    shown = found._repr_html_()
    assert shown == frame(found.html())
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2


OWN = AttentionHeads(((1, 1), (2, 2)), "reading")


@pytest.fixture(scope="module")
def found(transformer: Path) -> Look:
    return look(regard.load(transformer), "ant bee cat dog", attention_heads=OWN)


@pytest.fixture
def shown(browser: Any, found: Look, tmp_path: Path) -> Shown:
    save_page([found, hostile_look()], tmp_path / "look.html")
    return Shown(browser, tmp_path / "look.html")


def test_pointing_at_a_word_shows_where_it_looks(shown: Shown, found: Look) -> None:
    shown.press("kind", "within the source")
    shown.only("2.1")
    for view in ("lines and map", "text"):
        shown.press("view", view)
        said = shown.point_at(shown.all(".word")[1])
        weights = found.attention("encoder", 2, 1, words=True)[1]
        first = int(np.argmax(weights))
        match = re.match(r"bee attends to (\S+) ([0-9.]+),", said)
        assert match is not None, said
        assert match[1] == found.source.words[first]
        assert float(match[2]) == pytest.approx(weights[first], abs=6e-4)
    assert shown.errors() == []


def test_the_map_tells_the_weight_of_each_cell(shown: Shown, found: Look) -> None:
    shown.press("preset", "mean of all")
    shown.press("moment", "written")
    rows, columns = found.attention("cross").shape
    assert [each.text for each in shown.all(".down .name")] == list(found.target.words)
    body = shown.all(".map .body")[0]
    said = shown.point_at(body)  # the middle of it
    row, column = rows // 2, columns // 2
    weight = found.attention("cross")[row, column]
    parts = said.rsplit(" ", 1)
    assert parts[0] == f"{found.target.words[row]} attends to {found.source.words[column]}"
    assert float(parts[1]) == pytest.approx(weight, abs=6e-4)
    assert shown.errors() == []


def test_the_page_opens_on_the_heads_that_align(shown: Shown, found: Look) -> None:
    assert shown.picked() == ["1.1", "2.2"]
    assert shown.pressed("preset") == ["aligning"]
    assert shown.pressed("moment") == ["read"]
    assert found.read is not None
    assert [each.text for each in shown.all(".down .name")] == list(found.read.words)
    assert [each.text for each in shown.all(".legend > span")][:2] == ["1.1", "2.2"]


def test_each_head_has_its_colour_in_the_map(shown: Shown, found: Look) -> None:
    for head in ("1.1", "2.2", "1.2", "2.1"):  # off, off, on, on
        shown.pick(head)
    assert shown.picked() == ["1.2", "2.1"]
    slots = [shown.colour("--head-1"), shown.colour("--head-2")]
    pixels = shown.pixels(".map canvas")
    heads = np.stack([found.attention("cross", 1, 2), found.attention("cross", 2, 1)], axis=-1)
    shades = np.rint(255 * np.sqrt(np.rint(heads * STEPS) / STEPS)) / 255  # (T, S, heads)
    expected = 255 + shades[..., None] * (np.array(slots) - 255)
    assert pixels.shape == (heads.shape[0], 2 * heads.shape[1], 3)
    np.testing.assert_allclose(pixels, expected.reshape(pixels.shape), atol=1.1)
    said = shown.point_at(shown.all(".word")[0])
    assert re.match(r"\S+ attends to 1\.2 \S+ [0-9.]+.*; 2\.1 \S+ [0-9.]+", said), said
    ink = 255 - shown.pixels(".columns canvas").reshape(-1, 3)
    ink = ink[np.linalg.norm(ink, axis=1) > 15]
    for slot in slots:  # both have a line from the word
        tone = 255 - np.array(slot)
        cosines = ink @ tone / np.linalg.norm(ink, axis=1) / np.linalg.norm(tone)
        assert (cosines > 0.995).any()
    assert shown.errors() == []


def test_a_head_keeps_its_colour_and_six_are_the_most(browser: Any, tmp_path: Path) -> None:
    config = TransformerConfig.miniatures()[0].changed(layers=4, heads=2)
    save_page([look(untrained(config), "ant bee cat")], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    shown.press("preset", "mean of all")
    assert shown.picked() == []
    heads = [f"{layer}.{head}" for layer in (1, 2, 3, 4) for head in (1, 2)]
    for head in heads[:7]:
        shown.pick(head)
    assert shown.picked() == heads[:6]
    before = shown.swatches()
    shown.pick("1.2")
    assert shown.swatches() == {name: before[name] for name in before if name != "1.2"}
    shown.pick("4.2")
    assert shown.swatches()["4.2"] == before["1.2"]
    assert len(set(shown.swatches().values())) == 6


def test_all_heads_are_shown_and_some_can_be_picked(shown: Shown, found: Look) -> None:
    shown.press("view", "all heads")
    small = shown.all(".heads button")
    assert len(small) == 4
    bits = found.entropy("cross")[1][0]
    assert small[2].text == f"2.1: {bits:.1f} bits"
    assert [each.get_attribute("aria-pressed") for each in small] == [
        "true",
        "false",
        "false",
        "true",
    ]
    shown.click(small[2])
    shown.press("view", "lines and map")
    assert shown.picked() == ["1.1", "2.1", "2.2"]


@pytest.mark.parametrize("pixels", [1200, 400])
def test_nothing_is_wider_than_the_screen(shown: Shown, pixels: int) -> None:
    with width(shown.browser, pixels):
        shown.reload()
        for number in (0, 1):
            shown.sentence(number)
            for view in ("text", "all heads", "lines and map"):
                shown.press("view", view)
                assert shown.overflow() == 0, view
            for name in ("Alignment", "Search", "Tokens", "Vectors", "Attention"):
                shown.press(name.lower(), name)
                assert shown.overflow() == 0, name
        shown.sentence(0)
        lines, map_ = (shown.all(each)[0].rect for each in (".columns", ".map"))
        if pixels == 1200:  # beside each other, words at the same height
            assert map_["x"] > lines["x"] + lines["width"]
            tops = [shown.all(each)[0].rect for each in (".left .word", ".down .name")]
            middles = [each["y"] + each["height"] / 2 for each in tops]
            assert abs(middles[0] - middles[1]) < 3
        else:
            assert map_["y"] > lines["y"] + lines["height"]
        assert lines["width"] + (map_["width"] if pixels == 1200 else 0) > 0.6 * pixels


def test_a_wide_map_scrolls_in_its_box(browser: Any, tmp_path: Path) -> None:
    words = " ".join(["ant bee cat dog eel fox gnu hen"] * 5)
    many = look(untrained(TransformerConfig.miniatures()[0]), words, target=words.upper())
    save_page([many], tmp_path / "look.html")
    with width(browser, 400):
        shown = Shown(browser, tmp_path / "look.html")
        assert shown.overflow() == 0
        box = shown.all(".both .scroll")[0]
        inside = shown.browser.execute_script("return arguments[0].scrollWidth", box)
        assert inside > 400 > box.size["width"]


def test_the_keyboard_is_enough(shown: Shown, found: Look) -> None:
    shown.browser.execute_script("document.querySelector('[data-key=\"kind:encoder\"]').focus()")
    shown.keys("ENTER")
    shown.wait("return document.activeElement.dataset.key === 'kind:encoder'")
    shown.only("1.1")
    shown.browser.execute_script("document.querySelector('.left .word').focus()")
    shown.keys("ARROW_DOWN")
    assert shown.said().startswith("bee attends to ")
    shown.keys("ENTER", "ARROW_DOWN")  # pinned: moving on changes nothing
    assert shown.said().startswith("bee attends to ")
    shown.keys("ESCAPE", "ARROW_DOWN")
    assert shown.said().startswith("dog attends to ")
    shown.browser.execute_script("document.querySelector('.map .body').focus()")
    shown.keys("ARROW_RIGHT", "ARROW_DOWN")
    assert re.fullmatch(r"bee attends to bee [0-9.]+", shown.said())
    assert shown.all(".map .name.lit")[0].text == "bee"
    shown.press("search", "Search")
    shown.browser.execute_script("document.querySelector('svg.tree g').focus()")
    first = shown.said()
    shown.keys("ARROW_RIGHT")
    assert shown.said() != first
    shown.keys("ARROW_LEFT")
    assert shown.said() == first


def test_everything_to_press_has_a_name(shown: Shown) -> None:
    for view in ("text", "all heads", "lines and map"):
        shown.press("view", view)
        pressable = shown.all("button, select, textarea, [tabindex='0']")
        assert len(pressable) > 10
        assert all(each.accessible_name for each in pressable)


def expected_links(found: Look, heads: AttentionHeads, method: Method) -> str:
    """By the weights as they stand on the page."""
    shown = tuple(
        (np.rint(layer * STEPS) / STEPS).astype(np.float32) for layer in found.layers.cross
    )
    words = between_words(heads.mean(shown), found.source, found.target, heads.moment)
    return pharaoh(links(words, method))


def test_the_alignment_is_that_of_python_for_the_weights_shown(shown: Shown, found: Look) -> None:
    shown.browser.find_element("css selector", "[data-panel=alignment]").click()
    shown.wait("return document.querySelector('textarea') !== null")
    assert shown.all("textarea")[0].get_attribute("value") == expected_links(
        found, OWN, "grow-diag"
    )
    shown.only("1.2")
    for moment, name in zip(MOMENTS, ("written", "read"), strict=True):
        shown.press("moment", name)
        for method in METHODS:
            shown.press("method", method)
            expected = expected_links(found, AttentionHeads(((1, 2),), moment), method)
            assert shown.all("textarea")[0].get_attribute("value") == expected
            assert len(shown.all(".map .link")) == len(expected.split())
    assert shown.errors() == []


def test_the_search_and_the_tokens_are_shown(shown: Shown, found: Look) -> None:
    shown.press("search", "Search")
    assert len(shown.all("svg.tree g")) == len(found.search_tree)
    best = shown.all("svg.tree g.best")
    assert len(best) == len(found.target.ids)
    assert "log p" in shown.point_at(best[0])
    shown.press("tokens", "Tokens")
    names = [each.text for each in shown.all("tr td:first-child")]
    assert names == [each.piece for each in found.written]
    shown.press("vectors", "Vectors")
    assert len(shown.all("canvas.positions")) == 1
    assert shown.errors() == []


def test_hostile_text_is_shown_as_text(shown: Shown) -> None:
    shown.sentence(1)
    for view in ("text", "all heads", "lines and map"):
        shown.press("view", view)
    shown.press("view", "text")
    texts = [each.get_attribute("textContent") for each in shown.all(".word")]
    assert texts[:5] == list(reversed(HOSTILE[:5]))
    for name in ("alignment", "search", "tokens", "vectors"):
        shown.browser.find_element("css selector", f"[data-panel={name}]").click()
        shown.wait(f"return document.querySelector('[data-panel={name}][aria-pressed=true]')")
    assert shown.browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert shown.browser.title != "taken"
    assert shown.errors() == []


FAMILIES = [LanguageConfig, RecurrentConfig, ConvolutionalConfig, ByteNetConfig]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.__name__)
def test_every_family_shows_what_it_has(browser: Any, tmp_path: Path, family: Any) -> None:
    found = look(untrained(family.miniatures()[0]), "ant bee cat")
    save_page([found], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    if found.layers.kinds:
        heads = sum(map(len, found.layers.of(next(iter(found.layers.kinds)))))
        views = [each.text for each in shown.all("[data-choice=view]")]
        assert views == ["lines and map", "text", *(["all heads"] if heads > 1 else [])]
        assert bool(shown.all(".picker")) == (heads > 1)  # of one there is nothing to choose
        for view in reversed(views):
            shown.press("view", view)
        assert len(shown.all(".side.left .word")) > 0
    else:
        assert shown.all("table.tokens")
        shown.press("attention", "Attention")
        assert "no attention" in shown.all("main")[0].text
    for name in ("Alignment", "Search", "Tokens", "Vectors"):
        shown.press(name.lower(), name)
    assert shown.errors() == []


def test_tags_are_beside_their_words(browser: Any, tmp_path: Path) -> None:
    """They are independent of each other, and there is no search to show."""
    found = look(untrained(TaggerConfig(layers=1, width=8, heads=2, inner=8)), "ant bee cat")
    assert [each.word for each in found.written] == ["ant", "bee", "cat", "</s>"]
    save_page([found], tmp_path / "look.html")
    shown = Shown(browser, tmp_path / "look.html")
    assert "found without search" in shown.all(".facts")[0].text
    shown.press("search", "Search")
    assert "without a search" in shown.all("main")[0].text
    shown.press("tokens", "Tokens")
    first = [each.text for each in shown.all("table.tokens td:first-child")]
    assert first == ["ant", "bee", "cat", "</s>"]
    assert shown.all(".note")[0].text == "Each probability is conditional on the source."
    assert shown.errors() == []


def test_a_long_source_opens_as_text(browser: Any, tmp_path: Path) -> None:
    found = look(untrained(TransformerConfig.miniatures()[0]), "ant bee " * 40, target="cat")
    save_page([found], tmp_path / "look.html")
    assert Shown(browser, tmp_path / "look.html").pressed("view") == ["text"]


def test_two_hundred_words_are_drawn(browser: Any, tmp_path: Path) -> None:
    words = " ".join(["ant bee cat dog eel fox gnu hen"] * 25)
    many = look(untrained(TransformerConfig.miniatures()[0]), words, target=words.upper())
    save_page([many], tmp_path / "long.html")
    assert (tmp_path / "long.html").stat().st_size < 3_000_000
    shown = Shown(browser, tmp_path / "long.html")
    for view in ("lines and map", "all heads", "text"):
        shown.press("view", view)
    assert "attends to" in shown.point_at(shown.all(".word")[150])
    assert shown.errors() == []


def test_the_command_writes_the_page(
    transformer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path / "look.html")]
    assert main(["look", str(transformer), "ant bee", *output]) == 0
    assert "ant bee" in (tmp_path / "look.html").read_text()
    lines = tmp_path / "lines"
    lines.write_text("ant\n\nbee cat\n")
    assert main(["look", str(transformer), "--input", str(lines), *output]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    for wrong, said in (
        ([], "Give one sentence"),
        (["ant", "--input", str(lines)], "Give one sentence"),
        (["--input", str(lines), "--target", "BEE"], "--target with a sentence"),
        ([" "], "no text"),
    ):
        assert main(["look", str(transformer), *wrong, *output]) == 2
        assert said in capsys.readouterr().err

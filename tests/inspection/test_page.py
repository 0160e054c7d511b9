"""The page in a real browser: what one can do with it, and text that would like to be code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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


class Shown:
    """A page in the browser, with what a person does to it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.browser = browser
        browser.get("about:blank")  # what was shown before has nothing more to say
        browser.get_log("browser")
        browser.get(path.as_uri())
        self.wait("return document.body.dataset.ready === 'true'")

    def wait(self, condition: str) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, 60).until(lambda b: b.execute_script(condition))

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def press(self, group: str, text: str) -> None:
        """A button; the page then draws itself anew."""
        self.browser.execute_script("document.body.dataset.ready = 'false'")
        buttons = self.all(f"[data-choice={group}], [data-panel={group}]")
        next(each for each in buttons if each.text.strip() == text).click()
        self.wait("return document.body.dataset.ready === 'true'")

    def point_at(self, element: Any) -> str:
        from selenium.webdriver.common.action_chains import ActionChains

        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.browser).move_to_element(element).perform()
        return self.said()

    def said(self) -> str:
        return str(self.all(".readout")[0].text)

    def errors(self) -> list[Any]:
        return [each for each in self.browser.get_log("browser") if each["level"] != "INFO"]


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
    shown.press("layer", "2")
    shown.press("head", "1")
    for view in ("lines", "text"):
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
    shown.press("view", "map")
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


def test_all_heads_are_shown_and_one_can_be_chosen(shown: Shown, found: Look) -> None:
    shown.press("view", "all heads")
    small = shown.all(".heads button")
    assert len(small) == 4
    bits = found.entropy("cross")[1][0]
    assert small[2].text == f"layer 2 head 1: {bits:.1f} bits"
    small[2].click()
    shown.wait("return document.querySelector('.map') !== null")
    pressed = [each.text for each in shown.all("[data-choice][aria-pressed=true]")]
    assert pressed == ["target to source", "map", "words", "2", "1"]


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
    shown.press("whose", "others")
    shown.press("layer", "1")
    shown.press("head", "2")
    for moment, name in zip(MOMENTS, ("it is written", "it is read"), strict=True):
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
    from selenium.webdriver.support.ui import Select

    shown.browser.execute_script("document.body.dataset.ready = 'false'")
    Select(shown.all("header select")[0]).select_by_index(1)
    shown.wait("return document.body.dataset.ready === 'true'")
    for view in ("lines", "text", "map", "all heads"):
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
        for view in ("text", "map", "all heads", "lines"):
            shown.press("view", view)
        assert len(shown.all(".side.left .word")) > 0
    else:
        assert "no attention" in shown.all("main")[0].text
    for name in ("Alignment", "Search", "Tokens", "Vectors"):
        shown.press(name.lower(), name)
    assert shown.errors() == []


def test_two_hundred_words_are_drawn(browser: Any, tmp_path: Path) -> None:
    words = " ".join(["ant bee cat dog eel fox gnu hen"] * 25)
    many = look(untrained(TransformerConfig.miniatures()[0]), words, target=words.upper())
    save_page([many], tmp_path / "long.html")
    assert (tmp_path / "long.html").stat().st_size < 3_000_000
    shown = Shown(browser, tmp_path / "long.html")
    for view in ("lines", "map", "all heads", "text"):
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

"""`regard look --serve`: what is typed is translated, and the page follows without a reload."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from served import post, serving
from shown import Shown, width
from test_page import HOSTILE
from toy import turned
from untrained import untrained

import regard
from regard.cli import main
from regard.data.line import Line
from regard.inspection.editing import MAX_TEXT, routes
from regard.inspection.local_server import Answer, Request
from regard.inspection.look import look
from regard.inspection.page import pack
from regard.inspection.sentences import look_at_all, sentences_for
from regard.models.language import LanguageConfig
from regard.models.transformer import TransformerConfig
from regard.predict import Predictor
from regard.runs.folder import Run

TEXT = "ant bee cat"


@pytest.fixture(scope="module")
def predictor(able: Path) -> Predictor:
    return regard.load(able / "run")


@pytest.fixture(scope="module")
def port(predictor: Predictor) -> Iterator[int]:
    lines = [Line(TEXT), Line("dog")]
    looks = [look(predictor, line) for line in lines]
    with serving(routes(predictor, lines, looks, "regard look: <b>run</b>")) as found:
        yield found


def typed(text: str, how: str = "nothing", forced: str = "") -> dict[str, str]:
    return {"text": text, "how": how, "forced": forced}


def test_the_answer_is_the_look_of_python(port: int, predictor: Predictor) -> None:
    heads = look(predictor, TEXT).attention_heads  # those of the page stay
    for sent, target, prefix in (
        (typed("fox gnu"), None, None),
        (typed("fox gnu", "beginning", "FOX"), None, "FOX"),
        (typed("fox gnu", "whole", "HEN"), "HEN", None),
    ):
        status, body = post(port, "/look", sent)
        expected = look(predictor, "fox gnu", target, heads, prefix)
        assert status == 200
        assert json.loads(body) == json.loads(json.dumps(pack(expected)))


def test_what_cannot_be_looked_at_is_refused_in_a_sentence(port: int) -> None:
    for sent, said in (
        (typed(" "), "no text in the sentence"),
        (typed("ant", "whole", " "), "no text in the target"),
        (typed("a" * (MAX_TEXT + 1)), "At most 2,000 characters"),
        (typed("ant", "beginning", "a" * (MAX_TEXT + 1)), "At most 2,000 characters"),
        ({"text": 5}, "Send 'text' as text."),
        ([], "Send 'text' as text."),
    ):
        status, body = post(port, "/look", sent)
        assert (status, said in body.decode()) == (400, True), body


def write(shown: Shown, name: str, text: str) -> None:
    """As a person: select all, and type."""
    field = shown.all(f"#{name}")[0]
    field.send_keys("\ue009a\ue000", text)  # Ctrl-A, then the text takes its place


def until_translated(shown: Shown, text: str) -> None:
    shown.wait(f"return document.querySelector('.to').textContent === {json.dumps(text)}")


@pytest.mark.parametrize("pixels", [1200, 400])
def test_the_page_follows_what_is_typed(browser: Any, port: int, pixels: int) -> None:
    with width(browser, pixels):
        shown = Shown(browser, f"http://127.0.0.1:{port}/")
        browser.execute_script("window.same = true")
        write(shown, "source", "fox gnu hen")
        until_translated(shown, turned("fox gnu hen"))
        names = [each.text for each in shown.all(".right .word")]
        assert names == ["fox", "gnu", "hen", "</s>"]
        assert browser.switch_to.active_element.get_attribute("id") == "source"
        shown.press("alignment", "Alignment")
        assert shown.all("textarea.pharaoh")[0].get_attribute("value") == "0-2 1-1 2-0"
        shown.all("[data-how=beginning]")[0].click()
        write(shown, "forced", "ANT")
        shown.wait("return document.querySelector('.to u').textContent === 'ANT'")
        shown.press("search", "Search")
        assert shown.all("svg.tree g.best text")[0].text == "ANT"
        shown.all("[data-how=whole]")[0].click()
        write(shown, "forced", "BEE DOG")
        until_translated(shown, "BEE DOG")
        shown.press("tokens", "Tokens")
        assert [each.text for each in shown.all("td:first-child")] == ["BEE", "DOG", "</s>"]
        shown.all("[data-how=nothing]")[0].click()
        until_translated(shown, turned("fox gnu hen"))
        assert browser.execute_script("return window.same")  # never reloaded
        assert shown.overflow() == 0
        assert shown.errors() == []
        browser.get("about:blank")


def test_an_error_is_shown_and_goes_away(browser: Any, port: int) -> None:
    shown = Shown(browser, f"http://127.0.0.1:{port}/")
    write(shown, "source", " ")
    shown.wait("return document.querySelector('.status').textContent.includes('no text')")
    assert shown.all(".to")[0].text == turned(TEXT)  # the last answer stays
    write(shown, "source", "eel")
    until_translated(shown, "EEL")
    assert shown.all(".status")[0].text == ""
    shown.sentence(1)
    assert shown.all("#source")[0].get_attribute("value") == "dog"
    shown.sentence(0)
    assert shown.all("#source")[0].get_attribute("value") == "eel"
    browser.get("about:blank")


def test_a_busy_server_is_asked_again_with_the_newest_text(
    browser: Any, predictor: Predictor
) -> None:
    plain = routes(predictor, [Line(TEXT)], [look(predictor, TEXT)], "title")
    asked: list[str] = []
    go_on = threading.Event()

    def busy(request: Request) -> Answer:
        asked.append(request.body["text"])
        if len(asked) == 1:
            return Answer("Busy: try again.", status=HTTPStatus.SERVICE_UNAVAILABLE)
        if len(asked) == 3:
            assert go_on.wait(30)
        return plain["POST /look"](request)

    with serving({**plain, "POST /look": busy}) as port:
        shown = Shown(browser, f"http://127.0.0.1:{port}/")
        paste(shown, "fox")
        until_translated(shown, "FOX")
        assert asked == ["fox", "fox"]
        paste(shown, "eel")
        shown.wait("return document.querySelector('.status').textContent.includes('computing')")
        paste(shown, "gnu hen")
        time.sleep(0.5)  # longer than the page waits for more
        assert asked[2:] == ["eel"]  # never two at once
        go_on.set()
        until_translated(shown, "HEN GNU")
        assert asked[2:] == ["eel", "gnu hen"]
        browser.get("about:blank")


def paste(shown: Shown, text: str) -> None:
    """All at once, so that there is one request for it."""
    script = "const t = document.querySelector('#source'); t.value = arguments[0];"
    shown.browser.execute_script(f"{script} t.dispatchEvent(new Event('input'))", text)


def test_hostile_text_that_is_typed_stays_text(browser: Any, port: int) -> None:
    shown = Shown(browser, f"http://127.0.0.1:{port}/")
    assert shown.all(".kind")[0].text == "regard look: <b>run</b>"
    write(shown, "source", HOSTILE[1])
    shown.wait("return document.querySelector('select option').textContent.includes('onerror')")
    shown.all("[data-how=whole]")[0].click()
    write(shown, "forced", HOSTILE[0])
    shown.wait("return document.querySelector('.facts').textContent.startsWith('given')")
    for name in ("Alignment", "Search", "Tokens", "Vectors", "Attention"):
        shown.press(name.lower(), name)
    assert shown.all("img") == []
    assert shown.browser.title != "taken"
    refused = "status of 400"  # an empty target on the way: the only thing that went wrong
    assert [each for each in shown.errors() if refused not in each["message"]] == []
    browser.get("about:blank")


def test_only_a_served_page_may_ask_its_server(predictor: Predictor) -> None:
    found = look(predictor, TEXT)
    assert "connect-src 'none'" in found.html()
    show = routes(predictor, [Line(TEXT)], [found], "title")["GET /"]
    text = show(None).text  # type: ignore[arg-type]
    assert "connect-src 'self'" in text
    assert "unsafe" not in text.split("</head>")[0].split("<style>")[0]


def test_trees_and_languages_are_edited_too(trees: Path, tmp_path: Path) -> None:
    reader = untrained(TransformerConfig.miniatures()[0].changed(position="syntax"))
    line = Line("ant bee", (0, 1))
    with serving(routes(reader, [line], [look(reader, line)], "title")) as port:
        status, _ = post(port, "/look", {**typed("ant bee cat"), "tree": "2 0 2"})
        assert status == 200
        status, body = post(port, "/look", {**typed("ant bee cat"), "tree": "2 0"})
        assert (status, b"The tree has 2 heads" in body) == (400, True)
    shutil.copytree(trees / "run", tmp_path / "run")
    run = Run.open(tmp_path / "run")
    (sentence,) = sentences_for(run, None, None, None)
    assert sentence[0] == run.validation_pairs(1)[0].source
    assert sentence[0].tree is not None
    (found,) = look_at_all(run, regard.load(run.path), [sentence], print)
    assert found.text == sentence[0].text.strip()
    language = untrained(LanguageConfig.miniatures()[0])
    looks = [look(language, "ant bee")]
    with serving(routes(language, [Line("ant bee")], looks, "title")) as port:
        status, body = post(port, "/look", typed("cat dog"))
        assert status == 200
        assert json.loads(body)["translation"].startswith("cat dog")


def test_the_command_refuses_what_does_not_fit(
    able: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(able / "run")
    for wrong, said in (
        (["--serve", "--output", str(tmp_path / "x.html")], "--output has no effect with --serve"),
        (["ant", "--port", "9"], "--port has no effect without --serve"),
        ([], "Give one sentence"),
    ):
        assert main(["look", run, *wrong]) == 2
        assert said in capsys.readouterr().err

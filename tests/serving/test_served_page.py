"""The page of the server, tried by a person without a mouse as well as by one with it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from clients import Answer, Client, Serve
from shown import Shown, width
from toy import turned

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
READY = "return document.body.dataset.ready === 'true'"


@pytest.fixture
def shown(browser: Any, client: Client) -> Iterator[Shown]:
    """The page in a browser that has never seen it."""
    yield opened(browser, client)
    browser.get("about:blank")


def opened(browser: Any, client: Client) -> Shown:
    stored = {"origin": client.address, "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
    return Shown(browser, f"{client.address}/")


def write(shown: Shown, name: str, text: str) -> None:
    """As a person: select all, and type."""
    shown.all(f"#{name}")[0].send_keys("\ue009a\ue000", text)


def value(shown: Shown, name: str) -> str:
    return str(shown.all(f"#{name}")[0].get_property("value"))


def until(shown: Shown, condition: str) -> None:
    shown.wait(f"return {condition}")


def until_translated(shown: Shown, text: str) -> None:
    """The translation is there, with its links."""
    until(
        shown,
        f"document.getElementById('target').value === {json.dumps(text)} "
        "&& !document.body.classList.contains('stale')",
    )


def test_typing_shows_the_translation(shown: Shown) -> None:
    write(shown, "source", "ant bee cat")
    until_translated(shown, "CAT BEE ANT")
    write(shown, "source", "fox\n\ngnu hen")
    until_translated(shown, "FOX\n\nHEN GNU")
    until(shown, "document.getElementById('spoken').textContent.startsWith('Translation: FOX')")
    shown.all("#clear")[0].click()
    until_translated(shown, "")
    assert shown.errors() == []


def test_a_long_text_comes_in_parts_with_its_links(shown: Shown) -> None:
    text = "\n".join(["ant bee cat", "dog eel fox"] * 25)
    script = "const s = document.getElementById('source'); s.value = arguments[0];"
    shown.browser.execute_script(f"{script} s.dispatchEvent(new Event('input'))", text)
    until_translated(shown, "\n".join(map(turned, text.split("\n"))))
    found = shown.browser.execute_script("return page.shown.sentences")
    assert len(found) == 50
    assert found[49]["source"] == [len(text) - 11, len(text)]
    (read, *_), (_, end, *_) = found[49]["links"][0], found[49]["links"][-1]
    assert (read, end) == (len(text) - 11, len(text))


def point_at(shown: Shown, side: str, index: int) -> str:
    from selenium.webdriver.common.action_chains import ActionChains

    script = "const b = page[arguments[0]].words[arguments[1]].span.getBoundingClientRect();"
    x, y = shown.browser.execute_script(
        f"{script} return [b.left + b.width / 2, b.top + b.height / 2].map(Math.round)", side, index
    )
    pointer = ActionChains(shown.browser)
    pointer.w3c_actions.pointer_action.move_to_location(x, y)
    pointer.perform()
    return str(shown.all("#readout")[0].text)


def marked(shown: Shown, name: str) -> list[str]:
    found = shown.all(f".mirror .{name}")
    return [str(each.get_property("textContent")) for each in found]


def test_a_word_shows_its_aligned_word(shown: Shown) -> None:
    write(shown, "source", "ant bee cat")
    until_translated(shown, "CAT BEE ANT")
    assert point_at(shown, "source", 0) == "ant becomes ANT."
    assert (marked(shown, "asked"), marked(shown, "linked")) == (["ant"], ["ANT"])
    assert point_at(shown, "target", 0) == "CAT comes from cat."
    assert (marked(shown, "asked"), marked(shown, "linked")) == (["CAT"], ["cat"])
    shown.all("#source")[0].send_keys("\ue011")  # Home: the caret points as well
    until(shown, "document.getElementById('readout').textContent === 'ant becomes ANT.'")


BOXES = """
const {area, mirror, words} = page.source, box = (each) => each.getBoundingClientRect();
return {
  directions: [area, mirror].map((each) => getComputedStyle(each).direction),
  edge: box(mirror).right - parseFloat(getComputedStyle(mirror).paddingRight),
  words: words.map((word) => [box(word.span).left, box(word.span).right]),
};
"""


def test_words_are_found_where_text_runs_from_right_to_left(shown: Shown) -> None:
    write(shown, "source", "שלום עולם")
    until(shown, "page.source.words.length === 2")
    found = shown.browser.execute_script(BOXES)
    assert found["directions"] == ["rtl", "rtl"]
    (first_left, first_right), (_, second_right) = found["words"]
    assert first_right == pytest.approx(found["edge"], abs=1.5)
    assert second_right < first_left


def test_what_is_edited_is_continued_from_there(shown: Shown) -> None:
    write(shown, "source", "ant bee cat\ndog")
    until_translated(shown, "CAT BEE ANT\nDOG")
    target = shown.all("#target")[0]
    target.send_keys("\ue009\ue011\ue000", "\ue008" + "\ue014" * 3 + "\ue000", "FOX")
    until(shown, "page.shown.text.startsWith('FOX ')")
    until(shown, "!document.body.classList.contains('stale')")
    first, second = value(shown, "target").split("\n")
    assert first.startswith("FOX ")
    assert "CAT BEE ANT" not in first  # what followed was written again
    assert second == "DOG"  # another sentence stays
    assert shown.browser.execute_script("return page.target.area.selectionStart") == 3
    assert [shown.all(name)[0].is_displayed() for name in ("#edited", "#hint")] == [True, False]
    shown.all("#undo")[0].click()
    until_translated(shown, "CAT BEE ANT\nDOG")
    write(shown, "target", "qqq")  # a word that no tokenizer of this run knows
    until(shown, "page.shown.text.startsWith('qqq')")


def test_an_alternative_can_be_chosen(shown: Shown) -> None:
    write(shown, "source", "ant bee cat")
    until_translated(shown, "CAT BEE ANT")
    choices = [each.text for each in shown.all("#alternatives button")]
    assert choices
    assert "CAT BEE ANT" not in choices
    assert len(shown.all("#alternatives mark")) >= len(choices)
    shown.all("#alternatives button")[0].click()
    until_translated(shown, choices[0])
    until(shown, "page.shown.sentences.length > 0")
    assert "CAT BEE ANT" in [each.text for each in shown.all("#alternatives button")]


MARKED = """
return compared(...arguments)
  .map((each) => each.tagName ? `[${each.textContent}]` : each).join('');
"""


def test_an_alternative_marks_the_words_that_differ(shown: Shown) -> None:
    def marks(text: str, choice: str) -> str:
        return str(shown.browser.execute_script(MARKED, text, choice))

    assert marks("a b c d e", "a x c d y z") == "a [x] c d [y z]"
    assert marks("a b", "a  b\nb") == "a  b\n[b]"
    assert marks("a b c d", "a d") == "a []d"  # something is missing there
    assert marks("a b", "b") == "[]b"
    assert marks("a b c", "a") == "a[]"
    assert marks("a b c", "x") == "[x]"


def test_languages_are_chosen_detected_and_swapped(
    browser: Any, toy_run: Path, serve: Serve
) -> None:
    shown = opened(browser, serve(f"{toy_run}:en:de", f"{toy_run}:de:en"))
    write(shown, "source", "ant bee")
    until_translated(shown, "BEE ANT")
    shown.all("#swap")[0].click()
    until(shown, "document.getElementById('source').value === 'BEE ANT'")
    assert (value(shown, "from"), value(shown, "to")) == ("de", "en")
    shown.all("#from option[value=auto]")[0].click()
    until(shown, "document.getElementById('detected').textContent.startsWith('detected: ')")
    browser.get("about:blank")


def test_a_swap_that_no_run_can_do_is_refused_in_a_sentence(shown: Shown) -> None:
    shown.all("#swap")[0].click()
    assert shown.all("#status")[0].text == "No run of this server translates German to English."


def test_history_stays_in_the_browser_and_can_be_cleared(shown: Shown) -> None:
    write(shown, "source", "ant bee")
    until_translated(shown, "BEE ANT")
    until(shown, "document.querySelectorAll('#history li').length === 1")
    shown.reload()
    shown.all("#history summary")[0].click()
    shown.all("#history li button")[0].click()
    until_translated(shown, "BEE ANT")
    assert value(shown, "source") == "ant bee"
    kept = "page.settle(); document.getElementById('forget').click(); return page.settling"
    assert shown.browser.execute_script(kept)  # what was about to be kept is not
    time.sleep(1.5)
    assert shown.all("#history li") == []
    assert not shown.all("#forget")[0].is_displayed()
    shown.reload()
    assert shown.all("#history li") == []


def test_the_attention_view_opens_in_a_tab(shown: Shown) -> None:
    browser = shown.browser
    write(shown, "source", "ant bee cat")
    until_translated(shown, "CAT BEE ANT")
    first = browser.current_window_handle
    with another_tab(shown, "look"):
        shown.wait(READY)
        assert shown.all(".to")[0].text == "CAT BEE ANT"
        assert [each.text for each in shown.all(".right .word")] == ["ant", "bee", "cat", "</s>"]
    assert browser.current_window_handle == first


@contextmanager
def another_tab(shown: Shown, button: str) -> Iterator[None]:
    from selenium.webdriver.support.ui import WebDriverWait

    browser = shown.browser
    before = browser.current_window_handle
    shown.all(f"#{button}")[0].click()
    WebDriverWait(browser, 30).until(lambda b: len(b.window_handles) == 2)
    browser.switch_to.window(next(each for each in browser.window_handles if each != before))
    try:
        yield
    finally:
        browser.close()
        browser.switch_to.window(before)


def focused(shown: Shown) -> str:
    return str(shown.browser.switch_to.active_element.get_attribute("id"))


def test_keys_alone_are_enough(shown: Shown) -> None:
    assert focused(shown) == "source"
    write_here(shown, "ant bee")
    until_translated(shown, "BEE ANT")
    shown.browser.execute_script("document.getElementById('from').focus()")
    order = [focused(shown)]
    for _ in range(7):
        shown.keys("TAB")
        order.append(focused(shown))
    assert order == ["from", "swap", "to", "source", "clear", "target", "look", "copy"]
    shown.keys("TAB")
    choice = shown.browser.switch_to.active_element.text
    shown.keys("ENTER")
    until_translated(shown, choice)
    shown.browser.execute_script("document.querySelector('#history summary').focus()")
    shown.keys("ENTER")
    until(shown, "document.getElementById('history').open")
    shown.browser.switch_to.active_element.send_keys("\ue008\ue004")  # Shift and Tab
    assert focused(shown) == "file"


def write_here(shown: Shown, text: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(shown.browser).send_keys(text).perform()


def test_a_refusal_is_shown_and_goes_away(browser: Any, serve: Serve) -> None:
    client = serve(characters=20)
    shown = opened(browser, client)
    write(shown, "source", "ant " * 9)
    until(shown, "document.getElementById('status').textContent.includes('longer than 20')")
    write(shown, "source", "ant")
    until_translated(shown, "ANT")
    assert shown.all("#status")[0].text == ""
    browser.execute_script("page.settings.charLimit = 1000")
    write(shown, "source", "ant " * 9)
    until(shown, "document.getElementById('status').textContent.includes('exceeds text limit')")
    assert shown.all("#status")[0].get_attribute("aria-live") == "polite"
    client.server.stop()
    browser.execute_script("window.fetch = () => Promise.reject(new TypeError('gone'))")
    write(shown, "source", "bee")
    until(shown, "document.getElementById('status').textContent.includes('cannot be reached')")
    browser.get("about:blank")


def test_characters_are_counted_as_the_server_counts_them(browser: Any, serve: Serve) -> None:
    """A browser counts most emoji, and the rare characters of Chinese, twice."""
    shown = opened(browser, serve(characters=6))
    script = "const s = document.getElementById('source'); s.value = arguments[0];"
    for text, count in (("ant \U0001f600\U00020bb7", 6), ("ant bee", 7), ("\U0001f600" * 7, 7)):
        browser.execute_script(f"{script} s.dispatchEvent(new Event('input'))", text)
        assert shown.all("#count")[0].text == f"{count} of 6 characters"
        if count <= 6:
            until(shown, "page.shown.text.startsWith('ANT')")
            continue
        until(shown, "document.getElementById('status').textContent.includes('longer than 6')")
    browser.get("about:blank")


BOX = "return document.getElementById(arguments[0]).getBoundingClientRect().toJSON()"


def test_a_text_that_is_too_long_is_refused_in_sight(browser: Any, serve: Serve) -> None:
    """However far its end is, and although a shorter one was translated before."""
    shown = opened(browser, serve())
    write(shown, "source", "ant bee")
    until_translated(shown, "BEE ANT")
    script = "const s = document.getElementById('source'); s.value = arguments[0];"
    browser.execute_script(f"{script} s.dispatchEvent(new Event('input'))", "ant " * 2600)
    until_translated(shown, "")
    assert shown.all("#status")[0].text.startswith("This text is longer than 10,000 characters")
    box = browser.execute_script(BOX, "status")
    assert 0 < box["top"] < box["bottom"] <= browser.execute_script("return innerHeight")
    assert browser.execute_script("return scrollY") == 0
    assert shown.all("#alternatives button") == []
    browser.get("about:blank")


def test_a_key_is_asked_for_where_one_is_needed(browser: Any, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("secret\n")
    shown = opened(browser, serve(keys=tmp_path / "keys.txt", required=True))
    write(shown, "source", "ant")
    until(shown, "document.getElementById('status').textContent.includes('to get an API key')")
    write(shown, "key", "secret")
    until_translated(shown, "ANT")
    browser.get("about:blank")


REFUSED = """
for (const name of ['localStorage', 'sessionStorage']) {
  Object.defineProperty(window, name, {get() { throw new DOMException('no', 'SecurityError'); }});
}
"""


def test_a_browser_that_keeps_nothing_shows_the_page(
    browser: Any, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "keys.txt").write_text("secret\n")
    client = serve(keys=tmp_path / "keys.txt", required=True)
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": REFUSED})
    try:
        shown = Shown(browser, f"{client.address}/")
        write(shown, "key", "secret")
        write(shown, "source", "ant bee")
        until_translated(shown, "BEE ANT")
        assert shown.errors() == []
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        browser.get("about:blank")


DROP = """
const carried = new DataTransfer();
carried.items.add(new File([arguments[0]], arguments[1], {type: 'text/plain'}));
const event = new DragEvent('drop', {dataTransfer: carried, bubbles: true, cancelable: true});
document.querySelector('main').dispatchEvent(event);
return event.defaultPrevented;
"""


def downloaded(shown: Shown, client: Client) -> Answer:
    until(shown, "document.querySelector('#file-status a') !== null")
    address = str(shown.all("#file-status a")[0].get_property("href"))
    assert address.startswith(f"{client.address}/download_file/")
    return client.get(address.removeprefix(client.address))


def test_a_dropped_file_is_translated(shown: Shown, client: Client) -> None:
    assert shown.browser.execute_script(DROP, "ant bee cat\ndog\n", "animals.txt")
    found = downloaded(shown, client)
    assert found.body == b"CAT BEE ANT\nDOG\n"
    assert "animals" in found.headers["Content-Disposition"]


def test_a_chosen_file_is_translated_or_refused(
    shown: Shown, client: Client, tmp_path: Path
) -> None:
    for name in ("a.txt", "a.unknown"):
        (tmp_path / name).write_text("fox gnu\n")
    shown.all("#file")[0].send_keys(str(tmp_path / "a.txt"))
    assert downloaded(shown, client).body == b"GNU FOX\n"
    shown.all("#file")[0].send_keys(str(tmp_path / "a.unknown"))
    until(shown, "document.querySelector('#file-status.wrong')?.textContent.length > 10")
    assert shown.all("#file-status a") == []


def test_hostile_text_stays_text(shown: Shown, client: Client) -> None:
    write(shown, "source", HOSTILE)
    shown.browser.execute_script(DROP, "ant\n", f"{HOSTILE}.txt")
    assert downloaded(shown, client).body == b"ANT\n"
    assert f"{HOSTILE}.txt" in shown.all("#file-status")[0].text
    until(shown, "document.querySelectorAll('#history li').length === 1")
    assert (shown.all("img"), shown.errors()) == ([], [])
    shown.reload()
    shown.all("#history summary")[0].click()
    assert HOSTILE in shown.all("#history li")[0].text
    shown.all("#history li button")[0].click()
    assert value(shown, "source") == HOSTILE
    assert (shown.all("img"), shown.errors()) == ([], [])
    assert shown.browser.title == "regard: translate"


def requests(browser: Any) -> list[str]:
    """The addresses that the browser has asked since this was last called."""
    events = (json.loads(each["message"])["message"] for each in browser.get_log("performance"))
    sent = (each for each in events if each["method"] == "Network.requestWillBeSent")
    addresses = [str(each["params"]["request"]["url"]) for each in sent]
    return [each for each in addresses if not each.startswith(("about:", "data:"))]


def test_nobody_but_the_server_is_asked(shown: Shown, client: Client) -> None:
    requests(shown.browser)
    shown.reload()
    write(shown, "source", "ant bee")
    until_translated(shown, "BEE ANT")
    shown.browser.execute_script(DROP, "ant\n", "a.txt")
    downloaded(shown, client)
    with another_tab(shown, "look"):
        shown.wait(READY)
    asked = requests(shown.browser)
    start = f"{client.address}/"
    assert [each for each in asked if not each.startswith(start)] == []
    paths = {"", "languages", "frontend/settings", "translate", "translate_file"}
    assert paths <= {each.removeprefix(start) for each in asked}


@contextmanager
def theme(browser: Any, name: str) -> Iterator[None]:
    media = {"features": [{"name": "prefers-color-scheme", "value": name}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def luminance(colour: str) -> float:
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


CONTRASTS = """
const style = (each) => getComputedStyle(each);
const ground = (each) => !each ? style(document.body).backgroundColor
  : /, 0\\)$/.test(style(each).backgroundColor) ? ground(each.parentElement)
  : style(each).backgroundColor;
return ['header p', '#source', '#target', '#hint', '#count', '#swap', '#from', 'label', '.wrong',
  '#readout', '#copy', 'a', '#alternatives button', 'summary']
  .map((name) => document.querySelector(name))
  .map((each) => [each.outerHTML.slice(0, 60), style(each).color, ground(each)]);
"""


WIDE = """
const most = document.documentElement.clientWidth + 1;
return [...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > most)
  .map((each) => each.outerHTML.slice(0, 80));
"""


LABELS = """
const lines = (each) => {
  const range = document.createRange();
  range.selectNodeContents(each);
  return range.getClientRects().length;
};
return [...document.querySelectorAll('.head label')]
  .filter((each) => lines(each) > 1).map((each) => each.textContent);
"""


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("pixels", [1200, 320])
def test_it_can_be_read_on_any_screen(shown: Shown, name: str, pixels: int) -> None:
    with theme(shown.browser, name), width(shown.browser, pixels):
        write(shown, "source", "ant bee cat " + "hen" * 60)
        until(shown, "page.shown.sentences.length > 0")
        shown.browser.execute_script("page.say('An error.', true)")
        shown.browser.execute_script(DROP, "ant\n", f"{'long' * 40}.txt")
        shown.all("#history summary")[0].click()
        until(shown, "document.querySelectorAll('#history li').length > 0")
        assert (shown.overflow(), shown.browser.execute_script(WIDE)) == (0, [])
        assert shown.browser.execute_script(LABELS) == []  # none is broken inside its word
        found = shown.browser.execute_script(CONTRASTS)
        is_dark = luminance(found[0][2]) < 0.1
        assert is_dark == (name == "dark")
        for element, ink, ground in found:
            low, high = sorted((luminance(ink), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (element, ink, ground)


NAMES = {
    "#from": "From",
    "#swap": "Swap languages",
    "#to": "To",
    "#source": "Text",
    "#clear": "Clear",
    "#target": "Translation",
    "#look": "See attention",
    "#copy": "Copy",
    "#history summary": "History",
    "footer a": "API description",
}


def test_a_screen_reader_finds_names_landmarks_and_news(shown: Shown) -> None:
    assert {each: shown.all(each)[0].accessible_name for each in NAMES} == NAMES
    assert shown.all("#file")[0].accessible_name.startswith("Choose a file or drop it")
    write(shown, "source", "ant bee")
    until_translated(shown, "BEE ANT")
    for each in shown.all("button, select, input, textarea, a, summary"):
        assert not each.is_displayed() or each.accessible_name, each.get_attribute("outerHTML")
    assert [len(shown.all(name)) for name in ("header", "main", "footer", "h1")] == [1] * 4
    assert [shown.all(f"#{side}")[0].aria_role for side in ("source", "target")] == ["textbox"] * 2
    assert [shown.all(f"#{side}")[0].get_attribute("lang") for side in ("source", "target")] == [
        "en",
        "de",
    ]
    live = shown.all("[aria-live=polite]")
    assert [each.get_attribute("id") for each in live] == ["status", "spoken", "file-status"]
    until(shown, "document.getElementById('spoken').textContent === 'Translation: BEE ANT'")

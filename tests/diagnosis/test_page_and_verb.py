"""The page shows what was found, as text only; the verb prints it and says by its exit code
whether training would refuse the files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard import Parallel, doctor
from regard.cli import main
from regard.diagnosis.page import page, save_page

Pairs = list[tuple[str, str]]

HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "</td></table></style><h1>taken</h1>",
    '"><svg onload="document.title=\'taken\'">&amp;',
    "]]><!-- <b>\x1b[31m\u202etxt.exe\u202c\x00"[:-1],
)


@pytest.fixture
def hostile(clean: Pairs, data: Callable[..., Parallel]) -> Parallel:
    pairs = list(clean[:300])
    for index, text in enumerate(HOSTILE):
        pairs[10 * index] = (f"{text} {pairs[10 * index][0]}", f"{text} {pairs[10 * index][1]}")
    return data(pairs, "<i>&train")


def test_hostile_text_is_shown_and_never_run(
    hostile: Parallel, tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "doctor.html"
    save_page(doctor(hostile), path)
    browser.get(path.as_uri())
    assert browser.title == "regard doctor"
    body = browser.find_element("css selector", "body").text
    for text in HOSTILE[:4]:
        assert text in body
    assert "\u241b[31m[U+202E]txt.exe[U+202C]" in body
    count = "return document.querySelectorAll(arguments[0]).length"
    assert browser.execute_script(count, "script, iframe, svg, h1 ~ h1, td :not(wbr)") == 0
    assert browser.execute_script(count, "img") == 1
    loaded = "const image = document.querySelector('img'); return image.naturalWidth"
    assert browser.execute_script(loaded) > 100
    severe = [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    assert not severe


def test_the_page_fits_a_narrow_screen(hostile: Parallel, tmp_path: Path, browser: Any) -> None:
    from shown import width

    path = tmp_path / "doctor.html"
    save_page(doctor(hostile), path)
    with width(browser, 420):
        browser.get(path.as_uri())
        wide = "return document.documentElement.scrollWidth - window.innerWidth"
        assert browser.execute_script(wide) <= 0


def test_the_level_of_a_finding_is_on_one_line(
    hostile: Parallel, tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "doctor.html"
    save_page(doctor(hostile), path)
    browser.get(path.as_uri())
    lines = """return [...document.querySelectorAll('.note, .warning')].map((cell) => {
        const range = document.createRange(); range.selectNodeContents(cell);
        return range.getClientRects().length; })"""
    assert set(browser.execute_script(lines)) == {1}


def test_the_page_names_everything_that_was_found(hostile: Parallel) -> None:
    report = doctor(hostile)
    shown = page(report)
    assert report.headline in shown
    assert "default-src 'none'" in shown
    assert shown.count('<td class="text"') == 2 * sum(
        len(each.examples) for each in report.findings
    )


def test_the_verb_prints_and_writes_what_it_found(
    clean: Pairs,
    data: Callable[..., Parallel],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = data([*clean[:300], (clean[0][0], "<b>fett</b> &amp; <i>kursiv</i>")])
    files = [f"--source={given.source}", f"--target={given.target}"]
    outputs = [f"--output={tmp_path / 'a.html'}", f"--json={tmp_path / 'a.json'}"]
    assert main(["doctor", *files, *outputs, f"--clean={tmp_path / 'cleaned'}"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("301 pairs, of which 1 (0.33 %) have damage.\n")
    assert "train.en:301" in shown.out
    assert f"removed: 1 pair, listed in {tmp_path / 'cleaned/removed.tsv'}" in shown.out
    assert "a.html" in shown.err
    report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (report["pairs"], report["damage"], report["removed"]) == (301, {"markup": 1}, 1)
    assert report["findings"][0]["examples"][0]["where"].endswith("train.en:301")


def test_a_report_names_files_whose_paths_are_not_utf_8(
    clean: Pairs, data: Callable[..., Parallel], tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"corpus-\xff")
    folder.mkdir()
    given = data(clean[:20], f"{folder.name}/train")
    outputs = [f"--output={folder / 'a.html'}", f"--json={folder / 'a.json'}"]
    assert main(["doctor", f"--source={given.source}", f"--target={given.target}", *outputs]) == 0
    report = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    assert report["files"] == [str(given.source), str(given.target)]
    assert r"corpus-\udcff" in (folder / "a.html").read_text(encoding="utf-8")


def test_what_training_refuses_is_an_error(
    clean: Pairs,
    data: Callable[..., Parallel],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = data(clean[:300])
    shorter = tmp_path / "shorter.de"
    shorter.write_text("\n".join(pair[1] for pair in clean[:299]) + "\n", encoding="utf-8")
    assert main(["doctor", f"--source={given.source}", f"--target={shorter}"]) == 2
    shown = capsys.readouterr()
    assert "has 300 lines but" in shown.out
    assert "has 300 lines but" in shown.err
    shorter.write_bytes(b"")
    assert main(["doctor", f"--source={shorter}", f"--target={shorter}"]) == 2
    assert "recipe that fits" not in capsys.readouterr().out
    assert main(["doctor", f"--source={given.source}"]) == 2
    assert "--target" in capsys.readouterr().err
    assert main(["doctor", f"--target={shorter}", "--open"]) == 2
    assert "--open has no effect without --output" in capsys.readouterr().err


def test_one_pair_is_counted_in_the_singular(data: Callable[..., Parallel]) -> None:
    rows = dict(doctor(data([("x", "y")])).facts)
    assert rows["source"].endswith("; 1 word, 1 character; the longest line has 1 character")


def test_a_page_without_a_side_of_text(data: Callable[..., Parallel], tmp_path: Path) -> None:
    pairs = [(f"0.{index},0.1 0.5,0.{index}", f"{1 + index % 2}") for index in range(100, 150)]
    report = doctor(data(pairs))
    save_page(report, tmp_path / "doctor.html")
    assert (report.sides, report.recipe) == ((), "pointer")
    assert "recipe that fits" in (tmp_path / "doctor.html").read_text(encoding="utf-8")

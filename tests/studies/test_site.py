"""The site of studies: a folder of offline pages in a real browser, and a series that resumes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import regard.studies
from regard.cli.study import study as verb
from regard.drawing.charts import Lines
from regard.errors import UsageError
from regard.studies import series
from regard.studies.base import VERDICTS, Check, Finding, Number, Study
from regard.studies.laboratory import Laboratory
from regard.studies.site import formula

STUDIES = ("exploding", "complexity")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages and figures alone, copied from where they were made."""
    made, moved = (tmp_path_factory.mktemp(name) for name in ("made", "moved"))
    series.run_studies(STUDIES, made, True, (1,), print)
    for path in made.iterdir():
        if path.suffix in (".html", ".svg"):
            shutil.copy(path, moved)
    return moved


def resources(browser: Any) -> list[str]:
    script = "return performance.getEntriesByType('resource').map((each) => each.name)"
    return list(browser.execute_script(script))


def errors(browser: Any) -> list[Any]:
    return [each for each in browser.get_log("browser") if each["level"] != "INFO"]


def opened(browser: Any, path: Path) -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(path.as_uri())


def pictures(browser: Any) -> list[int]:
    """The widths of the pictures as loaded; 0 if one was not."""
    return list(browser.execute_script("return [...document.images].map((x) => x.naturalWidth)"))


def test_the_index_has_claim_number_verdict_and_figure(site: Path, browser: Any) -> None:
    opened(browser, site / "index.html")
    heads = [each.text for each in browser.find_elements("css selector", "th")]
    assert heads == ["study", "claim", "measured", "verdict", "figure"]
    rows = browser.find_elements("css selector", "tbody tr")
    assert len(rows) == len(STUDIES)
    for name, row in zip(STUDIES, rows, strict=True):
        cells = [each.text for each in row.find_elements("css selector", "td")]
        assert cells[1] == series.find_study(name).claim
        assert any(letter.isdigit() for letter in cells[2])
        verdict, confidence = cells[3].split("\n")
        assert verdict.removeprefix("● ") in VERDICTS
        assert confidence.endswith(("confirmed", "refuted", "undecided at 95 %"))
    widths = pictures(browser)
    assert len(widths) == len(STUDIES)
    assert min(widths) > 0
    assert all(each.startswith("file:") for each in resources(browser))
    assert errors(browser) == []


def test_links_lead_to_each_study_and_back(site: Path, browser: Any) -> None:
    for number, name in enumerate(STUDIES):
        opened(browser, site / "index.html")
        browser.find_elements("css selector", "tbody tr td:first-child a")[number].click()
        assert browser.current_url == (site / f"{name}.html").as_uri()
        title = browser.find_element("css selector", "h1").text
        assert title == series.find_study(name).title
        heads = [each.text for each in browser.find_elements("css selector", "h2")]
        assert len(heads) == 5
        assert min(pictures(browser)) > 0
        assert all(each.startswith("data:") for each in resources(browser))
        assert errors(browser) == []
        browser.find_element("link text", "All studies").click()
        assert browser.current_url == (site / "index.html").as_uri()


@pytest.mark.parametrize("width", [1200, 390])
def test_no_page_is_wider_than_the_screen(site: Path, browser: Any, width: int) -> None:
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        for page in ("index.html", f"{STUDIES[0]}.html"):
            opened(browser, site / page)
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.execute_script(f"return {wide}") <= 0
            assert browser.execute_script("return innerWidth") == width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(site: Path, browser: Any, scheme: str) -> None:
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    try:
        opened(browser, site / "index.html")
        colours = [
            browser.execute_script(f"return getComputedStyle(document.body)['{name}']")
            for name in ("color", "backgroundColor")
        ]
        ink, paper = (sum(map(int, re.findall(r"\d+", each)[:3])) / 3 for each in colours)
        assert (ink > paper) is (scheme == "dark")
        assert abs(ink - paper) > 150
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("h_(t-1)^2 <- sqrt(d)", "h<sub>t-1</sub><sup>2</sup> ← √(d)"),
        (
            "sum over i of a_ij v_j; y_<t",
            "Σ<sub>i</sub> a<sub>ij</sub> v<sub>j</sub><br>y<sub>&lt;t</sub>",
        ),
        ("a < b & c' -> d - e", "a &lt; b &amp; c′ → d − e"),
    ],
)
def test_formulas_are_set(text: str, shown: str) -> None:
    assert formula(text) == shown


def test_a_table_in_markdown_names_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="no results"):
        verb(None, markdown=True, output=tmp_path)
    verb(["database"], output=tmp_path, seeds=2)
    capsys.readouterr()
    verb(None, markdown=True, output=tmp_path, seeds=2)
    table = capsys.readouterr().out
    assert "| `database` | Attention as a database | At temperature 0.01" in table
    assert "| holds | 4 confirmed |" in table
    assert "seeds 1, 2" in table
    assert "Not measured: `vanishing`," in table
    with pytest.raises(UsageError, match="--markdown"):
        verb(["database"], markdown=True, output=tmp_path)


def test_nothing_refers_to_the_network(site: Path) -> None:
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert "<script" not in text
        for sign in ('src="http', 'href="http', 'src="//', 'href="//', "url(http"):
            assert sign not in text


def test_all_resumes_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("vanishing", "exploding", "deep")
    measured: list[str] = []
    stop = ["exploding"]

    def fake(name: str) -> Study:
        def measure(laboratory: Laboratory) -> Finding:
            if name in stop:
                raise KeyboardInterrupt
            measured.append(name)
            chart = Lines("title", "x", "y", {"a": [(1.0, 2.0)]})
            return Finding("It is 1.", {"a": Number(1.0)}, (Check("more", "1", True),), (chart,))

        return Study(name, "Claim.", "a", "Method.", "Change.", "Meaning.", measure)

    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # no workers: they could not add to the list
    for module in (regard.studies, series):
        monkeypatch.setattr(module, "NAMES", names)
    monkeypatch.setattr(series, "find_study", fake)

    def run_all() -> None:
        verb(None, every=True, quick=True, output=tmp_path, seeds=1)

    with pytest.raises(KeyboardInterrupt):
        run_all()
    assert measured == ["vanishing"]
    assert "1 of 3 studies" in (tmp_path / "index.html").read_text()
    stop.clear()
    run_all()
    assert measured == ["vanishing", "exploding", "deep"]
    index = (tmp_path / "index.html").read_text()
    assert [index.count(f'href="{name}.html"') for name in names] == [2, 2, 2]


def test_the_docs_name_every_study_and_its_state() -> None:
    """Each is in the table of one run, or among those that it did not measure."""
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    section = page.split("## What one run found")[1].split("\n## ")[0]
    rows = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    missing = section.partition("Not measured: ")[2]
    assert len(rows) == len(set(rows))
    for name in regard.studies.NAMES:
        assert (name in rows) is not (f"`{name}`" in missing)

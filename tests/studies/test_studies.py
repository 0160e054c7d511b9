"""Studies: verdicts follow from numbers, results are kept and measured again when needed, and every
study has what its page shows."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import regard
from regard.cli.study import study as verb
from regard.drawing.charts import Bars, Lines, Map
from regard.errors import RegardError, UsageError
from regard.studies import NAMES, series
from regard.studies.base import Check, Finding, Number, Study, above, below, difference, mean, share
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory
from regard.studies.results import facts_of, read_result, result_of, save_result
from regard.studies.table import markdown


def finding(*holds: bool | None) -> Finding:
    return Finding("It is 7.", {}, tuple(Check("more", "1 against 2", each) for each in holds))


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ((True, True), "holds"),
        ((True, False), "holds partly"),
        ((True, None), "holds partly"),
        ((None, None), "holds partly"),
        ((False, None), "does not hold"),
        ((False, False), "does not hold"),
    ],
)
def test_the_verdict_follows_from_the_checks(holds: tuple[bool | None, ...], verdict: str) -> None:
    assert finding(*holds).verdict == verdict


def test_confidence_counts_the_checks() -> None:
    assert finding(True, True, None).confidence == "2 confirmed, 1 undecided at 95 %"


def test_intervals_that_overlap_decide_nothing() -> None:
    assert above("", Number(5, 1), Number(3, 0.5)).holds is True
    assert above("", Number(5, 1), Number(4, 0.5)).holds is None
    assert above("", Number(1, 0.1), 2.0).holds is False
    assert below("", Number(1, 0.1), 2.0).holds is True


def test_the_mean_over_seeds_has_an_interval_by_student() -> None:
    number = mean([1.0, 2.0, 3.0])
    assert number.value == 2.0
    assert number.margin == pytest.approx(4.303 / 3**0.5)  # s = 1
    assert mean([4.0]).margin is None
    assert difference([3.0, 5.0], [1.0, 3.0]) == Number(2.0, 0.0)
    assert difference([0.3, 0.9], [0.1, 0.7]).margin == 0.0  # 0.2 twice, but for rounding


def test_a_share_is_a_percentage() -> None:
    number = share(50, 100)
    assert number.value == 50
    assert number.margin == pytest.approx(9.8)
    assert str(number) == "50.0 ± 9.8 %"


def test_charts_are_drawn() -> None:
    charts = (
        Lines("lines", "x", "y", {"a": [(1, 1), (2, 4)]}, log_x=True, log_y=True, level=2),
        Bars("bars", "per cent", {"a": (3, 1), "b": (2, 0)}),
        Map("map", ["a"], ["b", "c"], [[1, 2]]),
    )
    figure = Finding("", {}, (), charts).figure
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["lines", "bars", "map"]


def measured(calls: list[int]) -> Study:
    def measure(laboratory: Laboratory) -> Finding:
        calls.append(1)
        chart = Lines("<b>title</b>", "x", "y", {"a": [(1.0, 2.0)]})
        number = {"a & b": Number(1.0, 0.5, "%")}
        return Finding("It is <1>.", number, (Check("more", "1", True),), (chart,))

    return Study("<i>Title</i>", "Claim.", "a < b", "Method.", "Change.", "Meaning.", measure)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    each = measured(calls)
    monkeypatch.setattr(series, "find_study", lambda name: each)
    return calls


def test_a_finished_study_is_not_repeated(tmp_path: Path, counted: list[int]) -> None:
    said: list[str] = []
    for _ in range(2):
        series.run_studies(["vanishing"], tmp_path, True, (1,), said.append)
    assert len(counted) == 1
    series.run_studies(["vanishing"], tmp_path, True, (1, 2), said.append)
    assert len(counted) == 2  # with other seeds it is another measurement
    assert any("measured before" in each for each in said)


def test_a_study_depends_on_the_settings_that_it_shares(tmp_path: Path) -> None:
    """But not on other studies, nor on how pages look."""
    folder = Path(shutil.copytree(Path(series.__file__).parent, tmp_path / "studies"))

    def code() -> list[str]:
        names = ("order", "difficulties", "deep")
        return [facts_of(folder / f"{name}.py", False, (1,))["code"] for name in names]

    def changed(name: str) -> list[bool]:
        before = code()
        with (folder / f"{name}.py").open("a") as stream:
            stream.write("MORE = 1\n")
        return [old != new for old, new in zip(before, code(), strict=True)]

    assert changed("order") == [True, False, False]
    assert changed("grammar_task") == [True, True, False]
    assert changed("pronouns") == [False, True, False]
    assert changed("laboratory") == [True, True, True]
    assert changed("site") == [False, False, False]


def test_a_damaged_result_is_measured_again(tmp_path: Path, counted: list[int]) -> None:
    series.run_studies(["vanishing"], tmp_path, True, (1,), print)
    for damage in ("{", "[]", '{"facts": 1}'):
        (tmp_path / "vanishing.json").write_text(damage)
        series.run_studies(["vanishing"], tmp_path, True, (1,), print)
    assert len(counted) == 4


def test_the_page_and_the_index_show_text_as_text(tmp_path: Path, counted: list[int]) -> None:
    series.run_studies(["vanishing"], tmp_path, True, (1,), print)
    page = (tmp_path / "vanishing.html").read_text()
    assert "&lt;i&gt;Title&lt;/i&gt;" in page
    assert "<i>Title" not in page
    assert "quick form" in page
    assert "1.00 ± 0.50 %" in page
    index = (tmp_path / "index.html").read_text()
    assert f"1 of {len(NAMES)} studies" in index or len(NAMES) == 1
    assert (tmp_path / "vanishing.svg").exists()


@pytest.mark.parametrize(("quick", "seeds"), [(True, (1, 2)), (False, (1,)), (False, (1, 2))])
def test_a_verdict_that_means_little_says_so(
    tmp_path: Path, counted: list[int], quick: bool, seeds: tuple[int, ...]
) -> None:
    """The quick form has hardly trained, and one seed has no intervals."""
    series.run_studies(["vanishing"], tmp_path, quick, seeds, print)
    for name in ("vanishing", "index"):
        page = (tmp_path / f"{name}.html").read_text()
        assert ("its verdicts mean nothing" in page) is quick
        assert ("One seed gives no intervals" in page) is (len(seeds) == 1)


def test_the_verb_says_so_too(
    tmp_path: Path, counted: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    verb(["vanishing"], quick=True, output=tmp_path, seeds=2)
    assert "its verdicts mean nothing" in capsys.readouterr().err
    verb(["vanishing"], output=tmp_path, seeds=2)
    assert "mean" not in capsys.readouterr().err


def test_a_notebook_shows_verdict_figure_numbers_and_checks() -> None:
    found = regard.study("database", seeds=(1, 2))
    shown = found._repr_html_()
    assert found.verdict == "holds"
    assert found.verdict in shown
    assert "<svg" in shown
    for name, number in found.numbers.items():
        assert f"<td>{name}</td><td>{number}</td>" in shown
    assert shown.count('<span class="confirmed">') == len(found.checks)


def test_the_table_says_what_was_refuted_or_undecided(tmp_path: Path) -> None:
    checks = (Check("more | less", "1 against 2", False), Check("most", "1 against 1", None))
    found = Finding("It is 7.", {}, checks)
    result = result_of(found, 60, 30, {"version": "1", "quick": False, "seeds": [1]})
    table = markdown({"deep": (measured([]), result)}, tmp_path)
    assert "| It is 7. | does not hold | 1 refuted, 1 undecided at 95 % |" in table
    assert "Refuted:\n\n- `deep`: more | less (1 against 2)\n\n" in table
    assert "Undecided:\n\n- `deep`: most (1 against 1)" in table
    assert "full form; seeds 1;" in table


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    found = measured([]).measure(Laboratory(tmp_path))
    result = result_of(found, 1.5, 1.0, {"seeds": [1]})
    save_result(tmp_path / "a.json", result)
    stored = read_result(tmp_path / "a.json", {"seeds": [1]})
    assert stored is not None
    assert stored.finding.numbers == found.numbers
    assert stored.finding.checks == found.checks
    assert read_result(tmp_path / "a.json", {"seeds": [2]}) is None


def test_workers_share_a_laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both studies ask for the same run: one trains it, the other waits for it."""

    def train_one(laboratory: Laboratory) -> Finding:
        task = GrammarTask(laboratory)
        (run,) = task.runs()
        steps = sum(record["event"] == "validation" for record in run.journal)
        number = {str(run.path): Number(float(steps)), str(os.getpid()): Number(1.0)}
        return Finding("It is 1.", number, (Check("more", "1", True),))

    shared = replace(measured([]), measure=train_one)
    monkeypatch.setattr(series, "find_study", lambda name: shared)
    monkeypatch.setattr(series, "cores", lambda: 2)
    found = series.run_studies(["vanishing", "deep"], tmp_path, True, (1,), print)
    first, second = (list(each.finding.numbers) for each in found.values())
    assert first[0] == second[0]
    assert str(os.getpid()) not in (first[1], second[1])
    assert len(list((tmp_path / "laboratory" / "runs").glob("*.finished"))) == 1
    assert "2 of" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_that_fails_does_not_cost_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    def fail(laboratory: Laboratory) -> Finding:
        raise ValueError("no numbers")

    works = measured([])
    fails = replace(works, measure=fail)
    monkeypatch.setattr(series, "find_study", lambda n: fails if n == "vanishing" else works)
    monkeypatch.setattr(series, "cores", lambda: workers)
    with pytest.raises(
        RegardError, match=r"1 of 3 studies failed.*vanishing \(ValueError: no numbers"
    ):
        series.run_studies(["vanishing", "deep", "exploding"], tmp_path, True, (1,), print)
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == ["deep", "exploding"]
    assert "2 of" in (tmp_path / "index.html").read_text()
    with pytest.raises(ValueError, match="no numbers"):
        series.run_studies(["vanishing"], tmp_path, True, (1,), print)


def test_studies_of_times_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, after the others."""

    def who(laboratory: Laboratory) -> Finding:
        return Finding("It is 1.", {str(os.getpid()): Number(1.0)}, (Check("more", "1", True),))

    each = replace(measured([]), measure=who)
    monkeypatch.setattr(series, "find_study", lambda name: replace(each, timed=name == "deep"))
    monkeypatch.setattr(series, "cores", lambda: 2)
    names = ["deep", "vanishing", "exploding"]
    found = series.run_studies(names, tmp_path, True, (1,), print)
    here = [str(os.getpid()) in found[name].finding.numbers for name in names]
    assert here == [True, False, False]


def test_runs_are_the_same_if_their_configs_are(laboratory: Laboratory) -> None:
    task = GrammarTask(laboratory)
    usual, said, other = (
        task.runs(settings)[0].path for settings in ([], ["model.heads=2"], ["model.heads=4"])
    )
    assert usual == said
    assert usual != other


def test_an_unknown_study_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="vanishing"):
        regard.study("vanish")


@pytest.mark.parametrize("name", NAMES)
def test_every_study_says_what_its_page_shows(name: str) -> None:
    study = series.find_study(name)
    texts = (study.title, study.claim, study.formula, study.method, study.change, study.meaning)
    assert all(len(text) > 3 for text in texts)
    assert study.claim.endswith(".")
    assert study.meaning.endswith(".")

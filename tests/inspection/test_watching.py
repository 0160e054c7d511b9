"""What a run keeps of a few sentences, and the page that shows it while it trains."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept import kept_weights
from served import ask, serving
from shown import Shown, width
from toy import Crash, at_step, crash, train_small, write_corpus
from untrained import untrained

from regard.cli import main
from regard.data.line import Line, Pair
from regard.errors import RegardError
from regard.inspection.local_server import LocalServer
from regard.inspection.look import look
from regard.inspection.watching import routes, run_data, version
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig
from regard.models.labelling import TaggerConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.turing import TuringConfig
from regard.nn.captured import kind_of
from regard.runs.folder import Run
from regard.runs.snapshot import load_snapshots, save_snapshot, snapshot


def test_each_validation_keeps_a_snapshot(transformer: Path) -> None:
    run = Run.open(transformer)
    snapshots = list(load_snapshots(run))
    assert [each["step"] for each in snapshots] == [4, 8]
    pairs = run.validation_pairs(4)
    for each in snapshots:
        assert [sentence["source"] for sentence in each["sentences"]] == [
            pair.source.text for pair in pairs
        ]
        assert [sentence["reference"] for sentence in each["sentences"]] == [
            pair.target.text for pair in pairs
        ]


def test_a_snapshot_has_the_attention_between_words(able: Path) -> None:
    last = list(load_snapshots(Run.open(able / "run")))[-1]
    for sentence in last["sentences"]:
        (attention,) = sentence["attention"]
        assert attention["axes"] == ["target", "source"]
        assert attention["columns"] == [*sentence["source"].split(), "</s>"]
        assert attention["rows"] == [*sentence["output"].split(), "</s>"]
        np.testing.assert_allclose(kept_weights(attention).sum(axis=-1), 1, atol=0.05)


def test_a_snapshot_has_the_heads_of_a_machine() -> None:
    """Over its steps, which read the source and then write the target."""
    pair = Pair(1, Line("ant bee"), Line("bee ant"))
    predictor = untrained(TuringConfig.miniatures()[1])
    (sentence,) = snapshot(predictor, [pair], ["cat"])["sentences"]
    kinds = sentence["attention"]
    assert [kind["axes"] for kind in kinds] == [("steps", "memory"), ("steps", "written")]
    for kind in kinds:
        assert kind["rows"] == ("ant", "bee", "</s>", "cat", "</s>")
        assert kind["columns"] == tuple(str(number) for number in range(1, 11))
        np.testing.assert_allclose(kept_weights(kind).sum(axis=-1), 1, atol=0.05)


@pytest.mark.parametrize(
    ("config", "axes"),
    [
        (RecurrentConfig(width=8, copying=True), [("target", "source"), ("target", "copied")]),
        (TaggerConfig(layers=1, width=8, heads=2, inner=8), [("source", "source")]),
        (HierarchicalConfig(width=8), [("sentences", "source"), ("target", "sentences")]),
        (EntityConfig(width=8, slots=4), [("sentences", "memory"), ("target", "memory")]),
        (RecurrentConfig(width=8, attention="none"), []),
    ],
)
def test_a_snapshot_has_every_kind_between_two_axes_or_else_those_within_one(
    config: Any, axes: list[tuple[str, str]]
) -> None:
    pair = Pair(1, Line("ant bee"), Line("bee ant"))
    predictor = untrained(config)
    written = "CAT" if config.writes == "label" else "CAT DOG"
    (sentence,) = snapshot(predictor, [pair], [written])["sentences"]
    found = look(predictor, "ant bee", target=written)
    assert sorted(kind["axes"] for kind in sentence["attention"]) == sorted(axes)
    for kind in sentence["attention"]:
        expected = found.attention(kind_of(kind["axes"]), words=True)
        np.testing.assert_allclose(kept_weights(kind).mean(axis=0), expected, atol=0.01)


def test_long_texts_are_kept_only_where_sentences_read_their_own_words() -> None:
    words = [*"abcdefg"] * 15
    document = " ".join(
        f"{word} |||" if number % 7 == 6 else word for number, word in enumerate(words)
    )
    pair = Pair(1, Line(document), Line("CAT"))
    (sentence,) = snapshot(untrained(HierarchicalConfig(width=8)), [pair], ["DOG"])["sentences"]
    kind = sentence["attention"][0]
    assert (len(kind["rows"]), len(kind["columns"])) == (15, 106)
    assert len(json.dumps(kind["weights"])) < 1000
    (sentence,) = snapshot(untrained(RecurrentConfig(width=8)), [pair], ["DOG"])["sentences"]
    assert sentence["attention"] == []


def test_snapshots_of_version_0_3_are_read(tmp_path: Path, transformer: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    weights = base64.b64encode(bytes([255, 0, 51, 204])).decode()
    old = {"rows": ["ant"], "columns": ["1", "2"], "layers": 2, "weights": weights}
    for step, found in (
        (9, old),
        (10, {**old, "names": ["read heads", "write heads"]}),
        (11, None),
    ):
        facts = {"source": "ant", "reference": "", "output": "ant", "attention": found}
        save_snapshot(run, step, {"sentences": [facts]})
    words, machine, nothing = (
        each["sentences"][0]["attention"] for each in run_data(run, since=8)["snapshots"]
    )
    assert [kind["titles"][0] for kind in words] == ["target to source"]
    np.testing.assert_allclose(kept_weights(words[0]), [[[1, 0]], [[0.2, 0.8]]], atol=0.01)
    assert [kind["titles"][0] for kind in machine] == ["read heads", "write heads"]
    np.testing.assert_allclose(kept_weights(machine[1]), [[[0.2, 0.8]]], atol=0.01)
    assert nothing == []


def test_a_damaged_snapshot_is_passed_over(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    (tmp_path / "run/snapshots/step-4.json").write_text("{")
    (tmp_path / "run/snapshots/step-x.json").write_text("{}")
    (tmp_path / "run/snapshots/step-6.json").write_text('{"sentences": 5}')
    run = Run.open(tmp_path / "run")
    assert [each["step"] for each in load_snapshots(run)] == [6, 8]
    assert [each["step"] for each in run_data(run)["snapshots"]] == [8]


def test_a_long_run_shows_some_of_its_snapshots(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    for step in range(10, 2010, 10):
        save_snapshot(run, step, {"sentences": []})
    steps = [each["step"] for each in run_data(run)["snapshots"]]
    assert (len(steps), steps[0], steps[-1]) == (60, 4, 2000)
    assert steps == sorted(set(steps))


def test_a_run_that_was_killed_ends_with_the_same_snapshots(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    settings = ("training.validate_every=3", "training.save_every=2")
    train_small(tmp_path / "whole", corpus, *settings)
    with pytest.raises(Crash), at_step(7, crash):
        train_small(tmp_path / "broken", corpus, *settings)
    train_small(tmp_path / "broken", corpus, *settings)
    kept = [
        {path.name: path.read_bytes() for path in (tmp_path / run / "snapshots").iterdir()}
        for run in ("whole", "broken")
    ]
    assert kept[0] == kept[1]
    assert sorted(kept[0]) == ["step-3.json", "step-6.json", "step-8.json"]


@pytest.fixture
def port(able: Path) -> Iterator[int]:
    with serving(routes(Run.open(able / "run"))) as found:
        yield found


def test_the_server_answers_two_questions(port: int) -> None:
    status, body = ask(port, "/")
    assert (status, body[:15]) == (200, b"<!doctype html>")
    status, body = ask(port, "/data")
    data = json.loads(body)
    assert status == 200
    assert data["step"] == data["steps"] == 120
    assert data["validation"]["step"] == [60, 120]
    assert [each["step"] for each in data["snapshots"]] == [60, 120]
    assert ask(port, f"/data?known={data['version']}") == (204, b"")
    later = json.loads(ask(port, "/data?since=60")[1])
    assert [each["step"] for each in later["snapshots"]] == [120]
    assert ask(port, "/data?since=x")[0] == 200
    assert ask(port, "/config.json")[0] == 404
    assert ask(port, "/../config.json")[0] == 404


def test_a_corrupt_file_is_reported_on_the_page(
    port: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def damaged(run: Run) -> None:
        raise RegardError("plan.json is damaged.")

    monkeypatch.setattr(Run, "steps", property(damaged))
    assert ask(port, "/data") == (500, b"plan.json is damaged.")
    assert capfd.readouterr() == ("", "")


def test_what_is_written_while_the_page_is_made_is_shown_next_time(
    transformer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run_data(run)["version"] == version(run)
    monkeypatch.setattr(Run, "steps", property(lambda run: run.journal.add("train", 9, {})))
    assert run_data(run)["version"] != version(run)


def test_a_taken_port_is_a_plain_sentence(port: int, transformer: Path) -> None:
    with pytest.raises(RegardError, match="give another --port"):
        LocalServer(routes(Run.open(transformer)), port)
    assert main(["watch", str(transformer), "--port", str(port)]) == 1


def test_curves_are_columns_and_only_numbers(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert {"step", "loss", "rate", "tokens_per_second"} <= set(run_data(run)["training"])
    run.journal.add("train", 9, {"loss": float("nan"), "rate": "<b>", "time": 2.5, "other": 1})
    table = run_data(run)["training"]
    assert table["step"] == list(range(1, 10))
    assert (table["loss"][-1], table["rate"][-1], table["time"][-1]) == (None, None, 2.5)
    assert "other" not in table
    for step in range(10, 3000):
        run.journal.add("train", step, {"loss": 1.0})
    steps = run_data(run)["training"]["step"]
    assert len(steps) <= 1000
    assert steps[-1] == 2999


def grown(able: Path, folder: Path) -> Run:
    """A copy of a run as it was after its first validation, with times and half its steps."""
    shutil.copytree(able / "run", folder)
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    timed = [{**each, "time": 0.5 * each["step"]} for each in records if each["step"] <= 60]
    (folder / "journal.jsonl").write_text("".join(json.dumps(each) + "\n" for each in timed))
    (folder / "snapshots/step-120.json").rename(folder / "later.json")
    return Run.open(folder)


def figures(shown: Shown) -> dict[str, str]:
    names, values = shown.all(".figures dt"), shown.all(".figures dd")
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def test_the_page_follows_the_run(browser: Any, able: Path, tmp_path: Path) -> None:
    run = grown(able, tmp_path / "run")
    with serving(routes(run)) as port:
        shown = Shown(browser, f"http://127.0.0.1:{port}/")
        assert len(shown.all("figure:not([hidden])")) == 4
        found = figures(shown)
        assert found["step"].split() == ["60", "of", "120"]
        assert found["elapsed"] == "30 s"
        assert found["remaining"].split("\n") == ["30 s", "estimated"]
        shown.all(".sentence")[2].click()
        browser.execute_script("window.kept = document.querySelector('svg.chart')")
        (run.path / "later.json").rename(run.path / "snapshots/step-120.json")
        run.journal.add("train", 120, {"loss": 0.01, "time": 65.0})
        shown.wait("return document.querySelector('.time output').textContent === 'step 120'")
        found = figures(shown)
        assert (found["step"].split()[0], found["elapsed"]) == ("120", "1 min 5 s")
        assert "remaining" not in found
        assert browser.execute_script("return window.kept === document.querySelector('svg.chart')")
        pressed = [each.get_attribute("aria-pressed") for each in shown.all(".sentence")]
        assert pressed == ["false", "false", "true", "false"]
        assert shown.errors() == []
        browser.get("about:blank")  # before its server ends


def test_a_step_that_was_picked_stays(browser: Any, able: Path, tmp_path: Path) -> None:
    run = grown(able, tmp_path / "run")
    shutil.copy(run.path / "snapshots/step-60.json", run.path / "snapshots/step-30.json")
    with serving(routes(run)) as port:
        shown = Shown(browser, f"http://127.0.0.1:{port}/")
        shown.all("input[type=range]")[0].send_keys("\ue012")  # the left arrow
        assert shown.all(".time output")[0].text == "step 30"
        (run.path / "later.json").rename(run.path / "snapshots/step-120.json")
        run.journal.add("train", 70, {"loss": 0.01})
        shown.wait("return document.querySelector('input[type=range]').max === '2'")
        assert shown.all(".time output")[0].text == "step 30"
        shown.all(".time button")[0].click()
        assert shown.all(".time output")[0].text == "step 120"
        assert shown.errors() == []
        browser.get("about:blank")


@pytest.mark.parametrize("pixels", [1200, 400])
def test_maps_have_the_words_on_their_axes(
    browser: Any, able: Path, tmp_path: Path, pixels: int
) -> None:
    run = Run.open(able / "run")
    assert main(["watch", str(run.path), "--output", str(tmp_path / "watch.html")]) == 0
    with width(browser, pixels):
        shown = Shown(browser, tmp_path / "watch.html")
        assert shown.overflow() == 0
        (kind,) = list(load_snapshots(run))[-1]["sentences"][0]["attention"]
        assert [each.text for each in shown.all(".across .name")] == kind["columns"]
        assert [each.text for each in shown.all(".down .name")] == kind["rows"]
        ticks = texts(shown)
        assert {"0", "50", "100"} <= set(ticks) or {"0", "20", "40"} <= set(ticks)
        assert not any(each == "-0" or "NaN" in each for each in ticks)
        lines = shown.point_at(shown.all("svg.chart")[0], "figcaption output")
        assert lines.startswith("step ")
        assert shown.errors() == []


@pytest.mark.parametrize("pixels", [1200, 700])
def test_charts_are_drawn_for_the_width_they_have(
    browser: Any, able: Path, tmp_path: Path, pixels: int
) -> None:
    assert main(["watch", str(able / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    with width(browser, pixels):
        Shown(browser, tmp_path / "watch.html")
        script = (
            "return [...document.querySelectorAll('svg.chart')]"
            ".map((each) => [each.viewBox.baseVal.width, each.clientWidth])"
        )
        sizes = browser.execute_script(script)
        assert len(sizes) == 4
        drawn, room = np.array(sizes).T
        np.testing.assert_allclose(drawn, room, rtol=0.05)  # a scroll bar may take some


def texts(shown: Shown) -> list[str]:
    return [each.text for each in shown.all("svg.chart text")]


def value_ticks(shown: Shown) -> np.ndarray[Any, Any]:
    """(ticks, 2): the value of each tick of the loss and its height."""
    script = (
        "return [...document.querySelectorAll('svg.chart')[0].querySelectorAll('text')]"
        ".filter((each) => each.getAttribute('x') === '46')"
        ".map((each) => [Number(each.textContent), Number(each.getAttribute('y'))])"
    )
    return np.array(shown.browser.execute_script(script))


def test_the_loss_axis_can_be_logarithmic_and_curves_be_over_time(
    browser: Any, able: Path, tmp_path: Path
) -> None:
    run = grown(able, tmp_path / "run")
    assert main(["watch", str(run.path), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    for number, scale in enumerate((np.array, np.log)):
        shown.all("[data-choice=loss]")[number].click()
        pressed = [each.get_attribute("aria-pressed") for each in shown.all("[data-choice=loss]")]
        assert pressed[number] == "true"
        values, heights = value_ticks(shown).T
        assert len(values) >= 3
        np.testing.assert_allclose(values, [float(f"{each:.2g}") for each in values])  # round
        slopes = np.diff(heights) / np.diff(scale(values))
        np.testing.assert_allclose(slopes, slopes[0], rtol=1e-3)
    assert "60" in texts(shown)
    shown.all("[data-choice=axis]")[1].click()
    assert {"30 s", "time"} <= set(texts(shown))
    assert "60" not in texts(shown)
    assert shown.errors() == []


def test_a_score_of_zero_has_an_axis_to_one_and_all_curves_end_together(
    browser: Any, able: Path, tmp_path: Path
) -> None:
    run = grown(able, tmp_path / "run")
    run.journal.add("validation", 30, {"loss": 1.0, "symbol_error": 0.0})
    run.journal.path.write_text(
        "".join(
            json.dumps({**each, "symbol_error": 0.0} if each["event"] == "validation" else each)
            + "\n"
            for each in map(json.loads, run.journal.path.read_text().splitlines())
        )
    )
    run.journal.add("train", 100, {"loss": 1.0, "time": 60.0})
    assert main(["watch", str(run.path), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    charts = {
        figure.find_element("css selector", "strong").text: [
            each.text for each in figure.find_elements("css selector", "text")
        ]
        for figure in shown.all("figure:not([hidden])")
    }
    ticks = charts["symbol error on the validation data"]
    assert {"0", "1", "100"} <= set(ticks)
    assert not any("e-" in each for each in ticks)
    assert all("100" in each for each in charts.values())


def test_hostile_names_and_sentences_stay_text(browser: Any, able: Path, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='taken'>"
    run = grown(able, tmp_path / name)
    hostile = "</script><script>document.title='taken'</script>"
    attention = {"rows": [hostile], "columns": [hostile], "layers": 1, "weights": "gA=="}
    facts = {"source": hostile, "reference": hostile, "output": hostile, "attention": attention}
    save_snapshot(run, 61, {"sentences": [facts]})
    assert main(["watch", str(run.path), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    assert name in shown.all("h1")[0].text
    assert [each.text for each in shown.all(".sentence bdi")] == [hostile] * 3
    assert shown.all(".across .name")[0].get_attribute("textContent") == hostile
    assert shown.all("img") == []
    assert browser.title == f"regard watch: {name}"
    assert shown.errors() == []


def test_the_page_can_be_kept(browser: Any, able: Path, tmp_path: Path) -> None:
    assert main(["watch", str(able / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    assert len(shown.all(".maps canvas")) > 0
    assert shown.errors() == []


def test_a_run_without_any_record_has_a_page(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    (tmp_path / "run/journal.jsonl").unlink()
    shutil.rmtree(tmp_path / "run/snapshots")
    assert main(["watch", str(tmp_path / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    assert main(["watch", str(tmp_path / "none")]) == 2

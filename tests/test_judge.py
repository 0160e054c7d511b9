"""Judges: what they read, how candidates are ranked by them, and how their weights are found."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from toy import ABLE, SMALL, parallel, write_corpus, write_lines
from untrained import untrained

import regard
from regard import predict
from regard.cli import main
from regard.data.line import Line
from regard.errors import UsageError
from regard.files import read_sealed, sealed, write_json
from regard.judge import Judge, Judged, JudgedPredictor, Weights, tune
from regard.metrics.text import ExactMatch, TextMetrics
from regard.models.pointer import PointerConfig
from regard.predict import EMPTY, Candidate
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.search.beam import Beam
from regard.search.sample import Sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weak run, a channel that has learned the other direction, and a language model."""
    folder = tmp_path_factory.mktemp("judges")
    corpus = write_corpus(folder, pairs=400)
    swapped = {
        name: corpus[name.replace("source", "*").replace("target", "source").replace("*", "target")]
        for name in corpus
    }
    for name, files, steps in (("weak", corpus, 55), ("channel", swapped, 120)):
        regard.train(
            "lstm_attention",
            run=folder / name,
            steps=steps,
            settings=ABLE,
            quiet=True,
            **parallel(files),
        )
    small = [each for each in SMALL if "optimizer.rate" not in each]
    regard.train(
        "language",
        regard.Parallel(target=corpus["target"]),
        run=folder / "language",
        steps=20,
        settings=small,
        quiet=True,
    )
    return folder


def test_a_judge_scores_what_it_reads_per_token(folder: Path) -> None:
    pairs = [(Line("ant bee"), "BEE ANT"), (Line("cat"), ""), (Line("dog"), "DOG DOG")]
    for reads, read in (
        ("channel", [("BEE ANT", "ant bee"), ("", "cat"), ("DOG DOG", "dog")]),
        ("language", [("", "BEE ANT"), ("", ""), ("", "DOG DOG")]),
        ("pair", [("ant bee", "BEE ANT"), ("cat", ""), ("dog", "DOG DOG")]),
    ):
        predictor = regard.load(folder / {"pair": "weak"}.get(reads, reads))
        expected = [total / count for total, count in predictor.score(read)]
        assert Judge(reads, predictor).scores(pairs) == pytest.approx(expected)
        assert all(map(math.isfinite, expected))


def test_candidates_are_ranked_by_the_weighted_sum() -> None:
    best = (
        Candidate("long", -0.5, -4.0, 8),
        Candidate("short", -1.0, -3.0, 3),
        Candidate("other", -2.0, -8.0, 4),
    )
    judged = Judged(best, np.array([[-1.0, -2.0], [-3.0, -0.5], [-0.1, -0.2]]))
    for weights, order in (
        (Weights((0.0, 0.0)), ["long", "short", "other"]),
        (Weights((0.0, 0.0), length_penalty=0.0), ["short", "long", "other"]),
        (Weights((1.0, 1.0)), ["other", "long", "short"]),
        (Weights((0.0, 0.5), own=0.0), ["other", "short", "long"]),
    ):
        found = judged.ranked(weights)
        assert [each.text for each in found.best] == order
        assert found.text == order[0]
    channel, language, penalty = 0.3, 0.7, 0.5
    found = judged.ranked(Weights((channel, language), 2.0, penalty))
    by_text = {each.text: each.score for each in found.best}
    expected = 2.0 * -3.0 / 3**penalty + channel * -3.0 + language * -0.5
    assert by_text["short"] == pytest.approx(expected)


def test_judges_that_do_not_count_change_nothing(folder: Path) -> None:
    lines = (folder / "test.source").read_text().splitlines()
    lines[4] = ""
    search = Beam(beam=6)
    plain = load_predictor(Run.open(folder / "weak"), search)
    wide = load_predictor(Run.open(folder / "weak"), search.all_found())
    channel = Judge("channel", regard.load(folder / "channel"))
    found = list(JudgedPredictor(wide, [channel], Weights((0.0,))).predict(lines, window_size=7))
    assert [each.text for each in found] == plain(lines)
    judged = list(JudgedPredictor(wide, [channel], Weights((3.0,))).predict(lines))
    assert [each.text for each in judged] != plain(lines)
    begun = list(JudgedPredictor(wide, [channel], Weights((1.0,))).predict(["ant"], ["BEE"]))
    assert begun[0].text.startswith("BEE")


def test_tuning_finds_a_judge_that_knows() -> None:
    """Two of three judges know nothing; one prefers the right candidate."""
    draws = np.random.default_rng(3)
    judged, references = [], []
    for line in range(40):
        texts = [f"{line} {number}" for number in range(draws.integers(1, 6))]
        right = texts[draws.integers(len(texts))]
        logs = draws.normal(-5, 2, len(texts))
        best = tuple(
            Candidate(text, log, log, 3) for text, log in zip(texts, logs.tolist(), strict=True)
        )
        knows = np.array([2.0 * (text == right) for text in texts])
        scores = np.stack([draws.normal(0, 1, len(texts)), knows, draws.normal(0, 1, len(texts))])
        judged.append(Judged(best, scores.T))
        references.append(right)
    metric = ExactMatch(TextMetrics(bootstrap=0))
    sources = [""] * 40
    start = Weights((0.0, 0.0, 0.0))
    found = tune(judged, sources, references, metric, start, trials=300, seed=1)
    assert found.alone < 75
    assert found.value > found.alone + 15
    assert found.weights.judges[1] > 4 * max(found.weights.judges[0], found.weights.judges[2])
    outputs = [each.ranked(found.weights).text for each in judged]
    assert metric.score(sources, outputs, references).value == pytest.approx(found.value)
    assert found == tune(judged, sources, references, metric, start, trials=300, seed=1)
    assert tune(judged, sources, references, metric, start, trials=0, seed=1).value == found.alone


def test_tuned_judges_are_kept_with_the_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = shutil.copytree(folder, tmp_path / "runs")
    given = ["--judge", f"channel={runs / 'channel'}", "--judge", f"language={runs / 'language'}"]
    assert main(["judge", str(runs / "weak"), "--tune", *given, "--beam=8", "--trials=60"]) == 0
    printed = capsys.readouterr().out
    kept = json.loads((runs / "weak" / "judges.json").read_text())
    assert kept["value"] > kept["alone"]
    assert f"BLEU {kept['value']:.2f} with judges, {kept['alone']:.2f} without" in printed
    moved = runs.rename(tmp_path / "moved")
    found = regard.evaluate(moved / "weak", judges=["tuned"])
    assert found["BLEU"] == pytest.approx(kept["value"])
    assert "|judges:own*1+channel*" in found.scores[0].signature
    rows = regard.compare([moved / "weak", moved / "weak"], judges=["tuned"])
    assert rows[1].value == pytest.approx(kept["value"])
    assert rows[1].name.endswith("with judges")
    judges = found.scores[0].signature.partition("|judges:")[2]
    assert [row.signature.partition("|judges:")[2] for row in rows] == ["", judges] * (
        len(rows) // 2
    )
    shutil.rmtree(moved / "channel")
    shutil.copytree(folder / "weak", moved / "channel")
    with pytest.raises(UsageError, match="has changed"):
        regard.evaluate(moved / "weak", judges=["tuned"])
    (moved / "weak" / "judges.json").write_text("{}")
    with pytest.raises(UsageError, match="corrupt or was changed"):
        regard.evaluate(moved / "weak", judges=["tuned"])
    (moved / "weak" / "judges.json").write_text('{"judges": [3]}')
    with pytest.raises(UsageError, match="corrupt"):
        regard.evaluate(moved / "weak", judges=["tuned"])


def test_the_weights_are_printed_as_the_options_that_give_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = shutil.copytree(folder / "weak", tmp_path / "weak")
    given = ["--judge", "own=0", "--judge", f"pair={folder / 'weak'}"]
    assert main(["judge", str(weak), *given, "--beam=4", "--trials=5"]) == 0
    options = [line for line in capsys.readouterr().out.splitlines() if line.startswith("--")]
    assert options[0] == "--judge own=0"
    again = [part for line in options for part in line.split()]
    files = ["--input", str(folder / "test.source"), "--beam=4", "--best=2"]
    for judges in (again, ["--judge", "tuned"]):
        assert main(["translate", str(weak), *files, *judges]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]


def test_translate_prints_the_ranked_list(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "input").write_text("ant bee cat\ndog\n")
    command = ["translate", str(folder / "weak"), "--input", str(tmp_path / "input")]
    judge = ["--judge", f"channel={folder / 'channel'}:2", "--judge", "own=0.5"]
    assert main([*command, *judge, "--beam", "8"]) == 0
    single = capsys.readouterr().out.splitlines()
    assert main([*command, *judge, "--best", "3", "--beam", "8"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert [rows[0][2], rows[3][2]] == single
    for some in (rows[:3], rows[3:]):
        scores = [float(row[1]) for row in some]
        assert scores == sorted(scores, reverse=True)
        assert len({row[2] for row in some}) == 3


@pytest.mark.parametrize("given", [["--judge", "pair={run}:1"], []])
def test_a_printed_list_has_the_numbers_of_all_lines_in_any_window(
    folder: Path,
    tmp_path: Path,
    given: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(predict, "WINDOW", 2)
    (tmp_path / "input").write_text("ant bee cat\n\ndog\nbee\ncat dog\n")
    judge = [each.format(run=folder / "weak") for each in given]
    command = ["translate", str(folder / "weak"), "--input", str(tmp_path / "input"), *judge]
    assert main([*command, "--best", "3"]) == 0
    numbers = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert numbers == [*"000", "1", *"222333444"]


def test_lines_and_draws_of_judged_candidates_count_on_in_later_windows(folder: Path) -> None:
    channel = Judge("channel", regard.load(folder / "channel"))
    drawing = load_predictor(Run.open(folder / "weak"), Sample(best=4, temperature=4.0))
    judged = JudgedPredictor(drawing, [channel], Weights((1.0,)))
    lines = ["ant bee cat dog"] * 4
    found = [
        {each.text for each in line.best}
        for predictor in (judged, drawing)
        for line in predictor.predict(lines, window_size=1)
    ]
    assert found[:4] == found[4:]
    assert found[0] != found[1]


def test_lines_that_a_judge_truncates_are_reported(folder: Path, tmp_path: Path) -> None:
    long = write_lines(tmp_path / "long", ["ant " * 1001, "bee"])
    notes: list[str] = []
    judges = [f"channel={folder / 'channel'}:1", f"language={folder / 'language'}:1"]
    regard.compare(
        *([folder / "weak", folder / "weak"], regard.Parallel(long, long)),
        search=Beam(beam=2, max_length_ratio=0.01),
        judges=judges,
        say=notes.append,
    )
    own, channel = "Truncated 1 long line to 1,000 pieces.", "The channel judge truncated some long"
    assert notes == [own, own, f"{channel} lines to 1,000 pieces."]


def test_an_empty_line_is_not_judged(folder: Path) -> None:
    wide = load_predictor(Run.open(folder / "weak"), Beam(beam=3, best=3))
    judges = [Judge("channel", regard.load(folder / "channel")), Judge("pair", wide)]
    judged = JudgedPredictor(wide, judges, Weights((1.0, 1.0)))
    for lines in (["", "ant bee", " "], ["", ""]):
        for line, found in zip(lines, judged.predict(lines), strict=True):
            assert (found == EMPTY) == (not line.strip())


def test_a_line_that_is_refused_has_its_number_in_any_window() -> None:
    pointer = untrained(PointerConfig(width=8, inner=8, heads=2), Beam(beam=3, best=3))
    pointer.length_limit = 3
    lines = [" ".join(["0.1,0.2"] * points) for points in (1, 3, 2, 1, 4)]
    judged = JudgedPredictor(pointer, [Judge("pair", pointer)], Weights((1.0,)))
    with pytest.raises(UsageError, match=r"^Line 5 has 4 pieces"):
        list(judged.predict(lines, window_size=2))


@pytest.mark.parametrize(
    ("judges", "named"),
    [
        (["chanel={channel}:1"], "is not a judge"),
        (["channel={channel}"], "has no weight"),
        (["channel={channel}:much"], "is not a number"),
        (["channel={language}:1"], "A channel judge must be a model with a source"),
        (["language={channel}:1"], "A language judge must be a language model"),
        (["own=1"], "at least one judge"),
        (["own=1", "own=0", "channel={channel}:1"], "own=WEIGHT is given twice"),
        (["tuned"], "no tuned judges"),
        (["tuned", "channel={channel}:1"], "remove the others"),
        (["pair={gone}:1"], "is not a run"),
    ],
)
def test_wrong_judges_are_refused(folder: Path, judges: list[str], named: str) -> None:
    names = {name: folder / name for name in ("channel", "language", "gone")}
    given = [each.format(**names) for each in judges]
    with pytest.raises(UsageError, match=named):
        regard.evaluate(folder / "weak", judges=given)


def test_a_judge_of_another_kind_is_refused(folder: Path, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    tagger = tmp_path / "tagger"
    settings = [each for each in SMALL if "tokenizer" not in each]
    regard.train("tagger", run=tagger, steps=1, settings=settings, quiet=True, **parallel(corpus))
    for reads in ("pair", "channel"):
        with pytest.raises(UsageError, match="tagger writes tags, but a"):
            regard.evaluate(folder / "weak", judges=[f"{reads}={tagger}:1"])


def test_one_candidate_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"give a larger --best\."):
        regard.evaluate(
            folder / "weak", search=Sample(), judges=[f"channel={folder / 'channel'}:1"]
        )
    with pytest.raises(UsageError, match="several candidates"):
        regard.evaluate(
            folder / "weak", search=Beam(beam=1), judges=[f"channel={folder / 'channel'}:1"]
        )


def test_a_channel_of_the_wrong_direction_is_refused(folder: Path, tmp_path: Path) -> None:
    """It was trained on sources like these, which it would have to write."""
    words = [[f"{side}{number}" for number in range(12)] for side in "st"]
    source, target = (
        write_lines(tmp_path / str(number), [" ".join(line)] * 3)
        for number, line in enumerate(words)
    )
    channel = shutil.copytree(folder / "channel", tmp_path / "channel")
    data = regard.Parallel(source, target)
    weak = shutil.copytree(folder / "weak", tmp_path / "weak")

    def trained_on(run: Path, profile: list[list[str]]) -> None:
        facts = read_sealed(run / "data.json")
        sides = zip(("source", "target"), profile, strict=True)
        facts["profile"] = {side: dict.fromkeys(some, 9) for side, some in sides}
        write_json(run / "data.json", sealed(facts))

    trained_on(channel, words)
    with pytest.raises(UsageError, match="swapped"):
        regard.tune_judges(weak, [f"channel={channel}"], data, trials=1)
    trained_on(weak, words)  # without pairs, what both were trained on tells
    with pytest.raises(UsageError, match=f"^{channel} translates in the wrong .* translate back"):
        regard.evaluate(weak, judges=[f"channel={channel}:1"])
    trained_on(channel, words[::-1])
    regard.tune_judges(weak, [f"channel={channel}"], data, trials=1)
    with pytest.raises(UsageError, match=r"wrong direction: a pair judge .* in the same direction"):
        regard.evaluate(weak, judges=[f"pair={channel}:1"])

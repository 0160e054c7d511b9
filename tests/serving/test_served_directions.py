"""What a server makes of runs: several languages in one, ensembles, and other engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from clients import Serve
from toy import ABLE, parallel, some_lines, train_small, turned, write_corpus, write_lines

import regard
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.interop.engine import load_engine
from regard.runs.folder import Run
from regard.serving.directions import check_runs

LINES = some_lines(12, seed=9)


def write_pairs(path: Path, count: int, seed: int) -> Path:
    """The same words, copied into Danish and turned round into German."""
    rows = ["source\ttarget\tsource_language\ttarget_language"]
    for index, line in enumerate(some_lines(count, seed)):
        target = f"{line}\ten\tda" if index % 2 else f"{turned(line)}\ten\tde"
        rows.append(f"{line}\t{target}")
    return write_lines(path, rows)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    columns = "source,target,source_language,target_language"
    train, valid = write_pairs(folder / "a.tsv", 600, 0), write_pairs(folder / "b.tsv", 40, 1)
    return regard.train(
        "lstm_attention",
        Parallel(pairs=train, columns=columns),
        valid=Parallel(pairs=valid, columns=columns),
        run=folder / "run",
        steps=260,
        settings=ABLE,
        quiet=True,
    ).path


def test_a_run_of_several_languages_serves_each(many: Path, serve: Serve) -> None:
    client = serve(str(many))
    codes = {each["code"]: each["targets"] for each in client.get("/languages").json}
    assert codes == {"en": ["da", "de", "en"], "da": ["da"], "de": ["de"]}
    for target, expected in (("da", LINES), ("de", list(map(turned, LINES)))):
        found = client.translate(LINES, target=target, details=True).json
        same = sum(a == b for a, b in zip(found["translatedText"], expected, strict=True))
        assert same >= 10
        for line, details in zip(LINES, found["details"], strict=True):
            ends = [link[1] for each in details["sentences"] for link in each["alignment"]]
            assert max(ends, default=0) <= len(line)  # no link to the tag
    danish = client.translate("<p>ant <b>bee</b></p>", target="da", format="html").json
    assert danish["translatedText"] == "<p>ant <b>bee</b></p>"
    look = client.post("/look", {"q": "ant bee", "source": "en", "target": "da"})
    assert look.status == 200
    assert b"2da" in look.body


def test_directions_of_a_run_share_its_queue_but_no_batch(many: Path, serve: Serve) -> None:
    client = serve(str(many))
    first, second = client.service.directions
    assert first.queue is second.queue
    assert first.predictor.model is second.predictor.model
    assert "regard_queue_characters 0.0" in client.get("/metrics").body.decode()


def test_one_direction_of_a_run_can_be_chosen(many: Path, toy_run: Path) -> None:
    (chosen,) = check_runs([f"{many}:en:da"])
    assert (chosen.codes, chosen.tags) == (("en", "da"), "<2da>")
    with pytest.raises(UsageError, match=r"does not translate into 'fr': choose one of da, de"):
        check_runs([f"{many}:en:fr"])
    with pytest.raises(UsageError, match="another run both translate en to de"):
        check_runs([str(many), str(toy_run)])


def test_an_ensemble_is_served(toy_run: Path, tmp_path: Path, serve: Serve) -> None:
    other = regard.train(
        "lstm_attention",
        run=tmp_path / "other",
        steps=40,
        settings=[*ABLE, "training.seed=7"],
        tokenizer=toy_run,
        quiet=True,
        **parallel(write_corpus(tmp_path)),
    ).path
    client = serve(f"{toy_run}+{other}:en:de")
    together = regard.load([toy_run, other])
    found = client.translate(LINES, details=True).json
    assert found["translatedText"] == together(LINES)
    lone = regard.load(toy_run)
    scores = [each["sentences"][0]["score"] for each in found["details"]]
    alone = [next(lone.predict([line])).best[0] for line in LINES]
    assert scores != [round(each.log_probability / each.tokens, 4) for each in alone]
    assert client.post("/look", {"q": "ant", "source": "en", "target": "de"}).status == 200
    with pytest.raises(UsageError, match="An ensemble needs --engine torch"):
        check_runs([f"{toy_run}+{other}:en:de"], "ctranslate2")


def test_ctranslate2_serves(tmp_path: Path, serve: Serve) -> None:
    pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")
    run = train_small(tmp_path / "run", write_corpus(tmp_path), steps=60)
    client = serve(f"{run.path}:en:de", engine="ctranslate2")
    expected = load_engine(Run.open(run.path), "ctranslate2", say=lambda text: None)(LINES)
    found = client.translate(LINES, alternatives=2, details=True).json
    assert found["translatedText"] == expected
    assert all(1 <= len(each) <= 2 for each in found["alternatives"])
    assert client.translate("ant bee", prefix="CAT").json["translatedText"].startswith("CAT")
    asked = {"q": "ant bee", "source": "en", "target": "de"}
    assert client.post("/look", asked).status == 200

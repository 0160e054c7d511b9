"""Scores and comparisons from Python."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
import sacrebleu
from toy import ABLE, parallel, train_small, write_corpus, write_lines

import regard
from regard.data.parallel import Parallel
from regard.errors import RegardError, UsageError
from regard.metrics.text import TextMetrics
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.runs.snapshot import load_snapshots


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    corpus = write_corpus(folder, pairs=400)
    regard.train(
        "lstm_attention",
        run=folder / "able",
        steps=120,
        settings=ABLE,
        quiet=True,
        **parallel(corpus),
    )
    train_small(folder / "weak", corpus, steps=2)
    return folder


def written(folder: Path) -> Parallel:
    return Parallel(folder / "test.source", folder / "test.target")


def test_a_run_is_evaluated_on_files_or_on_its_validation_data(folder: Path) -> None:
    result = regard.evaluate(folder / "able", written(folder))
    assert result["exact"] > 80
    assert result["BLEU"] > 80
    assert len(result.outputs) == 30
    own = regard.evaluate(folder / "able")
    assert len(own.outputs) == 20
    assert dict(own) == {score.name: score.value for score in own.scores}
    assert (len(own), "BLEU" in own, "ROUGE" in own) == (5, True, False)
    with pytest.raises(KeyError, match=r"no score 'bleu'\. Did you mean 'BLEU'"):
        own["bleu"]
    with pytest.raises(KeyError, match="Choose one of BLEU, chrF, TER, exact, perplexity"):
        own["ROUGE"]


def test_a_tsv_file_is_as_good_as_two_files(folder: Path, tmp_path: Path) -> None:
    sources = (folder / "test.source").read_text().splitlines()
    targets = (folder / "test.target").read_text().splitlines()
    rows = (f"{source}\t{target}" for source, target in zip(sources, targets, strict=True))
    pairs = write_lines(tmp_path / "test.tsv", rows)
    by_tsv = regard.evaluate(folder / "able", Parallel(pairs=pairs))
    by_files = regard.evaluate(folder / "able", written(folder))
    assert by_tsv == by_files


def test_the_reported_scores_are_those_of_sacrebleu(folder: Path) -> None:
    result = regard.evaluate(folder / "weak", written(folder))
    references = [(folder / "test.target").read_text().splitlines()]
    outputs = list(result.outputs)
    assert result["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(outputs, references).score)
    assert result["chrF"] == pytest.approx(sacrebleu.corpus_chrf(outputs, references).score)
    ter = sacrebleu.metrics.TER(case_sensitive=True).corpus_score(outputs, references)
    assert result["TER"] == pytest.approx(ter.score)


def test_scores_of_pairs_sum_to_the_perplexity(folder: Path) -> None:
    scored = regard.score(folder / "able", written(folder))
    mean = sum(total for total, _ in scored) / sum(count for _, count in scored)
    found = regard.evaluate(folder / "able", written(folder))
    assert found["perplexity"] == pytest.approx(math.exp(-mean))


def test_validation_heeds_how_long_targets_may_be(tmp_path: Path) -> None:
    own = ("search.max_length_ratio=0.01", "search.max_length_extra=3", "training.validate_every=1")
    run = train_small(tmp_path / "run", write_corpus(tmp_path), *own, steps=2)
    outputs = [each["output"] for kept in load_snapshots(run) for each in kept["sentences"]]
    assert max(len(output.split()) for output in outputs) == 2  # and the end


def test_a_comparison_knows_better_from_equal(folder: Path) -> None:
    rows = regard.compare([folder / "weak", folder / "able"], metrics=TextMetrics(bootstrap=200))
    assert rows[0].p_value is None
    assert rows[1].p_value is not None
    assert rows[1].p_value < 0.05
    same = regard.compare([folder / "able", folder / "able"], metrics=TextMetrics(bootstrap=200))
    assert same[1].p_value == 1.0


def test_a_comparison_says_that_lines_were_truncated(folder: Path, tmp_path: Path) -> None:
    long = write_lines(tmp_path / "long", ["ant " * 1001, "bee"])
    notes: list[str] = []
    regard.compare([folder / "able"] * 2, regard.Parallel(long, long), say=notes.append)
    assert notes == ["Truncated 1 long line to 1,000 pieces."] * 2


def test_what_cannot_be_compared_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least two runs"):
        regard.compare([folder / "able"])
    other = train_small(tmp_path / "other", write_corpus(tmp_path / "corpus", seed=8), steps=1)
    with pytest.raises(UsageError, match="different validation data"):
        regard.compare([folder / "able", other.path])


def test_damaged_weights_are_never_used(folder: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(folder / "weak", tmp_path / "run"))
    (checkpoint,) = (run / "checkpoints").glob("step-*")
    weights = checkpoint / "average.safetensors"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 4
    weights.write_bytes(data)
    with pytest.raises(RegardError, match="No checkpoint"):
        load_predictor(Run.open(run), say=lambda text: None)


def test_several_references_are_those_of_sacrebleu(folder: Path, tmp_path: Path) -> None:
    references = (folder / "test.target").read_text().splitlines()
    first = regard.evaluate(folder / "weak", written(folder))
    others = [" ".join(line.split()[:2]) or line for line in references]
    others[:5] = first.outputs[:5]
    files = [
        write_lines(tmp_path / "second", others),
        write_lines(tmp_path / "third", references[::-1]),
    ]
    found = regard.evaluate(folder / "weak", written(folder), references=files)
    outputs, streams = list(found.outputs), [references, others, references[::-1]]
    assert outputs == list(first.outputs)
    assert found["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(outputs, streams).score)
    assert found["chrF"] == pytest.approx(sacrebleu.corpus_chrf(outputs, streams).score)
    ter = sacrebleu.metrics.TER(case_sensitive=True).corpus_score(outputs, streams)
    assert found["TER"] == pytest.approx(ter.score)
    assert found["exact"] > 16 > first["exact"]  # 5 of 30
    for score in found.scores[:4]:
        assert "nrefs:3" in score.signature
    assert found["perplexity"] == first["perplexity"]


def test_references_belong_to_the_lines_of_the_files(folder: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "source", ["ant bee", "", "cat dog", "fox"])
    target = write_lines(tmp_path / "target", ["A", "B", "C", "D"])
    data = Parallel(source, target)
    outputs = regard.evaluate(folder / "able", data, say=lambda text: None).outputs
    right = write_lines(tmp_path / "right", outputs)  # empty where the source is
    found = regard.evaluate(folder / "able", data, references=[right], say=lambda text: None)
    assert found["exact"] == 100
    short = write_lines(tmp_path / "short", outputs[:3])
    with pytest.raises(UsageError, match="short has 3 lines but the source has 4"):
        regard.evaluate(folder / "able", data, references=[short], say=lambda text: None)
    gap = write_lines(tmp_path / "gap", ["A", "", "", "D"])
    with pytest.raises(UsageError, match="gap:3 is empty: give a reference for each line"):
        regard.evaluate(folder / "able", data, references=[gap], say=lambda text: None)
    with pytest.raises(UsageError, match="--reference has no effect without files"):
        regard.evaluate(folder / "able", references=[right])

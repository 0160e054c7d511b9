"""A Marian folder becomes a run that does what transformers does, and all that a run can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import LINES, greedy, write_marian
from toy import write_corpus

import regard
from regard.cli import main
from regard.data.batch import Padded, Row
from regard.data.parallel import Parallel
from regard.interop.importing import import_model
from regard.runs.folder import Run
from regard.runs.load import load_model
from regard.search.beam import Beam

pytest.importorskip("transformers", reason="the extra test installs transformers")
LIMIT = 12


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Run]:
    folder = tmp_path_factory.mktemp("marian")
    model = write_marian(folder / "theirs")
    return model, import_model(folder / "theirs", run=folder / "run", say=lambda text: None)


def assert_same_ids(model: Any, folder: Path, run: Run) -> None:
    """Both sides write the same pieces, ours in another numbering."""
    theirs: dict[str, int] = json.loads((folder / "vocab.json").read_text())
    ours, _ = load_model(run)
    sides, lengths = run.tokenizers(), set()
    for line in LINES[:12]:
        (ids,) = sides.source.encode([line])
        source = [theirs[piece] for piece in sides.source.pieces(ids)]
        expected = greedy(model, [*source, 0], LIMIT)
        limits = torch.tensor([LIMIT + 1])
        ((found,),) = ours.eval().generate(Padded.of_rows([Row(ids)]), Beam(beam=1), None, limits)
        assert [theirs[piece] for piece in sides.target.pieces(found.tokens)] == expected
        lengths.add(len(expected))
    assert max(lengths) > 1  # not all of them empty


def test_greedy_search_writes_the_ids_of_transformers(imported: tuple[Any, Run]) -> None:
    model, run = imported
    assert_same_ids(model, run.path.parent / "theirs", run)
    assert run.tokenizers().source.kind == "marian"


@pytest.mark.parametrize(
    "changes",
    [
        {"activation_function": "gelu", "scale_embedding": False},
        {"activation_function": "relu", "decoder_layers": 1},
        {"tie_word_embeddings": False},
    ],
)
def test_other_settings_are_imported(changes: dict[str, Any], tmp_path: Path) -> None:
    model = write_marian(tmp_path / "theirs", **changes)
    run = import_model(tmp_path / "theirs", run=tmp_path / "run", say=lambda text: None)
    assert_same_ids(model, tmp_path / "theirs", run)


def test_old_files_of_weights_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    model = write_marian(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")  # with copies of tied tensors
    run = import_model(folder, run=tmp_path / "run", say=lambda text: None)
    assert_same_ids(model, folder, run)


def test_the_run_translates_looks_and_is_evaluated(
    imported: tuple[Any, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = imported
    write_corpus(tmp_path)
    source, target = (tmp_path / f"test.{side}" for side in ("source", "target"))
    assert len(regard.load(run.path)(LINES[:3])) == 3
    assert main(["evaluate", str(run.path), "--source", str(source), "--target", str(target)]) == 0
    assert "BLEU" in capsys.readouterr().out
    page = tmp_path / "look.html"
    assert main(["look", str(run.path), "ant bee cat", "--output", str(page)]) == 0
    assert "ant" in page.read_text()
    assert main(["info", str(run.path)]) == 0
    assert "import of" in capsys.readouterr().out
    assert run.path.joinpath("languages.json").exists()


def test_the_run_is_fine_tuned(imported: tuple[Any, Run], tmp_path: Path) -> None:
    corpus, (_, run) = write_corpus(tmp_path), imported
    lines = (tmp_path / "test.source").read_text().splitlines()
    right = (tmp_path / "test.target").read_text().splitlines()
    tuned = regard.train(
        None,
        Parallel(corpus["source"], corpus["target"]),
        run=tmp_path / "tuned",
        valid=Parallel(corpus["valid_source"], corpus["valid_target"]),
        steps=20,
        settings=("training.optimizer.rate=0.003", "training.optimizer.warmup=2"),
        start=run.path,
        quiet=True,
    )
    before, after = (
        sum(
            total for total, _ in regard.load(each.path).score(list(zip(lines, right, strict=True)))
        )
        for each in (run, tuned)
    )
    assert after > 0.7 * before  # both are negative


def test_the_run_is_exported_again(imported: tuple[Any, Run], tmp_path: Path) -> None:
    _, run = imported
    found = regard.export(run.path, tmp_path / "again", to="huggingface", say=lambda text: None)
    assert found.same == found.sentences == 16
    assert found.worst <= 1e-4

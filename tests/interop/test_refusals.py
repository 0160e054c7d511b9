"""Folders that are damaged, oversized or malicious: refused in a sentence, and nothing runs."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import write_marian
from test_messages import assert_for_people

from regard.cli import main
from regard.errors import UsageError
from regard.interop import reading
from regard.interop.importing import import_model

pytest.importorskip("transformers", reason="the extra test installs transformers")


def edit(name: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def shorten(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def half_a_letter(folder: Path) -> None:
    path = folder / "vocab.json"
    pieces = {id: piece for piece, id in json.loads(path.read_text()).items()}
    pieces[5] = "\ud800"
    path.write_text(json.dumps({piece: id for id, piece in pieces.items()}))


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (remove("config.json"), "config.json is missing"),
    (remove("vocab.json"), "vocab.json is missing"),
    (remove("model.safetensors"), "model.safetensors is missing"),
    (write("config.json", b"[" * 100_000), "config.json is damaged"),
    (write("source.spm", b"nothing"), "source.spm is damaged"),
    (shorten, "model.safetensors is damaged"),
    (edit("config.json", d_model=64), "has the shape"),
    (edit("config.json", d_model=10**12), "does not describe a model"),
    (edit("config.json", encoder_layers="2; rm"), "does not describe a model"),
    (edit("config.json", model_type="t5"), "only marian can be imported"),
    (edit("config.json", decoder_ffn_dim=64), "decoder_ffn_dim=64"),
    (edit("config.json", normalize_before=True), "normalize_before=True"),
    (edit("config.json", activation_function="tanh"), "activation_function=tanh"),
    (edit("config.json", activation_function=[]), "activation_function=[]"),
    (edit("config.json", vocab_size=10**9), "vocab_size=1000000000"),
    (edit("config.json", eos_token_id=None), "does not name the ids"),
    (half_a_letter, "pieces that are not text"),
    (edit("vocab.json", extra=10**6), "does not number its pieces"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    write_marian(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(whole: dict[str, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "theirs"
    path.mkdir()
    for name, content in whole.items():
        (path / name).write_bytes(content)
    return path


@pytest.mark.parametrize(("damage", "named"), DAMAGES)
def test_what_is_wrong_is_named(
    damage: Callable[[Path], None], named: str, folder: Path, tmp_path: Path
) -> None:
    damage(folder)
    with pytest.raises(UsageError) as refused:
        import_model(folder, run=tmp_path / "run", say=lambda text: None)
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)
    assert_for_people(str(refused.value).replace(str(folder), ""))
    assert not (tmp_path / "run").exists()


def test_a_large_text_file_is_not_read(folder: Path, tmp_path: Path) -> None:
    os.truncate(folder / "vocab.json", 2 * reading.MAX_TEXT_BYTES)  # sparse: no space is used
    with pytest.raises(UsageError, match="far more than such a file needs"):
        import_model(folder, run=tmp_path / "run", say=lambda text: None)


def test_weights_larger_than_memory_are_not_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "free_memory", lambda: 1000)
    with pytest.raises(UsageError, match="of memory, and only"):
        import_model(folder, run=tmp_path / "run", say=lambda text: None)


class Malicious:
    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.witness),)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_malicious_pickle_does_not_run(zipped: bool, folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    weights, witness = folder / "pytorch_model.bin", tmp_path / "witness"
    if zipped:
        torch.save({"model.shared.weight": Malicious(witness)}, weights)
    else:
        weights.write_bytes(pickle.dumps(Malicious(witness)))
    with pytest.raises(UsageError, match="not a file of tensors alone"):
        import_model(folder, run=tmp_path / "run", say=lambda text: None)
    assert not witness.exists()


def test_values_that_are_not_finite_are_refused(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors["model.shared.weight"][5, 3] = torch.nan
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(UsageError, match="not finite"):
        import_model(folder, run=tmp_path / "run", say=lambda text: None)


def test_the_verb_refuses_other_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "onnx", str(folder), "--run", str(folder / "run")]) == 2
    assert "the only format is huggingface" in capsys.readouterr().err

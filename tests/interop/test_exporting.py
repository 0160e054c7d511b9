"""A trained run in the formats of other tools: the same translations, or a refusal."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import Trained
from test_messages import assert_for_people

import regard
from regard.cli import main
from regard.data.languages import Languages
from regard.errors import RegardError, UsageError
from regard.interop import exporting
from regard.interop.agreement import INT8_TOLERANCE
from regard.interop.fitting import vocabulary
from regard.interop.importing import import_model
from regard.runs.folder import Run

NORMS = ["model.norm=post", "model.norm=pre"]


def quiet(text: str) -> None:
    pass


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tying", ["all", "target", "none"])
def test_transformers_translates_as_the_run_does(
    norm: str, tying: str, trained: Trained, tmp_path: Path, test_lines: list[str]
) -> None:
    transformers = pytest.importorskip("transformers", reason="the extra test installs it")
    run, folder = trained(norm, f"model.tying={tying}"), tmp_path / "theirs"
    if norm == "model.norm=pre" and tying != "all":
        with pytest.raises(UsageError, match=rf"model\.tying={tying}"):
            regard.export(run.path, folder, to="huggingface", say=quiet)
        return
    found = regard.export(run.path, folder, to="huggingface", say=quiet)
    assert found.same == found.sentences == 16
    assert found.worst <= 1e-4
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    ours = regard.load(run.path)
    for beam in (1, 4):
        ours.search = search = run.config.search.changed(beam=beam)
        for line in test_lines[:8]:
            given = tokenizer([line], return_tensors="pt")
            limit = int(search.limits(torch.tensor([given["input_ids"].shape[1]]))[0])
            stop = {"max_new_tokens": limit, "early_stopping": beam > 1}
            written = model.generate(**given, num_beams=beam, **stop)
            assert tokenizer.decode(written[0], skip_special_tokens=True) == ours(line)


@pytest.mark.parametrize("norm", NORMS)
def test_a_hugging_face_folder_comes_back(norm: str, trained: Trained, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the extra test installs it")
    run = trained(norm)
    regard.export(run.path, tmp_path / "theirs", to="huggingface", say=quiet)
    again = import_model(tmp_path / "theirs", run=tmp_path / "again", say=quiet)
    lines = ["ant bee", "cat dog eel fox"]
    assert regard.load(again.path)(lines) == regard.load(run.path)(lines)


SETTINGS = [
    ("model.norm=post",),
    ("model.norm=pre",),
    ("model.norm=pre", "model.position=shaw"),
    ("model.position=learned", "model.activation=gelu", "model.output_bias=true"),
    ("model.position=none", "model.scale_scores=false", "model.tying=none"),
    ("tokenizer.joint=false", "model.tying=target", "model.decoder_layers=2"),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_ctranslate2_translates_as_the_run_does(
    settings: tuple[str, ...], trained: Trained, tmp_path: Path
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")
    run = trained(*settings)
    found = regard.export(run.path, tmp_path / "x", to="ctranslate2", say=quiet)
    assert found.same == found.sentences == 16
    assert found.worst <= 1e-4
    ours, sides = regard.load(run.path), run.tokenizers()
    translator, lines = (
        ctranslate2.Translator(str(tmp_path / "x")),
        ["ant bee cat", "dog", "hen gnu"],
    )
    ids = {piece: id for id, piece in enumerate(vocabulary(sides)[1])}
    for beam in (1, 4):
        ours.search = search = run.config.search.changed(beam=beam)
        for line, row in zip(lines, sides.source.encode(lines), strict=True):
            limit = int(search.limits(torch.tensor([len(row) + 1]))[0])
            (result,) = translator.translate_batch(
                [sides.source.pieces(row)],
                beam_size=beam,
                max_decoding_length=limit - 1,
                return_end_token=True,  # which then counts as a part of the length
            )
            assert sides.target.decode([ids[each] for each in result.hypotheses[0]]) == ours(line)


def test_eight_bits_are_almost_the_same(post: Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")
    command = ["export", str(post.path), str(tmp_path / "x"), "--to", "ctranslate2", "--int8"]
    assert main(command) == 0
    found = regard.export(post.path, tmp_path / "y", to="ctranslate2", int8=True, say=quiet)
    assert 1e-5 < found.mean <= INT8_TOLERANCE
    regard.export(post.path, tmp_path / "z", to="ctranslate2", say=quiet)
    small, large = ((tmp_path / name / "model.bin").stat().st_size for name in ("x", "z"))
    assert small < 0.8 * large
    with pytest.raises(UsageError, match="--int8 needs --to ctranslate2"):
        regard.export(post.path, tmp_path / "w", to="huggingface", int8=True, say=quiet)


@pytest.mark.parametrize("to", ["ctranslate2", "huggingface"])
def test_an_export_with_another_weight_ends_with_an_error(
    to: str,
    post: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bias in the written file is changed before the check."""
    for package in ("ctranslate2", "transformers"):
        pytest.importorskip(package, reason="the extra test installs it")
    write, ours = exporting._write, "decoder.layers.0.feed_forward.contract.bias"

    def tampered(folder: Path, run: Run, model: Any, *rest: Any) -> None:
        write(folder, run, model, *rest)
        bias = model.state_dict()[ours]
        path = folder / ("model.bin" if to == "ctranslate2" else "model.safetensors")
        content, other = path.read_bytes(), bias + torch.linspace(-1, 1, len(bias))
        assert content.count(bias.numpy().tobytes()) == 1
        path.write_bytes(content.replace(bias.numpy().tobytes(), other.numpy().tobytes()))

    monkeypatch.setattr(exporting, "_write", tampered)
    assert main(["export", str(post.path), str(tmp_path / "x"), "--to", to]) == 1
    assert "does not match the run" in capsys.readouterr().err


def test_an_argos_package_has_its_layout(post: Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")
    package, spoken = tmp_path / "en-de.argosmodel", Languages("en", "de")
    regard.export(post.path, package, to="argos", languages=spoken, say=quiet)
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert len(tops) == 1
    top = tmp_path / tops.pop()
    described = json.loads((top / "metadata.json").read_text())
    assert (described["from_code"], described["to_code"]) == ("en", "de")
    assert (described["from_name"], described["to_name"]) == ("English", "German")
    assert described["type"] == "translate"
    assert {"package_version", "argos_version"} <= set(described)
    assert {path.name for path in top.iterdir()} == {
        *("metadata.json", "model", "sentencepiece.model", "README.md")
    }
    assert _as_argos_does(top, "ant bee cat") == regard.load(post.path)("ant bee cat")


def _as_argos_does(top: Path, line: str) -> str:
    """Pieces without EOS in, joined pieces out."""
    import ctranslate2
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(str(top / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(top / "model"))
    pieces = processor.encode(line, out_type=str)
    (found,) = translator.translate_batch([pieces], beam_size=5, replace_unknowns=True)
    return "".join(found.hypotheses[0]).replace("\u2581", " ").strip()


@pytest.mark.parametrize(
    ("to", "settings", "named"),
    [
        ("ctranslate2", ("model.position=rotary",), "model.position=rotary"),
        ("ctranslate2", ("model.position=index",), "model.position=index"),
        ("ctranslate2", ("model.position=concatenated",), "model.position=concatenated"),
        ("ctranslate2", ('model.mixers=["linear"]',), "model.mixers="),
        ("ctranslate2", ("model.residual=false",), "model.residual=false"),
        ("ctranslate2", ("model.inner=0",), "model.inner=0"),
        ("huggingface", ("model.position=shaw",), "model.position=shaw"),
        ("huggingface", ("model.position=index",), "model.position=index"),
        ("huggingface", ("model.position=concatenated",), "model.position=concatenated"),
        ("huggingface", ("tokenizer.kind=word",), "tokenizer.kind=word"),
        ("argos", ("tokenizer.joint=false", "model.tying=target"), "tokenizer.joint=false"),
    ],
)
def test_what_cannot_be_expressed_is_named(
    to: Any, settings: tuple[str, ...], named: str, begun: Trained, tmp_path: Path
) -> None:
    if to != "huggingface":
        pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")
    target = tmp_path / "x.argosmodel"
    with pytest.raises(RegardError) as refused:
        regard.export(
            begun(*settings).path, target, to=to, languages=Languages("en", "de"), say=quiet
        )
    assert str(refused.value).startswith(named)
    assert_for_people(str(refused.value))
    assert not target.exists()


def test_what_exists_is_not_replaced(post: Run, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").write_text("kept")
    with pytest.raises(UsageError, match="exists already"):
        regard.export(post.path, tmp_path / "x", to="huggingface", say=quiet)
    assert (tmp_path / "x" / "mine").read_text() == "kept"

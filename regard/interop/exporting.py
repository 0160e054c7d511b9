"""From a run to a folder or package of another tool, checked before it is called done."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from regard import __version__
from regard.data.language_names import name_of
from regard.data.languages import Languages
from regard.data.parallel import PathLike
from regard.errors import UsageError
from regard.files import sync_folder, write_json, write_text
from regard.interop.agreement import (
    Agreement,
    ByCTranslate2,
    ByOurReader,
    ByTransformers,
    Other,
    check_agreement,
    compare,
    sample_lines,
)
from regard.interop.conversion import Conversion, require_ctranslate2
from regard.interop.fitting import Format, check_fits, vocabulary
from regard.interop.huggingface import sentencepiece_model, write_folder
from regard.interop.marian import read_folder
from regard.models.base import Model
from regard.models.transformer import TransformerConfig
from regard.runs.folder import Run
from regard.runs.languages import languages_of
from regard.runs.load import load_model

Say = Callable[[str], None]

PACKAGE = "package.zip"
ARGOS_VERSION = "1.9"
"""The least version of Argos Translate that reads the packages."""


def export(
    run: PathLike,
    folder: PathLike,
    *,
    to: Format,
    languages: Languages = Languages(),  # noqa: B008
    check: Optional[PathLike] = None,
    int8: bool = False,
    say: Say = print,
) -> Agreement:
    """Write a run for another tool, then translate sample sentences with both sides.

    Raises an error if they disagree; what was written stays. `check` is a file with sentences of
    the source to use instead of the run's validation data. Eight-bit weights need not give the same
    translations, but almost the same probabilities.
    """
    experiment, path = Run.open(Path(run)), Path(folder)
    sides = experiment.tokenizers()
    _check_request(to, path, int8)
    transformer = check_fits(experiment.config, sides, to)
    spoken = Languages.of(*languages).or_else(languages_of(experiment))
    if to == "argos" and None in spoken:
        raise UsageError(
            "An Argos package names its languages: give --source-language and --target-language."
        )
    lines = sample_lines(experiment, None if check is None else Path(check))
    model, _ = load_model(experiment, say)
    model.eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        _write(made, experiment, model, transformer, to, spoken, int8)
        os.chmod(made, 0o755)
        if path.is_dir():
            path.rmdir()
        os.rename(made / PACKAGE if to == "argos" else made, path)
    sync_folder(path.parent)
    with tempfile.TemporaryDirectory() as unpacked:
        found = compare(experiment, model, other := _other(path, experiment, to, unpacked), lines)
    say(f"Wrote {path}. Checked with {other.name}: {found}.")
    check_agreement(found, path, int8)
    return found


def _check_request(to: Format, path: Path, int8: bool) -> None:
    if to not in ("ctranslate2", "huggingface", "argos"):
        raise UsageError(f"Cannot export to '{to}': choose ctranslate2, huggingface or argos.")
    if int8 and to == "huggingface":
        raise UsageError("--int8 needs --to ctranslate2 or argos.")
    if to != "huggingface":
        require_ctranslate2()
    if to == "argos" and path.suffix != ".argosmodel":
        raise UsageError(f"The name of an Argos package ends in .argosmodel, and {path} does not.")
    if path.is_file() or (path.is_dir() and (to == "argos" or any(path.iterdir()))):
        raise UsageError(f"{path} exists already: remove it, or choose another name.")


def _write(
    folder: Path,
    run: Run,
    model: Model,
    transformer: TransformerConfig,
    to: Format,
    languages: Languages,
    int8: bool,
) -> None:
    sides, quantization = run.tokenizers(), "int8" if int8 else None
    if to == "huggingface":
        write_folder(folder, model, run.config, transformer, sides, languages)
        return
    names = vocabulary(sides)
    conversion = Conversion(model, run.config, transformer, *names, forbids=True)
    if to == "ctranslate2":
        conversion.write(folder, quantization)
        return
    source, target = languages
    top = folder / f"translate-{source}_{target}-1_0"
    conversion.write(top / "model", quantization)
    (top / "sentencepiece.model").write_bytes(sentencepiece_model(sides.source))
    write_json(top / "metadata.json", _metadata(languages))
    write_text(top / "README.md", _README.format(source=source, target=target, by=__version__))
    packed = folder / PACKAGE
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(top.rglob("*")):
            archive.write(file, file.relative_to(folder))
    shutil.rmtree(top)


_README = """# Translation from {source} to {target}

Exported by regard {by}. Argos Translate writes a space for each underscore of a translation.
"""


def _metadata(languages: Languages) -> dict[str, str]:
    source, target = languages
    assert source is not None
    assert target is not None
    return {
        "package_version": "1.0",
        "argos_version": ARGOS_VERSION,
        "from_code": source,
        "from_name": name_of(source),
        "to_code": target,
        "to_name": name_of(target),
        "type": "translate",
    }


def _other(path: Path, run: Run, to: Format, unpacked: str) -> Other:
    if to == "huggingface":
        try:
            import transformers  # noqa: F401
        except ImportError:
            return ByOurReader(read_folder(path).model)
        return ByTransformers(path)
    if to == "argos":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(unpacked)
        path = next(Path(unpacked).glob("*/model"))
    return ByCTranslate2(path, *vocabulary(run.tokenizers()))

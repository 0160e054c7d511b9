"""Train every family's miniature with everything on, and hash what became of it.

python -m benchmarks.hashes --output hashes.json [--compare before.json] [--only transformer-0]

A change that claims to leave the arithmetic alone shows it here: weights, averages, optimiser
state, translations and scores hash to the same values before and after it. Dropout, BPE-dropout,
accumulation, averaging, both kinds of optimiser and two processes are on.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: threads change the last digits

import argparse
import hashlib
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, get_args

from safetensors.numpy import load_file

from regard.cli import main as regard
from regard.models import Architecture

PAIRS = 600
LINES = 12
STEPS = 6
BOTH = ("--source", "--target")


def miniatures() -> Iterator[tuple[str, Any]]:
    for member in get_args(get_args(Architecture)[0]):
        for number, config in enumerate(member.miniatures()):
            yield f"{config.kind}-{number}", config


def with_dropout(values: dict[str, Any]) -> dict[str, Any]:
    """The same settings with dropout, which the miniatures leave out."""
    changed = {name: 0.1 for name in ("dropout", "token_dropout") if name in values}
    if "member" in values:
        changed["member"] = with_dropout(values["member"])
    return {**values, **changed}


def settings(number: int, config: Any) -> list[str]:
    model = with_dropout(config.model_dump(mode="json"))
    average = {"kind": "last", "count": 2, "every": 2} if number % 2 else {"kind": "ema"}
    chosen = {
        "model": model,
        "tokenizer.vocabulary": 400,
        "tokenizer.sampling": 0.1,
        "batch.tokens": 256,
        "training.accumulate": 2,
        "training.processes": 2,
        "training.average": {"decay": 0.9, "count": 2, "every": 2, **average},
        "training.optimizer.kind": "muon" if number % 3 == 0 else "adamw",
        "training.dropout_start": 0.5,
        "training.dropout_ramp_epochs": 2,
        "training.validate_every": 4,
        "training.validation_lines": 8,
    }
    return [part for name, value in chosen.items() for part in ("--set", _setting(name, value))]


def _setting(name: str, value: Any) -> str:
    return f"{name}={value if isinstance(value, str) else json.dumps(value)}"


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def tensors(path: Path) -> str:
    """The same for the same tensors, whatever their names and order."""
    found = load_file(path)
    return digest(
        *sorted(digest(str(t.shape).encode(), t.tobytes()).encode() for t in found.values())
    )


def said(*arguments: str, output: Path) -> str:
    """The hash of what a command writes, or how it ended without writing anything."""
    output.unlink(missing_ok=True)
    try:
        with redirect_stderr(io.StringIO()):
            code = regard([*arguments, "--output", str(output)])
    except Exception as error:
        return f"{type(error).__name__}"
    return digest(output.read_bytes()) if code == 0 else f"exit {code}"


def hashes(number: int, config: Any, corpus: Path, folder: Path) -> dict[str, str]:
    run, test = folder / "run", [str(corpus / f"test.{side}") for side in ("en", "de")]
    reads = config.reads_source
    tree = ["--source-heads"] if config.reads_trees else []
    files = [
        part
        for prefix, name in (("", "train"), ("valid-", "valid"))
        for option, side in (("source", "en"), ("target", "de"), ("source-heads", "heads"))
        if (option == "target" or reads) and (option != "source-heads" or tree)
        for part in (f"--{prefix}{option}", str(corpus / f"{name}.{side}"))
    ]
    recipe = "tiny" if reads else "language"
    with redirect_stderr(io.StringIO()) as errors:
        budget = ["--steps", str(STEPS), "--quiet"]
        code = regard(
            ["train", recipe, "--run", str(run), *budget, *files, *settings(number, config)]
        )
    if code:
        raise SystemExit(f"{config.kind}: {errors.getvalue()}")
    checkpoint = run / "checkpoints" / f"step-{STEPS}"
    found = {
        name: tensors(checkpoint / f"{name}.safetensors")
        for name in ("weights", "average", "optimizer")
    }
    given = [*tree, str(corpus / "test.heads")] if tree else []
    output = folder / "output"
    translate = ["translate", str(run), "--input", test[0], "--workers", "1", *given]
    found["beam"] = said(*translate, "--beam", "3", "--best", "2", output=output)
    found["greedy"] = said(*translate, "--beam", "1", output=output)
    found["sample"] = said(*translate, "--sample", "--seed", "3", "--best", "2", output=output)
    found["int8"] = said(*translate, "--beam", "1", "--int8", output=output)
    found["shortlist"] = said(*translate, "--beam", "2", "--shortlist", "5", output=output)
    pairs = [part for side in zip(BOTH, test, strict=True) for part in side][0 if reads else 2 :]
    found["score"] = said("score", str(run), *pairs, *given, output=output)
    if reads:
        found["align"] = said("align", str(run), *pairs, *given, output=output)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus"
        regard(["corpus", "grammar", "--output", str(corpus), "--pairs", str(PAIRS)])
        for path in (*corpus.glob("test.*"), *corpus.glob("valid.*")):
            path.write_text("".join(path.open().readlines()[:LINES]))
        for number, (title, config) in enumerate(miniatures()):
            if options.only and title not in options.only:
                continue
            folder = Path(name) / title
            folder.mkdir()
            found[title] = hashes(number, config, corpus, folder)
            print(title, *(f"{key}={value}" for key, value in found[title].items()), flush=True)
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    if options.compare:
        compare(json.loads(options.compare.read_text()), found)


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> None:
    differing = [
        f"{title} {key}: was {before[title][key]}, now {value}"
        for title, values in after.items()
        for key, value in values.items()
        if title in before and before[title].get(key, value) != value
    ]
    same = sum(len(values) for title, values in after.items() if title in before)
    print("\n".join(differing) or f"All {same} hashes are the same.")
    raise SystemExit(bool(differing))


if __name__ == "__main__":
    main()

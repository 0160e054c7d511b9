"""docs/api.md: the signatures are those of the code, and the examples run."""

from __future__ import annotations

import gzip
import inspect
import re
from pathlib import Path
from socket import socket
from typing import Optional

import pytest
from fences import DOCS
from test_commands import run_python

import regard
from regard import Parallel
from regard.corpora import grammar
from regard.serving.server import Server

SECTIONS = re.findall(
    r"^## `(\w+)`\n\n```python\n(.*?)^```$(.*?)(?=^## |\Z)",
    (DOCS / "api.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)
"""Name, signature and the rest of each section."""

ABSTRACT = ("RegardError", "UsageError")
"""Errors that take a message, as all of them do."""


def shown_parameters(signature: str) -> list[str]:
    """The names before a colon, an equals sign, a comma or the end, at the top level."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    flat = re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", inside)).replace("(...)", "")
    parts = [re.split(r"[:=]", part)[0].strip() for part in flat.split(",")]
    return [part for part in parts if part.isidentifier()]


def test_every_section_has_a_signature_and_an_example() -> None:
    assert sorted(name for name, _, _ in SECTIONS) == sorted(regard.__all__)
    assert all("```python" in rest for _, _, rest in SECTIONS)


@pytest.mark.parametrize(
    ("name", "signature"), [(n, s) for n, s, _ in SECTIONS if n not in ABSTRACT]
)
def test_signatures(name: str, signature: str) -> None:
    assert signature.startswith(f"{name}(")
    assert shown_parameters(signature) == list(inspect.signature(getattr(regard, name)).parameters)


start = Server.startup


async def start_and_stop(server: Server, sockets: Optional[list[socket]] = None) -> None:
    """A server that would otherwise run for ever."""
    await start(server, sockets)
    assert server.started
    server.stop()


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_timings: None
) -> None:
    monkeypatch.chdir(tmp_path)
    grammar.write(grammar.generate(300), tmp_path)
    for name in ("valid", "test"):
        for side in ("en", "de"):
            lines = (tmp_path / f"{name}.{side}").read_text(encoding="utf-8").splitlines()[:6]
            (tmp_path / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "train.tsv.gz").write_bytes(gzip.compress(b"One.\tEins.\n"))
    data, small = Parallel("train.en", "train.de"), ["tokenizer.vocabulary=400", "model.width=16"]
    small.append("model.layers=1")
    backward, german = Parallel("train.de", "train.en"), Parallel(target="train.de")
    regard.train("tiny", backward, run="runs/de-en", steps=2, settings=small, quiet=True)
    regard.train("language", german, run="runs/german", steps=2, settings=small, quiet=True)
    for name, settings in (
        ("en-de", ["training.seed=1"]),
        ("a", ["training.seed=2"]),
        ("b", ["training.seed=3"]),
        ("syntax", ["model.position=syntax"]),
    ):
        trees = "train.trees" if name == "syntax" else None
        regard.train(
            "tiny",
            Parallel(data.source, data.target, trees=trees),
            run=f"runs/{name}",
            tokenizer="runs/a" if name == "b" else None,  # so that they can be averaged
            steps=2,
            settings=[*small, *settings],
            quiet=True,
        )
    examples = [
        text for _, _, rest in SECTIONS for text in re.findall(r"```python\n(.*?)```", rest, re.S)
    ]
    monkeypatch.setattr(Server, "startup", start_and_stop)
    run_python("\n".join(examples))
    assert (tmp_path / "look.html").exists()
    assert (tmp_path / "ladders" / "en-de" / "ladder.md").exists()

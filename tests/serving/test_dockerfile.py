"""The Dockerfile, as far as it can be checked without building it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from clients import Client
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from pip._internal.commands import create_command

from regard.cli import app
from regard.serving.limits import Limits

ROOT = Path(__file__).parent.parent.parent


def instructions() -> list[tuple[str, str]]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined)]


STEPS = instructions()
LAST_STAGE = STEPS[max(n for n, (name, _) in enumerate(STEPS) if name == "FROM") :]
FINAL = dict(LAST_STAGE)
"""What the image itself says; an instruction given twice counts the last time, as in Docker."""


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file from being sent; the last rule that matches decides."""
    parts = path.split("/")
    parents = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    verdict = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kept, pattern = line.startswith("!"), line.removeprefix("!")
        translated = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if any(re.fullmatch(translated, each) for each in parents):
            verdict = not kept
    return verdict


def test_what_is_copied_exists_and_is_sent() -> None:
    copied = [shlex.split(rest)[:-1] for name, rest in STEPS if name == "COPY"]
    sources = [path for each in copied if not each[0].startswith("--from") for path in each]
    assert "regard" in sources
    for path in sources:
        assert (ROOT / path).exists(), path
        assert not ignored(path), path
    package = [path for path in (ROOT / "regard").rglob("*") if path.is_file()]
    for each in package:
        assert ignored(str(each.relative_to(ROOT))) == (each.suffix == ".pyc"), each


@pytest.mark.parametrize("path", [".git/config", ".venv/bin/python", "runs/en-de/config.json"])
def test_nothing_else_is_sent(path: str) -> None:
    assert ignored(path)


def test_stages_are_those_that_exist() -> None:
    images = [rest.split() for name, rest in STEPS if name == "FROM"]
    stages = {words[2] for words in images if len(words) == 3}
    used = re.findall(r"--from=(\w+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert used
    assert set(used) <= stages
    versions = {re.fullmatch(r"python:([\d.]+)-slim-\w+", words[0])[1] for words in images}  # type: ignore[index]
    (version,) = versions  # an environment can only be copied to the Python that made it
    assert version in SpecifierSet(metadata.metadata("regard")["Requires-Python"])


def pip_commands() -> list[list[str]]:
    commands = [part for name, rest in STEPS if name == "RUN" for part in rest.split("&&")]
    return [words[1:] for words in map(shlex.split, commands) if words[0] == "pip"]


def test_pip_understands_its_commands() -> None:
    assert len(pip_commands()) == 4
    for verb, *arguments in pip_commands():
        options, names = create_command(verb).parse_args(arguments)
        assert names
        files = (options.constraints or []) + (options.build_constraints or [])
        assert set(files) == {"constraints.txt"}


def test_everything_that_is_installed_has_a_pinned_version() -> None:
    pinned = {
        canonical(Requirement(line).name)
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    }
    (wanted,) = {
        Requirement(f"regard{word[1:]}")
        for words in pip_commands()
        for word in words
        if "[" in word
    }
    assert wanted.extras <= set(metadata.metadata("regard").get_all("Provides-Extra") or ())
    assert {"serve", "files"} <= wanted.extras
    waiting, seen = [wanted], set()
    while waiting:
        current = waiting.pop()
        seen.add(canonical(current.name))
        for need in map(Requirement, metadata.requires(current.name) or ()):
            extras = ("", *current.extras)
            if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras):
                waiting += [need] if canonical(need.name) not in seen else []
    assert seen - pinned == {"regard"}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_command_is_one_of_regard() -> None:
    program, verb, *arguments = json.loads(FINAL["ENTRYPOINT"])
    assert (program, verb) == ("regard", "serve")
    serve: Any = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    given = serve.make_context("serve", [*arguments, "en-de", "--behind-proxy"]).params
    assert (given["host"], given["port"]) == ("0.0.0.0", int(FINAL["EXPOSE"]))
    assert json.loads(FINAL["CMD"]) == ["--help"]


def test_the_server_is_not_root_and_has_time_to_stop() -> None:
    assert int(FINAL["USER"]) > 0
    assert FINAL["STOPSIGNAL"] == "SIGTERM"
    assert FINAL["WORKDIR"] == FINAL["VOLUME"] == "/runs"
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "docs/deploy.md")]
    limits = Limits()
    for page in pages:
        seconds = re.findall(r"(?:--stop-timeout |stop_grace_period: )(\d+)", page)
        assert seconds
        assert min(map(int, seconds)) > limits.drain + limits.deadline + 1


def test_the_health_check_asks_the_server(client: Client) -> None:
    _, _, command = FINAL["HEALTHCHECK"].partition("CMD ")
    program, *arguments = json.loads(command)
    assert program == "python"
    (path,) = re.findall(r"127\.0\.0\.1:5000(/\w+)", command)
    assert path in client.get("/spec").json["paths"]
    for port, code in ((client.port, 0), (1, 1)):
        asked = [each.replace(":5000/", f":{port}/") for each in arguments]
        done = subprocess.run([sys.executable, *asked], capture_output=True)
        assert done.returncode == code, done.stderr

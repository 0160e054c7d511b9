"""The wheel is complete, and works where nothing but its dependencies is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from toy import write_corpus

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make wheel` does, but from a copy and with the setuptools that is installed."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "regard", folder / "regard", ignore=shutil.ignore_patterns("*.pyc"))
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", "dist", ".", cwd=folder)
    (found,) = (folder / "dist").iterdir()
    return found


def pip(*arguments: str, cwd: Path) -> None:
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Environment:
    """A virtual environment with a wheel in it, and links to what the wheel requires."""

    def __init__(self, folder: Path, wheel: Path, *extras: str) -> None:
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        self.bin, self.empty = folder / "venv" / "bin", folder / "empty"
        self.empty.mkdir()
        self.site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder / "venv")}))
        python = str(self.bin / "python")
        pip("--python", python, "install", "--no-deps", "--no-index", str(wheel), cwd=folder)
        (information,) = self.site.glob("regard-*.dist-info")
        for each in required(metadata.Distribution.at(information), extras):
            link(each, self.site)

    @property
    def variables(self) -> dict[str, str]:
        hidden = ("PYTHONPATH", "VIRTUAL_ENV")
        return {name: value for name, value in os.environ.items() if name not in hidden}

    def run(self, *arguments: str, code: int = 0, given: str = "") -> str:
        done = subprocess.run(
            [str(self.bin / "regard"), *arguments],
            cwd=self.empty,
            env=self.variables,
            input=given,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr


def required(
    distribution: metadata.Distribution, extras: Iterable[str]
) -> list[metadata.Distribution]:
    """What a distribution requires with some extras, and what that requires, and so on."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(distribution, frozenset(extras))]
    seen = set()
    while waiting:
        current, wanted = waiting.pop()
        for text in current.requires or ():
            need = Requirement(text)
            applies = need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in ("", *wanted)
            )
            if applies and (need.name, frozenset(need.extras)) not in seen:
                seen.add((need.name, frozenset(need.extras)))
                found[need.name] = metadata.distribution(need.name)
                waiting.append((found[need.name], frozenset(need.extras)))
    return list(found.values())


def link(distribution: metadata.Distribution, folder: Path) -> None:
    assert distribution.files is not None
    for top in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> tuple[Environment, Path]:
    """An environment without extras, and what was trained in it."""
    environment = Environment(tmp_path_factory.mktemp("plain"), wheel)
    corpus = write_corpus(environment.empty, pairs=40)
    training = f"tiny --source {corpus['source']} --target {corpus['target']} --steps 3"
    small = ("tokenizer.kind=word", "model.layers=1", "model.width=16", "training.processes=1")
    settings = [part for each in small for part in ("--set", each)]
    languages = ("--source-language", "en", "--target-language", "de")
    environment.run("train", *training.split(), "--run", "run", *settings, *languages)
    return environment, environment.empty / "run"


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {path for path in (ROOT / "regard").rglob("*") if path.is_file()}
    ours = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert names == ours
    assert any(name.endswith(".html") for name in names)


def test_it_trains_translates_and_looks_without_extras(run: tuple[Environment, Path]) -> None:
    environment, folder = run
    assert environment.run("--version") == f"regard {metadata.version('regard')}\n"
    translated = environment.run("translate", str(folder), given="ant bee\ncat\n")
    assert len(translated.splitlines()) == 2
    environment.run("look", str(folder), "ant bee", "--output", "look.html")
    style = ROOT / "regard" / "inspection" / "static" / "look.css"
    page = (environment.empty / "look.html").read_text(encoding="utf-8")
    assert style.read_text(encoding="utf-8") in page
    refused = environment.run("serve", str(folder), code=1)
    assert "pip install 'regard[serve]'" in refused


SHORT_DEMO = """
from pathlib import Path
from regard import demo
demo.PAIRS, demo.STEPS = 400, 5
demo.SETTINGS += ("tokenizer.vocabulary=400", "model.width=16", "training.processes=1")
demo.run_demo(Path("demo"))
"""


def test_its_demo_runs_without_extras(run: tuple[Environment, Path]) -> None:
    """The whole of `regard demo`, with less of everything."""
    environment, _ = run
    command = [str(environment.bin / "python"), "-c", SHORT_DEMO]
    done = subprocess.run(
        command, cwd=environment.empty, env=environment.variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "correct pronoun" in done.stdout
    (suggested,) = re.findall(r"^  (\S+) info (\S+)$", done.stdout, flags=re.MULTILINE)
    assert Path(suggested[0]) == environment.bin / "regard"
    assert "transformer" in environment.run("info", suggested[1])


def test_it_serves_with_the_extras(
    run: tuple[Environment, Path], wheel: Path, tmp_path: Path
) -> None:
    environment = Environment(tmp_path, wheel, "serve", "files")
    command = [str(environment.bin / "regard"), "serve", str(run[1]), "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=environment.empty,
        env=environment.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://\S+/", line)))
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"<textarea" in page.read()
        fields = b"q=ant+bee&source=en&target=de"
        with urllib.request.urlopen(f"{address}translate", fields, timeout=60) as answer:
            assert "translatedText" in json.load(answer)
    finally:
        process.terminate()
        assert process.wait(60) == 0

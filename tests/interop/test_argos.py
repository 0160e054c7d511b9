"""Argos Translate itself loads an exported package, where it is installed.

It needs an environment of its own, since it pins versions of other packages: ARGOS_PYTHON names the
Python of one. Elsewhere `test_exporting.py` checks the layout of the package.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import regard
from regard.data.languages import Languages
from regard.runs.folder import Run

PYTHON = os.environ.get("ARGOS_PYTHON")

SCRIPT = """
import json, sys
from argostranslate import package, translate

class Whole:
    def split_sentences(self, text):
        return [text]

package.install_from_path(sys.argv[1])
found = translate.get_translation_from_codes("en", "de")
found.underlying.sentencizer = Whole()  # its own is a model that it downloads
print(json.dumps([found.translate(line) for line in json.load(sys.stdin)]))
"""


@pytest.mark.skipif(PYTHON is None, reason="ARGOS_PYTHON names no Python with argostranslate")
def test_argos_translates_as_the_run_does(post: Run, tmp_path: Path, test_lines: list[str]) -> None:
    model, lines = tmp_path / "en-de.argosmodel", test_lines[:20]
    regard.export(post.path, model, to="argos", languages=Languages("en", "de"), say=lambda _: None)
    own = {"HOME": str(tmp_path), "ARGOS_PACKAGES_DIR": str(tmp_path / "packages")}
    found = subprocess.run(
        [str(PYTHON), "-c", SCRIPT, str(model)],
        input=json.dumps(lines),
        env={**os.environ, **own, "PYTHONPATH": "", "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    ours = regard.load(post.path)
    ours.search = post.config.search.changed(beam=4, length_penalty=0.2)
    assert json.loads(found.stdout.splitlines()[-1]) == ours(lines)

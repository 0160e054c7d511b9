"""The scripts for Slurm and the manifests for Kubernetes: they are what their pages say, ask for
what exists, and train with commands that can be parsed. tests/cluster runs them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fences import DOCS, ROOT
from test_pages import VERBS

from regard.config import override
from regard.recipes import find_recipe

SCRIPTS = sorted((ROOT / "packaging" / "slurm").glob("*.sbatch"))
MANIFESTS = sorted((ROOT / "packaging" / "kubernetes").glob("*.yaml"))
SCHEMA = "1.37"

DIRECTIVES = {
    "job-name", "nodes", "ntasks", "ntasks-per-node", "gpus-per-node", "cpus-per-task", "mem",
    "time", "signal", "requeue", "open-mode", "output", "array",
}  # fmt: skip


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def container(path: Path) -> dict[str, Any]:
    (job,) = (each for each in documents(path) if each["kind"] == "Job")
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return dict(found)


def training(words: list[str]) -> dict[str, Any]:
    """The parameters of the `regard train` at the end of a command."""
    start = words.index("train")
    assert words[start - 1] in ("regard", "regard.cli")
    context = VERBS["train"].make_context("train", words[start + 1 :])
    return dict(context.params)


@pytest.mark.parametrize(
    ("page", "files"), [("slurm.md", SCRIPTS), ("kubernetes.md", MANIFESTS)], ids=str
)
def test_a_page_describes_every_file(page: str, files: list[Path]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+\.\w+)` \|", text, flags=re.MULTILINE)) == {
        each.name for each in files
    }
    named = re.findall(r"packaging/(?:slurm|kubernetes)/[\w.-]+", text)
    assert all((ROOT / each.rstrip(".")).exists() for each in named)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_one_that_bash_and_slurm_can_read(path: Path) -> None:
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True).returncode == 0
    text = path.read_text(encoding="utf-8")
    asked = re.findall(r"^#SBATCH --([a-z-]+)", text, flags=re.MULTILINE)
    assert set(asked) <= DIRECTIVES
    assert {"time", "signal", "requeue", "output"} <= set(asked)
    assert "B:USR1@" in text
    assert "' USR1\n" in text


def test_the_page_of_slurm_shows_commands_that_train() -> None:
    text = (DOCS / "slurm.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("sbatch packaging/slurm/")]
    assert len(lines) == len(SCRIPTS)
    for line in lines:
        _, script, *words = shlex.split(line)
        if "seeds" in script:
            words = [*words[1:], "--run", f"{words[0]}/seed-1", "--seed", "1"]
        given = VERBS["train"].make_context("train", [*words, "--device", "cuda"]).params
        assert find_recipe(given["recipe"])
        assert given["run"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_fits_the_schema(path: Path) -> None:
    for document in documents(path):
        kubernetes_validate.validate(document, SCHEMA, strict=True)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_trains(path: Path) -> None:
    found = container(path)
    command = found["command"]
    if command[0] == "sh":
        command = shlex.split(command[2].replace("$JOB_COMPLETION_INDEX", "3"))
    given = training(command)
    assert override(find_recipe(given["recipe"]), given["settings"] or ())
    mounts = {each["mountPath"]: each for each in found["volumeMounts"]}
    assert all(str(each).startswith("/data/") for each in given["source"] + given["target"])
    assert str(given["run"]).startswith("/runs/")
    assert not mounts["/runs"].get("readOnly")
    gpus = found["resources"]["limits"]["nvidia.com/gpu"]
    asked = re.search(r"--nproc-per-node=(\d+)", " ".join(command))
    assert gpus == (1 if asked is None else int(asked[1]))


def test_the_pods_of_several_nodes_meet_at_the_first() -> None:
    service, job = documents(ROOT / "packaging" / "kubernetes" / "several-nodes.yaml")
    name, spec = job["metadata"]["name"], job["spec"]
    command = " ".join(
        container(ROOT / "packaging" / "kubernetes" / "several-nodes.yaml")["command"]
    )
    pod = spec["template"]["spec"]
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"job-name": name}
    assert f"--rdzv-endpoint={name}-0.{pod['subdomain']}:" in command
    assert f"--nnodes={spec['completions']} " in command
    assert spec["completions"] == spec["parallelism"]
    assert spec["completionMode"] == "Indexed"

"""Every verb that computes, on a pretended device and on the CPU: the same results.

python tests/device/verbs.py FOLDER
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pretend  # before regard: it replaces torch.inference_mode

sys.path.insert(0, str(Path(__file__).parent.parent))
from toy import SMALL, write_corpus, write_lines

from regard.cli import main
from regard.processes import devices
from regard.runs.folder import Run

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
ROUNDED = 2e-4

SHORT = ("--steps", "3", *(part for each in SMALL for part in ("--set", each)))


def train(folder: Path, corpus: dict[str, Path]) -> None:
    files = {name: str(path) for name, path in corpus.items()}
    sides = files["source"], files["target"]
    for name, (source, target) in {"run": sides, "reverse": sides[::-1]}.items():
        ask = ["train", "tiny", "--source", source, "--target", target, "--run", str(folder / name)]
        assert main([*ask, *SHORT, "--device", "pretend"]) == 0
        facts = Run.open(folder / name).facts("device")
        assert facts == {"device": "pretend"}


def commands(folder: Path, corpus: dict[str, Path]) -> dict[str, list[str]]:
    """What each verb is asked for; OUTPUT is a file or folder of its own."""
    run, reverse = str(folder / "run"), str(folder / "reverse")
    source, target = str(corpus["valid_source"]), str(corpus["valid_target"])
    pairs = ["--source", source, "--target", target]
    prefixes = write_lines(folder / "prefixes", ("ANT" for _ in range(20)))
    translate = ["translate", run, "--input", source]
    ladder = ["ladder", "tiny", *pairs, "--test-source", source, "--test-target", target]
    return {
        "translate": translate,
        "best": [*translate, "--best", "2"],
        "prefix": [*translate, "--prefix", str(prefixes)],
        "sample": [*translate, "--sample", "--seed", "1"],
        "judged": [*translate, "--best", "2", "--judge", f"channel={reverse}:0.5"],
        "score": ["score", run, *pairs],
        "evaluate": ["evaluate", run, *pairs],
        "compare": ["compare", run, run, *pairs],
        "align": ["align", run, *pairs],
        "look": ["look", run, "ant bee cat", "--output", "OUTPUT.html"],
        "judge": ["judge", run, "--judge", f"channel={reverse}", *pairs],
        "distill": ["distill", run, "--source", source, "--output", "OUTPUT"],
        "augment": ["augment", reverse, "--target", target, "--output", "OUTPUT"],
        "ladder": [*ladder, "--output", "OUTPUT", *SHORT],
    }


def use(device: str, name: str, command: Sequence[str], folder: Path) -> str:
    """What a command prints and writes."""
    output = folder / f"{name}-{device}"
    given = [each.replace("OUTPUT", str(output)) for each in command]
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(printed):
        code = main([*given, "--device", device])
    printed.seek(0)
    assert code == 0, (name, device)
    files = [output, output.with_suffix(".html")]
    written = [each.read_text() for each in files if each.is_file()]
    return "\n".join([printed.read(), *written]).replace(str(output), "OUTPUT")


def check_equal(name: str, found: str, expected: str) -> None:
    """But for the last digit that is written of a number."""
    assert NUMBER.split(found) == NUMBER.split(expected), name
    pairs = zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True)
    apart = [(one, other) for one, other in pairs if abs(float(one) - float(other)) > ROUNDED]
    assert not apart, (name, apart)


def main_of_script(folder: Path) -> None:
    corpus = write_corpus(folder / "corpus")
    devices.AVAILABLE["pretend"] = lambda: True
    with pretend.Pretending():
        train(folder, corpus)
        for name, command in commands(folder, corpus).items():
            print(name, flush=True)
            found = use("pretend", name, command, folder)
            if name != "ladder":  # its times differ
                check_equal(name, found, use("cpu", name, command, folder))


if __name__ == "__main__":
    main_of_script(Path(sys.argv[1]))

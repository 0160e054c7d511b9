"""NaN and infinity in the output of a random module at a random step, over every architecture: the
module is named, its step is left out, and nothing that is saved holds such a value."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Optional

import safetensors.torch
from torch import Tensor, nn
from toy import journal, tensors

from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.children import in_child
from faults.subjects import IN_TURN, Miniature, small_corpus, without_drawing
from regard.data.store import by_length
from regard.models.base import Model
from regard.runs import train as training
from regard.runs.folder import Run
from regard.runs.load import build_model

STEPS = 6
VALUES = {"NaN": float("nan"), "infinity": float("inf"), "-infinity": float("-inf")}
WEIGHTS = (4, 1, 1)


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = small_corpus(folder)

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        member = IN_TURN[number % len(IN_TURN)]
        return _attempt(Miniature.of(*member, corpus, inner), draw, inner)

    yield attempt


def _attempt(subject: Miniature, draw: random.Random, inner: Path) -> Counts:
    name, step = draw.choice(modules(subject, inner)), draw.randint(1, STEPS)
    return spoil(subject, name, step, draw.choices(list(VALUES), WEIGHTS)[0], inner)


def modules(subject: Miniature, inner: Path) -> list[str]:
    """The modules whose output can be spoiled."""
    listed = inner / "modules"

    def list_modules() -> None:
        subject.train(inner / "short", 1)
        listed.write_text(json.dumps(_modules(Run.open(inner / "short"))))

    ended = in_child(list_modules)
    assert ended.code == 0, ended.said
    found: list[str] = json.loads(listed.read_text())
    return found


def spoil(subject: Miniature, name: str, step: int, kind: str, inner: Path) -> Counts:
    """Train with a wrong output of a module at a step, and look at what came of it."""
    run = inner / "run"

    def spoiled() -> None:
        training.build_model = partial(_spoiled, name, step, VALUES[kind])
        subject.train(run, STEPS)

    ended = in_child(spoiled)
    what = f"{subject.name}: {kind} in {name} at step {step}"
    assert ended.code == 0, f"{what}\n{ended.said}"
    found = [each for each in journal(run) if each["event"] == "not_finite"]
    expected = {"event": "not_finite", "step": step, "where": f"output of {name}"}
    assert found in ([], [expected]), f"{what}: {found}"
    _assert_finite(run)
    outcome = f"{_many(kind)} named" if found else _without_effect(kind, subject, run, what)
    return {outcome: 1, "values saved that are not finite": 0, f"module: {subject.name}, {name}": 1}


def _without_effect(kind: str, subject: Miniature, run: Path, what: str) -> str:
    """What is true of a value that was not named: its step gives the bytes of an undisturbed run,
    as where a batch has no sentence that the module reads; or a function made infinity finite."""
    whole = run.with_name("undisturbed")
    assert in_child(lambda: subject.train(whole, STEPS)).code == 0
    if tensors(run, STEPS) == tensors(whole, STEPS):
        return f"{_many(kind)} without effect, by equal bytes"
    assert kind != "NaN", f"{what}: it was not named and changed the weights"
    return "infinities made finite by the next function"  # as tanh does


def _many(kind: str) -> str:
    return "NaNs" if kind == "NaN" else "infinities"


def _modules(run: Run) -> list[str]:
    """The innermost modules that give one tensor in a training pass, on which the loss depends."""
    model = build_model(run).train()
    given = dict[str, Tensor]()

    def keep(name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad:
            output.retain_grad()
            given[name] = output

    for name, module in model.named_modules():
        if name and not [*module.children()]:
            module.register_forward_hook(partial(keep, name))
    model(next(by_length(run.store("valid"), 100))).total.backward()
    return sorted(name for name, output in given.items() if _matters(output.grad))


def _matters(grad: Optional[Tensor]) -> bool:
    """A loss that does not depend on a value has no gradient there, or one of zeros."""
    return grad is not None and bool(grad.any())


def _spoiled(name: str, step: int, value: float, run: Run, *rest: Any) -> Model:
    """The model, with a wrong output at a step and when the culprit of it is sought."""
    model = build_model(run, *rest)
    passes = 0

    def count(module: nn.Module, inputs: Any) -> None:
        nonlocal passes
        passes += model.training

    def spoil(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        wanted = model.training and passes in (step, step + 1)
        return output + value if wanted else output  # its gradient flows on as without

    model.register_forward_pre_hook(count)
    model.get_submodule(name).register_forward_hook(spoil)
    return model


def _assert_finite(run: Path) -> None:
    files = list(run.rglob("*.safetensors"))
    assert files
    for path in files:
        for name, tensor in safetensors.torch.load_file(path).items():
            assert bool(tensor.isfinite().all()), f"{path}: {name}"


NANS = Campaign(
    "nans",
    "NaN and infinity in random modules at random steps of every architecture",
    {QUICK: 4, FULL: 90},
    prepared,
    {"NaNs named": 50},
)

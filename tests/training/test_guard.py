"""What keeps a run alive: NaN is named and never saved, a batch that does not fit is split."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from toy import journal, saved_steps, tensors, train_small

from regard.data.batch import Batch
from regard.data.store import by_length
from regard.errors import RegardError
from regard.models.base import Model
from regard.runs.folder import Run
from regard.runs.load import build_model

Corpus = dict[str, Path]
Change = Callable[[Model], None]


def changed(patch: pytest.MonkeyPatch, change: Change) -> None:
    """Every model that is built from now on is changed in this way."""

    def build_changed(run: Run, *rest: Any) -> Model:
        model = build_model(run, *rest)
        change(model)
        return model

    patch.setattr("regard.runs.train.build_model", build_changed)


class Calls:
    """Counts the passes of a model in training."""

    def __init__(self, model: Model) -> None:
        self.count = 0
        model.register_forward_pre_hook(self)

    def __call__(self, model: nn.Module, arguments: Any) -> None:
        self.count += model.training


def spoil(module_name: str, step: int, value: float) -> Change:
    """The output of a module becomes NaN or infinite at a step, and when it is looked at again."""

    def change(model: Model) -> None:
        calls = Calls(model)

        def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
            if calls.count not in (step, step + 1):
                return None
            return output * value

        model.get_submodule(module_name).register_forward_hook(hook)

    return change


def parts(run: Run) -> list[str]:
    """The modules of which a training pass asks the output."""
    model = build_model(run).train()
    asked: list[str] = []
    for name, module in model.named_modules():
        if name and not [*module.children()]:
            module.register_forward_hook(lambda m, i, o, name=name: asked.append(name))
    model(next(by_length(run.store("valid"), 100)))
    assert len(asked) > 20
    return sorted(set(asked))


def assert_all_saved_is_finite(run: Path) -> None:
    files = list(run.rglob("*.safetensors"))
    assert files
    for path in files:
        for name, tensor in safetensors.torch.load_file(path).items():
            assert bool(tensor.isfinite().all()), f"{path}: {name}"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Run:
    return train_small(tmp_path_factory.mktemp("guard") / "undisturbed", corpus)


@pytest.mark.parametrize("seed", range(8))
def test_a_value_that_is_not_finite_is_named_and_its_step_left_out(
    seed: int,
    tmp_path: Path,
    corpus: Corpus,
    undisturbed: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(seed)
    name, step = draw.choice(parts(undisturbed)), draw.randint(1, 8)
    changed(monkeypatch, spoil(name, step, draw.choice([float("nan"), float("inf")])))
    train_small(tmp_path / "run", corpus, save_every=1)
    skipped = [r for r in journal(tmp_path / "run") if r["event"] == "not_finite"]
    assert skipped == [{"event": "not_finite", "step": step, "where": f"output of {name}"}]
    assert saved_steps(tmp_path / "run")[-1] == 8
    assert_all_saved_is_finite(tmp_path / "run")
    assert tensors(tmp_path / "run", 8) != tensors(undisturbed.path, 8)


def test_if_so_configured_the_run_stops_and_keeps_its_last_good_checkpoint(
    tmp_path: Path, corpus: Corpus, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = parts(undisturbed)[2]
    with monkeypatch.context() as patch:
        changed(patch, spoil(name, 6, float("nan")))
        with pytest.raises(
            RegardError, match=f"at step 6 because of a non-finite output of {name}"
        ):
            train_small(tmp_path / "run", corpus, "training.not_finite=stop", save_every=2)
    assert saved_steps(tmp_path / "run") == [2, 4]
    assert_all_saved_is_finite(tmp_path / "run")


def test_the_culprit_is_found_in_any_of_the_accumulated_batches(
    tmp_path: Path, corpus: Corpus, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At step 3 passes 7, 8 and 9 are computed; the 8th is spoiled, and so is its repetition."""
    name = parts(undisturbed)[0]

    def change(model: Model) -> None:
        calls = Calls(model)

        def hook(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
            return output * float("nan") if calls.count in (8, 11) else output

        model.get_submodule(name).register_forward_hook(hook)

    changed(monkeypatch, change)
    train_small(tmp_path / "run", corpus, "training.accumulate=3", steps=4)
    found = [r["where"] for r in journal(tmp_path / "run") if r["event"] == "not_finite"]
    assert found == [f"output of {name}"]


def test_the_culprit_is_sought_in_the_same_computation(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []

    def change(model: Model) -> None:
        def look(module: nn.Module, arguments: tuple[Batch]) -> None:
            if module.training:
                rows.append(len(arguments[0]))

        model.register_forward_pre_hook(look)
        spoil("decoder.norm", 4, float("nan"))(model)

    changed(monkeypatch, change)
    train_small(tmp_path / "run", corpus, steps=5)
    found = [r["where"] for r in journal(tmp_path / "run") if r["event"] == "not_finite"]
    assert found == ["output of decoder.norm"]
    assert rows[3] == rows[4]  # step 4, and again to find the culprit


def test_a_gradient_that_is_not_finite_is_named(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(model: Model) -> None:
        calls = Calls(model)
        name, parameter = next(iter(model.named_parameters()))
        assert name == "encoder.embedding.tokens.weight"
        parameter.register_hook(lambda g: g * float("inf") if calls.count in (3, 4) else g)

    changed(monkeypatch, change)
    train_small(tmp_path / "run", corpus)
    found = [r["where"] for r in journal(tmp_path / "run") if r["event"] == "not_finite"]
    assert found == ["gradient of encoder.embedding.tokens.weight"]
    assert_all_saved_is_finite(tmp_path / "run")


@pytest.mark.parametrize("save_every", [3, 1000])
def test_a_poisoned_weight_is_named_and_never_saved(
    save_every: int, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(model: Model) -> None:
        calls = Calls(model)

        def poison(module: nn.Module, arguments: Any) -> None:
            if calls.count == 5:
                with torch.no_grad():
                    next(model.parameters())[4, 0] = float("nan")

        model.register_forward_pre_hook(poison)

    changed(monkeypatch, change)
    with pytest.raises(RegardError, match=r"non-finite|not finite") as failed:
        train_small(tmp_path / "run", corpus, steps=40, save_every=save_every)
    kept = "the last good checkpoint is kept" in str(failed.value)
    assert kept == bool(saved_steps(tmp_path / "run"))
    wheres = {r["where"] for r in journal(tmp_path / "run") if r["event"] == "not_finite"}
    assert wheres == {"weights of encoder.embedding.tokens.weight"}
    if save_every == 3:
        assert saved_steps(tmp_path / "run") == [3]
        assert_all_saved_is_finite(tmp_path / "run")
    else:
        assert saved_steps(tmp_path / "run") == []


def test_a_memory_of_the_optimiser_that_is_not_finite_is_not_saved(
    tmp_path: Path, corpus: Corpus
) -> None:
    """The weights stay finite then: an infinite second moment only makes their updates zero."""

    def poison(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
        next(iter(optimizer.state.values()))["exp_avg_sq"].fill_(float("inf"))

    handle = register_optimizer_step_post_hook(poison)
    try:
        with pytest.raises(RegardError, match="not finite and were not saved"):
            train_small(tmp_path / "run", corpus)
    finally:
        handle.remove()
    assert saved_steps(tmp_path / "run") == []


@contextmanager
def gradients() -> Iterator[list[list[Tensor]]]:
    """The gradients that the optimiser is given at each step."""
    seen: list[list[Tensor]] = []

    def look(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
        parameters = optimizer.param_groups[0]["params"]
        seen.append([parameter.grad.clone() for parameter in parameters])

    handle = register_optimizer_step_pre_hook(look)
    try:
        yield seen
    finally:
        handle.remove()


ERRORS = [
    torch.OutOfMemoryError("out of memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    RuntimeError("could not create a primitive"),
    MemoryError(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_batch_that_does_not_fit_is_split_and_gives_the_same_gradient(
    error: Exception, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("model.dropout=0", "training.optimizer.clip=0", "training.accumulate=2")
    with gradients() as whole:
        train_small(tmp_path / "whole", corpus, *settings, steps=3)
    sizes: list[int] = []

    def change(model: Model) -> None:
        def narrow(module: nn.Module, arguments: tuple[Batch]) -> None:
            if module.training:
                if sizes and len(arguments[0]) > 3:  # the first fits, so its gradient is there
                    raise error
                sizes.append(len(arguments[0]))

        model.register_forward_pre_hook(narrow)

    changed(monkeypatch, change)
    with gradients() as split:
        train_small(tmp_path / "split", corpus, *settings, steps=3)
    assert sizes[0] > 3
    assert max(sizes[1:]) == 3
    for first, second in zip(whole[0], split[0], strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=1e-6)
    before = [r["loss"] for r in journal(tmp_path / "whole")]
    after = [r["loss"] for r in journal(tmp_path / "split")]
    assert after == pytest.approx(before, rel=1e-4)


def test_a_single_pair_that_does_not_fit_is_one_sentence(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(model: Model) -> None:
        def never(module: nn.Module, arguments: Any) -> None:
            raise torch.OutOfMemoryError("out of memory")

        model.register_forward_pre_hook(never)

    changed(monkeypatch, change)
    with pytest.raises(RegardError, match=r"lower batch\.max_length"):
        train_small(tmp_path / "run", corpus)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_validation_that_does_not_fit_is_one_sentence_and_costs_nothing(
    error: Exception,
    tmp_path: Path,
    corpus: Corpus,
    undisturbed: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: Any) -> float:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("regard.runs.validate.quick_score", fail)
        with pytest.raises(RegardError, match="for the validation of step 8") as said:
            train_small(tmp_path / "run", corpus)
    assert said.value.exit_code == 1
    assert saved_steps(tmp_path / "run") == [8]
    train_small(tmp_path / "run", corpus)
    assert tensors(tmp_path / "run", 8) == tensors(undisturbed.path, 8)
    assert journal(tmp_path / "run") == journal(undisturbed.path)


def test_an_error_that_is_not_lack_of_memory_is_not_hidden(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(model: Model) -> None:
        def wrong(module: nn.Module, arguments: Any) -> None:
            raise RuntimeError("a bug")

        model.register_forward_pre_hook(wrong)

    changed(monkeypatch, change)
    with pytest.raises(RuntimeError, match="a bug"):
        train_small(tmp_path / "run", corpus)


def test_a_step_that_is_left_out_leaves_no_statistics_behind(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(monkeypatch, spoil("decoder.layers.0.feed_forward", 3, float("nan")))
    run = tmp_path / "run"
    train_small(run, corpus, "model.normalisation=batch", steps=3, save_every=1)
    second, third = (
        safetensors.torch.load_file(run / f"checkpoints/step-{step}/weights.safetensors")
        for step in (2, 3)
    )
    means = [name for name in second if name.endswith((".mean", ".variance"))]
    assert len(means) > 4
    for name in means:
        assert torch.equal(second[name], third[name]), name

"""Train variants one after the other, measure each and write one table; resume after
interruptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

from pydantic import TypeAdapter

from regard.config import check
from regard.data.annotations import DependencyTree
from regard.data.corpus import Pairs, Task
from regard.data.doctor import examine, refuse_swapped
from regard.data.line import Line
from regard.data.parallel import NO_FILES, Parallel, PathLike, check_parallel, paths_of
from regard.data.tokenizer import TokenizerSettings
from regard.errors import Interrupted, RegardError, UsageError
from regard.files import write_json
from regard.ladders.measure import Measurement, TestSet, fingerprint, measure
from regard.ladders.report import VariantResult, write_report
from regard.ladders.variants import ROWS, Variant, read_variants
from regard.messages import counted
from regard.metrics.table import WRITTEN, Writes
from regard.metrics.text import TextMetrics
from regard.processes.limit import worker_count
from regard.recipes.config import Budget, Config
from regard.runs.folder import Run
from regard.runs.identity import check_same_config
from regard.runs.languages import metrics_of
from regard.runs.train import train

PLAIN = TextMetrics()


def ladder(
    variants: Sequence[str] = (),
    data: Optional[Parallel] = None,
    *,
    output: PathLike,
    valid: Optional[Parallel] = None,
    test: Optional[Parallel] = None,
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    settings: Sequence[str] = (),
    metrics: TextMetrics = PLAIN,
    quiet: bool = False,
    say: Callable[[str], None] = print,
) -> list[VariantResult]:
    """Train recipes one after the other and write one table and one picture of them.

    A variant is `RECIPE` or `NAME=RECIPE:path=value,path=value`; without any, the default recipes
    are taken. The same call again trains and measures only what is not done yet. Trees are given to
    those variants that read them. A variant whose training fails is not measured.
    """
    budget = budget_of(steps, epochs, minutes)
    given = (data or NO_FILES, valid or NO_FILES, test or NO_FILES)
    asked = Ladder(read_variants(variants), Path(output), *given, budget, tuple(settings), metrics)
    return run_ladder(asked, quiet, say)


def budget_of(steps: Optional[int], epochs: Optional[float], minutes: Optional[float]) -> Budget:
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    given = {name: value for name, value in budget.items() if value is not None}
    if len(given) != 1:
        raise UsageError("Give one budget for all variants: --minutes, --epochs or --steps.")
    return check(Budget, given, options=True)


def run_ladder(ladder: Ladder, quiet: bool, say: Callable[[str], None]) -> list[VariantResult]:
    """Train and measure the variants that are not done yet; write the table after each."""
    check_parallel(ladder.data, ladder.valid, ladder.test)
    ladder.check()
    test_set = ladder.test_set(say)
    results: list[VariantResult] = []
    for number, variant in enumerate(ladder.variants, 1):
        say(f"{number} of {len(ladder.variants)}: {variant.name}")
        try:
            run = ladder.train(variant, quiet)
        except (UsageError, Interrupted):
            raise
        except RegardError as problem:
            say(f"Variant {variant.name}: {problem}")
            results.append(VariantResult(variant, None, str(problem)))
        else:
            test_set = test_set or ladder.held_out(run)
            measured = ladder.measurement(variant, run, test_set.read_by(run), say)
            results.append(VariantResult(variant, measured))
        write_report(ladder.output, results, ladder.notes(results, test_set))
    return results


@dataclass(frozen=True)
class Ladder:
    """What is trained, on what, for how long, and the folder that keeps it all."""

    variants: tuple[Variant, ...]
    output: Path
    data: Parallel
    valid: Parallel
    test: Parallel
    budget: Budget
    settings: tuple[str, ...]
    metrics: TextMetrics
    workers: Optional[int] = None  # that translate when a variant is measured

    def check(self) -> None:
        """Refuse what cannot be right before anything is trained."""
        worker_count(self.workers)
        every = [
            *self.settings,
            *(setting for variant in self.variants for setting in variant.settings),
        ]
        if any(setting.strip().startswith("budget.") for setting in every):
            raise UsageError(
                "All variants have one budget: give --minutes, --epochs or --steps instead."
            )
        configs = {variant.name: variant.config(self.settings) for variant in self.variants}
        for name, config in configs.items():
            if not config.reads_source:
                raise UsageError(
                    f"{name} is a language model and translates nothing: leave it out."
                )
        if any(config.writes == "text" for config in configs.values()):
            self.metrics.for_language(self.data.languages[1])
        self._check_writes(configs)
        seeds = {config.training.seed for config in configs.values()}
        if len(seeds) > 1 and not (self.valid or self.test):
            raise UsageError(
                "Variants of different seeds would hold out different pairs: give files to measure "
                "on, such as --test-source and --test-target."
            )
        self._check_folders(configs)
        self.data.open("")
        if self.valid:
            self.valid.open("valid-")
        self._check_annotations(configs)

    def _check_writes(self, configs: Mapping[str, Config]) -> None:
        """Variants that write different things have no score in common."""
        first, *others = configs.items()
        for name, config in others:
            if config.writes != first[1].writes:
                raise UsageError(
                    f"{name} writes {WRITTEN[config.writes]}, but {first[0]} writes "
                    f"{WRITTEN[first[1].writes]}: leave one of them out."
                )

    @property
    def writes(self) -> Writes:
        return self.variants[0].config(self.settings).writes

    @property
    def metric(self) -> str:
        """The one of the first variant, for all, so that they can be compared."""
        return self.variants[0].config(self.settings).metric

    def _check_folders(self, configs: Mapping[str, Config]) -> None:
        if self.output.exists() and not self.output.is_dir():
            raise UsageError(f"{self.output} is a file: choose a folder for the ladder.")
        for name, config in configs.items():
            folder = self.output / name
            if Run.exists(folder):
                asked = config.changed(budget=self.budget)
                check_same_config(Run.open(folder), asked, "another name for the variant")
            else:
                Run.check_free(folder)

    def _check_annotations(self, configs: Mapping[str, Config]) -> None:
        """Read all annotations, numbers and pictures once: the first variants may read none,
        and not find errors."""
        parts = {"": self.data, "valid-": self.valid, "test-": self.test}
        given = {part: data for part, data in parts.items() if data}
        for name, config in configs.items():
            for kind in config.annotations:
                if kind.option is None:
                    continue
                missing = [
                    f"--{part}{kind.option}"
                    for part, data in given.items()
                    if kind.option is not None
                    and kind not in data.annotations
                    and not (part and kind.reads_target)
                ]
                if missing:
                    raise UsageError(
                        f"{name} reads {kind.description}: give {' and '.join(missing)}."
                    )
        if any(data.annotations for data in given.values()) or self.writes != "text":
            for part, data in given.items():
                data.open(part, Task(writes=self.writes)).check()
        for config in configs.values():
            if not config.reads_text:
                for part, data in given.items():
                    config.pairs_of(data.only(config.annotations), part).check()

    def test_set(self, say: Callable[[str], None]) -> Optional[TestSet]:
        """What all variants are measured on; None if it will be held out of the training data."""
        chosen, part, remark = self.test, "test-", "."
        if not self.test:
            chosen, part, remark = self.valid, "valid-", f", the validation data: {WHY_NOT_TEST}"
        if not chosen:
            return None
        pairs = self._opened(chosen, part)
        usable = list(pairs)
        assert pairs.report is not None
        for note in pairs.report.sentences():
            say(note)
        profile = examine(self.data.open("")).profile
        refuse_swapped(profile, usable, "the files to measure on", self.writes)
        return TestSet(
            usable, f"Measured on {counted(len(usable), 'pair')} of {_names(chosen)}{remark}"
        )

    def _opened(self, data: Parallel, part: str) -> Pairs:
        """As a variant reads them whose sources may be pictures: a path is relative to its list."""
        for variant in self.variants:
            config = variant.config(self.settings)
            if not config.reads_text:
                return config.pairs_of(data.only(config.annotations), part)
        return data.open(part)

    def held_out(self, run: Run) -> TestSet:
        """Without any files to measure on, the pairs that the first variant did not train on.

        Their annotations are looked up, since that variant may read none.
        """
        held = run.validation_pairs()
        sources = dict[tuple[str, str], Line]()
        if self.data.annotations:
            wanted = {pair.texts for pair in held}
            sources = {
                pair.texts: pair.source for pair in self.data.open("") if pair.texts in wanted
            }
        origin = f"Measured on {counted(len(held), 'pair')}, held out of the training data: "
        return TestSet(
            [pair._replace(source=sources.get(pair.texts, pair.source)) for pair in held],
            origin + WHY_NOT_TEST,
        )

    def train(self, variant: Variant, quiet: bool) -> Run:
        """The run of a variant, trained to the end of its budget."""
        owner = self._tokenizer_owner(variant)
        owned = self.output / owner.name  # not there if its training could not begin
        kinds = variant.config(self.settings).annotations
        return train(
            variant.recipe,
            self.data.only(kinds),
            run=self.output / variant.name,
            valid=self.valid.only(kinds) or None,
            tokenizer=owned if owner != variant and Run.exists(owned) else None,
            steps=self.budget.steps,
            epochs=self.budget.epochs,
            minutes=self.budget.minutes,
            settings=[*self.settings, *variant.settings],
            quiet=quiet,
        )

    def _tokenizer_owner(self, variant: Variant) -> Variant:
        """The first variant that wants the same tokenizer, whose it uses."""
        wanted = self._tokenizer(variant)
        return next(each for each in self.variants if self._tokenizer(each) == wanted)

    def _tokenizer(self, variant: Variant) -> TokenizerSettings:
        """What its tokenizer is made by; sampling needs no other one."""
        settings = variant.config(self.settings).tokenizer
        return settings.changed(sampling=0.0)

    def measurement(
        self, variant: Variant, run: Run, test_set: TestSet, say: Callable[[str], None]
    ) -> Measurement:
        """The measurement of these weights on this test set, taken now unless it was before."""
        path = self.output / ROWS / f"{variant.name}.json"
        checkpoint = run.checkpoints(say).best()
        assert checkpoint is not None
        kept = _read_measurement(path)
        metrics = metrics_of(run, self.metrics, self.data)
        known = fingerprint(checkpoint, test_set, metrics, self.metric)
        if kept is not None and kept.fingerprint == known:
            return kept
        say(f"Measuring {variant.name}.")
        measured = measure(run, test_set, metrics, say, worker_count(self.workers), self.metric)
        path.parent.mkdir(exist_ok=True)
        write_json(path, asdict(measured))
        return measured

    def notes(self, results: Sequence[VariantResult], test_set: Optional[TestSet]) -> list[str]:
        """What the reader of the table has to know of how it was made."""
        failed = [result.variant.name for result in results if result.measured is None]
        done, every = len(results) - len(failed), len(self.variants)
        ((unit, amount),) = self.budget.model_dump(exclude_none=True).items()
        notes = [
            _all_done(every) if done == every else f"{done} of {every} variants so far.",
            f"Each was trained for {_amount(amount, unit)} on {_names(self.data)}.",
        ]
        if failed:
            notes.insert(1, f"Not trained: {', '.join(failed)}; the same command tries again.")
        if test_set is not None:
            notes.append(test_set.origin)
        if self.settings:
            notes.append(f"Settings of all variants: {', '.join(self.settings)}.")
        variants = [result.variant for result in results]
        if readers := [
            variant.name
            for variant in variants
            if DependencyTree() in variant.config(self.settings).annotations
        ]:
            notes.append(f"Given the dependency trees of the sources too: {', '.join(readers)}.")
        owners = {variant.name: self._tokenizer_owner(variant).name for variant in variants}
        first = self.variants[0].name
        others = [name for name, owner in owners.items() if owner != first]
        if others:
            notes.append(
                f"All variants use the tokenizer of {first}, except {', '.join(others)}, whose "
                "tokens/s and perplexity per piece cannot be compared with the others; scores and "
                "perplexity per word can."
            )
        return notes


WHY_NOT_TEST = "it also chose the checkpoints, but no test files were given."


def _all_done(variants: int) -> str:
    return "The only variant is done." if variants == 1 else f"All {variants} variants are done."


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,.10g} {unit.removesuffix('s') if amount == 1 else unit}"


def _names(data: Parallel) -> str:
    given = [path for paths in (data.source, data.target, data.pairs) for path in paths_of(paths)]
    return " and ".join(path.name for path in given)


def _read_measurement(path: Path) -> Optional[Measurement]:
    """What was written before; what cannot be read is measured again."""
    try:
        return TypeAdapter(Measurement).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None

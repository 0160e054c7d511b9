"""CTranslate2 as the engine of a run: converted once, kept with the run, used like any model."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Optional, get_args

import torch
from torch import Tensor

from regard.data.batch import EOS, Batch, Padded
from regard.data.parallel import PathLike
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.files import read_json, write_json
from regard.interop.conversion import Conversion, require_ctranslate2
from regard.interop.fitting import RESERVED_IDS, RESERVED_NAMES, check_fits, position_count
from regard.models.base import Model
from regard.nn.output import Loss
from regard.predict import BATCH_TOKENS, Predictor
from regard.processes.devices import chosen_device, on_cpu, search_precision
from regard.runs.folder import Run
from regard.runs.identity import weights_digest
from regard.runs.load import load_model, load_predictor
from regard.search.base import Hypothesis, Search
from regard.search.beam import Beam

if TYPE_CHECKING:
    from ctranslate2 import Translator

Engine = Literal["torch", "ctranslate2"]
Say = Callable[[str], None]


class CTranslate2Model(Model):
    """A converted Transformer. Its tokens are our ids as text.

    A batch is translated with the largest limit of its rows. Rows that go beyond their own are
    translated again with those of the same limit, so that a line has the same translation alone and
    in a batch. Targets are scored in a second pass, since CTranslate2 scores no prefix and leaves
    reserved ids out of its probabilities.
    """

    def __init__(
        self, translator: Translator, positions: Optional[int], names: Sequence[str]
    ) -> None:
        super().__init__()
        self.translator = translator
        self.length_limit = positions
        self.names = names
        self.ids = {name: id for id, name in enumerate(names)}

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")  # it has no tensors of torch

    def forward(self, batch: Batch) -> Loss:
        raise UsageError("CTranslate2 cannot train: use --engine torch.")

    def log_probabilities(self, batch: Batch) -> Tensor:
        sources, targets = self._rows(batch.source, 1), self._rows(batch.target, 1)
        found = torch.zeros(batch.target.values.shape)
        for row, each in zip(found, self._scored(sources, targets), strict=True):
            row[: len(each)] = torch.tensor(each)
        return found

    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        if not isinstance(search, Beam):
            raise UsageError("CTranslate2 does not sample: use --engine torch with --sample.")
        limits = search.limits(source.lengths) if limits is None else limits
        if prefix is not None:
            limits = limits.maximum(prefix.lengths + 1)
        if self.length_limit is not None:
            limits = limits.clamp(max=self.length_limit)
        sources = self._rows(source, 1)
        prefixes = None if prefix is None else self._rows(prefix, 0)
        targets = self._targets(sources, search, limits.tolist(), prefixes)
        again = [source for source, each in zip(sources, targets, strict=True) for _ in each]
        scores = iter(self._scored(again, [target for each in targets for target in each]))
        return [
            sorted(
                (self._hypothesis(target, next(scores), search) for target in each),
                key=lambda hypothesis: -hypothesis.score,
            )[: search.best]
            for each in targets
        ]

    def _targets(
        self,
        sources: list[list[str]],
        search: Beam,
        limits: list[int],
        prefixes: Optional[list[list[str]]],
    ) -> list[list[list[str]]]:
        """The best targets of each source."""

        def found(rows: Sequence[int], limit: int) -> list[list[list[str]]]:
            search.report(nothing, nothing)  # CTranslate2 itself cannot be stopped
            begun = None if prefixes is None else [prefixes[row] for row in rows]
            return self._search([sources[row] for row in rows], search, limit, begun)

        nothing, rows, targets = torch.empty(0), range(len(sources)), dict[int, list[list[str]]]()
        if prefixes is None and (search.finished or search.beam) <= search.beam:
            most = max(limits, default=0)
            for row, each in zip(rows, found(rows, most), strict=True):
                if limits[row] == most or _is_within(each, limits[row]):
                    targets[row] = each
        late = sorted(set(rows) - targets.keys(), key=limits.__getitem__)
        for limit, group in groupby(late, key=limits.__getitem__):
            some = list(group)
            targets.update(zip(some, found(some, limit), strict=True))
        return [self._ended(targets[row], search, prefixes is not None) for row in rows]

    def _search(
        self,
        sources: list[list[str]],
        search: Beam,
        limit: int,
        prefixes: Optional[list[list[str]]],
    ) -> list[list[list[str]]]:
        """All targets that a search with this limit finds, with EOS unless they were cut off."""
        enough = search.finished or search.beam
        results = self.translator.translate_batch(
            sources,
            target_prefix=prefixes,
            beam_size=search.beam,
            num_hypotheses=min(search.beam, enough),
            patience=enough / search.beam,
            length_penalty=search.length_penalty,
            max_input_length=0,
            max_decoding_length=max(1, limit - 1),
            min_decoding_length=0,
            suppress_sequences=[[self.names[id]] for id in RESERVED_IDS],
            return_end_token=True,  # and count it as a part of the length
        )
        return [result.hypotheses for result in results]

    def _ended(self, targets: list[list[str]], search: Beam, begun: bool) -> list[list[str]]:
        """The best targets without EOS. All of them where one was cut off at the limit: CTranslate2
        ranks it without its EOS, and all targets without their prefix."""
        end = self.names[EOS]
        cut_off = any(target[-1:] != [end] for target in targets)
        some = targets if cut_off or begun else targets[: search.best]
        return [target[:-1] if target[-1:] == [end] else target for target in some]

    def _hypothesis(self, target: list[str], scores: list[float], search: Beam) -> Hypothesis:
        total = sum(scores)
        tokens = tuple(self.ids[name] for name in target)
        return Hypothesis(tokens, total / (len(tokens) + 1) ** search.length_penalty, total)

    def _scored(self, sources: list[list[str]], targets: list[list[str]]) -> list[list[float]]:
        """log p of each token of the targets and of their ends."""
        results = self.translator.score_batch(sources, targets, max_input_length=0)
        return [list(result.log_probs) for result in results]

    def _rows(self, padded: Padded, end: int) -> list[list[str]]:
        """The tokens of each row without the last `end`, which CTranslate2 adds itself."""
        return [
            [self.names[id] for id in row[: length - end]]
            for row, length in zip(padded.values.tolist(), padded.lengths.tolist(), strict=True)
        ]


def _is_within(targets: list[list[str]], limit: int) -> bool:
    """Whether a search ended before this limit would have mattered: the longest of the targets that
    it waited for came last."""
    return max(map(len, targets), default=0) < limit - 1


def load_engine(
    run: Run,
    engine: Engine = "torch",
    search: Optional[Search] = None,
    batch_tokens: int = BATCH_TOKENS,
    workers: int = 1,
    int8: bool = False,
    shortlist: int = 0,
    ensemble: Sequence[PathLike] = (),
    tags: str = "",
    say: Say = print,
) -> Predictor:
    """The predictor of a run with the engine that is to compute: the same calls for either."""
    check_engine(engine)
    if engine == "torch":
        given = batch_tokens, workers, int8, shortlist, ensemble, tags
        return load_predictor(run, search, *given, say)
    asked = {"--shortlist": shortlist, "--ensemble": ensemble}
    asked["--sample"] = search is not None and search.draws
    asked["--precision"] = search_precision() != "float32"
    asked[f"--device {chosen_device()}"] = not on_cpu(chosen_device())
    for option, value in asked.items():
        if value:
            raise UsageError(f"{option} needs --engine torch.")
    translator, sides = load_translator(run, int8, workers, say), run.tokenizers()
    names = id_names(sides.target.size)
    model = CTranslate2Model(translator, _positions(run, sides), id_names(sides.source.size))
    model.ids = {name: id for id, name in enumerate(names)}
    return Predictor(
        model,
        sides,
        search or run.config.search,
        batch_tokens=batch_tokens,
        length_limit=run.config.length_limit,
        tags=tags,
    )


def _positions(run: Run, sides: Tokenizers) -> Optional[int]:
    """How many positions a converted model has: a table even of sinusoids ends somewhere."""
    transformer = check_fits(run.config, sides, "ctranslate2")
    if transformer.length_limit is None and transformer.position != "shaw":
        return position_count(run.config)
    return transformer.length_limit


def check_engine(engine: str) -> None:
    """Refuse an engine that does not exist or is not installed."""
    if engine not in get_args(Engine):
        raise UsageError(f"There is no engine '{engine}': choose torch or ctranslate2.")
    if engine == "ctranslate2":
        require_ctranslate2()


def id_names(size: int) -> list[str]:
    """The engine's names for our ids."""
    return [*RESERVED_NAMES, *map(str, range(len(RESERVED_NAMES), size))]


def load_translator(run: Run, int8: bool, threads: int, say: Say) -> Translator:
    """The converted model, ready to translate. Where the run cannot be written, as on a read-only
    disk, it is converted for this time only."""
    from ctranslate2 import Translator

    def load(folder: Path) -> Translator:
        compute = "int8" if int8 else "float32"
        return Translator(str(folder), device="cpu", compute_type=compute, intra_threads=threads)

    try:
        folder = converted(run, int8, say)
    except OSError:
        say(f"The conversion is not kept, since {run.path} cannot be written.")
        with tempfile.TemporaryDirectory() as temporary:
            _convert(run, Path(temporary) / "model", int8)
            return load(Path(temporary) / "model")
    return load(folder)


def converted(run: Run, int8: bool, say: Say) -> Path:
    """The folder of the converted model, made when it is missing, damaged or of other weights."""
    kind = "int8" if int8 else "float32"
    parent, digest = run.path / "engines", weights_digest(run, say)[:16]
    final = parent / f"ctranslate2-{kind}-{digest}"
    if _is_complete(final):
        return final
    check_fits(run.config, run.tokenizers(), "ctranslate2")
    say("Converting the run for CTranslate2, once for these weights.")
    temporary = parent / f".{final.name}.{os.getpid()}.tmp"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        _convert(run, temporary, int8)
        write_json(temporary / "manifest.json", {"sha256": _hashes(temporary)})
        shutil.rmtree(final, ignore_errors=True)  # a damaged one
        os.rename(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        if _is_complete(final):  # another process was faster
            return final
        raise
    for old in (*parent.glob(f"ctranslate2-{kind}-*"), *parent.glob(f".ctranslate2-{kind}-*.tmp")):
        if old != final:  # of other weights, or of a process that was killed
            shutil.rmtree(old, ignore_errors=True)
    return final


def _convert(run: Run, folder: Path, int8: bool) -> None:
    """Write a new folder with the converted model."""
    sides = run.tokenizers()
    transformer = check_fits(run.config, sides, "ctranslate2")
    names = id_names(sides.source.size), id_names(sides.target.size)
    model, _ = load_model(run, lambda text: None)
    conversion = Conversion(model, run.config, transformer, *names, forbids=False)
    conversion.write(folder, "int8" if int8 else None)


def _is_complete(folder: Path) -> bool:
    try:
        return bool(read_json(folder / "manifest.json").get("sha256") == _hashes(folder))
    except (UsageError, OSError):
        return False


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != "manifest.json"
    }

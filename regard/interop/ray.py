"""Shards translated by the workers of a Ray cluster: Ray Data starts the workers, gives each of
them one shard at a time and replaces those that die."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Optional, cast

import torch

import regard
from regard.data.languages import Languages
from regard.data.parallel import Parallel, PathLike
from regard.errors import RegardError, UsageError
from regard.files import NO_SPACE
from regard.interop.engine import Engine, check_engine, load_engine
from regard.interop.shards import (
    Done,
    Manifest,
    Shard,
    counted_attempt,
    find_shards,
    locked,
    translate_shard,
)
from regard.messages import counted
from regard.predict import BATCH_TOKENS, Predictor
from regard.processes.cores import cores
from regard.processes.devices import chosen_device, on_cpu, on_device
from regard.runs.directions import tags_for
from regard.runs.folder import Run
from regard.runs.identity import weights_digest
from regard.search.base import Search
from regard.terminal import Count, uncounted

LOCAL = "local"
_OBJECT_STORE = 200_000_000
"""Bytes of shared memory of a local cluster: only names of shards go through it."""

_SHARDS_AT_ONCE = 10_000
_CONNECT_SECONDS = 5.0
_SAVE_SECONDS = 1.0
_SETTINGS = b"\x04"
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _SETTINGS + bytes(5)
"""How a client of gRPC begins, which Ray answers with settings of its own (RFC 9113, 3.4)."""


Say = Callable[[str], None]


@dataclass(frozen=True)
class Using:
    """How lines are translated, besides the run: the options of `regard translate`."""

    search: Optional[Search] = None
    engine: str = "torch"
    batch_tokens: int = BATCH_TOKENS
    int8: bool = False
    shortlist: int = 0
    ensemble: Sequence[PathLike] = ()
    languages: tuple[Optional[str], Optional[str]] = (None, None)


@dataclass(frozen=True)
class Loading:
    """How every worker loads the run."""

    run: Path
    weights: str
    column: Optional[str]
    search: Search
    using: Using
    tags: str
    device: str
    version: str = regard.__version__

    @staticmethod
    def of(path: Path, column: Optional[str], using: Using, say: Say) -> Loading:
        """Checks the request here, before any worker starts."""
        run = Run.open(path)
        Parallel().check_read_by(run.config.annotations)
        check_engine(using.engine)
        others = tuple(Path(each).resolve() for each in using.ensemble)
        return Loading(
            run.path.resolve(),
            weights_digest(run, say),
            column,
            using.search or run.config.search,
            replace(using, ensemble=others),
            tags_for(run, Languages(*using.languages), say),
            str(chosen_device()),
        )

    def settings(self) -> dict[str, Any]:
        """What decides how lines are translated."""
        return {
            "run": self.weights,
            "column": self.column,
            "search": self.search.model_dump(mode="json"),
            "engine": self.using.engine,
            "int8": self.using.int8,
            "shortlist": self.using.shortlist,
            "ensemble": [weights_digest(Run.open(Path(each))) for each in self.using.ensemble],
            "tags": self.tags,
        }

    def load(self) -> Predictor:
        """The predictor, on the machine of a worker."""
        here = socket.gethostname()
        if regard.__version__ != self.version:
            raise UsageError(
                f"{here} has regard {regard.__version__}, and this machine {self.version}: "
                "install the same version."
            )
        run = Run.open(self.run)
        if weights_digest(run, _silent) != self.weights:
            raise UsageError(f"{self.run} has other weights on {here}: copy the run there again.")
        torch.set_num_threads(1)
        using, engine = self.using, cast(Engine, self.using.engine)
        given = using.batch_tokens, 1, using.int8, using.shortlist, using.ensemble, self.tags
        return load_engine(run, engine, self.search, *given, _silent)


class Worker:
    """An actor of Ray: loads the run for its first shard and keeps it."""

    def __init__(self, loading: Loading) -> None:
        self._loading = loading
        self._predictor: Optional[Predictor] = None

    def __call__(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        """One row for each shard: what was done, or the error and whether it ends all work."""
        shards = map(Shard, map(Path, batch["source"]), map(Path, batch["target"]))
        rows = [self._translate(shard) for shard in shards]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _translate(self, shard: Shard) -> dict[str, Any]:
        failed = {**asdict(Done("")), "target": shard.target.name, "truncated": 0, "fatal": False}
        try:
            with counted_attempt(shard), on_device(self._loading.device):
                predictor = self._loaded()
                predictor.truncated = 0
                done = translate_shard(predictor, shard, self._loading.column)
        except RegardError as error:
            return {**failed, "error": str(error), "fatal": self._predictor is None}
        except OSError as error:
            what = f"Cannot write {shard.target}: {error.strerror or error}."
            return {**failed, "error": what, "fatal": error.errno in NO_SPACE}
        return {**failed, **asdict(done), "error": "", "truncated": predictor.truncated}

    def _loaded(self) -> Predictor:
        if self._predictor is None:
            self._predictor = self._loading.load()
        return self._predictor


def translate_shards(
    run: PathLike,
    shards: PathLike,
    output: PathLike,
    cluster: str = LOCAL,
    column: Optional[str] = None,
    workers: Optional[int] = None,
    using: Using = Using(),  # noqa: B008 (frozen)
    device: Optional[str] = None,
    say: Say = print,
    count: Count = uncounted,
) -> int:
    """Translate every shard of a folder or pattern into a folder, with the workers of a Ray
    cluster; returns the number of lines that are translated there.

    `cluster` is HOST:PORT, auto for the cluster of this machine, or local for one that lives as
    long as this call. The same call again translates what is not done yet. Every worker must find
    the run and the shards at the same paths.
    """
    folder = Path(output)
    found = find_shards(Path(shards), folder)
    with on_device(device), locked(folder):
        loading = Loading.of(Path(run), column, using, say)
        manifest = Manifest.of(folder, loading.settings())
        left = manifest.left(found)
        if len(left) < len(found):
            say(f"{len(found) - len(left):,} of {counted(len(found), 'shard')} are done already.")
        if left:
            with connected(cluster, workers) as size:
                size = min(size, len(left))
                say(f"Translating {counted(len(left), 'shard')} with {counted(size, 'worker')}.")
                _Work(manifest, say, count).finish(left, loading, size)
        return sum(manifest.shards[each.target.name].lines for each in found)


class _Work:
    """Has shards translated and keeps the manifest."""

    def __init__(self, manifest: Manifest, say: Say, count: Count) -> None:
        self._manifest = manifest
        self._say = say
        self._count = count
        self._saved = 0.0
        self._truncated = 0
        self._errors = 0

    def finish(self, shards: Sequence[Shard], loading: Loading, workers: int) -> None:
        self._manifest.save()
        try:
            for start in range(0, len(shards), _SHARDS_AT_ONCE):
                for row in _rows(shards[start : start + _SHARDS_AT_ONCE], loading, workers):
                    self._note(row)
        finally:
            self._manifest.save()
        if self._truncated:
            self._say(f"Truncated {counted(self._truncated, 'long line')}.")
        if self._errors:
            raise RegardError(
                f"{counted(self._errors, 'shard')} could not be translated: fix the errors "
                "above and repeat the command."
            )

    def _note(self, row: Mapping[str, Any]) -> None:
        if row["fatal"]:
            raise RegardError(row["error"])
        if row["error"]:
            self._errors += 1
            self._say(row["error"])
        else:
            names = ("source", "source_sha256", "target_sha256", "lines", "done")
            self._manifest.shards[row["target"]] = Done(**{name: row[name] for name in names})
            self._truncated += row["truncated"]
            self._count(row["lines"])
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._manifest.save()
            self._saved = time.monotonic()


def _rows(shards: Sequence[Shard], loading: Loading, workers: int) -> Iterator[Mapping[str, Any]]:
    """The workers' report on each shard, as soon as it arrives.

    A worker that dies is started again where there is room, and so is what it was doing.
    """
    import ray.data
    from ray.exceptions import RayError

    ray.data.DataContext.get_current().enable_progress_bars = False
    items = [{"source": str(each.source), "target": str(each.target)} for each in shards]
    pool = ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1)
    work = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        Worker,
        fn_constructor_args=(loading,),
        batch_size=1,
        compute=pool,
        num_cpus=1,
        num_gpus=None if on_cpu(chosen_device()) else 1,
    )
    try:
        yield from work.iter_rows()
    except RayError as error:
        said = str(error).strip().splitlines()[-1][:200]
        raise RegardError(
            f"Ray stopped the work ({said}): repeat the command to continue."
        ) from None


@contextmanager
def connected(cluster: str, workers: Optional[int]) -> Iterator[int]:
    """Connect to a cluster, or start one here; how many workers it can have, at most `workers`."""
    _check_address(cluster)
    temporary = tempfile.mkdtemp(prefix="regard-ray-") if cluster == LOCAL else None
    own = dict(os.environ)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_DATA_LOG_LEVEL"] = "CRITICAL"
    if temporary is not None:  # nobody else can reach it
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # it listens to this machine only
        os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"] = "token", secrets.token_hex(32)
    try:
        import ray
    except ImportError:
        raise UsageError("Ray is not installed: run pip install 'regard[ray]'.") from None
    try:
        _init(cluster, temporary, workers)
        room = int(ray.cluster_resources().get("CPU", 0))
        if workers is not None and workers > room:
            raise UsageError(
                f"The cluster has {counted(room, 'CPU')}: give at most that many --workers."
            )
        yield workers or max(room, 1)
    finally:
        ray.shutdown()
        os.environ.clear()
        os.environ.update(own)
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _init(cluster: str, temporary: Optional[str], workers: Optional[int]) -> None:
    import ray

    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if temporary is None:
            ray.init(address=cluster, **quiet)
            return
        ray.init(
            address="local",
            num_cpus=workers or cores(),
            object_store_memory=_OBJECT_STORE,
            include_dashboard=False,
            _temp_dir=temporary,
            **quiet,
        )
    except (ConnectionError, RuntimeError, OSError, ValueError) as error:
        said = str(error).strip().splitlines()[0][:200] if str(error).strip() else "no reason given"
        raise UsageError(f"Cannot use the Ray cluster '{cluster}': {said}") from None


def _check_address(cluster: str) -> None:
    """Refuse what is not an address, and an address where nothing answers, which Ray takes minutes
    to notice."""
    if cluster in (LOCAL, "auto"):
        return
    host, _, port = cluster.rpartition(":")
    if not re.fullmatch(r"[\w.-]+|\[[0-9a-fA-F:]+\]", host) or not port.isdecimal():
        raise UsageError(
            f"'{cluster}' is not the address of a Ray cluster: give HOST:PORT, auto or local."
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS) as probe:
            probe.sendall(_HTTP2)
            if probe.recv(4)[3:] != _SETTINGS:
                raise OSError("what answers is not Ray")
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"No Ray cluster answers at {cluster} ({error}): check the address, or start one with "
            "'ray start --head'."
        ) from None


def _silent(_: str) -> None:
    """Workers report to nobody."""

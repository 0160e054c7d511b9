"""Which target pieces are likely for a source, learned once per run from its training data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batch import PAD
from regard.data.lexicon import likely_targets
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.files import hash_file, writing
from regard.models.base import Model
from regard.models.shortlist import Shortlisted
from regard.runs.folder import Run

MAX_SHORTLIST = 100
FREQUENT_PIECES = 200
"""Target pieces that are on every shortlist."""

FACTS = "likely"

Say = Callable[[str], None]


def with_shortlist(run: Run, model: Model, sides: Tokenizers, count: int, say: Say) -> Model:
    """The model, choosing among the `count` likeliest target pieces of each source piece."""
    if not run.config.reads_text:
        raise UsageError(
            "A shortlist depends on the words of the source, and this model reads none: remove "
            "--shortlist."
        )
    if not model.stepwise:
        raise UsageError("This model writes all at once: remove --shortlist.")
    found = _known(run, sides) or _learn(run, sides, say)
    likely = found.likely[:, :count]
    if sides.joint:  # names and numbers stay as they are
        same = np.arange(len(likely))
        same[sides.target.size :] = PAD
        likely = np.concatenate([likely, same[:, None]], axis=1)
    tables = torch.from_numpy(likely).long(), torch.tensor(found.always)
    return Shortlisted(model, *(table.to(model.device) for table in tables))


@dataclass(frozen=True)
class _Likely:
    """The likeliest target pieces of each source piece (source pieces, MAX_SHORTLIST), and those
    that are on every shortlist."""

    likely: NDArray[np.int32]
    always: list[int]


def _known(run: Run, sides: Tokenizers) -> Optional[_Likely]:
    """The table learned at an earlier use, if it is undamaged."""
    path = run.path / "likely.npy"
    try:
        facts = run.facts(FACTS)
        if not facts or hash_file(path) != facts["sha256"]:
            return None
        likely = np.load(path, allow_pickle=False)
    except (OSError, ValueError, KeyError, UsageError):
        return None
    if likely.shape != (sides.source.size, MAX_SHORTLIST) or likely.dtype != np.int32:
        return None
    return _Likely(np.asarray(likely), facts["always"])


def _learn(run: Run, sides: Tokenizers, say: Say) -> _Likely:
    """From the training data, at the first use."""
    say("Learning which target pieces are likely for each source piece, once per run.")
    store = run.store("train")
    likely = likely_targets(store, sides.source.size, MAX_SHORTLIST)
    used = np.bincount(store.target.values, minlength=sides.target.size)
    always: list[int] = np.argsort(-used, kind="stable")[:FREQUENT_PIECES].tolist()
    path = run.path / "likely.npy"
    with suppress(OSError):  # otherwise it is learned again next time
        with writing(path) as stream:
            np.save(stream, likely, allow_pickle=False)
        run.save_facts(FACTS, {"sha256": hash_file(path), "always": always})
    return _Likely(likely, always)

"""Which target pieces are likely for a source, learned once per run from its training data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batch import PAD
from regard.data.lexicon import likely_targets
from regard.data.tokenizers import Tokenizers
from regard.files import writing
from regard.models.base import Model
from regard.models.shortlist import Shortlisted
from regard.runs.folder import Run

MAX_SHORTLIST = 100
FREQUENT_PIECES = 200
"""Target pieces that are on every shortlist."""

Say = Callable[[str], None]


def with_shortlist(run: Run, model: Model, sides: Tokenizers, count: int, say: Say) -> Model:
    """The model, choosing among the `count` likeliest target pieces of each source piece."""
    likely = _likely_targets(run, sides, say)[:, :count]
    if sides.joint:  # names and numbers stay as they are
        same = np.arange(len(likely))
        same[sides.target.size :] = PAD
        likely = np.concatenate([likely, same[:, None]], axis=1)
    used = np.bincount(run.store("train").target.values, minlength=sides.target.size)
    always = np.argsort(-used, kind="stable")[:FREQUENT_PIECES]
    return Shortlisted(model, torch.from_numpy(likely).long(), torch.from_numpy(always))


def _likely_targets(run: Run, sides: Tokenizers, say: Say) -> NDArray[np.int32]:
    """(source pieces, MAX_SHORTLIST), learned from the training data at the first use."""
    path, shape = run.path / "likely.npy", (sides.source.size, MAX_SHORTLIST)
    try:
        likely = np.load(path, allow_pickle=False)
        if likely.shape == shape and likely.dtype == np.int32:
            return np.asarray(likely)
    except (OSError, ValueError):
        pass
    say("Learning which target pieces are likely for each source piece, once per run.")
    likely = likely_targets(run.store("train"), *shape)
    with suppress(OSError), writing(path) as stream:  # otherwise it is learned again next time
        np.save(stream, likely, allow_pickle=False)
    return likely

"""Which Transformers other tools can run, and their weights in the form that those expect."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from regard.data.batch import BOS, PAD, UNKNOWN
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.models.base import Model
from regard.models.transformer import TransformerConfig
from regard.recipes.config import Config

Format = Literal["ctranslate2", "huggingface", "argos"]

NEVER_WRITTEN = -1e4
"""The output bias of ids that must not be written: finite, since label smoothing sums over all
ids, and still a probability of exactly 0."""

RESERVED_IDS = (PAD, BOS, UNKNOWN)
"""Never part of a target."""

RESERVED_NAMES = ("<pad>", "<s>", "</s>", "<unk>")
"""The names of the ids 0 to 3 in other tools."""

FIRST = len(RESERVED_NAMES)

MAX_POSITIONS = 8192
"""Of a table of sinusoids."""

_NAMES: dict[Format, str] = {
    "ctranslate2": "a CTranslate2 model",
    "huggingface": "a Hugging Face folder",
    "argos": "an Argos package",
}
_SUBWORDS = ("bpe", "unigram")


def check_fits(config: Config, sides: Tokenizers, to: Format) -> TransformerConfig:
    """The settings of a Transformer that the format can express; others are refused by name."""
    model = config.model
    if model.kind != "transformer":
        raise _refusal(to, "model.kind", model.kind, ("transformer",))
    for name, allowed in _allowed(model, to).items():
        value = getattr(model, name)
        if not set(value if isinstance(value, tuple) else [value]) <= set(allowed):
            raise _refusal(to, f"model.{name}", value, allowed)
    if model.inner == 0:
        raise UsageError(
            f"model.inner=0 cannot be expressed in {_NAMES[to]}, whose layers all have a "
            "feed-forward network."
        )
    _check_tokenizers(config, sides, to)
    return model


def _allowed(model: TransformerConfig, to: Format) -> dict[str, tuple[Any, ...]]:
    """The values that each setting may have."""
    allowed: dict[str, tuple[Any, ...]] = {
        "mixers": ("full",),
        "decoder_mixers": ("full",),
        "residual": (True,),
        "normalisation": ("layer",),
        "copying": (False,),
        "position": ("sinusoidal", "learned", "shaw", "none"),
    }
    if to == "huggingface":
        allowed["position"] = ("sinusoidal",)
        if model.norm == "pre":  # the layout of Pegasus has one embedding
            allowed["tying"] = ("all",)
    return allowed


def _check_tokenizers(config: Config, sides: Tokenizers, to: Format) -> None:
    kinds = {sides.source.kind, sides.target.kind}
    if to == "huggingface" and not kinds <= {*_SUBWORDS, "marian"}:
        raise _refusal(to, "tokenizer.kind", config.tokenizer.kind, _SUBWORDS)
    if to == "argos" and not kinds <= set(_SUBWORDS):
        raise _refusal(to, "tokenizer.kind", config.tokenizer.kind, _SUBWORDS)
    if to == "argos" and not sides.joint:
        raise _refusal(to, "tokenizer.joint", False, (True,))


def _refusal(to: Format, name: str, value: Any, allowed: tuple[Any, ...]) -> UsageError:
    return UsageError(
        f"{name}={_shown(value)} cannot be expressed in {_NAMES[to]}: it needs {name}="
        f"{' or '.join(_shown(each) for each in allowed)}."
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_weights(model: Model, config: TransformerConfig) -> dict[str, Tensor]:
    """The weights by name, tied ones under each of their names, for attention whose scores are
    divided by the square root of a head's width."""
    weights = {name: each.detach() for name, each in model.state_dict().items()}
    if config.scale_scores:
        return weights
    scale, width = math.sqrt(config.width // config.heads), config.width
    for name, each in weights.items():
        if ".attention.project." in name or ".source_attention.query." in name:
            weights[name] = torch.cat([each[:width] * scale, each[width:]])
    return weights


def position_count(config: Config) -> int:
    """How many positions a table of sinusoids needs for the longest lines that are read."""
    search, longest = config.search, config.length_limit + 1
    most = int(longest * search.max_length_ratio) + search.max_length_extra
    return min(max(longest, most) + 1, MAX_POSITIONS)


def vocabulary(sides: Tokenizers) -> tuple[list[str], list[str]]:
    """The pieces of source and target in the order of their ids, all different: where a piece has
    the name of a reserved one, the latter gets another."""
    source, target = (side.pieces(range(FIRST, side.size)) for side in (sides.source, sides.target))
    taken, names = {*source, *target}, list[str]()
    for name in RESERVED_NAMES:
        while name in taken:
            name += "_"
        names.append(name)
    return [*names, *source], [*names, *target]

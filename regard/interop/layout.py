"""The names of a Transformer's weights in Hugging Face's Marian and Pegasus, to and from ours.

Theirs keeps queries, keys and values apart; ours stacks them in one matrix, by rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from regard.models.transformer import TransformerConfig

_SELF = {
    "attention.project": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.output": ("self_attn.out_proj",),
    "attention_residual.norm": ("self_attn_layer_norm",),
    "feed_forward.expand": ("fc1",),
    "feed_forward.contract": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}
_CROSS = {
    "source_attention.query": ("encoder_attn.q_proj",),
    "source_attention.project": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "source_attention.output": ("encoder_attn.out_proj",),
    "source_residual.norm": ("encoder_attn_layer_norm",),
}


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Our name of each tensor of the layers and final norms, and their names of its parts."""
    sides = {
        "encoder": (config.layers, _SELF),
        "decoder": (config.decoder_layers or config.layers, _SELF | _CROSS),
    }
    for side, (count, parts) in sides.items():
        modules = {
            f"layers.{number}.{ours}": tuple(f"layers.{number}.{each}" for each in theirs)
            for number in range(count)
            for ours, theirs in parts.items()
        }
        if config.norm == "pre":
            modules["norm"] = ("layer_norm",)
        for ours, theirs in modules.items():
            for kind in ("weight", "bias"):
                yield (
                    f"{side}.{ours}.{kind}",
                    tuple(f"model.{side}.{each}.{kind}" for each in theirs),
                )


def to_theirs(weights: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    found = dict[str, Tensor]()
    for ours, theirs in layer_names(config):
        found.update(zip(theirs, weights[ours].chunk(len(theirs)), strict=True))
    return found


def to_ours(weights: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    return {
        ours: torch.cat([weights[each] for each in theirs]) for ours, theirs in layer_names(config)
    }


def layer_shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """The shape of each of their tensors that `to_ours` reads."""
    width, inner = config.width, config.inner
    special = {
        "fc1.weight": (inner, width),
        "fc1.bias": (inner,),
        "fc2.weight": (width, inner),
    }
    shapes = dict[str, tuple[int, ...]]()
    for _, theirs in layer_names(config):
        for name in theirs:
            module, kind = name.split(".")[-2:]
            square = kind == "weight" and module.endswith("_proj")
            usual = (width, width) if square else (width,)
            shapes[name] = special.get(f"{module}.{kind}", usual)
    return shapes

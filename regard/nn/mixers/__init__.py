"""Ways for the positions of a sequence to look at each other, one per file, and their settings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from regard.config import MAX_COUNT, Settings
from regard.nn.mixers.base import Looks, Mixer
from regard.nn.mixers.bigbird import BigBird, Pattern
from regard.nn.mixers.full import FullAttention
from regard.nn.mixers.linear import LinearAttention
from regard.nn.mixers.linformer import Linformer, Sharing
from regard.nn.mixers.window import WindowAttention
from regard.nn.position import Position, PositionKind

Looking = Literal["full", "window", "bigbird", "linear", "linformer"]
MixerKind = Literal["none", "full", "window", "bigbird", "linear", "linformer"]
"""How a layer mixes positions; none: it does not."""

COMPARES_POSITIONS = ("rotary", "shaw", "alibi")
BLIND_TO_POSITIONS = ("linear", "linformer")


class MixerSizes(Settings):
    """Sizes that only one kind of mixer has."""

    neighbourhood: int = Field(
        default=64,
        ge=1,
        le=MAX_COUNT,
        description="window: positions attended to, half of them on each side.",
    )
    block: int = Field(default=32, ge=1, le=MAX_COUNT, description="bigbird: positions per block.")
    global_blocks: int = Field(
        default=1,
        ge=0,
        le=MAX_COUNT,
        description="bigbird: blocks at the start that every position attends to.",
    )
    random_blocks: int = Field(
        default=2,
        ge=0,
        le=MAX_COUNT,
        description="bigbird: random blocks that each block attends to.",
    )
    projected: int = Field(
        default=64,
        ge=1,
        le=MAX_COUNT,
        description="linformer: positions that a line is projected to.",
    )
    sharing: Sharing = Field(
        default="heads",
        description="linformer: what shares a projection: nothing, all heads, or all heads and "
        "also keys with values.",
    )


def check_mixers(
    kinds: tuple[MixerKind, ...], layers: int, position: PositionKind, causal: bool
) -> None:
    """Refuse what cannot work together."""
    if len(kinds) > layers:
        raise ValueError(f"{len(kinds)} mixers are more than the {layers} layers that use them")
    if causal and "linformer" in kinds:
        raise ValueError(
            "a linformer needs whole lines, and a decoder has only read part: use full, window, "
            "bigbird, linear or none there"
        )
    if position == "syntax" and causal:
        raise ValueError(
            "syntax positions need the tree of a source, and a language model reads none"
        )
    if position == "syntax" and set(kinds) - {"none", "full"}:
        raise ValueError("syntax positions compare all words of a tree: use the mixer full")
    blind = [kind for kind in kinds if kind in BLIND_TO_POSITIONS]
    if blind and position in COMPARES_POSITIONS:
        raise ValueError(
            f"{position} positions compare two positions, and a {blind[0]} mixer never does: "
            "use sinusoidal, learned or none"
        )


def in_turn(kinds: tuple[MixerKind, ...], layers: int) -> list[MixerKind]:
    """The mixer of each layer."""
    return [kinds[number % len(kinds)] for number in range(layers)]


def build_mixer(
    kind: Looking,
    sizes: MixerSizes,
    heads: int,
    head_width: int,
    position: Position,
    looks: Looks,
    scaled: bool,
    length: int,
    number: int,
) -> Mixer:
    """`length` is the longest line, for linformer; `number` is that of the layer."""
    match kind:
        case "full":
            return FullAttention(heads, head_width, position, looks, scaled)
        case "window":
            nearby = sizes.neighbourhood
            return WindowAttention(heads, head_width, position, looks, scaled, nearby)
        case "bigbird":
            pattern = Pattern(sizes.block, sizes.global_blocks, sizes.random_blocks, number)
            return BigBird(heads, head_width, position, looks, scaled, pattern)
        case "linear":
            return LinearAttention(heads, head_width, looks)
        case "linformer":
            return Linformer(heads, looks, scaled, sizes.projected, length, sizes.sharing)

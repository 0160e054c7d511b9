"""A Transformer as a CTranslate2 model: the same numbers under other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import torch
from torch import Tensor

from regard.data.batch import BOS, EOS, UNKNOWN
from regard.errors import UsageError
from regard.interop.fitting import (
    NEVER_WRITTEN,
    RESERVED_IDS,
    plain_weights,
    position_count,
)
from regard.models.base import Model
from regard.models.transformer import TransformerConfig
from regard.nn.position import Sinusoidal
from regard.recipes.config import Config

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

Weights = Mapping[str, Tensor]


def require_ctranslate2() -> None:
    """Say how to install the package if it is missing."""
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        raise UsageError(
            "CTranslate2 is not installed: run pip install 'regard[ctranslate2]'."
        ) from None


@dataclass(frozen=True)
class Conversion:
    """A model with the names that CTranslate2 is to know its tokens by, in the order of their ids.

    `forbids` gives the reserved ids a bias, for callers that do not suppress them by themselves;
    all other probabilities grow by what those had.
    """

    model: Model
    config: Config
    transformer: TransformerConfig
    source: Sequence[str]
    target: Sequence[str]
    forbids: bool

    def write(self, folder: Path, quantization: Optional[str] = None) -> None:
        """Write the files of the converted model into a folder."""
        spec = self.spec()
        spec.validate()
        spec.optimize(quantization=quantization)
        folder.mkdir(parents=True, exist_ok=True)
        spec.save(str(folder))

    def spec(self) -> TransformerSpec:
        from ctranslate2.specs import TransformerSpec, common_spec

        config, weights = self.transformer, plain_weights(self.model, self.transformer)
        activations = {
            "relu": common_spec.Activation.RELU,
            "swish": common_spec.Activation.SWISH,
            "gelu": common_spec.Activation.GELU,
        }
        spec = TransformerSpec.from_config(
            (config.layers, config.decoder_layers or config.layers),
            config.heads,
            with_relative_position=config.position == "shaw",
            pre_norm=config.norm == "pre",
            activation=activations[config.activation],
        )
        self._side(spec.encoder, spec.encoder.embeddings[0], weights, "encoder", len(self.source))
        self._side(spec.decoder, spec.decoder.embeddings, weights, "decoder", len(self.target))
        spec.decoder.projection.weight = _plain(weights["output.weight"][: len(self.target)])
        if (bias := self._bias(weights)) is not None:
            spec.decoder.projection.bias = _plain(bias)
        spec.register_source_vocabulary(list(self.source))
        spec.register_target_vocabulary(list(self.target))
        names = self.target
        spec.config.bos_token = spec.config.decoder_start_token = names[BOS]
        spec.config.eos_token, spec.config.unk_token = names[EOS], names[UNKNOWN]
        spec.config.add_source_bos, spec.config.add_source_eos = False, True
        return spec

    def _bias(self, weights: Weights) -> Optional[Tensor]:
        bias = weights.get("output.bias")
        if not self.forbids:
            return bias
        bias = torch.zeros(len(self.target)) if bias is None else bias.clone()
        bias[list(RESERVED_IDS)] = NEVER_WRITTEN
        return bias

    def _side(self, spec: Any, embeddings: Any, weights: Weights, name: str, size: int) -> None:
        """The encoder or the decoder."""
        spec.scale_embeddings = self.transformer.scale_embeddings
        embeddings.weight = _plain(weights[f"{name}.embedding.tokens.weight"][:size])
        if (table := self._positions(weights, name)) is not None:
            spec.position_encodings.encodings = _plain(table)
        if self.transformer.norm == "pre":
            _norm(spec.layer_norm, weights, f"{name}.norm")
        for number, layer in enumerate(spec.layer):
            _layer(layer, weights, f"{name}.layers.{number}", self.transformer.position == "shaw")

    def _positions(self, weights: Weights, name: str) -> Optional[Tensor]:
        """The vectors added to the embeddings, one row per position."""
        config, length = self.transformer, position_count(self.config)
        match config.position:
            case "sinusoidal":
                return Sinusoidal(config.width).at(torch.arange(length))
            case "learned":
                return weights[f"{name}.embedding.position.table"]
            case "none":
                return torch.zeros(length, config.width)
            case _:
                return None


def _layer(spec: Any, weights: Weights, name: str, relative: bool) -> None:
    attention = spec.self_attention
    _norm(attention.layer_norm, weights, f"{name}.attention_residual.norm")
    _linear(attention.linear[0], weights, f"{name}.attention.project")
    _linear(attention.linear[1], weights, f"{name}.attention.output")
    if relative:
        position = f"{name}.attention.core.position"
        attention.relative_position_keys = _plain(weights[f"{position}.keys"])
        attention.relative_position_values = _plain(weights[f"{position}.values"])
    if f"{name}.source_residual.norm.weight" in weights:
        _norm(spec.attention.layer_norm, weights, f"{name}.source_residual.norm")
        for linear, part in zip(spec.attention.linear, ("query", "project", "output"), strict=True):
            _linear(linear, weights, f"{name}.source_attention.{part}")
    _norm(spec.ffn.layer_norm, weights, f"{name}.feed_forward_residual.norm")
    _linear(spec.ffn.linear_0, weights, f"{name}.feed_forward.expand")
    _linear(spec.ffn.linear_1, weights, f"{name}.feed_forward.contract")


def _norm(spec: Any, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = _plain(weights[f"{name}.weight"]), _plain(weights[f"{name}.bias"])


def _linear(spec: Any, weights: Weights, name: str) -> None:
    spec.weight, spec.bias = _plain(weights[f"{name}.weight"]), _plain(weights[f"{name}.bias"])


def _plain(tensor: Tensor) -> Any:
    """CTranslate2 takes arrays of numpy, and quantizes them in place: each is a copy."""
    return tensor.detach().float().cpu().contiguous().numpy().copy()

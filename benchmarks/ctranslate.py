"""Convert our Transformer to CTranslate2's format, so that both engines decode the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from ctranslate2.converters.converter import Converter
from ctranslate2.specs import common_spec, transformer_spec
from torch import nn

from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.nn.attention import CrossAttention
from regard.nn.blocks import SelfAttention
from regard.nn.position import Sinusoidal


def convert(model: EncoderDecoder, config: TransformerConfig, size: int, folder: Path) -> None:
    """Write the converted model, whose tokens are our ids as text."""
    _Converter(model, config, size).convert(str(folder), force=True)


class _Converter(Converter):
    def __init__(self, model: EncoderDecoder, config: TransformerConfig, size: int) -> None:
        self.model = model
        self.config = config
        self.size = size

    def _load(self) -> transformer_spec.TransformerSpec:
        layers = (self.config.layers, self.config.decoder_layers or self.config.layers)
        spec = transformer_spec.TransformerSpec.from_config(
            layers,
            self.config.heads,
            pre_norm=self.config.norm == "pre",
            activation=common_spec.Activation.RELU,
        )
        encoder, decoder = self.model.encoder, self.model.decoder
        _embed(spec.encoder, spec.encoder.embeddings[0], encoder, self.config.width)
        _embed(spec.decoder, spec.decoder.embeddings, decoder, self.config.width)
        for part, layer in zip(spec.encoder.layer, encoder.layers, strict=True):
            _self_attention(part.self_attention, layer.attention, layer.attention_residual.norm)
            _feed_forward(part.ffn, layer)
        for part, layer in zip(spec.decoder.layer, decoder.layers, strict=True):
            _self_attention(part.self_attention, layer.attention, layer.attention_residual.norm)
            _cross_attention(part.attention, layer.source_attention, layer.source_residual.norm)
            _feed_forward(part.ffn, layer)
        rows = self.model.output.rows.detach()
        spec.decoder.projection.weight = rows
        tokens = ["<pad>", "<s>", "</s>", "<unk>", *(str(id) for id in range(4, self.size))]
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens[: len(rows)])
        spec.config.unk_token, spec.config.bos_token = "<unk>", "<s>"
        spec.config.eos_token, spec.config.decoder_start_token = "</s>", "<s>"
        spec.config.add_source_bos, spec.config.add_source_eos = False, False
        return spec


def _embed(side: Any, embeddings: Any, part: Any, width: int) -> None:
    side.scale_embeddings = True
    embeddings.weight = part.embedding.tokens.weight.detach()
    side.position_encodings.encodings = Sinusoidal(width)._table(1024)
    if isinstance(part.norm, nn.LayerNorm):
        _norm(side.layer_norm, part.norm)


def _norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight.detach(), norm.bias.detach()


def _linear(spec: Any, weight: torch.Tensor, bias: torch.Tensor) -> None:
    spec.weight, spec.bias = weight.detach().contiguous(), bias.detach().contiguous()


def _self_attention(spec: Any, attention: SelfAttention, norm: nn.LayerNorm) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear[0], attention.project.weight, attention.project.bias)
    _linear(spec.linear[1], attention.output.weight, attention.output.bias)


def _cross_attention(spec: Any, attention: CrossAttention, norm: nn.LayerNorm) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear[0], attention.query.weight, attention.query.bias)
    _linear(spec.linear[1], attention.project.weight, attention.project.bias)
    _linear(spec.linear[2], attention.output.weight, attention.output.bias)


def _feed_forward(spec: Any, layer: Any) -> None:
    _norm(spec.layer_norm, layer.feed_forward_residual.norm)
    _linear(spec.linear_0, layer.feed_forward.expand.weight, layer.feed_forward.expand.bias)
    _linear(spec.linear_1, layer.feed_forward.contract.weight, layer.feed_forward.contract.bias)

"""A run as a folder that Hugging Face's transformers loads: Marian's layout for post-norm models,
Pegasus's for pre-norm ones, both with Marian's tokenizer."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from regard.data.batch import BOS, EOS, PAD, UNKNOWN
from regard.data.languages import Languages
from regard.data.tokenizer import Tokenizer
from regard.data.tokenizers import Tokenizers
from regard.files import write_json, writing
from regard.interop.fitting import (
    NEVER_WRITTEN,
    RESERVED_IDS,
    plain_weights,
    position_count,
    vocabulary,
)
from regard.interop.layout import to_theirs
from regard.models.base import Model
from regard.models.transformer import TransformerConfig
from regard.nn.position import Sinusoidal
from regard.recipes.config import Config

WEIGHTS = "model.safetensors"


def write_folder(
    folder: Path,
    model: Model,
    config: Config,
    transformer: TransformerConfig,
    sides: Tokenizers,
    languages: Languages,
) -> None:
    """Write the files of a model into a folder."""
    source, target = vocabulary(sides)
    tensors = _tensors(model, config, transformer, len(source), len(target))
    with writing(folder / WEIGHTS) as stream:
        stream.write(safetensors.torch.save(tensors, metadata={"format": "pt"}))
    write_json(folder / "config.json", _config(config, transformer, len(source), len(target)))
    write_json(folder / "generation_config.json", _generation(config))
    separate = transformer.tying != "all"
    write_json(folder / "vocab.json", {piece: id for id, piece in enumerate(source)})
    if separate:
        write_json(folder / "target_vocab.json", {piece: id for id, piece in enumerate(target)})
    for name, side in (("source", sides.source), ("target", sides.target)):
        with writing(folder / f"{name}.spm") as stream:
            stream.write(sentencepiece_model(side))
    write_json(folder / "tokenizer_config.json", _tokenizer(config, languages, source, separate))


def sentencepiece_model(tokenizer: Tokenizer) -> bytes:
    """The model of a tokenizer that has one."""
    content = tokenizer.content()
    return base64.b64decode(content if isinstance(content, str) else content[0])


def _tensors(
    model: Model,
    config: Config,
    transformer: TransformerConfig,
    source_size: int,
    target_size: int,
) -> dict[str, Tensor]:
    weights = plain_weights(model, transformer)
    tensors = to_theirs(weights, transformer)
    source = weights["encoder.embedding.tokens.weight"]
    bias = weights.get("output.bias", torch.zeros(target_size))
    if transformer.tying == "all":
        tensors["model.shared.weight"] = source
        unused = torch.full((source_size - target_size,), NEVER_WRITTEN)
        bias = torch.cat([bias, unused])  # pieces that are read and never written
    else:
        tensors["model.encoder.embed_tokens.weight"] = source
        tensors["model.decoder.embed_tokens.weight"] = weights["decoder.embedding.tokens.weight"]
    if transformer.tying == "none":
        tensors["lm_head.weight"] = weights["output.weight"]
    tensors["final_logits_bias"] = bias[None]
    if transformer.norm == "pre":  # Pegasus stores its table, and Marian computes it
        table = Sinusoidal(transformer.width).at(torch.arange(position_count(config)))
        for side in ("encoder", "decoder"):
            tensors[f"model.{side}.embed_positions.weight"] = table
    return {name: each.float().clone().contiguous() for name, each in tensors.items()}


def _config(
    config: Config, transformer: TransformerConfig, source_size: int, target_size: int
) -> dict[str, Any]:
    post, shared = transformer.norm == "post", transformer.tying == "all"
    sizes = {
        "layers": (transformer.layers, transformer.decoder_layers or transformer.layers),
        "attention_heads": (transformer.heads,) * 2,
        "ffn_dim": (transformer.inner,) * 2,
        "layerdrop": (0.0, 0.0),
    }
    separate: dict[str, Any] = {"share_encoder_decoder_embeddings": shared, "bos_token_id": None}
    separate["decoder_vocab_size"] = source_size if shared else target_size
    return {
        "architectures": ["MarianMTModel" if post else "PegasusForConditionalGeneration"],
        "model_type": "marian" if post else "pegasus",
        "is_encoder_decoder": True,
        "d_model": transformer.width,
        **{f"encoder_{name}": each for name, (each, _) in sizes.items()},
        **{f"decoder_{name}": each for name, (_, each) in sizes.items()},
        "activation_function": transformer.activation,
        "vocab_size": source_size,
        "max_position_embeddings": position_count(config),
        "scale_embedding": transformer.scale_embeddings,
        "dropout": transformer.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": EOS,
        "tie_word_embeddings": transformer.tying != "none",
        "dtype": "float32",
        **(separate if post else {}),
    }


def _generation(config: Config) -> dict[str, Any]:
    return {
        "decoder_start_token_id": BOS,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "forced_eos_token_id": EOS,
        "bad_words_ids": [[id] for id in RESERVED_IDS],
        "num_beams": config.search.beam,
        "early_stopping": config.search.beam > 1,  # as Beam does
        "length_penalty": config.search.length_penalty,
        "max_length": position_count(config),
    }


def _tokenizer(
    config: Config, languages: Languages, source: list[str], separate: bool
) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages.source,
        "target_lang": languages.target,
        "pad_token": source[PAD],
        "eos_token": source[EOS],
        "unk_token": source[UNKNOWN],
        "model_max_length": config.length_limit,
        "separate_vocabs": separate,
        "sp_model_kwargs": {},
    }

"""An OPUS-MT or other Marian folder of Hugging Face, read into a model of ours.

Its ids are numbered in another way: ours begin with PAD, BOS, EOS and UNKNOWN. Marian starts a
target with its padding id, whose vector is zero; here BOS gets that vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config import check
from regard.data.languages import Languages
from regard.data.tokenizer import TokenizerSettings
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.interop.fitting import NEVER_WRITTEN
from regard.interop.layout import layer_shapes, to_ours
from regard.interop.numbering import read_pieces, vocabulary_size
from regard.interop.reading import WeightsFile, read_object
from regard.models.base import Model
from regard.models.transformer import TransformerConfig
from regard.models.weights import collect, install
from regard.recipes.config import Config
from regard.search.beam import Beam

_ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
_FIXED = {
    "normalize_embedding": False,
    "static_position_embeddings": True,
    "ffn_glu": False,
}
"""Settings that some files have, and the value that Marian's own layout has."""

_PICKLED = "pytorch_model.bin"
_SHARED, _OUTPUT = "model.shared.weight", "lm_head.weight"
_SOURCE, _TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
_BIAS = "final_logits_bias"
_TIED = {"all": (_SHARED, _SOURCE, _TARGET, _OUTPUT), "target": (_TARGET, _OUTPUT), "none": ()}
"""Tensors that are the same; a file has at least one of them."""


@dataclass(frozen=True)
class Imported:
    """The contents of a folder, in the form a run needs."""

    config: Config
    tokenizers: Tokenizers
    model: Model
    languages: Languages


def read_folder(folder: Path) -> Imported:
    """Read a folder; whatever is missing, damaged or cannot be expressed here is refused."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: give one with a config.json in it.")
    settings = read_object(folder / "config.json")
    transformer = _transformer(folder, settings)
    file = WeightsFile(_weights_path(folder))
    names = _embedding_names(file, transformer)
    shapes = layer_shapes(transformer) | _embedding_shapes(file, settings, transformer, names)
    file.check(shapes)
    pieces = read_pieces(folder, settings, transformer.tying == "all")
    tensors = file.load(list(shapes))
    _check_tied(file, tensors, transformer, names)
    bias = pieces.target.bias(tensors.get(_BIAS))
    written = 1 + int((bias > NEVER_WRITTEN / 2).nonzero().max())  # the rest is only read
    sides, bias = pieces.tokenizers(written), bias[:written]
    if bool(bias.any()):
        transformer = transformer.changed(output_bias=True)
    model = transformer.build(sides.source.size, sides.target.size)
    found = {
        **to_ours(tensors, transformer),
        "encoder.embedding.tokens.weight": pieces.source.rows_of(tensors[names["source"]]),
        "decoder.embedding.tokens.weight": pieces.target.rows_of(tensors[names["target"]])[
            :written
        ],
        "output.weight": pieces.target.rows_of(tensors[names["output"]])[:written],
        "output.bias": bias,
    }
    install(model, {name: found[name] for name in collect(model)})
    return Imported(
        _config(folder, settings, transformer, sides), sides, model.eval(), pieces.languages
    )


def _weights_path(folder: Path) -> Path:
    path = folder / "model.safetensors"
    if not path.exists() and (folder / _PICKLED).exists():
        return folder / _PICKLED
    if not path.exists() and (folder / "model.safetensors.index.json").exists():
        raise UsageError(
            f"The weights of {folder} are split into several files: save them as one, by "
            "save_pretrained(folder, max_shard_size='50GB') of transformers."
        )
    if not path.exists():
        raise UsageError(f"{path} is missing: give the complete folder of a model.")
    return path


def _transformer(folder: Path, settings: Mapping[str, Any]) -> TransformerConfig:
    """Our settings of the model; whatever cannot be expressed by them is refused."""
    kind, where = settings.get("model_type"), folder / "config.json"
    if kind not in ("marian", "pegasus"):
        raise UsageError(f"{where} is of a model of type {kind!r}: only marian can be imported.")
    for name in ("attention_heads", "ffn_dim"):
        encoder, decoder = (settings.get(f"{side}_{name}") for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise UsageError(
                f"encoder_{name}={encoder} and decoder_{name}={decoder} in {where} differ: only "
                "models with the same on both sides can be imported."
            )
    pre = kind == "pegasus"
    fixed = {**_FIXED, "normalize_before": pre, "add_final_layer_norm": pre}
    for name, value in fixed.items():
        if settings.get(name, value) != value:
            raise UsageError(f"{name}={settings[name]} in {where} cannot be imported.")
    activation = settings.get("activation_function", "gelu")
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise UsageError(
            f"activation_function={activation} in {where} cannot be imported: it must be one of "
            f"{', '.join(_ACTIVATIONS)}."
        )
    shared = settings.get("share_encoder_decoder_embeddings", True)
    tied = settings.get("tie_word_embeddings", True)
    values = {
        "layers": settings.get("encoder_layers"),
        "decoder_layers": settings.get("decoder_layers"),
        "width": settings.get("d_model"),
        "inner": settings.get("encoder_ffn_dim"),
        "heads": settings.get("encoder_attention_heads"),
        "activation": _ACTIVATIONS[activation],
        "norm": "pre" if pre else "post",
        "scale_embeddings": settings.get("scale_embedding", False),
        "dropout": settings.get("dropout", 0.1),
        "tying": "all" if shared and tied else "target" if tied else "none",
    }
    try:
        return check(TransformerConfig, values)
    except UsageError as problem:
        raise UsageError(f"{where} does not describe a model: {problem}") from None


def _embedding_names(file: WeightsFile, transformer: TransformerConfig) -> dict[str, str]:
    """The name of the tensor with the rows of the source, the target and the output: the first
    that the file has of those that may hold it."""

    def first(*names: str) -> str:
        return next((name for name in names if name in file.shapes), names[0])

    if transformer.tying == "all":
        return dict.fromkeys(
            ("source", "target", "output"), first(_SHARED, _SOURCE, _TARGET, _OUTPUT)
        )
    target = first(_TARGET, _SHARED)
    output = target if transformer.tying == "target" else _OUTPUT
    return {"source": first(_SOURCE, _SHARED), "target": target, "output": output}


def _embedding_shapes(
    file: WeightsFile,
    settings: Mapping[str, Any],
    transformer: TransformerConfig,
    names: Mapping[str, str],
) -> dict[str, tuple[int, ...]]:
    """The shapes of these tensors, of copies that the file has of them, and of the bias."""
    sizes = {side: vocabulary_size(settings, side) for side in ("source", "target")}
    rows = {name: sizes["target"] for name in _TIED[transformer.tying] if name in file.shapes}
    rows |= {names["output"]: sizes["target"], names["target"]: sizes["target"]}
    rows[names["source"]] = sizes["source"]
    shapes: dict[str, tuple[int, ...]] = {
        name: (count, transformer.width) for name, count in rows.items()
    }
    return shapes | ({_BIAS: (1, sizes["target"])} if _BIAS in file.shapes else {})


def _check_tied(
    file: WeightsFile,
    tensors: Mapping[str, Tensor],
    transformer: TransformerConfig,
    names: Mapping[str, str],
) -> None:
    """Copies of a tied tensor, which some files have, must be the same."""
    used = names["output"]
    for name in _TIED[transformer.tying]:
        if name in tensors and not torch.equal(tensors[name], tensors[used]):
            raise UsageError(
                f"{name} and {used} differ in {file.path}, though config.json says that they are "
                "the same: it is not clear which one the model was trained with."
            )


def _config(
    folder: Path, settings: Mapping[str, Any], transformer: TransformerConfig, sides: Tokenizers
) -> Config:
    path = folder / "generation_config.json"
    asked = {**settings, **(read_object(path) if path.exists() else {})}
    given = {"beam": asked.get("num_beams"), "length_penalty": asked.get("length_penalty")}
    try:
        search = check(Beam, {name: value for name, value in given.items() if value is not None})
    except UsageError:
        search = Beam()
    kind, size = sides.source.kind, max(sides.source.size, sides.target.size)
    tokenizer = {"kind": kind, "vocabulary": size, "joint": sides.joint}
    return Config(tokenizer=check(TokenizerSettings, tokenizer), model=transformer, search=search)

"""Marian folders as transformers writes them, with random weights and few pieces."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from toy import some_lines, turned

from regard.runs.folder import Run

Trained = Callable[..., Run]
"""Trains a run by its settings, once."""

LINES = [line for each in some_lines(200, 5) for line in (each, turned(each))]


def sentencepiece_model(size: int = 40, lines: list[str] = LINES) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, minloglevel=2
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    """Those after <unk>, <s> and </s>, in an order of another tool."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(id) for id in range(3, processor.get_piece_size())][::-1]


def write_marian(folder: Path, **changes: Any) -> Any:
    """A folder like those of OPUS-MT; gives the model in it."""
    transformers = pytest.importorskip("transformers")
    model = sentencepiece_model()
    names = ["</s>", "<unk>", *pieces_of(model), "<pad>"]
    pad = len(names) - 1
    sizes: dict[str, Any] = {"vocab_size": len(names), "d_model": 32, "init_std": 0.4}
    sizes["max_position_embeddings"] = 64
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 48}
    ids = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    chosen = {"activation_function": "swish", "scale_embedding": True, "forced_eos_token_id": 0}
    torch.manual_seed(3)
    made = transformers.MarianMTModel(
        transformers.MarianConfig(**{**sizes, **ids, **chosen, **changes})
    )
    with torch.no_grad():
        made.final_logits_bias.normal_()
    made.eval().save_pretrained(folder)
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(model)
    vocabulary = {name: id for id, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    described = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    return made


def greedy(model: Any, source: list[int], limit: int) -> list[int]:
    """The ids that transformers writes: at most `limit`, without the end."""
    pad = model.config.pad_token_id
    given = torch.tensor([source])
    (found,) = model.generate(
        input_ids=given,
        attention_mask=torch.ones_like(given),
        num_beams=1,
        do_sample=False,
        max_new_tokens=limit,
        forced_eos_token_id=None,
        bad_words_ids=[[pad], [1]],
    ).tolist()
    written: list[int] = found[1:]
    end = model.config.eos_token_id
    return written[: written.index(end)] if end in written else written

"""Models of other libraries, in the same sizes as ours."""

from __future__ import annotations

from typing import Any

from benchmarks.workload import DROPOUT, VOCABULARY, Size
from regard.data.batch import BOS, EOS, PAD


def marian(size: Size) -> Any:
    """Hugging Face's MarianMTModel with random weights."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=size.width,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads,
        encoder_ffn_dim=size.inner,
        decoder_ffn_dim=size.inner,
        activation_function="relu",
        dropout=DROPOUT,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=EOS,
    )
    return MarianMTModel(config)

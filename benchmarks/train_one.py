"""One system that trains on the batches of the workload, until it is killed.

python -m benchmarks.train_one SYSTEM SIZE WORKLOAD FOLDER

It appends a line to FOLDER/run/journal.jsonl after each batch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.peers import marian
from benchmarks.workload import DROPOUT, SIZES, VOCABULARY, Size, batches
from regard.data.batch import BOS, PAD, Batch
from regard.data.parallel import Parallel
from regard.runs.train import train
from regard.training.journal import Journal

STEPS = 1000
"""More than any comparison takes, so that no system finishes."""

Step = Callable[[Batch], None]


def hugging_face(size: Size) -> Step:
    """MarianMTModel with torch's AdamW, in a plain training loop."""
    model = marian(size).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(batch: Batch) -> None:
        labels = batch.target.values.masked_fill(~batch.target.mask, -100)
        loss = model(
            input_ids=batch.source.values, attention_mask=batch.source.mask.long(), labels=labels
        ).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


class PlainTransformer(nn.Module):
    """torch.nn.Transformer with embeddings, sinusoidal positions and a tied output."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, size.width)
        self.transformer = nn.Transformer(
            size.width, size.heads, size.layers, size.layers, size.inner, DROPOUT, batch_first=True
        )
        angles = torch.arange(512)[:, None] * torch.exp(
            torch.arange(0, size.width, 2) * (-math.log(10000) / size.width)
        )
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))
        self.dropout = nn.Dropout(DROPOUT)

    def embed(self, tokens: Tensor) -> Tensor:
        scaled = self.tokens(tokens) * self.tokens.embedding_dim**0.5
        return self.dropout(scaled + self.positions[: tokens.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        target = batch.target.values
        read = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        causal = nn.Transformer.generate_square_subsequent_mask(read.shape[1])
        padding = ~batch.source.mask
        hidden = self.transformer(
            self.embed(batch.source.values),
            self.embed(read),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return hidden @ self.tokens.weight.t()


def plain_torch(size: Size) -> Step:
    model = PlainTransformer(size).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)

    def step(batch: Batch) -> None:
        scores = model(batch)
        criterion(scores.flatten(0, 1), batch.target.values.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def regard(name: str, workload: Path, folder: Path) -> None:
    """`regard train` itself, with all its work per step, on the same tokenizer and batches."""
    train(
        name,
        Parallel(workload / "train.source", workload / "train.target"),
        valid=Parallel(workload / "valid.source", workload / "valid.target"),
        tokenizer=workload,
        run=folder / "run",
        steps=STEPS,
        settings=[
            f"model.dropout={DROPOUT}",
            "training.dropout_start=1",
            "batch.tokens=4096",
            "training.metric=loss",
            f"training.validate_every={STEPS}",
            f"training.save_every={STEPS}",
            "training.log_every=1",
        ],
        quiet=True,
    )


def main() -> None:
    system, size, workload, folder = *sys.argv[1:3], Path(sys.argv[3]), Path(sys.argv[4])
    if system == "regard":
        regard(size, workload, folder)
        return
    torch.manual_seed(1)
    step = {"hugging_face": hugging_face, "plain_torch": plain_torch}[system](SIZES[size])
    (folder / "run").mkdir()
    journal = Journal(folder / "run" / "journal.jsonl")
    for number, batch in enumerate(batches(workload, STEPS), 1):
        step(batch)
        journal.add("train", number, {})


if __name__ == "__main__":
    main()

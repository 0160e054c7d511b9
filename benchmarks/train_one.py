"""One measurement of training speed, in a process of its own: prints target tokens a second.

python -m benchmarks.train_one SYSTEM SIZE FOLDER SECONDS
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.peers import marian
from benchmarks.workload import DROPOUT, SIZES, VOCABULARY, Size, batches
from regard.data.batch import BOS, PAD, Batch
from regard.experiment import train
from regard.training.journal import Journal

WARM_UP = 3
"""Batches before the time counts."""

Step = Callable[[Batch], None]


def hugging_face(size: Size) -> Step:
    """MarianMTModel with torch's AdamW, as a plain loop trains it."""
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
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], dim=1))
        self.dropout = nn.Dropout(DROPOUT)

    def embed(self, tokens: Tensor) -> Tensor:
        scaled = self.tokens(tokens) * self.tokens.embedding_dim**0.5
        return self.dropout(scaled + self.places[: tokens.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        target = batch.target.values
        read = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        later = nn.Transformer.generate_square_subsequent_mask(read.shape[1])
        padding = ~batch.source.mask
        hidden = self.transformer(
            self.embed(batch.source.values),
            self.embed(read),
            tgt_mask=later,
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


def regard(name: str, folder: Path, seconds: float) -> float:
    """`regard train` itself, with all it does at a step, on the same tokenizer and batches."""
    steps = WARM_UP + max(5, round(seconds * (2.5 if name == "tiny" else 0.2)))
    with tempfile.TemporaryDirectory() as run:
        settings = [
            f"model.dropout={DROPOUT}",
            "training.dropout_begin=1",
            "training.agreement=0",
            "batch.tokens=4096",
            "training.metric=loss",
            f"training.validate_every={steps}",
            f"training.save_every={steps}",
            "training.log_every=1",
        ]
        train(
            name,
            source=folder / "train.source",
            target=folder / "train.target",
            valid_source=folder / "valid.source",
            valid_target=folder / "valid.target",
            tokenizer=folder,
            run=Path(run) / "run",
            steps=steps,
            settings=settings,
            quiet=True,
        )
        records = [r for r in Journal(Path(run) / "run" / "journal.jsonl") if r["event"] == "train"]
    speeds = [record["tokens_per_second"] for record in records[WARM_UP:]]
    return len(speeds) / sum(1 / speed for speed in speeds)


def main() -> None:
    system, size, folder, seconds = sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
    if system == "regard":
        print(regard(size, folder, seconds))
        return
    torch.manual_seed(1)
    step = {"hugging_face": hugging_face, "plain_torch": plain_torch}[system](SIZES[size])
    work = batches(folder, 40)
    for batch in work[:WARM_UP]:
        step(batch)
    tokens, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for batch in work[WARM_UP:]:
            step(batch)
            tokens += batch.tokens
            if time.perf_counter() - began >= seconds:
                break
    print(tokens / (time.perf_counter() - began))


if __name__ == "__main__":
    main()

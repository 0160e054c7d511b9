"""One system that decodes the sentences of the workload repeatedly, until it is killed.

python -m benchmarks.decode_one SYSTEM BEAM WORKLOAD FOLDER

It appends a line to FOLDER/run/journal.jsonl after each pass. Every system decodes the same real
source sentences to exactly 15 target tokens, with a tiny Transformer of random weights, so that all
do the same work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import torch

from benchmarks.peers import marian
from benchmarks.workload import SIZES, VOCABULARY, targets
from regard.data.batch import EOS, Padded
from regard.data.store import Store
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.nn.fast.prepare import prepare_for_search
from regard.processes.cores import cores
from regard.processes.pool import worker_map
from regard.search.beam import Beam
from regard.training.journal import Journal

LENGTH = 15
ROWS = 64
SENTENCES = 1024

Decode = Callable[[list[list[int]]], object]

_open = ExitStack()


def sources(folder: Path) -> list[list[int]]:
    """Sentences of real text, longest first, as every system would sort them."""
    store = Store.open(folder / "store")
    rows = [[*store.pair(index)[0].tolist(), EOS] for index in range(SENTENCES)]
    return sorted(rows, key=len, reverse=True)


def our_model(folder: Path) -> tuple[EncoderDecoder, TransformerConfig]:
    """A model with random weights that never predicts EOS."""
    torch.manual_seed(1)
    config = TransformerConfig(norm="pre", tying="target")
    model = config.build(VOCABULARY, targets(folder)).eval()
    with torch.no_grad():
        model.output.weight[EOS] = 0.0
        model.output.weight[EOS, 0] = -100.0
        model.decoder.norm.bias[0] = 100.0
    return model, config


def regard(beam: int, folder: Path) -> Decode:
    """The built-in engine: one process with one thread per core, as for a loaded run."""
    model = prepare_for_search(our_model(folder)[0])
    search = Beam(beam=beam, max_length_ratio=1e-6, max_length_extra=LENGTH + 1)
    search = search.quick() if beam == 1 else search

    def work(rows: list[list[int]]) -> int:
        found = model.generate(Padded.of(rows), search)
        assert all(len(best[0].tokens) == LENGTH for best in found)
        return len(found)

    run = _open.enter_context(worker_map(work, cores()))
    return lambda rows: list(run(rows[i : i + ROWS] for i in range(0, len(rows), ROWS)))


def hugging_face(beam: int, folder: Path) -> Decode:
    torch.manual_seed(1)
    model = marian(SIZES["tiny"]).eval()

    def decode(rows: list[list[int]]) -> None:
        for start in range(0, len(rows), ROWS):
            batch = Padded.of(rows[start : start + ROWS])
            found = model.generate(
                input_ids=batch.values,
                attention_mask=batch.mask.long(),
                num_beams=beam,
                min_new_tokens=LENGTH,
                max_new_tokens=LENGTH,
                do_sample=False,
            )
            assert found.shape[1] == LENGTH + 1

    return decode


def ctranslate2(beam: int, folder: Path) -> Decode:
    """Our own weights in CTranslate2: one worker with one thread per core."""
    import ctranslate2 as engine

    from benchmarks.ctranslate import convert

    model, config = our_model(folder)
    convert(model, config, VOCABULARY, folder / "ctranslate2")
    translator = engine.Translator(
        str(folder / "ctranslate2"),
        inter_threads=cores(),
        intra_threads=1,
        compute_type="float32",
    )

    def decode(rows: list[list[int]]) -> None:
        texts = [[*(str(id) for id in row[:-1]), "</s>"] for row in rows]
        found = translator.translate_batch(
            texts,
            beam_size=beam,
            max_batch_size=ROWS,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
        )
        assert all(len(each.hypotheses[0]) == LENGTH for each in found)

    return decode


SYSTEMS = {"regard": regard, "hugging_face": hugging_face, "ctranslate2": ctranslate2}


def main() -> None:
    system, beam, workload, folder = sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:5])
    rows = sources(workload)
    decode = SYSTEMS[system](beam, workload)
    (folder / "run").mkdir()
    journal = Journal(folder / "run" / "journal.jsonl")
    for number in count(1):
        decode(rows)
        journal.add("train", number, {})


if __name__ == "__main__":
    main()

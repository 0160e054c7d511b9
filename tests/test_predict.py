"""The Python way to use a run: a sentence, a list, a stream."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from toy import ABLE, parallel, some_lines, train_small, turned, write_corpus
from untrained import untrained

import regard
from regard import predict
from regard.data.batch import Padded
from regard.data.line import Line
from regard.data.tokenizer import Words
from regard.errors import RegardError, UsageError
from regard.models.labelling import TaggerConfig
from regard.models.nonautoregressive import NonAutoregressiveConfig
from regard.models.transformer import TransformerConfig
from regard.predict import POOL_MIN_LINES, WINDOW, Candidate, Predictor, different
from regard.processes.pool import ITEMS_AHEAD, worker_map
from regard.runs.load import load_predictor
from regard.search.beam import Beam
from regard.search.sample import Sample


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("predict")
    corpus = write_corpus(folder, pairs=400)
    regard.train(
        "lstm_attention",
        run=folder / "run",
        steps=80,
        settings=ABLE,
        quiet=True,
        **parallel(corpus),
    )
    return regard.load(folder / "run")


def test_a_sentence_gives_a_sentence_and_a_list_a_list(predictor: Predictor) -> None:
    assert predictor("ant bee") == "BEE ANT"
    assert predictor(["ant bee", "", "cat"]) == ["BEE ANT", "", "CAT"]
    assert predictor([]) == []
    assert predictor("") == ""


def test_a_sentence_alone_and_in_any_company_gives_the_same(predictor: Predictor) -> None:
    lines = ["ant", "bee cat dog", "", "eel fox gnu hen ant", "bee"] * 7
    together = predictor(lines)
    assert together == [predictor(line) for line in lines]
    assert together[1] == turned("bee cat dog")


def test_a_prediction_tells_its_score(predictor: Predictor) -> None:
    (found,) = predictor.predict(["ant bee"])
    assert found.best[0].text == found.text == "BEE ANT"
    ((total, tokens),) = predictor.score([("ant bee", found.text)])
    assert total == pytest.approx(found.best[0].log_probability, abs=1e-3)
    assert tokens == 3


def test_equal_texts_are_one_candidate() -> None:
    best = (Candidate("a", -1, -1, 1), Candidate("b", -2, -2, 1), Candidate("a", -3, -3, 2))
    assert different(best) == best[:2]


@pytest.mark.parametrize("kind", ["fertilities", "pieces"])
def test_an_n_best_list_has_different_texts_and_is_filled_from_the_beam(kind: str) -> None:
    """Several fertilities, and several sequences of pieces, give the same text."""
    search = Beam(beam=40, best=40, length_penalty=0)
    sizes = {"layers": 1, "width": 8, "inner": 8, "heads": 2}
    if kind == "fertilities":
        found = untrained(NonAutoregressiveConfig(**sizes, max_fertility=3), search)
    else:
        pieces = Words(["ant", "bee", "ant bee", "bee ant"])
        found = untrained(TransformerConfig(**sizes), search, pieces)
    lines = ["ant bee bee ant", "bee ant ant"]
    every = list(found.predict(lines))
    given = found.model.generate(
        Padded.of_rows(found.read_sources([Line(line) for line in lines])), found.search
    )
    for hypotheses, prediction in zip(given, every, strict=True):
        texts = [each.text for each in prediction.best]
        assert 3 < len(texts) == len(set(texts)) < len(hypotheses)
        highest = dict[str, float]()
        for each in hypotheses:
            text = found.tokenizers.target.decode(each.tokens)
            highest[text] = max(each.log_probability, highest.get(text, -math.inf))
        assert {each.text: each.log_probability for each in prediction.best} == highest
    found.search = Beam(beam=40, best=3, length_penalty=0)
    for few, all_found in zip(found.predict(lines), every, strict=True):
        assert few.best == all_found.best[:3]


def test_draws_are_as_many_as_were_asked_for(predictor: Predictor) -> None:
    drawing = Predictor(predictor.model, predictor.tokenizers, Sample(best=20, temperature=0.1))
    (found,) = drawing.predict(["ant"])
    assert len(found.best) == 20 > len({each.text for each in found.best})


def test_a_prefix_longer_than_any_target_would_be_is_kept(predictor: Predictor) -> None:
    prefix = " ".join(["HEN"] * 60)
    (found,) = predictor.predict(["ant"], [prefix])
    assert found.text.startswith(prefix)


def test_prefixes_must_be_as_many_as_lines(predictor: Predictor) -> None:
    for prefixes in ([], ["HEN"], ["HEN"] * 3):
        with pytest.raises(UsageError, match="prefixes than lines"):
            list(predictor.predict(["ant", "bee"], prefixes))


def test_a_long_stream_is_read_as_it_is_written_and_memory_does_not_grow(
    predictor: Predictor,
) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "ant" if read % 400 == 0 else ""  # most of the work is not what is tested

    predictions = predictor.predict(endless())
    next(predictions)
    assert read == WINDOW
    sizes = []
    tracemalloc.start()
    for _ in range(4):
        for _ in range(WINDOW):
            next(predictions)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[-1] < sizes[0] + 200_000
    assert read <= 6 * WINDOW


def test_only_the_beginning_of_an_endless_line_is_read_and_counted(predictor: Predictor) -> None:
    short = Predictor(predictor.model, predictor.tokenizers, predictor.search, length_limit=5)
    assert short("ant bee cat dog eel fox gnu") == short("ant bee cat dog eel")
    assert short.truncated == 1
    ((score, tokens),) = short.score([("ant " * 50, "ANT " * 50)])
    assert tokens == 6
    assert score < 0


def test_a_prefix_with_more_pieces_than_there_are_places_is_refused(tmp_path: Path) -> None:
    own = ("model.position=learned", "model.max_length=8")
    run = train_small(tmp_path / "run", write_corpus(tmp_path), *own, steps=1)
    predictor = load_predictor(run)
    (found,) = predictor.predict(["ant"], ["HEN " * 7])
    assert found.text == " ".join(["HEN"] * 7)
    for pieces in (8, 9, 30):
        with pytest.raises(
            UsageError, match=f"prefix of line 2 has {pieces} pieces, .* read 7: sh"
        ):
            list(predictor.predict(["ant", "bee"], ["HEN", "HEN " * pieces]))


def test_few_lines_are_not_shared_out_to_processes_that_do_not_run(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = Predictor(predictor.model, predictor.tokenizers, predictor.search, workers=2)
    groups: list[int] = []
    generate = several.model.generate
    monkeypatch.setattr(
        several.model,
        "generate",
        lambda source, *more: groups.append(len(source.lengths)) or generate(source, *more),
    )
    lines = some_lines(POOL_MIN_LINES - 1, seed=3)
    expected = predictor(lines)
    groups.clear()
    assert several(lines) == expected
    assert groups == [POOL_MIN_LINES - 1]


def test_items_are_handed_out_in_order_and_only_a_few_ahead() -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            yield taken
            taken += 1

    with worker_map(lambda number: number * number, 2) as run:
        results = iter(run(endless()))
        assert [next(results) for _ in range(50)] == [number * number for number in range(50)]
    assert taken <= 50 + 2 * ITEMS_AHEAD


def test_a_worker_that_is_killed_is_told_of() -> None:
    def work(number: int) -> int:
        if number == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(RegardError, match="was killed"), worker_map(work, 2) as run:
        list(run(range(100)))


def test_what_goes_wrong_in_a_worker_is_told_here() -> None:
    def work(number: int) -> int:
        raise UsageError("This cannot be.")

    with pytest.raises(UsageError, match="This cannot be"), worker_map(work, 2) as run:
        list(run(range(100)))


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from regard.processes.pool import worker_map\n"
        "def work(number):\n"
        "    os.write(1, f'{os.getpid()}\\n'.encode())\n"  # at once, whatever Python buffers
        "    time.sleep(600)\n"
        "with worker_map(work, 2) as run:\n"
        "    list(run(range(2)))\n"
    )
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        workers = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))


def alive(process: int) -> bool:
    listed = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(listed, capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_pairs_that_do_not_fit_the_places_of_a_model_are_left_out(tmp_path: Path) -> None:
    own = ("model.position=learned", "model.max_length=4")
    run = train_small(tmp_path / "run", write_corpus(tmp_path), *own, steps=30)
    store = run.store("train")
    assert store.skipped > 10
    assert 0 < int(store.source.lengths(np.arange(len(store))).max()) <= 3


def test_an_unseen_tag_is_found_by_its_line_in_any_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "ATTENTION_WINDOW", 2)
    tagger = untrained(TaggerConfig(layers=1, width=8, inner=8, heads=2))
    pairs = [("ant bee", "ANT BEE"), ("ant", "ANT"), ("cat dog", "CAT unseen")]
    with pytest.raises(UsageError, match=r"^Line 3 has the tag 'unseen'"):
        list(tagger.attend(pairs, lambda attention, *sides: None, None))

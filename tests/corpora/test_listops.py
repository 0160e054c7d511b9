"""ListOps: right answers, a spread of lengths, and one corpus per seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median

import pytest

from regard.corpora.listops import (
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_PAIRS,
    MIN_LENGTH,
    OPERATORS,
    Expression,
    ListOpsCorpus,
    draw_list,
    generate,
    value_of,
    write,
)


@pytest.fixture(scope="module")
def corpus() -> ListOpsCorpus:
    return generate(4000, seed=3, held_out=300)


def everything(corpus: ListOpsCorpus) -> list[Expression]:
    return corpus.train + corpus.valid + corpus.test


def by_python(expression: str) -> int:
    """A second evaluator: translate the expression to Python and evaluate that."""
    names = {"[MIN": "low", "[MAX": "high", "[MED": "middle", "[SM": "total"}
    written = ""
    for token in expression.split():
        written += f"{names[token]}([" if token in names else "])," if token == "]" else f"{token},"
    functions = {
        "low": min,
        "high": max,
        "middle": lambda values: int(median(values)),
        "total": lambda values: sum(values) % 10,
    }
    (value,) = eval(written, {"__builtins__": {}}, functions)
    return int(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MIN 4 7 ]", 4),
        ("[MED 1 9 5 ]", 5),
        ("[MED 1 9 4 6 ]", 5),
        ("[MED 1 2 ]", 1),
        ("[MED 9 8 8 9 ]", 8),
        ("[SM 9 9 9 ]", 7),
        ("[SM 5 5 ]", 0),
        ("[SM [MAX 1 2 ] [MED 3 [MIN 9 8 ] 7 ] ]", 9),
        ("[MAX 3 ]", 3),
        ("7", 7),
    ],
)
def test_values_by_hand(expression: str, value: int) -> None:
    assert value_of(expression) == value
    assert by_python(expression) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "]",
        "1 2",
        "[MAX ]",
        "[MAX 1 2",
        "[MAX 1 2 ] 3",
        "[MAX 1 2 ] ]",
        "[MAX 1 2 ] [MIN 1 2 ]",
        "[MAX 10 2 ]",
        "[MIN [MAX ] 2 ]",
        "[SUM 1 2 ]",
    ],
)
def test_malformed_expressions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        value_of(text)


def test_every_answer_is_right(corpus: ListOpsCorpus) -> None:
    for expression in everything(corpus):
        assert str(by_python(expression.source)) == expression.target


def test_lengths_operators_and_answers_are_spread(corpus: ListOpsCorpus) -> None:
    lengths = [len(expression.source.split()) for expression in corpus.train]
    assert min(lengths) == MIN_LENGTH
    assert max(lengths) == MAX_LENGTH
    doublings = Counter(MAX_LENGTH // length for length in lengths if length < MAX_LENGTH)
    shares = [
        sum(doublings[times] for times in range(start, 2 * start)) / len(lengths)
        for start in (1, 2, 4)
    ]
    assert all(0.13 < share < 0.23 for share in shares)
    operators = Counter(expression.source.split()[0] for expression in corpus.train)
    assert operators.keys() == OPERATORS.keys()
    assert min(operators.values()) > 0.2 * len(lengths)
    answers = Counter(expression.target for expression in corpus.train)
    assert sorted(answers) == list("0123456789")
    assert max(answers.values()) < 0.25 * len(lengths)


def depth_of(tokens: list[str]) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += (token in OPERATORS) - (token == "]")
        deepest = max(deepest, depth)
    return deepest


def test_lists_have_the_requested_length_and_depth() -> None:
    generator = Random(1)
    for length in range(MIN_LENGTH, MAX_LENGTH + 1):
        tokens = draw_list(generator, length, MAX_DEPTH)
        assert len(tokens) == length
        assert depth_of(tokens) <= MAX_DEPTH
    for depth, longest in ((1, 7), (2, 37), (3, 187)):
        for length in (MIN_LENGTH, longest // 2 if depth > 1 else 5, longest):
            assert depth_of(draw_list(generator, length, depth)) <= depth
    assert depth_of(draw_list(generator, 187, 3)) == 3


def test_no_expression_twice(corpus: ListOpsCorpus) -> None:
    expressions = everything(corpus)
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (4000, 300, 300)
    assert len({expression.source for expression in expressions}) == len(expressions)


def test_the_test_set_does_not_depend_on_the_size_of_the_training_set() -> None:
    small, large = generate(50, held_out=20), generate(200, held_out=20)
    assert (small.valid, small.test) == (large.valid, large.test)
    assert small.train == large.train[:50]
    assert generate(50, seed=2, held_out=20).test != small.test


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="At most"):
        generate(MAX_PAIRS)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_every_process_writes_the_same(tmp_path: Path) -> None:
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "regard", "corpus", "listops", "--pairs", "200"]
        subprocess.run([*command, "--output", str(tmp_path / seed)], check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "0").iterdir())
    assert names == sorted(f"{p}.{s}" for p in ("train", "valid", "test") for s in SUFFIXES)
    for name in names:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


SUFFIXES = ("source", "target")


def test_write(tmp_path: Path) -> None:
    corpus = generate(30, held_out=10)
    write(corpus, tmp_path / "deep")
    sources, targets = ((tmp_path / "deep" / f"train.{s}").read_text() for s in SUFFIXES)
    assert sources.splitlines() == [expression.source for expression in corpus.train]
    assert targets.splitlines() == [expression.target for expression in corpus.train]

"""Annotations that follow from the text, those that depend on the target, and tokenizers per
side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.config import check
from regard.data.annotation import Annotation, Values, Words, whole
from regard.data.annotations import (
    ANNOTATIONS,
    LETTER_CODES,
    LETTER_COUNT,
    DependencyTree,
    Kinds,
    Letters,
    Numbers,
    SentenceIndex,
    WordIndex,
    spell,
)
from regard.data.batch import EOS, UNKNOWN, Padded, Row
from regard.data.corpus import Task
from regard.data.encoding import LineEncoder
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.data.store import Batches, BatchSettings, Offset, Store, by_length
from regard.data.tokenizer import Characters, Indices, NumberWords, TokenizerSettings
from regard.data.tokenizer import Words as WordTokenizer
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError

LETTERS = WordTokenizer([*list("abcdefgh|"), "|||"])


def rows(kinds: Kinds, *lines: str) -> list[Row]:
    return LineEncoder(LETTERS, kinds).encode([Line(line) for line in lines])


def said(row: Row) -> str:
    return LETTERS.decode(row.ids)


def test_each_piece_knows_its_word() -> None:
    settings = check(TokenizerSettings, {"kind": "bpe", "vocabulary": 300})
    both = Tokenizers.train(settings, lambda: ["abc de"], lambda: ["x"])
    (row,) = LineEncoder(both.source, (WordIndex(),)).encode([Line(" zz abc  q ")])
    words = row.annotations["words"].tolist()
    assert len(words) == len(row.ids) > 3
    assert words == sorted(words)
    assert set(words) == {0, 1, 2}
    for word, text in enumerate(("zz", "abc", "q")):
        own = [id for id, index in zip(row.ids, words, strict=True) if index == word]
        assert both.source.decode(own).strip() == text


def test_sentences_are_split_at_the_marker_which_is_no_id() -> None:
    first, second, third = rows((SentenceIndex(),), "a b ||| c ||| d e", "a", "||| a ||| ||| b |||")
    assert (said(first), first.annotations["sentences"].tolist()) == ("a b c d e", [0, 0, 1, 2, 2])
    assert second.annotations["sentences"].tolist() == [0]
    assert (said(third), third.annotations["sentences"].tolist()) == ("a b", [0, 1])
    (other,) = rows((SentenceIndex("|"),), "a | b ||| c")
    assert said(other) == "a b ||| c"
    assert other.annotations["sentences"].tolist() == [0, 1, 1, 1]
    assert said(rows((), "a ||| b")[0]) == "a ||| b"  # text to a model that reads no sentences


@pytest.mark.parametrize(
    ("length", "kept", "sentences"),
    [
        (6, "a b c d e f", [0, 0, 1, 2, 2, 2]),
        (5, "c d e f", [0, 1, 1, 1]),
        (4, "c d e f", [0, 1, 1, 1]),
        (3, "d e f", [0, 0, 0]),
        (2, "d e", [0, 0]),  # of a question that is too long by itself, its beginning
    ],
)
def test_whole_sentences_are_dropped_from_the_front(
    length: int, kept: str, sentences: list[int]
) -> None:
    (row,) = rows((SentenceIndex(), WordIndex()), "a b ||| c ||| d e f")
    short = row.truncated(length)
    assert said(short) == kept
    assert short.annotations["sentences"].tolist() == sentences
    assert len(short.annotations["words"]) == len(short)


def test_a_tree_whose_front_is_dropped_hangs_together() -> None:
    line = Line("a b c d", (2, 3, 0, 1))
    tree = DependencyTree().of_pieces(line, [[5], [6], [7], [8]])
    assert DependencyTree().truncate(tree, slice(2, 4)).tolist() == [-1, 0]


def numbers_of(line: str) -> list[list[float]]:
    return [[float(part) for part in word.split(",")] for word in line.split()]


def test_numbers_go_through_store_and_batches(tmp_path: Path) -> None:
    lines = ["0.25,0.5 1,-2", "3,4", "5,6 7,8 1e-3,.5"]
    pairs = [Pair(n, Line(line), Line("1")) for n, line in enumerate(lines, 1)]
    both = Tokenizers(NumberWords(), Indices())
    store = Store.write(tmp_path, pairs, both, 9, annotations=(Numbers(),), writes="indices")
    batches = Batches(store, BatchSettings(tokens=50), both, 1)
    for batch in (next(by_length(store, 50)), next(batches.from_offset(Offset()))[0]):
        found = batch.source.annotations["numbers"]
        assert found.shape == (3, 4, 2)
        assert found.dtype == torch.float32
        rest = {tuple(map(tuple, numbers_of(line))) for line in lines}
        for row, length in zip(found, batch.source.lengths.tolist(), strict=True):
            assert not row[length - 1 :].any()
            exact = np.float32(row[: length - 1])
            (match,) = [each for each in rest if np.float32(each).tolist() == exact.tolist()]
            rest.remove(match)
        assert batch.target.values.tolist() == [[4, EOS]] * 3
    assert batch.rows(0, 1).source.annotations["numbers"].dim() == 3


def test_every_piece_has_the_letters_of_its_word(tmp_path: Path) -> None:
    both = Tokenizers(Characters(list("abc ")), LETTERS)
    pairs = [Pair(n, Line(line), Line("a")) for n, line in enumerate(["ab c", ""], 1)]
    store = Store.write(tmp_path, pairs[:1], both, 9, annotations=(Letters(),))
    found = next(by_length(store, 50)).source.annotations["letters"]
    assert found.shape[-1] == LETTER_COUNT
    ab, c = spell("ab"), spell("c")
    assert found[0, :-1].tolist() == [ab, ab, c, c]  # a space belongs to the word after it
    assert not found[0, -1].any()  # EOS
    (nothing,) = LineEncoder(both.source, (Letters(),)).encode([Line("")])
    assert nothing.annotations["letters"].shape == (0, LETTER_COUNT)


def test_of_a_long_word_the_first_and_the_last_letters_are_kept() -> None:
    code = {letter: spell(letter)[1] for letter in "internationalisation"}
    kept = spell("internationalisation")
    assert kept == [1, *map(code.get, "interna"), *map(code.get, "isation"), 1]
    assert spell("a") == [1, code["a"], 1, *[0] * (LETTER_COUNT - 3)]
    assert spell("A")[1] != code["a"]
    assert 1 < max(spell(chr(0x10FFFF))) < LETTER_CODES


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1,2 x,3", "a.text:2 has 'x,3' as word 2: write numbers of at most 1e+15"),
        ("nan,1", "a.text:2 has 'nan,1' as word 1"),
        ("1,inf", "a.text:2 has '1,inf'"),
        ("1e99,1", "a.text:2 has '1e99,1'"),
        ("-1e16,1", "a.text:2 has '-1e16,1'"),
        ("1,2,3", "a.text:2 has 3 numbers in word 1, but this model reads 2 for each word"),
        ("1,2 3", "a.text:2 has 1 number in word 2"),
        ("1_0,2", "a.text:2 has '1_0,2'"),
    ],
)
def test_what_is_no_number_is_refused_with_file_and_line(
    line: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "a.text").write_text(f"1,2\n{line}\n")
    (tmp_path / "a.out").write_text("1\n1\n")
    files = tmp_path / "a.text", tmp_path / "a.out"
    with pytest.raises(UsageError) as caught:
        Parallel(*files).open(task=Task((Numbers(),), "indices")).check()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("index", ["0", "4", "-1", "x", "99999999999999999999", "1.0"])
def test_an_index_must_be_that_of_a_word(index: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"a b c\t3 1\na b c\t1 {index}\n")
    with pytest.raises(UsageError, match=r"a\.tsv:2 has '.*', but its source has 3 words"):
        Parallel(pairs=tmp_path / "a.tsv").open(task=Task(writes="indices")).check()


def test_tokenizers_per_side(tmp_path: Path) -> None:
    settings = check(
        TokenizerSettings,
        {"kind": "bpe", "vocabulary": 300, "target": "line", "joint": False, "sampling": 0.1},
    )
    both = Tokenizers.train(settings, lambda: ["some text"], lambda: [" new  york ", "rome"])
    assert both.target.encode(["new  york", "rome ", "paris"]) == [[4], [5], [UNKNOWN]]
    assert both.target.decode([4]) == "new  york"
    both.save(tmp_path)
    again = Tokenizers.load(tmp_path)
    assert (again.target.kind, again.target.content()) == ("line", both.target.content())
    store = Store.write(tmp_path / "s", [Pair(1, Line("text"), Line("rome"))], both, 9, True)
    batch, _ = next(Batches(store, BatchSettings(), both, 1, 0.1).from_offset(Offset()))
    assert batch.target.values.tolist() == [[5, EOS]]  # only the source is sampled
    index = Indices()
    assert index.encode(["1 12", "0 x"]) == [[4, 15], [UNKNOWN, UNKNOWN]]
    assert index.decode([4, 15, EOS]) == "1 12"
    for given in ({"target": "line"}, {"kind": "number", "joint": False}, {"marker": "a b"}):
        with pytest.raises(UsageError):
            check(TokenizerSettings, given)


@dataclass(frozen=True)
class TargetCounts(Annotation):
    """The number of pieces of the target, at each piece; -7 where there is no target."""

    name = "counts"
    fill = 0
    description = "a count"
    reads_target = True

    def of_pieces(self, line: Line, words: Words) -> Values:
        return whole([-7] * sum(map(len, words)))

    def of_pair(self, line: Line, words: Words, target: Words) -> Values:
        return whole([sum(map(len, target))] * sum(map(len, words)))

    def example(self, ids: Sequence[int]) -> Values:
        return whole([1] * len(ids))


def test_an_annotation_may_depend_on_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANNOTATIONS, "counts", TargetCounts())
    pairs = [Pair(1, Line("a b"), Line("c d e")), Pair(2, Line("a"), Line("f"))]
    both, kinds = Tokenizers.one(LETTERS), (TargetCounts(),)
    store = Store.write(tmp_path, pairs, both, 9, annotations=kinds)
    source = next(by_length(store, 50)).source
    assert source.annotations["counts"].tolist() == [[1, 0, 0], [3, 3, 0]]
    alone = Padded.of_rows(LineEncoder(LETTERS, kinds).encode([Line("a")]))
    assert alone.annotations["counts"].tolist() == [[-7, 0]]

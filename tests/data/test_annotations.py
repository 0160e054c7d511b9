"""Trees of source lines: refused in one sentence, and in step with the pieces everywhere."""

from __future__ import annotations

import gzip
import random
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import heads_of_words

from regard.config import check
from regard.corpora import grammar
from regard.data.annotation import whole
from regard.data.annotations import INSIDE_WORD, ROOT, DependencyTree
from regard.data.batch import EOS, UNKNOWN, Batch, Padded, Row
from regard.data.corpus import Pairs, annotate
from regard.data.encoding import encode_words
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.data.store import Batches, BatchSettings, Offset, Store, by_length
from regard.data.tokenizer import Bytes, TokenizerSettings
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError


def files(folder: Path, source: str, heads: str, target: str | None = None) -> Pairs:
    (folder / "a.en").write_text(source)
    (folder / "a.de").write_text(source if target is None else target)
    (folder / "a.trees").write_text(heads)
    return Parallel(folder / "a.en", folder / "a.de", trees=folder / "a.trees").open()


def refusal(pairs: Pairs) -> str:
    with pytest.raises(UsageError) as caught:
        pairs.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_heads_come_with_their_pairs(tmp_path: Path) -> None:
    pairs = files(tmp_path, "the cat slept\nyes\n", "2 3 0\n0\n")
    expected = [
        Pair(1, Line("the cat slept", (2, 3, 0)), Line("the cat slept")),
        Pair(2, Line("yes", (0,)), Line("yes")),
    ]
    assert list(pairs) == expected
    assert len(pairs.fingerprint()) == 3


def test_a_tsv_file_and_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a b\tx\nc\ty\n")
    (tmp_path / "a.trees").write_bytes(gzip.compress(b"2 0\n0\n"))
    pairs = Parallel(pairs=tmp_path / "a.tsv", trees=tmp_path / "a.trees").open()
    assert [pair.source.tree for pair in pairs] == [(2, 0), (0,)]


def test_several_roots_are_several_sentences(tmp_path: Path) -> None:
    assert [pair.source.tree for pair in files(tmp_path, "a b c\n", "0 0 2\n")] == [(0, 0, 2)]


@pytest.mark.parametrize(
    ("heads", "sentence"),
    [
        ("2 0", "a.trees:2 has 2 heads, but its source has 3 words"),
        ("2 0 2 2", "a.trees:2 has 4 heads"),
        ("", "a.trees:2 has 0 heads"),
        ("2 4 0", "a.trees:2 gives word 2 the head 4"),
        ("1 -1 1", "a.trees:2 gives word 2 the head -1"),
        ("2 x 0", "a.trees:2 has 'x' among the heads"),
        ("2 1.5 0", "a.trees:2 has '1.5' among the heads"),
        ("2 1 0", "a.trees:2 is not a tree"),
        ("1 0 2", "word 1 comes back to itself"),
        ("2 3 1", "a.trees:2 is not a tree"),
        ("2 0 " + "9" * 5000, "a.trees:2 has '99999999999999999999' among"),
    ],
)
def test_what_is_no_tree_is_refused_with_file_and_line(
    tmp_path: Path, heads: str, sentence: str
) -> None:
    assert sentence in refusal(files(tmp_path, "a b\na b c\nd\n", f"0 1\n{heads}\n0\n"))


def test_counts_that_differ_name_both_files_and_counts(tmp_path: Path) -> None:
    message = refusal(files(tmp_path, "a\nb\nc\n", "0\n0\n"))
    assert "a.en has 3 lines" in message
    assert "a.trees has 2" in message
    assert "a.trees has 4" in refusal(files(tmp_path, "a\nb\nc\n", "0\n0\n0\n0\n"))
    assert "a.trees has 0" in refusal(files(tmp_path, "a\nb\nc\n", ""))


def test_skipped_pairs_take_their_heads_along(tmp_path: Path) -> None:
    pairs = files(tmp_path, "a b\n\nc\nd\0d\ne f\n", "0 1\n\n0\n1 2 3\n2 0\n", "w\nx\n\ny\nz\n")
    assert [(pair.number, pair.source.tree) for pair in pairs] == [(1, (0, 1)), (5, (2, 0))]
    report = pairs.check()
    assert {reason: skip.count for reason, skip in report.skipped.items()} == {
        "empty": 2,
        "NUL character": 1,
    }
    assert "a.trees:2 has 1 head" in refusal(files(tmp_path, "a\n\n", "0\n0\n"))
    assert "a.trees:1 has 2 heads" in refusal(files(tmp_path, "a\nb\n", "0 1\n0\n", "\nx\n"))


def test_heads_beside_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.trees"
    path.write_text("2 0\n\n0\n")
    beside = {DependencyTree(): path}
    found = list(annotate(["a b", "", "c"], beside))
    assert found == [Line("a b", (2, 0)), Line("", ()), Line("c", (0,))]
    for lines, sentence in ((["a b", ""], "which has 2"), (["a b", "", "c", "d"], "line 4")):
        with pytest.raises(UsageError, match=sentence):
            list(annotate(lines, beside))
    with pytest.raises(UsageError, match=r"x\.trees:3 has 1 head, but its source has 2 words"):
        list(annotate(["a b", "", "c d"], beside))


def test_the_grammar_writes_trees(tmp_path: Path) -> None:
    grammar.write(grammar.generate(200, held_out=50), tmp_path)
    for part in ("train", "valid", "test"):
        source, target, trees = (tmp_path / f"{part}.{suffix}" for suffix in ("en", "de", "trees"))
        for pair in Parallel(source, target, trees=trees).open():
            assert pair.source.tree is not None
            assert pair.source.tree.count(0) == 1


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Heads of words that all lead to a root, and pieces for each word."""
    count = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, count + 1)))
    heads = [0] * count
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    sizes = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    return heads, [[9] * size for size in sizes]


@settings(max_examples=200, deadline=None)
@given(forest=forests())
def test_words_to_pieces_and_back(forest: tuple[list[int], list[list[int]]]) -> None:
    heads, words = forest
    line = Line(" ".join("w" for _ in words), tuple(heads))
    DependencyTree().check(line, "here")
    pieces = DependencyTree().of_pieces(line, words).tolist()
    assert len(pieces) == sum(map(len, words))
    first = [sum(map(len, words[:word])) for word in range(len(words))]
    for word, head in enumerate(heads):
        assert pieces[first[word]] == (first[head - 1] if head else ROOT)
        assert set(pieces[first[word] + 1 : first[word] + len(words[word])]) <= {INSIDE_WORD}
    assert heads_of_words(pieces) == tuple(heads)


@settings(max_examples=200, deadline=None)
@given(forest=forests(), length=st.integers(0, 24))
def test_after_a_cut_each_word_hangs_on_the_nearest_one_left_above_it(
    forest: tuple[list[int], list[list[int]]], length: int
) -> None:
    heads, words = forest
    found = DependencyTree().of_pieces(Line("", tuple(heads)), words)
    pieces, kept = found.tolist(), DependencyTree().truncate(found, slice(0, length)).tolist()
    assert len(kept) == min(length, len(pieces))
    for place, head in enumerate(kept):
        above = pieces[place]
        while above >= length:
            above = pieces[above]
        assert head == above


@given(numbers=st.lists(st.integers(-1, 6), max_size=6))
def test_a_line_is_a_tree_or_is_refused(numbers: list[int]) -> None:
    """Whatever is let through leads to a root from every word, so no loop is endless."""

    def leads_up(word: int) -> bool:
        for _ in range(len(numbers) + 1):
            if word == 0:
                return True
            word = numbers[word - 1]
        return False

    inside = all(0 <= head <= len(numbers) for head in numbers)
    good = inside and all(leads_up(word) for word in range(1, len(numbers) + 1))
    text, line = " ".join(map(str, numbers)), Line("w " * len(numbers))
    if good:
        assert DependencyTree().read(line, text, "here").tree == tuple(numbers)
    else:
        with pytest.raises(UsageError, match=r"^here "):
            DependencyTree().read(line, text, "here")


CORPUS = grammar.generate(300, held_out=1).train
PAIRS = [
    Pair(line, Line(example.source, tuple(example.tree)), Line(example.target))
    for line, example in enumerate(CORPUS, 1)
]
KINDS = ("bpe", "unigram", "word", "character", "byte")


def sides(kind: str) -> Tokenizers:
    return Tokenizers.train(
        check(TokenizerSettings, {"kind": kind, "vocabulary": 400}),
        lambda: (pair.source.text for pair in PAIRS),
        lambda: (pair.target.text for pair in PAIRS),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_words_one_by_one_have_the_pieces_of_the_line(kind: str) -> None:
    tokenizer = sides(kind).source
    lines = [*(pair.source.text for pair in PAIRS), "  one   two ", "", " ", "tail  ", "né ☃☃"]
    words = encode_words(lines, tokenizer.encode)
    assert [len(word) for word in words] == [len(line.split()) for line in lines]
    some = slice(0, len(PAIRS))
    joined = [list(chain.from_iterable(line)) for line in words]
    assert joined[some] == tokenizer.encode(lines[some])
    if kind in ("bpe", "unigram"):

        def sample(texts: list[str]) -> list[list[int]]:
            return tokenizer.sample(texts, 0.2, seed=5)

        sampled = encode_words(lines[some], sample)
        assert [list(chain.from_iterable(line)) for line in sampled] == sample(lines[some])
        assert sampled != words[some]


def test_no_character_is_lost_and_no_word_is_without_a_piece() -> None:
    text = " one\t two\u00a0three  "
    words = encode_words([text], Bytes().encode)[0]
    assert Bytes().decode(list(chain.from_iterable(words))) == text
    assert len(words) == 3
    nothing = encode_words(["a \u2581 b"], sides("bpe").source.encode)[0]
    assert len(nothing) == 3
    assert nothing[1] == [UNKNOWN]


def expected_rows(tokenizers: Tokenizers, pairs: list[Pair]) -> dict[tuple[int, ...], list[int]]:
    """The heads that belong to each row of source ids, EOS included."""
    words = encode_words([pair.source.text for pair in pairs], tokenizers.source.encode)
    return {
        (*chain.from_iterable(line), EOS): [
            *DependencyTree().of_pieces(pair.source, line).tolist(),
            ROOT,
        ]
        for pair, line in zip(pairs, words, strict=True)
    }


def rows(batch: Batch) -> list[tuple[tuple[int, ...], list[int]]]:
    source, tree = batch.source, batch.source.annotations["tree"]
    assert tree.shape == source.values.shape
    assert bool((tree[~source.mask] == ROOT).all())
    assert not batch.target.annotations
    triples = zip(source.values.tolist(), tree.tolist(), source.lengths, strict=True)
    return [(tuple(ids[:n]), heads[:n]) for ids, heads, n in triples]


def an_epoch(batches: Batches) -> list[Batch]:
    found = []
    for batch, place in batches.from_offset(Offset()):
        found.append(batch)
        if place.epoch:
            break
    return found


@pytest.mark.parametrize("kind", ["bpe", "word", "character"])
def test_the_store_gives_each_row_its_heads(kind: str, tmp_path: Path) -> None:
    both = sides(kind)
    Store.write(tmp_path, PAIRS, both, 200, annotations=(DependencyTree(),))
    store = Store.open(tmp_path)
    expected = expected_rows(both, PAIRS)
    small = BatchSettings(tokens=400, window=100)
    for batches in (an_epoch(Batches(store, small, both, 1)), list(by_length(store, 400))):
        found = [row for batch in batches for row in rows(batch)]
        assert len(found) == len(PAIRS)
        assert all(expected[ids] == heads for ids, heads in found)
    kept = Store.write(tmp_path, PAIRS, both, 200, keep_text=True, annotations=(DependencyTree(),))
    assert kept.pairs(np.arange(len(kept))) == PAIRS


def test_pairs_that_are_too_long_take_their_heads_along(tmp_path: Path) -> None:
    both = sides("bpe")
    store = Store.write(tmp_path, PAIRS, both, 14, annotations=(DependencyTree(),))
    assert 0 < store.skipped < len(PAIRS)
    expected = expected_rows(both, PAIRS)
    found = [row for batch in by_length(store, 400) for row in rows(batch)]
    assert len(found) == len(PAIRS) - store.skipped
    assert all(expected[ids] == heads for ids, heads in found)


@pytest.mark.parametrize("longest", [200, 9])
def test_sampled_cuts_have_heads_of_their_own(longest: int, tmp_path: Path) -> None:
    both = sides("bpe")
    store = Store.write(tmp_path, PAIRS, both, 200, keep_text=True, annotations=(DependencyTree(),))
    trees = {pair.source.text: pair.source.tree for pair in PAIRS}
    chosen = BatchSettings(tokens=400, window=100, max_length=longest)
    cuts = set()
    for batch in an_epoch(Batches(store, chosen, both, 1, 0.3, (DependencyTree(),))):
        for ids, heads in rows(batch):
            text = both.source.decode(ids)
            assert heads[-1] == ROOT
            assert all(head < len(ids) - 1 for head in heads)
            if longest == 200:
                assert heads_of_words(heads[:-1]) == trees[text]
                marks = [piece.startswith("\u2581") for piece in both.source.pieces(ids[:-1])]
                assert marks == [head != INSIDE_WORD for head in heads[:-1]]
                cuts.add(ids)
    assert longest == 9 or cuts != set(expected_rows(both, PAIRS))


def test_a_place_in_the_order_has_the_same_heads_again(tmp_path: Path) -> None:
    both = sides("bpe")
    store = Store.write(tmp_path, PAIRS, both, 200, keep_text=True, annotations=(DependencyTree(),))
    chosen = BatchSettings(tokens=300, window=100)
    for sampling in (0.0, 0.3):
        kinds = (DependencyTree(),)
        batches = Batches(store, chosen, both, 1, sampling, kinds)
        whole = list(islice(batches.from_offset(Offset()), 12))
        again = islice(Batches(store, chosen, both, 1, sampling, kinds).from_offset(whole[5][1]), 6)
        for (expected, _), (found, _) in zip(whole[6:], again, strict=True):
            assert rows(expected) == rows(found)


def test_without_heads_a_store_is_as_it_was(tmp_path: Path) -> None:
    both = sides("bpe")
    Store.write(
        tmp_path / "with", PAIRS, both, 200, keep_text=True, annotations=(DependencyTree(),)
    )
    store = Store.write(tmp_path / "without", PAIRS, both, 200, keep_text=True)
    assert not store.annotations
    assert not next(by_length(store, 400)).source.annotations
    assert '"tree"' not in (tmp_path / "without" / "meta.json").read_text()
    plain = {path.name: path.read_bytes() for path in (tmp_path / "without").iterdir()}
    more = {path.name: path.read_bytes() for path in (tmp_path / "with").iterdir()}
    names = {f"source.tree{part}{end}" for part in ("", ".text") for end in ("", ".offsets")}
    assert more.keys() - plain.keys() == names
    assert all(more[name] == data for name, data in plain.items() if name != "meta.json")


def test_damaged_heads_do_not_open(tmp_path: Path) -> None:
    Store.write(tmp_path, PAIRS, sides("bpe"), 200, annotations=(DependencyTree(),))
    path = tmp_path / "source.tree"
    whole = path.read_bytes()
    path.write_bytes(whole[:-2])
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)
    path.write_bytes(whole)
    offsets = np.fromfile(tmp_path / "source.tree.offsets", np.int64)
    offsets[1] += 1
    offsets.tofile(tmp_path / "source.tree.offsets")
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)


def test_rows_of_a_batch_keep_their_heads() -> None:
    trees = [whole([ROOT, 0, -2]), whole([ROOT]), whole([1, ROOT])]
    ids = [5, 6, 7], [8], [9, 9]
    source = Padded.of_rows(
        [Row(*each) for each in zip(ids, ({"tree": t} for t in trees), strict=True)]
    )
    assert source.values.tolist() == [[5, 6, 7, EOS], [8, EOS, 0, 0], [9, 9, EOS, 0]]
    tree = source.annotations["tree"]
    assert tree.tolist() == [[-1, 0, -2, -1], [-1, -1, -1, -1], [1, -1, -1, -1]]
    batch = Batch(source, Padded.of([[4, EOS]] * 3))
    for part, kept in ((batch.rows(1), [1, 2]), (batch.rows(0, None, 2), [0, 2])):
        width = int(source.lengths[kept].max())
        assert torch.equal(part.source.annotations["tree"], tree[kept, :width])
    assert not batch.target.rows(1).annotations
    moved = batch.to("cpu").source
    assert torch.equal(moved.values, source.values)
    assert torch.equal(moved.annotations["tree"], tree)


def test_forests_of_many_words_are_checked_in_linear_time() -> None:
    """A chain of heads as long as the line; going up from each word anew would take for ever."""
    count = 100_000
    text = "w " * count
    DependencyTree().check(Line(text, tuple(range(count))), "here")
    order = list(range(1, count + 1))
    random.Random(1).shuffle(order)
    heads = [0] * count
    for below, above in pairwise(order):
        heads[below - 1] = above
    DependencyTree().check(Line(text, tuple(heads)), "here")


def test_words_of_a_line_of_spaces_are_found_in_one_pass() -> None:
    """Every start tried anew would take minutes."""
    spaces = " " * 100_000
    lines = [spaces, f"{spaces}a{spaces}b", f"a{spaces}"]
    found = encode_words(lines, lambda words: [[len(word)] for word in words])
    assert found == [[], [[100_001], [100_001]], [[100_001]]]

"""Tokenizers: text comes back, ids are the same everywhere, sampling is a pure function."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import check
from regard.data import tokenizers as module
from regard.data.batch import UNKNOWN
from regard.data.subwords import SentencePiece, sample_evenly
from regard.data.tokenizer import Bytes, Tokenizer, TokenizerSettings, Words
from regard.data.tokenizers import Tokenizers, load, save, train
from regard.errors import UsageError


def some_lines(count: int, seed: int = 0) -> list[str]:
    chooser = random.Random(seed)
    words = ["".join(chooser.choices("abcdefghij", k=chooser.randint(2, 8))) for _ in range(300)]
    return [" ".join(chooser.choices(words, k=chooser.randint(1, 12))) for _ in range(count)]


LINES = [*some_lines(400), "Grüße, 東京 und 😀!", "<s> </s> <pad> <unk> <0x41>"]
SUBWORDS: dict[str, Tokenizer] = {
    kind: train(check(TokenizerSettings, {"kind": kind, "vocabulary": 500}), LINES)
    for kind in ("bpe", "unigram")
}
ALL: dict[str, Tokenizer] = {
    **SUBWORDS,
    **{
        kind: train(check(TokenizerSettings, {"kind": kind}), LINES)
        for kind in ("word", "character", "byte")
    },
}
# U+2581 is the mark that SentencePiece itself uses for a space.
ANY_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\u2581"), max_size=40
)


def collapsed(text: str) -> str:
    return re.sub(" +", " ", text).strip(" ")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_subwords_give_any_text_back(kind: str, text: str) -> None:
    tokenizer = SUBWORDS[kind]
    [ids] = tokenizer.encode([text])
    assert tokenizer.decode(ids) == collapsed(text)
    assert not set(ids) & {0, 1, 2, 3}


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_bytes_give_any_text_back_exactly(text: str) -> None:
    tokenizer = Bytes()
    [ids] = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@settings(max_examples=100, deadline=None)
@given(text=ANY_TEXT, seed=st.integers(0, 2**64))
def test_sampled_text_comes_back_too(kind: str, text: str, seed: int) -> None:
    tokenizer = SUBWORDS[kind]
    [ids] = tokenizer.sample([text], 0.3, seed)
    assert tokenizer.decode(ids) == collapsed(text)


@pytest.mark.parametrize("kind", list(ALL))
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_ids_can_be_shown(kind: str, data: st.DataObject) -> None:
    tokenizer = ALL[kind]
    ids = data.draw(st.lists(st.integers(0, tokenizer.size + 5)))
    assert isinstance(tokenizer.decode(ids), str)
    assert len(tokenizer.pieces(ids)) == len(ids)


@pytest.mark.parametrize("kind", list(ALL))
def test_many_lines_at_once_are_the_same_as_one_by_one(kind: str) -> None:
    tokenizer = ALL[kind]
    assert tokenizer.encode(LINES) == [tokenizer.encode([line])[0] for line in LINES]


@pytest.mark.parametrize("kind", list(ALL))
def test_half_a_surrogate_pair_does_not_crash(kind: str) -> None:
    tokenizer = ALL[kind]
    for count in (1, 100):
        encoded = tokenizer.encode(["a \ud800"] * count)
        assert tokenizer.decode(encoded[0])


@pytest.mark.parametrize("kind", list(ALL))
def test_reserved_ids_stand_for_no_text(kind: str) -> None:
    tokenizer = ALL[kind]
    [ids] = tokenizer.encode(["abc"])
    assert tokenizer.decode([1, *ids, 2, 0, 0]) == tokenizer.decode(ids)


def test_text_that_looks_like_a_reserved_piece_is_text() -> None:
    text = "<s> </s> <pad> <unk> <0x41> </s>"
    for kind, tokenizer in ALL.items():
        [ids] = tokenizer.encode([text])
        assert not set(ids) & {0, 1, 2, 3}, kind
        assert tokenizer.decode(ids) == text, kind


def test_words_by_frequency_then_code_point_and_unknown() -> None:
    tokenizer = train(
        check(TokenizerSettings, {"kind": "word", "vocabulary": 7}), ["b a c", "c", "d  b"]
    )
    assert tokenizer.size == 7
    assert tokenizer.encode(["b c a d zebra"]) == [[4, 5, 6, UNKNOWN, UNKNOWN]]
    assert tokenizer.decode([4, 3, 6]) == "b ⁇ a"


def test_characters_by_frequency_then_code_point_and_unknown() -> None:
    tokenizer = train(check(TokenizerSettings, {"kind": "character"}), ["bb a", "c"])
    assert tokenizer.encode(["b ac?"]) == [[4, 5, 6, 7, UNKNOWN]]
    assert tokenizer.decode([4, 5, 6, 7]) == "b ac"


def test_joint_ones_have_one_vocabulary_and_separate_ones_two(tmp_path: Path) -> None:
    for joint in (True, False):
        chosen = check(TokenizerSettings, {"kind": "word", "joint": joint})
        both = Tokenizers.train(chosen, lambda: ["a b"], lambda: ["c d"])
        assert both.joint == joint
        assert (both.source.encode(["c"]) == [[UNKNOWN]]) != joint
        folder = tmp_path / str(joint)
        folder.mkdir()
        both.save(folder)
        again = Tokenizers.load(folder)
        assert again.joint == joint
        assert again.target.encode(["c d"]) == both.target.encode(["c d"])


SOURCES = [f"the house of number {number} is high" for number in range(50)]
TARGETS = [f"das Haus mit Nummer {number} ist hoch" for number in range(50)]


def joint_tokenizers(kind: str) -> Tokenizers:
    chosen = check(TokenizerSettings, {"kind": kind, "vocabulary": 420})
    return Tokenizers.train(chosen, lambda: SOURCES, lambda: TARGETS)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character", "byte"])
def test_the_target_has_the_first_ids_and_they_are_those_it_uses(kind: str, tmp_path: Path) -> None:
    sides = joint_tokenizers(kind)
    used = {id for ids in sides.source.encode(TARGETS) for id in ids}
    assert max(used) < sides.target.size
    assert (sides.target.size < sides.source.size) == (kind != "byte")
    assert sides.target.encode(TARGETS) == sides.source.encode(TARGETS)
    needed = {"bpe": 257, "unigram": 257, "byte": 256}.get(kind, 0)  # bytes, and a space
    assert needed <= sides.target.size - 4 <= needed + len(used)
    for ids in sides.target.encode(TARGETS):
        assert sides.target.pieces(ids) == sides.source.pieces(ids)
    sides.save(tmp_path)
    again = Tokenizers.load(tmp_path)
    assert again.joint
    assert (again.source.size, again.target.size) == (sides.source.size, sides.target.size)
    assert again.target.encode(SOURCES) == sides.target.encode(SOURCES)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_text_that_the_target_never_had_is_cut_into_pieces_that_it_has(kind: str) -> None:
    sides = joint_tokenizers(kind)
    for lines in (SOURCES[:3], SOURCES + TARGETS, ["house 中 é"]):
        whole, cut = sides.source.encode(lines), sides.target.encode(lines)
        assert max(id for ids in whole for id in ids) >= sides.target.size
        assert max(id for ids in cut for id in ids) < sides.target.size
        assert [sides.target.decode(ids) for ids in cut] == lines
    drawn = sides.target.sample(SOURCES, 0.3, seed=1)
    assert max(id for ids in drawn for id in ids) < sides.target.size
    assert [sides.target.decode(ids) for ids in drawn] == SOURCES


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_numbering_pieces_anew_cuts_nothing_differently(kind: str) -> None:
    chosen = check(TokenizerSettings, {"kind": kind, "vocabulary": 420})
    before = train(chosen, [*SOURCES, *TARGETS])
    after = joint_tokenizers(kind).source
    assert after.size == before.size
    for one, two in zip(before.encode(SOURCES), after.encode(SOURCES), strict=True):
        assert before.pieces(one) == after.pieces(two)


@pytest.mark.parametrize("targets", [3, 10_000, "7", 7.0, None])
def test_a_target_with_ids_that_there_are_not_is_refused(targets: object, tmp_path: Path) -> None:
    joint_tokenizers("bpe").save(tmp_path)
    path = tmp_path / "tokenizer.json"
    record = {**json.loads(path.read_text()), "targets": targets}
    for digest in (record.pop("digest"), module._digest(without_format(record))):
        path.write_text(json.dumps({**record, "digest": digest}))
        with pytest.raises(UsageError, match="not a complete tokenizer file"):
            Tokenizers.load(tmp_path)


def without_format(record: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in record.items() if name != "format"}


def test_files_of_the_first_format_are_read_and_their_target_has_all_ids(tmp_path: Path) -> None:
    tokenizer = joint_tokenizers("bpe").source
    content = tokenizer.content()
    record = {
        "format": "regard tokenizer 1",
        "kind": "bpe",
        "digest": module._digest(content),
        "content": content,
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(record))
    sides = Tokenizers.load(tmp_path)
    assert sides.source.size == sides.target.size == tokenizer.size
    assert sides.target.encode(SOURCES) == tokenizer.encode(SOURCES)


@pytest.mark.parametrize("kind", list(ALL))
def test_saved_and_loaded_is_the_same(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    save(ALL[kind], path)
    again = load(path)
    assert (again.kind, again.size) == (kind, ALL[kind].size)
    assert again.encode(LINES) == ALL[kind].encode(LINES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_a_corrupt_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    save(ALL[kind], path)
    whole = path.read_bytes()
    chooser = random.Random(0)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[chooser.randrange(len(damaged))] ^= 1 << chooser.randrange(8)
        path.write_bytes(damaged)
        with suppress(
            UsageError
        ):  # what loads all the same, as with another space, must be the same
            assert load(path).encode(LINES) == ALL[kind].encode(LINES)
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(UsageError, match="not a complete tokenizer"):
            load(path)


@pytest.mark.parametrize("text", ["[]", "{}", "null", "[" * 100_000, '{"format": 1}', "\x00\xff"])
def test_a_file_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError):
        load(path)


def test_a_damaged_model_with_a_right_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for content in ("AAAA", "no base64!", ["x"], None):
        record = {
            "format": module._FORMAT,
            "kind": "bpe",
            "digest": module._digest(content),
            "content": content,
        }
        path.write_text(json.dumps(record))
        with pytest.raises(UsageError):
            load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read the tokenizer"):
        load(tmp_path / "none.json")
    with pytest.raises(UsageError):
        Tokenizers.load(tmp_path)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_more_vocabulary_than_the_text_has_gives_less(kind: str) -> None:
    chosen = check(TokenizerSettings, {"kind": kind, "vocabulary": 30_000})
    tokenizer = train(chosen, ["hello world", "good day"])
    assert 260 < tokenizer.size < 400
    assert tokenizer.decode(tokenizer.encode(["good world"])[0]) == "good world"


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_small_a_vocabulary_is_refused_with_the_least_value(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        train(check(TokenizerSettings, {"kind": kind, "vocabulary": 200}), LINES)
    least = int(re.findall(r"at least (\d+)", str(caught.value))[0])
    assert train(check(TokenizerSettings, {"kind": kind, "vocabulary": least}), LINES).size == least


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character"])
@pytest.mark.parametrize("lines", [[], [""]])
def test_no_text_is_refused(kind: str, lines: list[str]) -> None:
    with pytest.raises(UsageError, match="no text"):
        train(check(TokenizerSettings, {"kind": kind}), lines)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_one_endless_word_does_not_end_the_process(kind: str) -> None:
    chosen = check(TokenizerSettings, {"kind": kind, "vocabulary": 300})
    tokenizer = train(chosen, ["ab" * 50_000, "abc"])
    assert tokenizer.decode(tokenizer.encode(["abc" * 1000])[0]) == "abc" * 1000


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_twice_gives_the_same_model(kind: str) -> None:
    again = train(check(TokenizerSettings, {"kind": kind, "vocabulary": 500}), iter(LINES))
    assert again.content() == SUBWORDS[kind].content()


def test_a_large_alphabet_falls_back_to_bytes() -> None:
    lines = [chr(0x4E00 + index) * 3 for index in range(3_000)] + ["一" * 10] * 3000
    tokenizer = train(check(TokenizerSettings, {"vocabulary": 4000}), lines)
    assert tokenizer.decode(tokenizer.encode(["一丁丂"])[0]) == "一丁丂"


def test_lines_are_taken_from_all_over_a_large_text() -> None:
    taken = [int(line) for line in sample_evenly(map(str, range(100_000)), limit=1_000)]
    assert 500 <= len(taken) <= 1_000
    assert taken == sorted(taken)
    gaps = [after - before for before, after in pairwise(taken)]
    assert max(gaps) < 4 * min(gaps) + 400
    odd = sum(number % 2 for number in taken) / len(taken)
    assert 0.45 < odd < 0.55
    assert sample_evenly(map(str, range(1_000)), limit=1_000) == [str(n) for n in range(1_000)]


def test_sampling_is_refused_for_the_other_kinds() -> None:
    for kind in ("word", "character", "byte"):
        with pytest.raises(UsageError, match="sampling"):
            check(TokenizerSettings, {"kind": kind, "sampling": 0.1})
        with pytest.raises(UsageError, match="has no sampling"):
            ALL[kind].sample(["a"], 0.1, 0)
    with pytest.raises(UsageError):
        check(TokenizerSettings, {"sampling": 1.5})
    with pytest.raises(UsageError):
        check(TokenizerSettings, {"vocabulary": 3})


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_differs_by_seed_and_from_the_best_cut(kind: str) -> None:
    tokenizer = SUBWORDS[kind]
    first, second = tokenizer.sample(LINES, 0.2, 1), tokenizer.sample(LINES, 0.2, 2)
    assert first != second
    assert first != tokenizer.encode(LINES)
    assert tokenizer.sample(LINES, 0.0, 1) == tokenizer.encode(LINES)
    many = tokenizer.sample([LINES[3]] * 50, 0.2, 1)
    assert len({tuple(ids) for ids in many}) > 1


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("count", [1, 402])
def test_sampling_is_a_pure_function(kind: str, count: int) -> None:
    tokenizer, lines = SUBWORDS[kind], LINES[:count]
    expected = tokenizer.sample(lines, 0.2, 7)
    for other in SUBWORDS.values():
        other.sample(LINES[:33], 0.5, 8)
    assert tokenizer.sample(lines, 0.2, 7) == expected
    found: list[list[list[int]]] = []
    thread = threading.Thread(target=lambda: found.append(tokenizer.sample(lines, 0.2, 7)))
    thread.start()
    thread.join()
    assert found == [expected]


def test_sampling_in_many_threads_at_once() -> None:
    tokenizer = SUBWORDS["bpe"]
    alone = {seed: tokenizer.sample(LINES[:50], 0.2, seed) for seed in range(8)}
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(lambda n: (n % 8, tokenizer.sample(LINES[:50], 0.2, n % 8)), range(64))
        assert all(alone[seed] == ids for seed, ids in together)


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT | st.text("abcdefghij ", max_size=60) | st.text("a▁ é", max_size=30))
def test_no_dropped_merge_is_the_cut_of_the_library(text: str) -> None:
    tokenizer = SUBWORDS["bpe"]
    assert tokenizer.sample([text], 1e-12, 0) == tokenizer.encode([text])


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT | st.text("abcdefghij ", max_size=60))
def test_no_smoothing_is_the_cut_of_the_library(text: str) -> None:
    tokenizer = SUBWORDS["unigram"]
    [sampled], [best] = tokenizer.sample([text], 1e5, 0), tokenizer.encode([text])
    assert isinstance(tokenizer, SentencePiece)
    worth = tokenizer._processor.get_score
    assert sum(map(worth, sampled)) == pytest.approx(sum(map(worth, best)), abs=1e-3)


@pytest.mark.parametrize(("kind", "sampling"), [("bpe", 0.3), ("unigram", 0.1), ("unigram", 0.4)])
def test_sampling_has_the_distribution_of_the_library(kind: str, sampling: float) -> None:
    chooser, count, word = random.Random(0), 4000, "kelobaki"
    lines = ["".join(chooser.choices(["ba", "ke", "lo", "ki", "e"], k=4)) for _ in range(500)]
    tokenizer = train(check(TokenizerSettings, {"kind": kind, "vocabulary": 300}), lines)
    assert isinstance(tokenizer, SentencePiece)
    library = Counter(
        tuple(
            tokenizer._processor.encode(word, enable_sampling=True, alpha=sampling, nbest_size=-1)
        )
        for _ in range(count)
    )
    ours = Counter(
        tuple(tokenizer._random_cut("\u2581" + word, number, sampling)) for number in range(count)
    )
    distance = sum(abs(ours[ids] - library[ids]) for ids in ours | library) / count
    assert len(ours) > 3
    assert distance < 0.03 * len(ours | library) ** 0.5 + 0.05


def test_the_tokenizer_of_a_run_or_a_sentencepiece_model_can_be_given(tmp_path: Path) -> None:
    for kind, tokenizer in SUBWORDS.items():
        assert isinstance(tokenizer, SentencePiece)
        path = tmp_path / f"{kind}.model"
        path.write_bytes(tokenizer._model)
        sides = Tokenizers.given(path)
        assert sides.joint
        assert sides.source.kind == kind
        assert sides.source.content() == tokenizer.content()
        sides.save(tmp_path)
        for way in (tmp_path, tmp_path / "tokenizer.json"):
            assert Tokenizers.given(way).target.content() == tokenizer.content()


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, vocab_size=200, minloglevel=2
    )
    path = tmp_path / "other.model"
    path.write_bytes(model.getvalue())
    with pytest.raises(UsageError, match="--pad_id=0"):
        Tokenizers.given(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UsageError, match="not a SentencePiece model"):
        Tokenizers.given(path)
    with pytest.raises(UsageError, match="does not exist"):
        Tokenizers.given(tmp_path / "none.model")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_is_the_same_in_another_process(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    save(SUBWORDS[kind], path)
    program = (
        "import json, sys; from pathlib import Path; from regard.data.tokenizers import load;"
        f"print(json.dumps(load(Path({str(path)!r})).sample(json.load(sys.stdin), 0.2, 7)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(LINES),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    ).stdout
    assert json.loads(output) == SUBWORDS[kind].sample(LINES, 0.2, 7)


def test_nothing_is_printed_while_training(capfd: pytest.CaptureFixture[str]) -> None:
    train(check(TokenizerSettings, {"vocabulary": 300}), LINES)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_an_entry_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Words(["a", "a"])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_only_the_beginning_of_a_very_long_line_is_learned_from(kind: Any) -> None:
    short, long = "the cat sat on the mat " * 40, "ab" * 5_000 + "zz" * 40_000
    settings = TokenizerSettings(kind=kind, vocabulary=280)
    tokenizer = train(settings, [short, long])
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert any("ab" in piece for piece in pieces)
    assert not any("zz" in piece for piece in pieces)
    assert tokenizer.decode(tokenizer.encode([long])[0]) == long


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_a_model_that_copies_has_all_ids_of_a_joint_vocabulary(kind: str, tmp_path: Path) -> None:
    chosen = check(TokenizerSettings, {"kind": kind, "vocabulary": 420})
    sides = Tokenizers.train(chosen, lambda: SOURCES, lambda: TARGETS, whole=True)
    assert sides.target.size == sides.source.size > joint_tokenizers(kind).target.size
    assert sides.target.encode(SOURCES) == sides.source.encode(SOURCES)
    sides.save(tmp_path)
    assert Tokenizers.load(tmp_path).digest() == sides.digest()
    widened = joint_tokenizers(kind).whole()
    assert widened.joint
    assert widened.target.size == widened.source.size == sides.source.size

"""Training on several files with weights: each pair as often as asked for, held out once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import SMALL, Crash, at_step, crash, some_lines, tensors, turned, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.corpus import Portion, Report
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.data.reread import Reread
from regard.errors import UsageError
from regard.runs.folder import Run


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[Path]]:
    """Two pairs of files without a line in common."""
    for name, seed in (("a", 1), ("b", 2)):
        lines = [f"{line} {name}{number}" for number, line in enumerate(some_lines(60, seed))]
        write_lines(tmp_path / f"{name}.source", lines)
        write_lines(tmp_path / f"{name}.target", map(turned, lines))
    return {side: [tmp_path / f"{name}.{side}" for name in "ab"] for side in ("source", "target")}


def train(run: Path, data: Parallel, **more: Any) -> Run:
    chosen = [*SMALL, "training.save_every=3"]
    return regard.train("tiny", data, run=run, settings=chosen, quiet=True, **{"steps": 4, **more})


def counts(run: Run) -> Counter[tuple[int, ...]]:
    """How often the training data has each source."""
    store = run.store("train")
    return Counter(tuple(store.pair(row)[0].tolist()) for row in range(len(store)))


def test_pairs_are_numbered_through_and_errors_name_their_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.tsv", ["a\t1", "\t2", "c\t3"])
    write_lines(tmp_path / "b.tsv", ["d\t4", "e\t5", "\t6", "\t7"])
    pairs = Parallel(pairs=[tmp_path / "a.tsv", str(tmp_path / "b.tsv")]).open()
    assert [(pair.number, pair.source.text) for pair in pairs] == [
        (1, "a"),
        (3, "c"),
        (4, "d"),
        (5, "e"),
    ]
    report = pairs.check()
    assert (report.read, report.kept, report.kept_of) == (7, 4, (2, 2))
    assert f"3 of 7 pairs: empty (first at {tmp_path / 'a.tsv'}:2)" in report.sentences()[0]
    assert list(report.fingerprint) == [str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv")]
    write_lines(tmp_path / "b.tsv", ["d\t4", "e"])
    with pytest.raises(UsageError, match=r"b\.tsv:2 has 1 column"):
        pairs.check()


def test_formats_may_be_mixed(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.csv", ["en,de", "one,eins"])
    write_lines(tmp_path / "b.jsonl", ['{"de": "zwei", "en": "two"}'])
    pairs = Parallel(pairs=[tmp_path / "a.csv", tmp_path / "b.jsonl"], columns=["en", "de"]).open()
    assert [pair.texts for pair in pairs] == [("one", "eins"), ("two", "zwei")]


def test_what_does_not_belong_together_is_refused(files: dict[str, list[Path]]) -> None:
    source, target = files["source"], files["target"]
    for data, said in (
        (Parallel(source, target[:1]), "--source is given 2 times but --target 1 time:"),
        (Parallel(source, target, trees=source[:1]), "--trees is given 1 time for 2 files"),
        (Parallel(source[:1] * 2, target[:1] * 2), "is given twice: repeat its pairs"),
        (Parallel(source, target, weights="1"), "--weights needs one number"),
        (Parallel(source, target, weights="1,x"), "for each of the 2 files, such as 1,3"),
        (Parallel(source, target, weights=[1, 0]), "above 0 and up to 100"),
        (Parallel(source, target, weights=[1, float("nan")]), "--weights needs one number"),
        (Parallel(source, target, weights=[1, 101]), "above 0 and up to 100"),
        (Parallel(source, target, pairs=source), "Give both --source and --target, or a file"),
    ):
        with pytest.raises(UsageError, match=said):
            data.open()
    weighted = Parallel(source, target, weights=[1, 2])
    with pytest.raises(UsageError, match="Weights have an effect on training data only"):
        weighted.open("valid-")


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=4),
    st.lists(st.fractions(Fraction(1, 50), 7, max_denominator=50), min_size=4, max_size=4),
)
def test_an_epoch_has_each_pair_as_often_as_its_weight_says(
    sizes: list[int], weights: list[Fraction]
) -> None:
    pairs = Reread(_Numbered(sizes, weights))  # type: ignore[arg-type]
    assert len(list(pairs.first())) == sum(sizes)
    for _ in range(2):
        found = Counter(pair.texts for pair in pairs.weighted())
        for portion, (size, weight) in enumerate(zip(sizes, weights, strict=False)):
            own = [found[str(portion), str(index)] for index in range(size)]
            assert sum(own) == ceil(size * weight)
            assert set(own) <= {int(weight), ceil(weight)}


def test_a_portion_need_not_be_taken_to_its_end() -> None:
    pairs = Reread(_Numbered([3, 2], [Fraction(1)] * 2))  # type: ignore[arg-type]
    assert len(list(pairs.first())) == 5
    assert [next(own).texts for _, own in pairs.portions()] == [("0", "0"), ("1", "0")]


class _Numbered:
    """Portions of pairs as if from files; their texts are the numbers of portion and pair."""

    def __init__(self, sizes: Sequence[int], weights: Sequence[Fraction]) -> None:
        self._sizes = sizes
        self.portions = [
            Portion((Path(),), {}, weight=weight) for _, weight in zip(sizes, weights, strict=False)
        ]
        self.report = Report(sum(sizes), sum(sizes), tuple(sizes), {}, (), {})

    def __iter__(self) -> Any:
        for portion, size in enumerate(self._sizes):
            for index in range(size):
                yield Pair(0, Line(str(portion)), Line(str(index)))


def test_training_data_has_the_pairs_of_a_file_by_its_weight(
    files: dict[str, list[Path]], tmp_path: Path
) -> None:
    valid = Parallel(files["source"][0], files["target"][0])
    plain = train(tmp_path / "plain", Parallel(**files), valid=valid)
    assert sum(counts(plain).values()) == 120
    run = train(tmp_path / "run", Parallel(**files, weights="0.5,3"), valid=valid)
    assert sorted(Counter(counts(run).values()).items()) == [(1, 30), (3, 60)]
    together = {
        side: write_lines(
            tmp_path / f"both.{side}",
            [line for path in paths for line in path.read_text().splitlines()],
        )
        for side, paths in files.items()
    }
    same = train(tmp_path / "same", Parallel(**together), valid=valid)
    assert tensors(same.path, 4) == tensors(plain.path, 4)


def test_pairs_are_held_out_once_and_never_trained_on(
    files: dict[str, list[Path]], tmp_path: Path
) -> None:
    run = train(tmp_path / "run", Parallel(**files, weights=[2, 3]))
    held = {pair.texts for pair in run.validation_pairs()}
    assert len(held) == len(run.validation_pairs()) == 6  # of 120, whatever the weights are
    tokenizer = run.tokenizers().source
    found = counts(run)
    for number, path in enumerate(files["source"]):
        lines = path.read_text().splitlines()
        expected = [0 if (line, turned(line)) in held else number + 2 for line in lines]
        assert [found[tuple(tokenizer.encode([line])[0])] for line in lines] == expected


def test_resuming_is_exact_and_other_weights_are_refused(
    files: dict[str, list[Path]], tmp_path: Path
) -> None:
    data = Parallel(**files, weights="1,2.5")
    whole = train(tmp_path / "whole", data, steps=6)
    with at_step(5, crash), pytest.raises(Crash):
        train(tmp_path / "broken", data, steps=6)
    train(tmp_path / "broken", data, steps=6)
    assert tensors(tmp_path / "broken", 6) == tensors(tmp_path / "whole", 6)
    with pytest.raises(UsageError, match=r"other data \(the weights differ"):
        train(tmp_path / "whole", Parallel(**files, weights="1,2"), steps=6)
    with pytest.raises(UsageError, match=r"other data \(the weights differ"):
        train(tmp_path / "whole", Parallel(**files), steps=6)
    with pytest.raises(UsageError, match=r"other data \(the train files differ"):
        train(tmp_path / "whole", Parallel(files["source"][0], files["target"][0]), steps=6)
    assert train(tmp_path / "whole", data, steps=6).path == whole.path
    facts = json.loads((whole.path / "data.json").read_text())["fingerprint"]
    assert facts["weights"] == ["1", "5/2"]
    assert len(facts["train"]) == 4


def test_other_columns_are_refused(tmp_path: Path) -> None:
    rows = [f"{line}\t{turned(line)}\t{number}" for number, line in enumerate(some_lines(60, 1))]
    write_lines(tmp_path / "a.tsv", rows)
    train(tmp_path / "run", Parallel(pairs=tmp_path / "a.tsv", columns="1,2"))
    with pytest.raises(UsageError, match=r"other data \(the columns differ"):
        train(tmp_path / "run", Parallel(pairs=tmp_path / "a.tsv", columns="1,3"))
    train(tmp_path / "run", Parallel(pairs=tmp_path / "a.tsv", columns=("1", "2")))


def test_files_that_look_swapped_beside_the_others_are_noted(
    files: dict[str, list[Path]], tmp_path: Path
) -> None:
    (a, b), (c, d) = files["source"], files["target"]
    many = [" ".join(f"w{n % 97}x" for n in range(i, i + 9)) for i in range(400)]
    write_lines(a, many)
    write_lines(c, [line.replace("w", "v") for line in many])
    write_lines(b, [line.replace("w", "v") for line in many[:100]])
    write_lines(d, many[:100])
    run = train(tmp_path / "run", Parallel(source=(a, b), target=(c, d)))
    notes = json.loads((run.path / "data.json").read_text())["notes"]
    assert any(f"{b} with {d} look swapped" in note for note in notes)
    assert not any(f"{a} with {c} look swapped" in note for note in notes)


@pytest.mark.parametrize("swapped", [150, 400])
def test_a_swapped_file_is_noted_however_large_it_is(
    swapped: int, files: dict[str, list[Path]], tmp_path: Path
) -> None:
    (a, b), (c, d) = files["source"], files["target"]
    many = [" ".join(f"w{n % 97}x" for n in range(i, i + 9)) for i in range(400)]
    other = [line.replace("w", "v") for line in many]
    for path, lines in (a, many), (c, other), (b, other[:swapped]), (d, many[:swapped]):
        write_lines(path, lines)
    run = train(tmp_path / "run", Parallel(source=(a, b), target=(c, d)))
    notes = json.loads((run.path / "data.json").read_text())["notes"]
    looking = [note for note in notes if "look swapped" in note]
    assert len(looking) == 1
    assert f"{b} with {d}" in looking[0]


def test_a_language_model_reads_several_files(files: dict[str, list[Path]]) -> None:
    pairs = Parallel(target=files["target"]).open_for(False, ())
    assert [pair.number for pair in pairs] == list(range(1, 121))


def test_the_command_line_takes_several_files_and_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path, pairs=80)
    sources = corpus["source"].read_text().splitlines()
    write_lines(tmp_path / "a.csv", ["id,en,de", *(f"1,{s},{turned(s)}" for s in sources[:40])])
    rows = [{"en": s, "de": turned(s)} for s in sources[40:]]
    write_lines(tmp_path / "b.jsonl", map(json.dumps, rows))
    write_lines(tmp_path / "valid.csv", ["de,en", *(f"{turned(s)},{s}" for s in sources[:9])])
    run = tmp_path / "run"
    settings = [part for each in SMALL for part in ("--set", each)]
    command = ["train", "tiny", f"--run={run}", "--steps=4", *settings, "--columns=en,de"]
    command += [f"--pairs={tmp_path / 'a.csv'}", f"--pairs={tmp_path / 'b.jsonl'}"]
    command += [f"--valid-pairs={tmp_path / 'valid.csv'}", "--weights=1,3"]
    assert main(command) == 0
    assert sum(counts(Run.open(run)).values()) == 40 + 3 * 40
    assert [pair.texts for pair in Run.open(run).validation_pairs()] == [
        (line, turned(line)) for line in sources[:9]
    ]
    capsys.readouterr()
    tests = [f"--pairs={tmp_path / 'valid.csv'}", "--columns=en,de"]
    assert main(["score", str(run), *tests]) == 0
    by_table = capsys.readouterr().out
    files = [f"--source={tmp_path / 's'}", f"--target={tmp_path / 't'}"]
    write_lines(tmp_path / "s", sources[:9])
    write_lines(tmp_path / "t", map(turned, sources[:9]))
    assert main(["score", str(run), *files]) == 0
    assert capsys.readouterr().out == by_table
    assert main(["align", str(run), *tests]) == 0
    aligned = capsys.readouterr().out
    assert main(["align", str(run), *files]) == 0
    assert capsys.readouterr().out == aligned
    assert len(aligned.splitlines()) == 9
    assert main(["evaluate", str(run), *tests]) == 0

"""Tags, labels and answers through every command: trained, printed, scored, compared, refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from toy import some_lines, write_lines

import regard
from regard.cli import main
from regard.config import override
from regard.errors import UsageError
from regard.recipes import find_recipe
from regard.recipes.config import Budget
from regard.runs.folder import Run

SMALL = [
    *("tokenizer.kind=word", "tokenizer.sampling=0", "batch.tokens=256", "model.dropout=0"),
    *("training.validate_every=1000", "training.processes=1", "training.optimizer.warmup=5"),
]
TAGGER = [*SMALL, "model.width=16", "model.layers=1", "training.optimizer.rate=0.03"]


def tags(line: str) -> str:
    return " ".join(f"B-{word.upper()}" if "e" in word else "O" for word in line.split())


def label(line: str) -> str:
    return f"starts with {line[0]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, two taggers and a classifier that have learned them."""
    path = tmp_path_factory.mktemp("labels")
    for part, count, seed in (("train", 300, 1), ("test", 40, 2)):
        lines = some_lines(count, seed)
        write_lines(path / f"{part}.text", lines)
        write_lines(path / f"{part}.tags", map(tags, lines))
        write_lines(path / f"{part}.label", map(label, lines))
    for name, recipe, target, steps, settings in (
        ("tagger", "tagger_rnn", "tags", 60, TAGGER),
        ("untrained", "tagger_rnn", "tags", 1, TAGGER),
        ("classifier", "classifier", "label", 60, [*TAGGER, "model.pooling=first"]),
    ):
        data = regard.Parallel(path / "train.text", path / f"train.{target}")
        run = path / name
        regard.train(recipe, data, run=run, steps=steps, settings=settings, quiet=True)
    return path


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_every_line_gets_its_tags_or_its_label(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = write_lines(tmp_path / "some", ["ant bee", "", "eel  cat"])
    code, out, _ = command(capsys, "translate", folder / "tagger", "--input", given)
    assert (code, out) == (0, "O B-BEE\n\nB-EEL O\n")
    code, out, _ = command(capsys, "translate", folder / "classifier", "--input", given)
    assert out == "starts with a\n\nstarts with e\n"
    code, out, _ = command(
        capsys, "translate", folder / "classifier", "--input", given, "--best", 3
    )
    rows = [line.split("\t") for line in out.splitlines() if line.count("\t") == 2]
    assert rows[0] == ["0", rows[0][1], "starts with a"]
    assert len(rows) == 7  # an empty line has one empty target
    scores = [float(row[1]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True)


def test_scores_of_tags_and_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--source", folder / "test.text", "--target", folder / "test.tags")
    code, out, _ = command(capsys, "evaluate", folder / "tagger", *files, "--json")
    found = {each["name"]: each for each in json.loads(out)["scores"]}
    assert (code, list(found)) == (0, ["accuracy", "span F1", "exact"])
    assert found["accuracy"]["value"] == found["span F1"]["value"] == 100.0
    assert "unit:word" in found["accuracy"]["signature"]
    evaluated = regard.evaluate(
        folder / "classifier", regard.Parallel(folder / "test.text", folder / "test.label")
    )
    assert [score.name for score in evaluated.scores] == ["accuracy", "macro F1"]
    assert evaluated["accuracy"] == 100.0
    code, out, _ = command(capsys, "compare", folder / "untrained", folder / "tagger", *files)
    p_value = re.search(r"accuracy\t100\.00 .*p = ([0-9.]+)", out)
    assert p_value is not None
    assert float(p_value[1]) < 0.05
    code, out, _ = command(capsys, "score", folder / "tagger", *files)
    assert all(-5 < float(line) <= 0 for line in out.splitlines())
    assert Run.open(folder / "tagger").config.metric == "tag_accuracy"


REFUSED = {
    ("translate", "--beam", "3"): "--beam has no effect with a model that writes tags",
    ("translate", "--sample"): "--sample has no effect with a model that writes tags",
    ("translate", "--prefix", "test.text"): "--prefix has no effect with a model that writes",
    ("translate", "--shortlist", "4"): "--shortlist has no effect",
    ("evaluate", "--lowercase"): "--lowercase has no effect",
    ("evaluate", "--length-penalty", "0"): "--length-penalty has no effect",
    ("look", "ant", "--beam", "2"): "--beam has no effect",
    ("compare", "--lowercase"): "--lowercase has no effect with a model that writes tags",
    ("judge", "--judge", "pair=."): "tags and labels are always the best possible ones",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_options_that_make_no_sense_are_refused(
    folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = arguments
    code, _, said = command(capsys, verb, folder / "tagger", *rest)
    assert code == 2
    assert REFUSED[arguments] in said
    assert said.count("\n") == 1


def test_targets_that_do_not_fit_are_refused_with_file_and_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_lines(tmp_path / "a.text", ["ant bee", "cat"])
    short = write_lines(tmp_path / "a.tags", ["O", "O"])
    unseen = write_lines(tmp_path / "b.tags", ["O B-BEE", "B-NEW"])
    for given, sentence in (
        (short, "a.tags:1 has 1 tag, but its source has 2 words"),
        (unseen, "b.tags:2 has the tag 'B-NEW', which the training data does not have"),
    ):
        for verb in ("evaluate", "score"):
            code, _, said = command(
                capsys, verb, folder / "tagger", "--source", source, "--target", given
            )
            assert code == 2
            assert sentence in said
    new = tmp_path / "new"
    files = regard.Parallel(folder / "train.text", folder / "train.tags")
    with pytest.raises(regard.UsageError, match=r"b\.tags:2 has the tag 'B-NEW'"):
        regard.train(
            "tagger_rnn", files, run=new, valid=regard.Parallel(source, unseen), settings=TAGGER
        )
    assert not new.exists()


def test_a_label_in_a_file_of_pairs_is_refused_with_the_line_where_its_record_begins(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text('text,label\n"ant\nbee",starts with a\ncat,"starts\nanew"\n')
    code, _, said = command(capsys, "evaluate", folder / "classifier", "--pairs", pairs)
    assert code == 2
    assert "pairs.csv:4 has the label 'starts anew'" in said


def test_a_tag_that_one_pair_has_is_trained_on_whatever_is_held_out(tmp_path: Path) -> None:
    lines = [f"ant w{number}" for number in range(40)]
    source = write_lines(tmp_path / "source", lines)
    target = write_lines(tmp_path / "target", ["B O"] * 40)

    def trained(tags: Path) -> Run:
        data, run = regard.Parallel(source, tags), tags.with_suffix(".run")
        return regard.train("tagger_rnn", data, run=run, steps=1, settings=TAGGER, quiet=True)

    common = trained(target)
    held = [lines.index(pair.source.text) for pair in common.validation_pairs()]
    assert len(held) == 2
    tags = [f"B {'RARE' if number == held[0] else 'O'}" for number in range(40)]
    rare = write_lines(tmp_path / "rare", tags)
    run = trained(rare)
    assert [lines.index(pair.source.text) for pair in run.validation_pairs()] == held[1:]
    assert len(run.store("train")) == 39
    assert "RARE" in run.tokenizers().target.pieces(range(7))
    each = write_lines(tmp_path / "each", [f"B O{number}" for number in range(40)])
    with pytest.raises(UsageError, match="has a tag that no other pair has: give valid"):
        trained(each)


def test_a_tag_of_a_pair_that_its_weight_leaves_out_is_not_known(tmp_path: Path) -> None:
    lines = [[f"{word} w{number}" for number in range(40)] for word in ("ant", "bee")]
    sources = [write_lines(tmp_path / some[0], some) for some in lines]
    full = write_lines(tmp_path / "full", ["B O"] * 40)

    def trained(name: str, tags: list[str]) -> list[int]:
        """Which lines of the second file are held out."""
        targets = [full, write_lines(tmp_path / name, tags)]
        data = regard.Parallel(sources, targets, weights=[1, 0.1])
        run = regard.train(
            "tagger_rnn", data, run=tmp_path / f"{name}.run", steps=1, settings=TAGGER, quiet=True
        )
        held = [pair.source.text for pair in run.validation_pairs()]
        return [lines[1].index(each) for each in held if each in lines[1]]

    first, *rest = trained("common", ["B O"] * 40)
    left_out = next(number for number in range(2, 9) if number not in (first, *rest))
    rare = ["B RARE" if number in (first, left_out) else "B O" for number in range(40)]
    assert trained("rare", rare) == rest


def test_a_label_to_train_on_that_the_tokenizer_does_not_have_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    data = regard.Parallel(folder / "train.text", folder / "train.label")
    small = [*TAGGER, "tokenizer.vocabulary=6"]
    no_room = r"train.label:\d+ has the label '.*', for which a vocabulary of 6 has no room: raise"
    with pytest.raises(UsageError, match=no_room):
        regard.train("classifier", data, run=tmp_path / "run", settings=small, quiet=True)
    lines = write_lines(tmp_path / "text", ["ant", "bee"])
    new = write_lines(tmp_path / "label", ["starts with a", "new"])
    other, run = regard.Parallel(lines, new), folder / "classifier"
    with pytest.raises(UsageError, match=r"label:2 has the label 'new', .* leave that option out"):
        regard.train(data=other, valid=data, run=tmp_path / "from", start=run, quiet=True)


def test_a_recipe_with_sampling_may_start_from_a_run_whose_tokenizer_has_none(
    folder: Path, tmp_path: Path
) -> None:
    data = regard.Parallel(folder / "train.text", folder / "train.tags")
    settings = ["model.width=16", "model.layers=1", "model.inner=16", "model.heads=2"]
    run = regard.train(
        "tagger",
        data,
        run=tmp_path / "run",
        start=f"{folder / 'tagger'}:output",
        steps=1,
        settings=settings,
        quiet=True,
    )
    assert run.config.tokenizer.sampling == 0


def test_settings_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    files = regard.Parallel(folder / "train.text", folder / "train.tags")
    for recipe, setting, sentence in (
        ("tagger", "tokenizer.target=line", "needs tokenizer.target=word"),
        ("tagger", "tokenizer.joint=true", "needs tokenizer.joint=false"),
        ("tagger", "training.metric=bleu", "is not validated by bleu"),
        ("tiny", "training.metric=span_f1", "is not validated by span_f1"),
        ("classifier", "tokenizer.target=word", "a model that writes a label needs"),
        ("classifier", "tokenizer.kind=number", "read numbers or pictures go together"),
        ("tagger_rnn", "model.kernel=3", "'kernel' is for cell=attention only"),
        ("tagger_rnn", "model.activation=gelu", "'activation' is for cell=attention only"),
        ("tagger_conv", "model.activation=gelu", "a convolution is followed by relu"),
        ("tagger", "model.kernel=2", "set an odd kernel"),
    ):
        with pytest.raises(regard.UsageError, match=sentence):
            regard.train(recipe, files, run=tmp_path / "x", settings=[setting], quiet=True)


@pytest.mark.parametrize(
    ("recipe", "target", "setting", "sentence"),
    [
        ("tagger_rnn", "tags", "search.beam=8", "search.beam has no effect with a model that"),
        ("tagger_rnn", "tags", "tokenizer.marker=|", "tokenizer.marker has no effect with a model"),
        ("tiny", "text", "tokenizer.marker=|", "reads no sentences; remove it."),
    ],
)
def test_settings_that_the_model_ignores_are_refused_when_a_run_is_started(
    recipe: str, target: str, setting: str, sentence: str, folder: Path, tmp_path: Path
) -> None:
    data = regard.Parallel(folder / "test.text", folder / f"test.{target}")
    with pytest.raises(UsageError, match=sentence):
        regard.train(recipe, data, run=tmp_path / "run", settings=[setting], quiet=True)
    assert not (tmp_path / "run").exists()


def test_runs_that_were_started_with_such_settings_are_resumed(
    folder: Path, tmp_path: Path
) -> None:
    data = regard.Parallel(folder / "train.text", folder / "train.tags")
    settings = [*TAGGER, "search.beam=8", "tokenizer.marker=|"]
    earlier = override(find_recipe("tagger_rnn"), settings).changed(budget=Budget(steps=2))
    path = regard.train(earlier, data, run=tmp_path / "run", quiet=True).path
    regard.train("tagger_rnn", data, run=path, steps=2, settings=settings, quiet=True)
    assert Run.open(path).config.search.beam == 8
    regard.train(run=path, more=True, steps=1, quiet=True)
    new = tmp_path / "new"
    regard.train(data=data, run=new, start=path, steps=1, settings=SMALL[2:3], quiet=True)
    assert Run.open(new).config.tokenizer.marker == "|"


def test_a_line_that_is_too_long_is_not_tagged_in_part(folder: Path) -> None:
    tagger = regard.load(folder / "tagger")
    tagger.length_limit = 3
    assert tagger(["ant bee eel"]) == ["O B-BEE B-EEL"]
    with pytest.raises(regard.UsageError, match="Line 2 has 4 pieces, more than the 3"):
        tagger(["ant", "ant bee eel cat"])
    classifier = regard.load(folder / "classifier")
    classifier.length_limit = 3
    assert classifier("ant bee eel cat") == "starts with a"


def test_look_watch_and_info(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "look.html"
    code, out, _ = command(capsys, "look", folder / "classifier", "ant bee", "--output", page)
    assert (code, out) == (0, "starts with a\n")
    assert page.read_text().count("starts with") >= 1
    assert command(capsys, "watch", folder / "tagger", "--output", tmp_path / "w.html")[0] == 0
    assert '"snapshots":[{' in (tmp_path / "w.html").read_text()
    assert re.search(r"^model +tagger", command(capsys, "info", folder / "tagger")[1], re.MULTILINE)
    code, _, said = command(
        capsys,
        "align",
        folder / "tagger",
        "--source",
        folder / "test.text",
        "--target",
        folder / "test.tags",
    )
    assert code == 2
    assert "aligns words" in said


def test_a_ladder_compares_what_is_written_alike(
    folder: Path, tmp_path: Path, short_timings: None
) -> None:
    data = regard.Parallel(folder / "train.text", folder / "train.tags")
    with pytest.raises(regard.UsageError, match="tiny writes text, but tagger writes tags"):
        regard.ladder(["tagger", "tiny"], data, output=tmp_path / "no", steps=1)
    found = regard.ladder(
        ["one=tagger_rnn:model.layers=1", "two=tagger_rnn:model.layers=2"],
        data,
        output=tmp_path / "ladder",
        test=regard.Parallel(folder / "test.text", folder / "test.tags"),
        steps=2,
        settings=[*SMALL, "model.width=16"],
        quiet=True,
    )
    assert [result.measured.metric for result in found if result.measured] == ["accuracy"] * 2

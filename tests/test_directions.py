"""One run of several directions: each line is translated into the language that was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy import SMALL, some_lines, train_small, turned, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.runs.folder import Run
from regard.search.beam import Beam

LEARNS = (
    "tokenizer.kind=word",
    "batch.tokens=512",
    "model.width=32",
    "model.dropout=0",
    "training.optimizer.rate=0.02",
    "training.optimizer.warmup=20",
    "training.validate_every=100",
    "training.metric=exact",
    "training.processes=1",
)
COLUMNS = "source,target,from,to"


def write_pairs(path: Path, count: int, seed: int) -> Path:
    """The same words, copied into Danish and turned round into German."""
    rows = ["\t".join(COLUMNS.split(","))]
    for index, line in enumerate(some_lines(count, seed)):
        ways = (line, "da") if index % 2 else (turned(line), "de")
        rows.append("\t".join((line, ways[0], "en", ways[1])))
    return write_lines(path, rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    counts = {"train": 600, "valid": 40, "test": 60}
    return {
        name: write_pairs(folder / f"{name}.tsv", count, seed)
        for seed, (name, count) in enumerate(counts.items())
    }


@pytest.fixture(scope="module")
def many(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return regard.train(
        "lstm_attention",
        Parallel(pairs=files["train"], columns=COLUMNS),
        valid=Parallel(pairs=files["valid"], columns=COLUMNS),
        run=tmp_path_factory.mktemp("many") / "run",
        steps=300,
        settings=LEARNS,
        quiet=True,
    ).path


def test_each_direction_is_asked_for_and_learned(many: Path) -> None:
    lines = some_lines(20, seed=9)
    danish, german = (regard.load(many, languages=(None, tag))(lines) for tag in ("da", "de"))
    assert sum(a == b for a, b in zip(danish, lines, strict=True)) >= 18
    assert sum(a == turned(b) for a, b in zip(german, lines, strict=True)) >= 18
    assert regard.load(many, languages=("en", "de"))(["ant bee", "", " "])[1:] == ["", ""]


def test_evaluate_scores_each_direction(
    many: Path, files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(many), "--pairs", str(files["test"]), "--columns", COLUMNS, "--json"]
    assert main(command) == 0
    scores = {each["name"]: each for each in json.loads(capfd.readouterr().out)["scores"]}
    assert scores["BLEU"]["value"] > 80
    assert scores["BLEU en-da"]["value"] > 80
    assert scores["BLEU en-de"]["value"] > 80
    assert scores["BLEU en-de"]["signature"].startswith("nrefs:1")


def test_the_languages_are_kept_and_shown(many: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(many)]) == 0
    assert "en to da, en to de" in capfd.readouterr().out
    assert Run.open(many).config.tokenizer.tags == "target"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "translates into several languages: choose one of da, de with --to"),
        (["--to=sv"], "does not translate into 'sv': choose one of da, de"),
        (["--to=da", "--from-language=de"], "does not translate from 'de': choose one of en"),
        (["--to=danish"], "is not a language tag"),
    ],
)
def test_what_the_run_does_not_know_is_refused(
    options: list[str],
    sentence: str,
    many: Path,
    files: dict[str, Path],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = write_lines(tmp_path / "text", some_lines(3, seed=1))
    for command in (
        ["translate", str(many), "--input", str(text)],
        ["distill", str(many), "--source", str(text), "--output", str(tmp_path / "out")],
        ["augment", str(many), "--target", str(text), "--output", str(tmp_path / "out")],
        ["look", str(many), "ant"],
    ):
        assert main([*command, *options]) == 2, command
        assert sentence in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_verbs_ask_for_a_language(
    many: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = some_lines(12, seed=4)
    text = write_lines(tmp_path / "text", lines)
    right = write_lines(tmp_path / "right", map(turned, lines))
    links = tmp_path / "links"
    sides = ["--source", str(text), "--target", str(right), "--to=de"]
    assert main(["translate", str(many), "--input", str(text), "--to=de"]) == 0
    found = capfd.readouterr().out.splitlines()
    assert sum(each == turned(line) for each, line in zip(found, lines, strict=True)) >= 10
    assert main(["evaluate", str(many), *sides]) == 0
    assert main(["compare", str(many), str(many), *sides]) == 0
    assert main(["score", str(many), *sides]) == 0
    assert main(["align", str(many), *sides, "--output", str(links)]) == 0
    assert (
        main(["look", str(many), "ant bee", "--to=de", "--output", str(tmp_path / "p.html")]) == 0
    )
    counts = [len(line.split()) for line in lines]
    for count, line in zip(counts, links.read_text().splitlines(), strict=True):
        sources = [int(link.split("-")[0]) for link in line.split()]
        assert all(source < count for source in sources), "the tag is not a word of the line"
    assert main(["evaluate", str(many), *sides[:-1]]) == 2
    assert "translates between several languages" in capfd.readouterr().err


def test_a_run_of_one_direction_refuses_a_language(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = train_small(tmp_path / "run", write_corpus(tmp_path / "corpus"), steps=1).path
    text = write_lines(tmp_path / "text", some_lines(3, seed=1))
    assert main(["translate", str(plain), "--input", str(text), "--to=de"]) == 2
    assert "has one direction: remove --to" in capfd.readouterr().err


def test_both_languages_can_be_read(files: dict[str, Path], tmp_path: Path) -> None:
    run = regard.train(
        "tiny",
        Parallel(pairs=files["train"], columns=COLUMNS),
        run=tmp_path / "run",
        steps=1,
        settings=[*SMALL, "tokenizer.tags=both"],
        quiet=True,
    )
    with pytest.raises(UsageError, match="choose one of en with --from-language"):
        regard.load(run.path, languages=(None, "de"))
    translate = regard.load(run.path, languages=("en", "de"))
    assert translate.tags == "<from-en> <2de>"
    assert run.validation_pairs(1)[0].source.text.startswith("<from-en> <2d")


def test_resuming_checks_the_languages_too(files: dict[str, Path], tmp_path: Path) -> None:
    lines = some_lines(30, seed=1)
    source = write_lines(tmp_path / "source", lines)
    target = write_lines(tmp_path / "target", map(turned, lines))
    settings = [*SMALL, "tokenizer.tags=target"]

    def go(language: str) -> None:
        data = Parallel(source, target, languages=("en", language))
        regard.train("tiny", data, run=tmp_path / "run", steps=1, settings=settings, quiet=True)

    go("de")
    go("de")
    with pytest.raises(UsageError, match="other data"):
        go("da")


def test_the_tokenizer_of_a_run_without_tags_says_so(
    files: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    first = train_small(
        tmp_path / "first", corpus, "tokenizer.kind=bpe", "tokenizer.vocabulary=300", steps=1
    ).path
    command = ["train", "--from", str(first), "--run", str(tmp_path / "run"), "--steps=1"]
    assert main([*command, "--pairs", str(files["train"]), "--columns", COLUMNS]) == 0
    assert (
        "does not know <2da>, <2de>: it splits each into several pieces" in capfd.readouterr().err
    )


def test_models_of_other_things_have_no_tags(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tokenizer\.tags=null"):
        regard.train(
            "tagger",
            Parallel(pairs=files["train"], columns=COLUMNS),
            run=tmp_path / "run",
            steps=1,
            quiet=True,
        )


def test_the_rarer_direction_of_two_opposite_ones_is_not_called_swapped(tmp_path: Path) -> None:
    """Nine in ten pairs are of the other direction; the words of both are on both sides."""

    def there(seed: int) -> tuple[str, str]:
        words = " ".join(some_lines(8, seed)).split()
        return " ".join(words), " ".join(f"de{word}" for word in words)

    def row(seed: int, common: bool) -> str:
        sides, ways = (there(seed), ("en", "de")) if common else (there(seed)[::-1], ("de", "en"))
        return "\t".join((*sides, *ways))

    names = "\t".join(COLUMNS.split(","))
    train = write_lines(tmp_path / "train", [names, *(row(n, n % 10 > 0) for n in range(100))])
    rare = write_lines(tmp_path / "rare", [names, *(row(n, False) for n in range(100, 120))])
    english, german = zip(*map(there, range(200, 230)), strict=True)
    alone = Parallel(write_lines(tmp_path / "de", german), write_lines(tmp_path / "en", english))
    settings = [*SMALL, "training.metric=loss"]
    other = Parallel(pairs=rare, columns=COLUMNS)
    many = regard.train(
        "tiny",
        Parallel(pairs=train, columns=COLUMNS),
        valid=other,
        run=tmp_path / "many",
        steps=1,
        settings=settings,
        quiet=True,
    ).path
    judge = regard.train(
        "tiny", alone, run=tmp_path / "judge", steps=1, settings=settings, quiet=True
    ).path
    search = Beam(beam=2)
    assert regard.evaluate(many, other, search=search, judges=[f"pair={judge}:1"]).scores

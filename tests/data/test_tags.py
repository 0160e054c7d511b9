"""Tags before source lines: read, never split, and never written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toy import some_lines, turned

from regard.config import check
from regard.data.corpus import Task
from regard.data.languages import Languages
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.data.tags import language_tags, leading_tags, tagged, without_tags
from regard.data.tokenizer import TokenizerSettings
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError

ROWS = [("a b", "A B", "en", "de"), ("c d", "C D", "de", "en"), ("e", "E", "en", "pt_br")]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("<2de> hello", ["<2de>"]),
        ("<bt> <2pt-BR> hello", ["<bt>", "<2pt-BR>"]),
        ("<from-en> <2de> hello", ["<from-en>", "<2de>"]),
        ("<2de>", ["<2de>"]),
        ("hello <2de>", []),
        ("<2de>hello", []),
        ("<br> hello", []),
        ("<li>", []),
        ("", []),
    ],
)
def test_tags_are_told_from_text(text: str, tags: list[str]) -> None:
    assert leading_tags(text) == tags
    assert without_tags(text) == ("hello" if tags and "hello" in text else "" if tags else text)


def test_a_line_is_tagged_unless_it_is_empty() -> None:
    assert tagged(Line("hello"), "<2de>").text == "<2de> hello"
    assert tagged(Line(" "), "<2de>").text == " "
    assert tagged(Line("hello"), "").text == "hello"
    assert language_tags("both", Languages("en", "de")) == "<from-en> <2de>"
    assert language_tags(None, Languages("en", "de")) == ""


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
@pytest.mark.parametrize("joint", [True, False])
def test_a_tag_is_one_piece_that_is_never_split_or_written(kind: str, joint: bool) -> None:
    settings = check(TokenizerSettings, {"kind": kind, "vocabulary": 320, "joint": joint})
    lines = some_lines(200, seed=1)
    tags = ["<2de>", "<2en>", "<bt>"]
    sources = [f"{tags[index % 2]} {line}" for index, line in enumerate(lines)]
    sources[7] = f"<bt> {lines[7]}"  # once is enough
    sides = Tokenizers.train(settings, lambda: sources, lambda: map(turned, lines))
    for tag in tags:
        ids, alone = sides.source.encode([f"{tag} ant bee", "ant bee"])
        assert ids[1:] == alone
        assert sides.source.decode(ids) == f"{tag} ant bee"
        assert not joint or ids[0] >= sides.target.size
        if sides.source.samples:
            for seed in range(5):
                assert sides.source.sample([f"{tag} ant bee"], 0.5, seed)[0][0] == ids[0]
    both = sides.source.encode(["<bt> <2de> ant"])[0]
    assert both[:2] == [sides.source.encode([tag])[0][0] for tag in ("<bt>", "<2de>")]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_text_without_tags_has_the_tokenizer_it_had(kind: str) -> None:
    """No entry is added, and a first line that only looks like a tag is text."""
    settings = check(TokenizerSettings, {"kind": kind, "vocabulary": 300})
    lines = ["<br> ant", *some_lines(100, seed=1)]
    sides = Tokenizers.train(settings, lambda: lines, lambda: map(turned, lines))
    assert len(sides.source.encode(["<br>"])[0]) > 1
    assert not [piece for piece in sides.source.pieces(range(sides.source.size)) if "<2" in piece]


def write(path: Path, kind: str, rows: Any = ROWS) -> Parallel:
    names = ("source", "target", "from", "to")
    file = path / f"pairs.{kind}"
    if kind == "jsonl":
        texts = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    else:
        mark = "\t" if kind == "tsv" else ","
        texts = [mark.join(row) for row in (names, *rows)]
    file.write_text("".join(f"{each}\n" for each in texts))
    return Parallel(pairs=file, columns="source,target,from,to")


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_columns_of_languages_tag_the_sources(kind: str, tmp_path: Path) -> None:
    data = write(tmp_path, kind)
    plain, target, both = (list(data.open(task=Task(tags=t))) for t in (None, "target", "both"))
    assert [pair.source.text for pair in plain] == ["a b", "c d", "e"]
    assert [pair.source.text for pair in target] == ["<2de> a b", "<2en> c d", "<2pt-BR> e"]
    assert both[2].source.text == "<from-en> <2pt-BR> e"
    assert [pair.languages for pair in plain] == [pair.languages for pair in both]
    assert plain[2].languages == Languages("en", "pt-BR")
    pairs = data.open(task=Task(tags="target"))
    assert pairs.check().directions == (("de", "en"), ("en", "de"), ("en", "pt-BR"))


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
@pytest.mark.parametrize("bad", ["", "english", "<de>"])
def test_what_is_not_a_language_is_refused_with_its_line(
    kind: str, bad: str, tmp_path: Path
) -> None:
    data = write(tmp_path, kind, [ROWS[0], ("c", "C", "en", bad)])
    line = 2 if kind == "jsonl" else 3
    with pytest.raises(UsageError, match=rf"pairs\.{kind}:{line}"):
        list(data.open())


@pytest.mark.parametrize("columns", ["a,b,c", "a,b,c,b", "a,b,,d", "a", "a,b,c,d,e"])
def test_columns_are_two_or_four_names(columns: str, tmp_path: Path) -> None:
    data = Parallel(pairs=write(tmp_path, "tsv").pairs, columns=columns)
    with pytest.raises(UsageError, match=r"needs two different names .* or four"):
        data.open()


def test_a_format_without_columns_refuses_those_of_languages(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tmx"
    file.write_text("<?xml version='1.0'?><tmx><body/></tmx>")
    with pytest.raises(UsageError, match="has no columns of languages"):
        list(Parallel(pairs=file, columns="en,de,from,to").open())


def test_files_of_one_direction_take_their_languages_from_outside(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("a\nb\n")
    target.write_text("A\nB\n")
    data = Parallel(source, target, languages=("en", "de"))
    opened = data.open_for(True, (), tags="target")
    assert [pair.source.text for pair in opened] == ["<2de> a", "<2de> b"]
    assert [pair.source.text for pair in data.open_for(True, ())] == ["a", "b"]
    for languages, tags in (((None, None), "target"), ((None, "de"), "both")):
        unknown = Parallel(source, target, languages=languages)
        with pytest.raises(UsageError, match="translates between several languages"):
            unknown.open_for(True, (), tags=tags)  # type: ignore[arg-type]

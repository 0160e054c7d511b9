"""The languages of a run, and the BLEU tokenizers that follow from them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Optional

import pytest
from toy import small_command, train_small, write_corpus

import regard
from regard.cli import main
from regard.data.languages import Languages
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.metrics import text as text_metrics
from regard.metrics.text import TextMetrics, tokenizer_for
from regard.runs.folder import Run


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where neither Japanese nor Korean is installed."""
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.setitem(sys.modules, "mecab_ko", None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    corpus = write_corpus(folder)
    command = small_command(folder / "run", corpus, "--steps=2", "--quiet")
    assert main([*command, "--source-language=EN-us", "--target-language=zh_hant"]) == 0
    return folder


def languages(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "languages.json").read_text())
    del found["digest"]
    return found


def signature(run: Path, metrics: Optional[TextMetrics] = None) -> str:
    found = regard.evaluate(run, metrics=metrics or TextMetrics(bootstrap=0), say=lambda text: None)
    return found.scores[0].signature


@pytest.mark.parametrize(
    ("given", "tag"),
    [
        *[("en", "en"), ("EN", "en"), ("pt-br", "pt-BR"), ("zh_hant", "zh-Hant"), ("yue", "yue")],
        *[("es-419", "es-419"), ("zh-hans-cn", "zh-Hans-CN"), ("de-ch-1996x", "de-CH-1996x")],
    ],
)
def test_tags_are_written_as_is_usual(given: str, tag: str) -> None:
    assert Languages.of(given, None) == (tag, None)


@pytest.mark.parametrize("wrong", ["", "german", "e", "en-", "en us", "12", "en--us", "中文"])
def test_what_is_no_tag_is_refused_before_anything_else(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="is not a language tag: write one such as en"):
        Parallel("a", "b", languages=("en", wrong))
    command = ["train", "tiny", "--run", str(tmp_path / "run"), f"--target-language={wrong}"]
    assert main([*command, "--source=a", "--target=b"]) == 2
    assert f"'{wrong}' is not a language tag" in capsys.readouterr().err


def test_the_tokenizer_of_a_language() -> None:
    tags = ("zh", "zh-Hant", "cmn", "yue-HK", "ja", "ja-JP", "ko", "de", None)
    assert [tokenizer_for(tag) for tag in tags] == [
        *("zh", "zh", "zh", "zh", "ja-mecab", "ja-mecab", "ko-mecab", "13a", "13a")
    ]


def test_the_run_keeps_its_languages_and_they_choose_the_tokenizer(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {"source": "en-US", "target": "zh-Hant", "validation_tokenizer": "zh"}
    assert languages(trained / "run") == kept
    assert "languages" not in json.loads((trained / "run" / "config.json").read_text())
    assert "tok:zh" in signature(trained / "run")
    assert "tok:13a" in signature(trained / "run", TextMetrics(tokenize="13a", bootstrap=0))
    run = str(trained / "run")
    capsys.readouterr()
    assert main(["compare", run, run]) == 0
    assert "tok:zh" in capsys.readouterr().out
    assert main(["info", run]) == 0
    assert "en-US to zh-Hant" in capsys.readouterr().out
    assert main(["info", run, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["languages"]
    assert told == {"source": "en-US", "target": "zh-Hant"}


def test_validation_scores_use_the_tokenizer_of_the_language(tmp_path: Path) -> None:
    """Without spaces, 13a takes a line for one word, and zh its characters."""
    ends = [first + second for first in "天地玄黄宇宙洪荒" for second in "日月盈昃辰宿列张"]
    lines = [f"寒来暑往秋收冬藏{end}" for end in ends]
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    seen = {}
    for tag in ("zh", "de"):
        run = train_small(
            tmp_path / tag,
            {},
            *("tokenizer.kind=character", "training.validate_every=10"),
            *("training.optimizer.rate=0.02", "model.dropout=0"),
            data=Parallel(tmp_path / "source", tmp_path / "target", languages=(None, tag)),
            steps=60,
        )
        seen[tag] = [each["bleu"] for each in run.journal if each["event"] == "validation"]
    assert max(seen["zh"]) > 0
    assert seen["zh"] != seen["de"]


def test_languages_can_be_given_later_and_changed_but_validation_stays_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path)
    run = tmp_path / "run"
    train_small(run, corpus, steps=2)
    assert not (run / "languages.json").exists()
    assert "tok:13a" in signature(run)
    assert main(["train", f"--run={run}", "--target-language=zh"]) == 0
    assert "uses the tokenizer 13a, and 'regard evaluate' zh: do not" in capsys.readouterr().err
    assert languages(run) == {"source": None, "target": "zh", "validation_tokenizer": "13a"}
    assert "tok:zh" in signature(run)
    assert main(["train", f"--run={run}", "--source-language=en", "--target-language=de"]) == 0
    assert languages(run) == {"source": "en", "target": "de", "validation_tokenizer": "13a"}
    assert "tok:13a" in signature(run)


def test_the_language_of_the_data_that_is_evaluated_wins(trained: Path) -> None:
    files = (trained / "test.source", trained / "test.target")
    found = regard.evaluate(trained / "run", Parallel(*files, languages=(None, "de")))
    assert "tok:13a" in found.scores[0].signature


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize(("tag", "extra"), [("ja", "ja"), ("ko-KR", "ko")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tag: str, extra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path)
    command = small_command(tmp_path / "run", corpus, "--steps=2", f"--target-language={tag}")
    assert main(command) == 0  # training goes on with characters
    install = f"pip install 'sacrebleu[{extra}]'"
    told = capsys.readouterr().err
    assert told.count("uses the tokenizer char, and 'regard evaluate'") == 1
    assert install in told
    assert main(command) == 0
    assert "tokenizer char" not in capsys.readouterr().err  # it was said
    assert languages(tmp_path / "run")["validation_tokenizer"] == "char"
    assert main(["evaluate", str(tmp_path / "run")]) == 2
    assert f"run {install}, or give --tokenize char." in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "run"), "--tokenize", "char"]) == 0
    assert "tok:char" in capsys.readouterr().out
    assert main(["evaluate", str(tmp_path / "run"), "--tokenize", f"{extra}-mecab"]) == 2
    assert f"it is not installed; run {install}" in capsys.readouterr().err
    files = [f"--{side}={corpus[side]}" for side in ("source", "target")]
    ladder = ["ladder", "tiny", f"--output={tmp_path / 'l'}", "--steps=1", *files]
    assert main([*ladder, f"--target-language={tag}"]) == 2
    assert install in capsys.readouterr().err
    assert not (tmp_path / "l").exists()


def test_a_run_is_resumed_with_the_tokenizer_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the package is there now: scores before and after must compare."""
    corpus = write_corpus(tmp_path)
    data = Parallel(corpus["source"], corpus["target"], languages=("en", "ja"))
    monkeypatch.setattr("regard.runs.languages.installed", lambda tokenizer: tokenizer == "char")
    run = train_small(tmp_path / "run", {}, steps=2, data=data)
    monkeypatch.setattr("regard.runs.languages.installed", lambda tokenizer: True)
    copy = Path(shutil.copytree(run.path, tmp_path / "copy"))
    regard.train(run=copy, data=data, quiet=True)
    assert languages(copy)["validation_tokenizer"] == "char"
    assert Run.open(copy).checkpoints().steps() == [2]


def test_the_ladder_measures_by_the_language(tmp_path: Path, short_timings: None) -> None:
    corpus = write_corpus(tmp_path)
    data = Parallel(corpus["source"], corpus["target"], languages=("en", "zh"))
    small = [
        *("tokenizer.kind=word", "model.layers=1", "model.width=16", "model.heads=2"),
        *("model.inner=16", "batch.tokens=64"),
    ]
    (result,) = regard.ladder(
        ["tiny"], data, output=tmp_path / "ladder", steps=2, settings=small, quiet=True
    )
    assert result.measured is not None
    assert "tok:zh" in result.measured.signature
    assert languages(tmp_path / "ladder" / "tiny")["target"] == "zh"


def test_metrics_without_a_language_are_those_of_sacrebleu() -> None:
    assert TextMetrics().tokenize is None
    assert TextMetrics().for_language("fr").tokenize == "13a"
    assert TextMetrics(tokenize="intl").for_language("zh").tokenize == "intl"
    assert text_metrics.DEFAULT_TOKENIZER == "13a"

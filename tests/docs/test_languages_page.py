"""What docs/languages.md says about languages without spaces, on English and Japanese."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

import regard
from regard import Parallel
from regard.errors import UsageError
from regard.metrics.text import Bleu, TextMetrics

WHO = {
    "The dog": "犬",
    "The cat": "猫",
    "The child": "子供",
    "My friend": "友達",
    "The teacher": "先生",
    "My mother": "母",
    "The student": "学生",
    "The bird": "鳥",
}
WHAT = {
    "an apple": "りんご",
    "bread": "パン",
    "fish": "魚",
    "rice": "ご飯",
    "meat": "肉",
    "an egg": "卵",
    "a cake": "ケーキ",
    "fruit": "果物",
}
DOES = {
    "eats": "を食べます",
    "buys": "を買います",
    "looks for": "を探します",
    "wants to see": "を見たいです",
    "likes": "が好きです",
    "forgot": "を忘れました",
}
SETTINGS = (
    "model.width=48",
    "model.dropout=0",
    "batch.tokens=1024",
    "training.optimizer.rate=0.01",
    "training.average.decay=0.9",
    "training.validate_every=75",
    "training.metric=chrf",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("japanese")
    pairs = [
        (f"{who} {does} {what}.", f"{WHO[who]}は{WHAT[what]}{DOES[does]}。")
        for who, what, does in product(WHO, WHAT, DOES)
    ]
    Random(1).shuffle(pairs)
    for name, part in (("train", pairs[:320]), ("test", pairs[320:])):
        (folder / f"{name}.en").write_text("".join(f"{a}\n" for a, _ in part), encoding="utf-8")
        (folder / f"{name}.ja").write_text("".join(f"{b}\n" for _, b in part), encoding="utf-8")
    return folder


def train(folder: Path, kind: str, vocabulary: int) -> Path:
    chosen = (f"tokenizer.kind={kind}", f"tokenizer.vocabulary={vocabulary}")
    data = Parallel(folder / "train.en", folder / "train.ja")
    run = folder / kind
    regard.train(
        "lstm_attention", data, run=run, steps=150, settings=(*SETTINGS, *chosen), quiet=True
    )
    return run


@pytest.mark.parametrize("kind", ["character", "bpe"])
def test_japanese_is_learned_and_only_some_tokenizers_can_tell(folder: Path, kind: str) -> None:
    run = train(folder, kind, 400)
    assert regard.load(run)("The bird likes bread.") == "鳥はパンが好きです。"
    references = (folder / "test.ja").read_text(encoding="utf-8").splitlines()
    found = regard.evaluate(run, Parallel(folder / "test.en", folder / "test.ja"))
    assert found["exact"] > 90
    assert found["chrF"] > 95
    assert found["BLEU"] == 0  # by 13a, for which each of these lines is one word
    bleu = {
        name: Bleu(TextMetrics(tokenize=name, bootstrap=0)).score((), found.outputs, references)
        for name in ("char", "zh", "none")
    }
    assert bleu["char"].value > 95
    assert bleu["zh"].value > 95
    assert bleu["none"].value == 0


def test_a_vocabulary_too_small_for_the_characters_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="too small for the characters of this text"):
        train(folder, "unigram", 20)

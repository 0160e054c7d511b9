"""The language model: a text alone in, its probability and its continuation out."""

from __future__ import annotations

import io
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import torch
from toy import WORDS, Crash, at_step, crash, journal, parallel, tensors, write_lines

import regard
from regard import recipes
from regard.cli import main
from regard.data.batch import BOS, EOS, Batch, Padded
from regard.data.parallel import Parallel
from regard.data.tokenizer import Words
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.models.base import Model
from regard.models.language import LanguageConfig
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.runs.load import build_model, load_predictor
from regard.search.beam import Beam

ATTENTION = ("model.layers=2", "model.inner=32", "model.heads=2")
SMALL = (
    "tokenizer.kind=word",
    "batch.tokens=512",
    "model.width=32",
    "model.dropout=0",
    "training.optimizer.rate=0.01",
    "training.optimizer.warmup=20",
    "training.validate_every=1000",
    "search.max_length_extra=12",
)
OWN = {"language": ATTENTION, "language_rnn": ("model.layers=1",)}
BOTH = pytest.mark.parametrize("recipe", OWN)
Command = Callable[..., tuple[int, list[str], str]]


def some_rounds(count: int, seed: int) -> list[str]:
    """1 to 5 words, each the one that follows in the alphabet: 40 lines, all as likely."""
    draw = random.Random(seed)
    starts = [(draw.randrange(8), draw.randint(1, 5)) for _ in range(count)]
    return [" ".join(WORDS[(first + i) % 8] for i in range(length)) for first, length in starts]


def follows(line: str) -> bool:
    """Whether the words stand in their order."""
    places = [WORDS.index(word) for word in line.split()]
    return all((before + 1) % 8 == after for before, after in pairwise(places))


def train(run: Path, *settings: str, recipe: str = "language", steps: int = 2, **more: Any) -> Run:
    chosen = [*SMALL, *OWN[recipe], *settings]
    return regard.train(recipe, run=run, steps=steps, settings=chosen, quiet=True, **parallel(more))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each recipe; the validation data of one is given, of the other held out."""
    folder = tmp_path_factory.mktemp("language")
    target = write_lines(folder / "train", some_rounds(400, 1))
    valid = write_lines(folder / "valid", some_rounds(60, 2))
    write_lines(folder / "test", some_rounds(100, 3))
    train(folder / "language", target=target, valid_target=valid, steps=150)
    train(folder / "language_rnn", recipe="language_rnn", target=target, steps=150)
    return folder


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def call(*arguments: Any, stdin: str = "") -> tuple[int, list[str], str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out.splitlines(), captured.err

    return call


def unigram_perplexity(train: Path, test: Path) -> float:
    """Of words and ends of lines drawn one by one as often as they stand in the training text."""

    def units(path: Path) -> list[str]:
        return path.read_text().replace("\n", " END ").split()

    counts = Counter(units(train))
    logs = [math.log(counts[unit] / counts.total()) for unit in units(test)]
    return math.exp(-sum(logs) / len(logs))


def least_perplexity(test: Path) -> float:
    """Of whoever knows the rule: each line has the probability 1/40."""
    lines = test.read_text().splitlines()
    units = sum(len(line.split()) + 1 for line in lines)
    return math.exp(len(lines) * math.log(40) / units)


@BOTH
def test_it_learns_more_than_how_often_words_stand_and_no_more_than_can_be_known(
    recipe: str, folder: Path
) -> None:
    told = regard.evaluate(folder / recipe, Parallel(target=folder / "test"))
    assert [score.name for score in told.scores] == ["perplexity", "word perplexity"]
    assert told.outputs == ()
    assert told["perplexity"] < 0.5 * unigram_perplexity(folder / "train", folder / "test")
    assert told["perplexity"] > 0.97 * least_perplexity(folder / "test")
    assert told["word perplexity"] == pytest.approx(told["perplexity"])  # its pieces are words


@BOTH
def test_scores_are_the_logarithms_the_perplexity_is_made_of(
    recipe: str, folder: Path, command: Command
) -> None:
    code, printed, said = command("score", folder / recipe, "--target", folder / "test")
    assert code == 0
    lines = (folder / "test").read_text().splitlines()
    again = list(regard.load(folder / recipe).score([("", line) for line in lines]))
    logs = [total for total, _ in again]
    assert [float(line) for line in printed] == pytest.approx(logs, abs=1e-4)
    pieces = sum(len(line.split()) + 1 for line in lines)
    assert f"{len(lines)} pairs, {pieces} tokens" in said
    code, printed, _ = command("evaluate", folder / recipe, "--target", folder / "test")
    assert code == 0
    mean = sum(logs) / pieces
    assert printed[0].startswith(f"perplexity {math.exp(-mean):.2f}  [unit:piece|pieces:{pieces}|")
    assert printed[1].startswith("word perplexity")


def test_without_files_the_validation_data_is_used(folder: Path, command: Command) -> None:
    given = regard.evaluate(folder / "language", Parallel(target=folder / "valid"))
    assert regard.evaluate(folder / "language") == given
    held_out = command("score", folder / "language_rnn")[1]
    assert len(held_out) == Run.open(folder / "language_rnn").facts("data")["pairs"]["valid"] > 1


def test_by_the_word_it_does_not_matter_how_words_are_cut(folder: Path, tmp_path: Path) -> None:
    train(tmp_path / "run", "tokenizer.kind=byte", target=folder / "train")
    lines = (folder / "test").read_text().splitlines()
    told = regard.evaluate(tmp_path / "run", Parallel(target=folder / "test"))
    scored = regard.score(tmp_path / "run", Parallel(target=folder / "test"))
    total = sum(log for log, _ in scored)
    assert sum(count for _, count in scored) == sum(len(line) + 1 for line in lines)
    words = sum(len(line.split()) + 1 for line in lines)
    assert told["word perplexity"] == pytest.approx(math.exp(-total / words))
    assert told["word perplexity"] > told["perplexity"]


def test_a_small_model_computed_by_hand() -> None:
    """h_t = tanh(U h_{t-1} + W x_t + b) and softmax(V h_t), number by number."""
    torch.manual_seed(5)
    model = LanguageConfig(cell="rnn", layers=1, width=2, tying="none").build(6, 6)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    w = {name: tensor.tolist() for name, tensor in model.state_dict().items()}

    def times(matrix: list[list[float]], vector: list[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    def tanh(*vectors: list[float]) -> list[float]:
        return [math.tanh(sum(parts)) for parts in zip(*vectors, strict=True)]

    stack = "decoder.stack"
    h = tanh(times(w[f"{stack}.begin.weight"], w["decoder.beginning"]), w[f"{stack}.begin.bias"])
    total = 0.0
    for token, following in ((BOS, 4), (4, 5), (5, 5), (5, EOS)):
        x = [value * math.sqrt(2) for value in w["decoder.words.tokens.weight"][token]]
        of_input = times(w[f"{stack}.first.of_input"], x)
        of_hidden = times(w[f"{stack}.first.of_hidden"], h)
        h = tanh(of_hidden, of_input, w[f"{stack}.first.bias"])
        powers = [math.exp(score) for score in times(w["output.weight"], h)]
        total += math.log(powers[following] / sum(powers))

    both = Words(["a", "b"])
    predictor = Predictor(model, Tokenizers.one(both), Beam())
    ((found, tokens),) = predictor.score([("", "a b b")])
    assert found == pytest.approx(total, abs=1e-5)
    assert tokens == 4


@pytest.mark.parametrize("config", LanguageConfig.miniatures())
def test_the_probabilities_of_all_that_can_follow_sum_to_one(config: LanguageConfig) -> None:
    """Ended at once, ended after one token, or gone on to any two: one of them must happen."""
    torch.manual_seed(1)
    size = 7
    model = config.build(size, size).eval()
    others = [token for token in range(size) if token != EOS]

    def probability(*tokens: int) -> float:
        target = Padded.of([tokens])
        return math.exp(float(model.log_probabilities(Batch(Padded.of([[EOS]]), target)).sum()))

    first = {token: probability(token) for token in range(size)}
    assert sum(first.values()) == pytest.approx(1)
    ended = first[EOS] + sum(probability(token, EOS) for token in others)
    going_on = sum(probability(*tokens) for tokens in product(others, others))
    assert ended + going_on == pytest.approx(1)
    assert len({round(chance, 6) for chance in first.values()}) > 1


@BOTH
def test_a_line_is_gone_on_from_and_kept(recipe: str, folder: Path, command: Command) -> None:
    lines = [f"{first} {second}" for first, second in pairwise(WORDS)]
    odd = "ant ant ant"  # no line of this language, but what was given stays
    code, printed, _ = command("translate", folder / recipe, stdin="\n".join([*lines, "", odd]))
    assert code == 0
    assert len(printed) == len(lines) + 2
    for line, whole in zip([*lines, "", odd], printed, strict=True):
        assert whole.startswith(line)
    assert all(follows(whole) for whole in printed[:-1])
    assert printed[-2] != ""  # it begins by itself
    assert regard.load(folder / recipe)(lines[0]) == printed[0]


def test_the_best_are_the_lines_that_can_follow_with_their_probability(folder: Path) -> None:
    predictor = load_predictor(
        Run.open(folder / "language"), Beam(beam=5, best=5, length_penalty=0.0)
    )
    (found,) = predictor.predict(["bee cat"])
    texts = [choice.text for choice in found.best]
    assert set(texts[:4]) == {
        "bee cat",
        "bee cat dog",
        "bee cat dog eel",
        "bee cat dog eel fox",
    }
    for choice in found.best[:4]:
        assert math.exp(choice.log_probability) == pytest.approx(1 / 40, rel=0.5)


def test_a_long_beginning_is_not_cut_off(folder: Path) -> None:
    long = " ".join(["ant bee cat"] * 40)
    run = Run.open(folder / "language")
    for search in (run.config.search, Beam(beam=1, max_length_ratio=1.0, max_length_extra=1)):
        assert load_predictor(run, search)(long).startswith(long)


def test_beyond_the_places_it_has_learned_nothing_is_read(
    folder: Path, tmp_path: Path, command: Command
) -> None:
    own = ("model.position=learned", "model.max_length=8")
    train(tmp_path / "run", *own, target=folder / "train")
    code, printed, said = command("translate", tmp_path / "run", stdin="ant bee cat dog eel " * 3)
    assert (code, printed) == (0, ["ant bee cat dog eel ant bee"])
    assert "Truncated 1 long line to 7 pieces" in said
    long = write_lines(tmp_path / "long", ["ant " * 20])
    code, printed, said = command("evaluate", tmp_path / "run", "--target", long)
    assert code == 0
    assert [line.split()[0] for line in printed] == ["perplexity"]  # the words were not all read
    assert "to 7 pieces" in said


def test_drawn_lines_differ_even_when_groups_are_small(folder: Path, command: Command) -> None:
    def draw(seed: int) -> list[str]:
        options = ("--sample", "--seed", seed, "--workers", 2, "--batch-tokens", 1)
        return command("translate", folder / "language", *options, stdin="\n" * 30)[1]

    first = draw(1)
    assert len(first) == 30
    assert len(set(first)) > 10  # of 40 lines, all as likely
    assert draw(1) == first
    assert draw(2) != first
    assert sum(map(follows, first)) > 20
    begun = command("translate", folder / "language", "--sample", stdin="cat dog\n" * 20)[1]
    assert all(line.startswith("cat dog") for line in begun)
    assert len(set(begun)) > 1


def test_drawn_lines_end_where_the_run_says(folder: Path, command: Command) -> None:
    """Drawn without regard to the model, a quarter of them come to the limit of 12 words."""
    options = ("--sample", "--temperature", 1000)
    printed = command("translate", folder / "language", *options, stdin="\n" * 60)[1]
    assert max(len(line.split()) for line in printed) == 12


def test_the_data_of_a_language_model_raises_no_false_alarm(
    folder: Path, tmp_path: Path, command: Command
) -> None:
    chosen = [part for each in (*SMALL, *ATTENTION) for part in ("--set", each)]
    arguments = ("--target", folder / "train", "--steps", 1)
    code, _, said = command("train", "language", "--run", tmp_path / "run", *arguments, *chosen)
    assert code == 0
    assert "400" in said
    run = Run.open(tmp_path / "run")
    repeated, held = run.facts("data")["notes"]
    assert repeated.endswith("of 400 lines repeat an earlier one.")
    assert held.startswith("Held out ")
    sides = run.tokenizers()
    assert sides.joint
    assert sides.target.size == 4 + len(WORDS)


@pytest.mark.parametrize("config", LanguageConfig.miniatures())
@pytest.mark.parametrize("kind", ["bpe", "character"])
def test_a_run_that_was_broken_off_goes_on_bit_for_bit(
    config: LanguageConfig, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = config.changed(dropout=0.2)
    recipe = recipes.RECIPES["language"]().changed(model=model)
    monkeypatch.setitem(recipes.RECIPES, "miniature", lambda: recipe)
    settings = [
        f"tokenizer.kind={kind}",
        "tokenizer.vocabulary=290",
        f"tokenizer.sampling={0.2 if kind == 'bpe' else 0}",
        "batch.tokens=200",
        "training.validate_every=4",
        "training.save_every=4",
    ]
    target = write_lines(tmp_path / "target", some_rounds(100, 4))

    def begin(name: str) -> None:
        regard.train(
            "miniature",
            Parallel(target=target),
            run=tmp_path / name,
            steps=10,
            settings=settings,
            quiet=True,
        )

    begin("undisturbed")
    with at_step(6, crash), pytest.raises(Crash):
        begin("broken")
    regard.train(run=tmp_path / "broken", quiet=True)
    assert tensors(tmp_path / "broken", 10) == tensors(tmp_path / "undisturbed", 10)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")
    assert "loss" in journal(tmp_path / "broken")[-1]
    assert "bleu" not in journal(tmp_path / "broken")[-1]


LINES = ["--target", "T"]
BEGIN = ["train", "language", "--run", "R"]
WRONG: dict[str, tuple[list[str], str]] = {
    "a target alone for a translator": (
        ["train", "tiny", "--run", "R", *LINES],
        "Give both --source and --target",
    ),
    "a validation target alone for a translator": (
        ["train", "tiny", "--run", "R", "--source", "T", *LINES, "--valid-target", "T"],
        "Give both --valid-source and --valid-target",
    ),
    "a source": ([*BEGIN, *LINES, "--source", "T"], "give its text as --target alone"),
    "a source alone": ([*BEGIN, "--source", "T"], "give its text as --target alone"),
    "pairs": ([*BEGIN, "--pairs", "T"], "give its text as --target alone"),
    "a validation source": (
        [*BEGIN, *LINES, "--valid-source", "T", "--valid-target", "T"],
        "give its text as --valid-target alone",
    ),
    "no files": (BEGIN, "Give the files to train on: --target."),
    "scoring with a source": (["score", "RUN", "--source", "T", *LINES], "--target alone"),
    "evaluating with a source": (["evaluate", "RUN", "--source", "T", *LINES], "--target alone"),
    "evaluating with a beam": (["evaluate", "RUN", "--beam", "2"], "--beam has no effect"),
    "evaluating without case": (["evaluate", "RUN", "--lowercase"], "--lowercase has no effect"),
    "another tokenizer": (["evaluate", "RUN", "--tokenize", "none"], "--tokenize has no effect"),
    "keeping translations": (["evaluate", "RUN", "--output", "R"], "--output has no effect"),
    "a shortlist": (["translate", "RUN", "--shortlist", "5"], "--shortlist has no effect"),
    "prefixes": (["translate", "RUN", "--prefix", "T"], "--prefix has no effect"),
    "comparing": (["compare", "RUN", "RUN"], "no translations to compare"),
}
SETTINGS = {
    "training.metric=bleu": "set training.metric=loss",
    "tokenizer.joint=false": "set tokenizer.joint=true",
    "search.max_length_ratio=0.5": "search.max_length_ratio to 1 or more",
    "model.heads=3": "cannot be split among 3 heads",
    "model.width=15 model.heads=5": "even width",
    "model.position=rotary model.width=20": "even width of each head",
    "model.cell=lstm model.heads=2": "'heads' is for cell=attention only",
    "model.cell=gru model.position=learned": "'position' is for cell=attention only",
    "model.cell=lstm model.activation=swish": "'activation' is for cell=attention only",
    "model.cell=cnn": "model.cell",
    "model.tying=all": "model.tying",
    "model.decoder_layers=2": "There is no setting 'model.decoder_layers'",
}
for setting, sentence in SETTINGS.items():
    chosen = [part for each in setting.split(" ") for part in ("--set", each)]
    WRONG[setting] = ([*BEGIN, *LINES, *chosen], sentence)


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    name: str, folder: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, sentence = WRONG[name]
    monkeypatch.chdir(tmp_path)
    places = {"T": folder / "train", "RUN": folder / "language"}
    code, printed, said = command(*(places.get(each, each) for each in arguments), stdin="ant\n")
    assert (code, printed) == (2, [])
    assert len(said.splitlines()) == 1, said
    assert sentence in said
    assert list(tmp_path.iterdir()) == []


def test_prefixes_are_refused_from_python_too(folder: Path) -> None:
    with pytest.raises(UsageError, match="continues the lines themselves"):
        list(regard.load(folder / "language").predict(["ant"], ["bee"]))


def test_a_translators_tokenizer_can_be_used(folder: Path, tmp_path: Path) -> None:
    """So that a language model can score what a translator of another run writes."""
    Tokenizers(Words(["x"]), Words([*WORDS, "yak"])).save(tmp_path)
    run = train(tmp_path / "run", target=folder / "train", tokenizer=tmp_path)
    model: Model = build_model(run)
    assert not model.reads_source
    lines = [("", "ant bee"), ("", "yak")]
    assert [count for _, count in regard.load(run.path).score(lines)] == [3, 2]

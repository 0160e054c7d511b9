"""What every command shares: its answers to wrong use, completion, the prompt and the bounds."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_messages import assert_for_people
from toy import SMALL, train_small, write_corpus

import regard
from regard.cli import NAMES, app, main
from regard.cli.completion import recipe_names, setting_paths
from regard.config import differences, leaves
from regard.corpora.registry import CORPORA
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.processes import limit, peers
from regard.recipes import RECIPES, find_recipe
from regard.runs.config_file import read_config, to_toml
from regard.runs.folder import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    train_small(folder / "run", write_corpus(folder), steps=4)
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: Any, code: int = 2) -> str:
    """What a command says on standard error."""
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == code
    return capsys.readouterr().err


# wrong use


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("trian", "There is no command 'trian'. Did you mean 'train'? See 'regard --help'."),
        ("train --stepz 1", "Did you mean '--steps'? See 'regard train --help'."),
        ("train tiny --steps 0", "--steps cannot be '0': give 1 or more. See 'regard train"),
        ("train tiny --steps x", "--steps cannot be 'x': give a whole number. See 'regard train"),
        ("translate", "Missing argument 'RUN'. See 'regard translate --help'."),
        ("look r --beam 40", "--beam cannot be '40': give 32 or less. See 'regard look --help'."),
        ("train --set", "Option '--set' requires an argument. See 'regard train --help'."),
        ("train teeny --run r", "There is no recipe 'teeny'. Did you mean 'tiny'?"),
        ("corpus gramar --output o", "There is no corpus 'gramar'. Did you mean 'grammar'?"),
        (
            "train tiny --run r --log wandb",
            "There is no log 'wandb'. The only one is 'tensorboard'.",
        ),
    ],
)
def test_wrong_use_is_answered_with_the_nearest_and_the_help_of_its_verb(
    arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = said(capsys, *arguments.split(" "))
    assert sentence in answer
    assert_for_people(answer.strip())


def options() -> list[tuple[str, str]]:
    """Every verb with every option that takes a value."""
    from typer.main import get_command

    commands: Any = get_command(app)
    return [
        (verb, option.opts[0])
        for verb, command in commands.commands.items()
        for option in command.params
        if option.opts[0].startswith("--") and not getattr(option, "is_flag", False)
    ]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(options()), st.text("abc 019-.", max_size=6))
def test_what_is_said_about_any_value_of_any_option(option: tuple[str, str], value: str) -> None:
    """Nothing is done: there is no run of this name, and no recipe."""
    verb, name = option
    command = {"train": ["zzz", "--run", "/nowhere/r"], "corpus": ["zzz"], "demo": []}
    arguments = [verb, *command.get(verb, ["/nowhere/r"]), f"{name}={value}"]
    if verb in ("recipes", "demo") or (verb, name) == ("train", "--run"):
        return
    with pytest.MonkeyPatch.context() as patch:
        answers: list[str] = []
        patch.setattr("regard.cli.say", answers.append)
        assert main(arguments) == 2
    assert len(answers) == 1
    assert_for_people(answers[0])


@pytest.mark.parametrize("verb", sorted({verb for verb, _ in options()}))
def test_the_help_names_no_types_and_cuts_no_sentence(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not re.search(r"<(path|str|int|float|list)", shown)
    assert not re.search(r"[{}]", shown.splitlines()[0])
    assert main(["--help"]) == 0
    assert not re.search(rf"^  {verb} .*\.\.\.$", capsys.readouterr().out, flags=re.MULTILINE)


def test_the_help_and_the_page_of_corpus_name_every_corpus(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["corpus", "--help"]) == 0
    words = re.findall(r"\w+", capsys.readouterr().out)
    page = (Path(__file__).parent.parent / "docs/verbs/corpus.md").read_text(encoding="utf-8")
    for name in CORPORA:
        assert name in words
        assert f"`{name}`" in page


def test_there_are_options_to_try() -> None:
    assert len(options()) > 80
    assert {verb for verb, _ in options()} >= {"train", "translate", "evaluate", "ladder"}


def test_validation_and_test_files_have_sections_of_their_own_in_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ladder", "--help"]) == 0
    _, options, valid, test = re.split(
        "^(?:Options|Validation data|Test data):$", capsys.readouterr().out, flags=re.MULTILINE
    )
    assert "--source FILE" in options
    assert not re.search("--(valid|test)-", options)
    assert "--valid-source FILE" in valid
    assert "--test-source FILE" in test


@pytest.mark.parametrize("verb", ["doctor", "export"])
def test_a_verb_without_scores_says_nothing_of_bleu(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    assert "BLEU" not in capsys.readouterr().out


def test_every_help_fits_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.split("Commands:")[1]
    assert len(listed.strip().splitlines()) == len(NAMES)
    for name in NAMES:
        assert main([name, "--help"]) == 0
    shortened = [line for line in listed.splitlines() if line.endswith("...")]
    assert not [line for line in shortened if "look" not in line and "watch" not in line]


# version and completion


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"regard {regard.__version__}\n"


def completed(words: str, folder: Path) -> list[str]:
    """What bash is offered for the last of these words, by a process of its own."""
    script = (
        "import sys\n"
        "from regard.cli import main\n"
        "try:\n"
        "    main([])\n"
        "finally:\n"
        "    assert 'torch' not in sys.modules\n"
    )
    environment = {
        **os.environ,
        "_REGARD_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "PYTHONPATH": str(Path(regard.__file__).parent.parent),
    }
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Error" not in told.stderr
    return told.stdout.split()


def test_the_shell_completes_verbs_recipes_settings_and_runs_without_torch(folder: Path) -> None:
    assert completed("regard tr", folder) == ["train", "translate"]
    assert completed("regard train ti", folder) == ["tiny"]
    assert completed("regard train tiny --set model.lay", folder) == ["model.layers="]
    assert completed("regard info ", folder) == ["run"]
    assert completed("regard info r", folder.parent)[:1] == []
    assert completed(f"regard info {folder.name}/", folder.parent) == [f"{folder.name}/run"]
    assert "--source-language" in completed("regard train --source", folder)


def test_what_is_completed_is_what_there_is() -> None:
    assert sorted(recipe_names()) == sorted(RECIPES)
    real = {path for name in RECIPES for path, _ in leaves(find_recipe(name).model_dump())}
    assert real <= set(setting_paths())
    sections = {path.rpartition(".")[0] for path in setting_paths()}
    assert not sections & set(setting_paths())


# the bound on processes


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "available_cores", lambda: 2)
    monkeypatch.setattr(limit, "free_memory", lambda: 64 * 2**30)


@pytest.mark.usefixtures("two_cores")
def test_more_processes_than_twice_the_cores_are_refused_before_any_starts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_start", None)
    monkeypatch.setattr("regard.processes.pool.ProcessPoolExecutor", None)
    files = ("--source", folder / "test.source", "--target", folder / "test.target")
    for arguments in (
        ("translate", folder / "run", "--input", folder / "test.source"),
        ("evaluate", folder / "run"),
        ("compare", folder / "run", folder / "run"),
        ("score", folder / "run"),
        ("align", folder / "run", *files),
        ("ladder", "tiny", "--output", folder / "ladder", "--steps", 1, *files),
    ):
        answer = said(capsys, *arguments, "--workers", 500)
        assert "--workers=500 would start more processes than this machine can run" in answer
        assert "2 cores and 64.0 GB of free memory: choose 4 or fewer." in answer
    train = ("train", "tiny", "--run", folder / "many", *files, "--set", "training.processes=500")
    assert "training.processes=500 would start" in said(capsys, *train)
    assert not (folder / "many").exists()
    assert not (folder / "ladder").exists()


@pytest.mark.usefixtures("two_cores")
def test_processes_are_bounded_by_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit.check_count(4, "--workers") == 4
    with pytest.raises(UsageError, match="choose 4 or fewer"):
        limit.check_count(5, "--workers")
    monkeypatch.setattr(limit, "free_memory", lambda: 3 * limit.PROCESS_BYTES)
    with pytest.raises(UsageError, match="choose 3 or fewer"):
        limit.check_count(4, "--workers")
    monkeypatch.setattr(limit, "free_memory", lambda: None)
    assert limit.check_count(4, "--workers") == 4


@pytest.mark.usefixtures("two_cores")
def test_a_run_of_a_larger_machine_is_not_resumed_with_all_its_processes(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_start", None)
    run = train_small(tmp_path / "run", write_corpus(tmp_path), steps=2)
    run.save_facts("processes", {"processes": 128})
    with pytest.raises(UsageError, match=r"training\.processes=128 would start more"):
        regard.train(run=run.path, quiet=True)
    assert run.checkpoints().steps() == [2]


def test_workers_share_scoring_and_aligning(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path, pairs=200, seed=3)
    files = ("--source", corpus["source"], "--target", corpus["target"])
    found = []
    for verb in ("score", "align"):
        for workers in (1, 2):
            capsys.readouterr()
            assert main(list(map(str, (verb, folder / "run", *files, "--workers", workers)))) == 0
            found.append(capsys.readouterr().out.split())
    assert len(found[0]) == 200
    assert list(map(float, found[0])) == pytest.approx(list(map(float, found[1])), abs=2e-4)
    assert found[2] == found[3] != []


# typing in a terminal


class Terminal:
    """The command with a terminal for standard input and error, and a pipe for its output."""

    def __init__(self, *arguments: Any) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regard", *map(str, arguments)],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C reaches it
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str, count: int = 1) -> None:
        deadline = time.monotonic() + 60
        while self.shown.count(text) < count:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 4096).decode()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> tuple[int, str]:
        assert self.process.stdout is not None
        out = self.process.stdout.read().decode()
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code, out


def test_typing_in_a_terminal_is_prompted_on_standard_error_and_ends_by_ctrl_d(
    folder: Path,
) -> None:
    terminal = Terminal("translate", folder / "run", "--beam", 1)
    terminal.wait_for("> ")
    assert "Ready: type a line and press Enter; Ctrl-D ends." in terminal.shown
    terminal.type("ant bee\n")
    terminal.wait_for("> ", 2)  # only once the first is translated
    terminal.type("cat\n")
    terminal.wait_for("> ", 3)
    terminal.type("\x04")
    code, out = terminal.end()
    assert code == 0
    assert len(out.splitlines()) == 2
    assert "> " not in out
    assert "Ready" not in out


def test_ctrl_c_at_the_prompt_ends_it_without_a_traceback(folder: Path) -> None:
    terminal = Terminal("translate", folder / "run", "--beam", 1)
    terminal.wait_for("> ")
    terminal.type("\x03")
    terminal.wait_for("^C\r\n")
    code, out = terminal.end()
    assert (code, out) == (130, "")
    assert "Traceback" not in terminal.shown


# configs as files


@pytest.mark.parametrize("name", RECIPES)
def test_what_info_prints_means_the_same_config(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(to_toml(find_recipe(name)), encoding="utf-8")
    assert differences(find_recipe(name), read_config(path)) == []


def test_a_run_is_resumed_with_the_config_that_info_prints(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(folder / "run"), "--config"]) == 0
    path = tmp_path / "run.toml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    files = [f"--{side}={folder / f'train.{side}'}" for side in ("source", "target")]
    valid = [f"--valid-{side}={folder / f'valid.{side}'}" for side in ("source", "target")]
    given = ["--config", str(path), *files, *valid]
    told = said(capsys, "train", "--run", folder / "run", *given, code=0)
    assert "is finished" in told.replace("\n", " ")
    other = tmp_path / "other"
    more = ["--set", "model.width=8", "--steps", "2", "--quiet"]
    assert main(["train", "--run", str(other), *given, *more]) == 0
    assert differences(Run.open(folder / "run").config, Run.open(other).config) == [
        "budget.steps: was 4, now 2",
        "model.width: was 16, now 8",
    ]


def written(folder: Path, text: str) -> Path:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_changes_a_recipe_and_the_command_line_wins(tmp_path: Path) -> None:
    path = written(tmp_path, 'recipe = "small"\n[model]\nlayers = 2\n[budget]\nminutes = 5\n')
    assert differences(find_recipe("small"), read_config(path)) == [
        "budget.epochs: was 30.0, now null",
        "budget.minutes: was null, now 5.0",
        "model.layers: was 6, now 2",
    ]
    assert read_config(path, "tiny").model == find_recipe("tiny").model.changed(layers=2)
    other = written(tmp_path, '[model]\nkind = "recurrent"\nwidth = 8\n')
    assert read_config(other, "tiny").model.kind == "recurrent"
    assert read_config(other, "tiny").batch == find_recipe("tiny").batch


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[model]\nkind = 'transformer'\nlayer = 2", "'model.layer'. Did you mean 'layers'?"),
        ("[modell]\nlayers = 2", "There is no setting 'modell'. Did you mean 'model'?"),
        ("[model]\nlayers = 2", "The settings of 'model' have no kind: give 'model.kind' too."),
        ("recipe = 'teeny'", "There is no recipe 'teeny'. Did you mean 'tiny'?"),
        ("recipe = 3", "The recipe cannot be 3: give its name."),
        ("recipe = 'tiny'\nmodel = 3", "The setting 'model' cannot be 3"),
        ("[budget]\nsteps = 3\nepochs = 3", "give exactly one of steps, epochs and minutes"),
        ("[model", "is not valid TOML"),
        ("[model]\nlayers = " + "[" * 20_000, "is nested too deeply to hold settings."),
        ("[model]\nlayers = " + "[" * 300 + "]" * 300, "is nested too deeply to hold settings."),
        ("model" + ".a" * 20_000 + " = 1", "is nested too deeply to hold settings."),
        ("[model]\nlayers = " + "9" * 5000, "has a number of thousands of digits"),
        ("[model]\nlayers = 2026-01-01", "2026-01-01 is a date or a time, which no setting can be"),
        ("[training]\nseed = [07:30:00]", "07:30:00 is a date or a time, which no setting can be"),
    ],
    ids=lambda given: given[:40],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(
    text: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        read_config(written(tmp_path, text))
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "some.toml"))


def test_a_config_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    answer = said(capsys, "train", "--run", "r", "--config", "/nowhere.toml")
    assert answer == "regard: Cannot read /nowhere.toml: No such file or directory.\n"


def test_a_config_can_be_trained_from_python(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    config = read_config(written(tmp_path, to_toml(find_recipe("tiny"))))
    data = Parallel(corpus["source"], corpus["target"])
    run = regard.train(config, data, run=tmp_path / "run", steps=1, settings=SMALL, quiet=True)
    assert run.config.batch.tokens == 64

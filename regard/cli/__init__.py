"""The verbs of the command line: each parses, calls one function and prints."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable
from typing import Annotated, Any, Optional

import typer

from regard import __version__
from regard.cli.doctor import doctor
from regard.cli.exchange import export, import_
from regard.cli.inspect import align, look, watch
from regard.cli.make import average, corpus, demo, info, ladder, recipes, settings, train
from regard.cli.options import say
from regard.cli.parsing import ParserError, explain
from regard.cli.plan import plan
from regard.cli.serve import serve
from regard.cli.study import study
from regard.cli.synthetic import augment, distill
from regard.cli.use import compare, evaluate, judge, score, translate
from regard.cli.verb import Verb
from regard.errors import RegardError, UsageError
from regard.files import NO_SPACE

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
VERBS: tuple[Any, ...] = (
    *(train, translate, evaluate, compare, score, ladder, look, align, watch, info, plan),
    *(doctor, serve, average, augment, distill, judge, study, export, import_),
    *(settings, recipes, corpus, demo),
)
NAMES = tuple(verb.__name__.rstrip("_") for verb in VERBS)
for name, verb in zip(NAMES, VERBS, strict=True):
    app.command(name, cls=Verb)(verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Train, evaluate and use your own sequence-to-sequence models."""


def main(arguments: Optional[Iterable[str]] = None) -> int:
    """Run a command and return its exit code; errors a person can fix are one sentence."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _prepare_streams()
        return app(given, prog_name="regard", standalone_mode=False) or 0
    except ParserError as error:
        if not given:
            say(str(error))  # the help
        else:
            say(f"regard: {explain(error, given, NAMES)}")
        return 2
    except RegardError as problem:
        say(f"regard: {problem}")
        return problem.exit_code
    except KeyboardInterrupt:  # Ctrl-C before a verb began
        return 130
    except (OSError, MemoryError) as error:
        say(f"regard: {_sentence(error)}")
        return 1
    except RuntimeError as error:
        from regard.processes.memory import out_of_memory

        if not out_of_memory(error):
            raise
        say(f"regard: {_sentence(MemoryError())}")
        return 1


def _prepare_streams() -> None:
    """Write UTF-8; refuse a closed standard output, since the next file to be opened would get its
    number, and whatever a library prints."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if sys.stdout is None:
        raise UsageError("Standard output is closed: send it to a file, or to /dev/null.")


def _sentence(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "Not enough memory: choose a smaller model or smaller batches."
    if error.filename is None:
        text = error.strerror or str(error)
        no_space = error.errno in NO_SPACE
        return f"{text}: free some space and run the command again." if no_space else f"{text}."
    for numbers, sentence in _ADVICE:
        if error.errno in numbers:
            return sentence.format(file=error.filename)
    return f"{error.strerror}: {error.filename}."


_ADVICE: tuple[tuple[tuple[int, ...], str], ...] = (
    (NO_SPACE, "No space left to write {file}: free some space and run the command again."),
    (
        (errno.EACCES, errno.EPERM),
        "No permission to use {file}: change its permissions, or choose another.",
    ),
    ((errno.EROFS,), "{file} is on a read-only disk: choose another place."),
    ((errno.EEXIST, errno.ENOTDIR), "{file} is a file: choose a folder."),
    ((errno.EISDIR,), "{file} is a folder: choose a file."),
    ((errno.ENOENT,), "{file} does not exist: check its name."),
)
"""What to do about an error of the system, by its number."""

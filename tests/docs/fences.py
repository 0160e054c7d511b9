"""What the docs show in fenced blocks: commands with what they print, and Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
VERB_PAGES = sorted((DOCS / "verbs").glob("*.md"))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One command of a page, and the lines that the page shows as its output."""

    text: str
    shown: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the page shows an error."""
        return any(line.startswith("regard: ") for line in self.shown)


def blocks(page: Path, language: str) -> list[str]:
    """The contents of the fenced blocks in a language."""
    found = _FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for name, text in found if name == language]


def commands(page: Path) -> list[Command]:
    """The commands of a page, in order: lines of `bash` blocks, and after $ in `console` blocks."""
    found: list[Command] = []
    for name, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        lines = text.replace("\\\n", " ").splitlines()
        if name == "bash":
            found += [Command(line.strip()) for line in lines if line.strip()]
        elif name == "console":
            for line in lines:
                if line.startswith("$ "):
                    found.append(Command(line.removeprefix("$ ")))
                else:
                    found[-1] = Command(found[-1].text, (*found[-1].shown, line))
    return found


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))

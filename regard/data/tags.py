"""Tags: words before a source line that tell the model how to treat it.

`<2de>` asks for a language (Johnson et al. 2017, arXiv 1611.04558), `<from-en>` names that of the
source, and `<bt>` marks a source that was translated from its target (Caswell et al. 2019,
arXiv 1906.06442). A tag is text like any other; only tokenizers know that it is never split.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, Optional

from regard.data.languages import Languages
from regard.data.line import Line

TagKind = Literal["target", "both"]
"""Which languages a source line is tagged with."""

SYNTHETIC = "<bt>"

_LANGUAGE = r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*"
_TAG = re.compile(rf"<(?:bt|2{_LANGUAGE}|from-{_LANGUAGE})>")
_TAGS = re.compile(rf"(?:{_TAG.pattern}(?: |\Z))+")


def is_tag(word: str) -> bool:
    return _TAG.fullmatch(word) is not None


def leading_tags(text: str) -> list[str]:
    """The tags that a text begins with."""
    found = _TAGS.match(text) if text.startswith("<") else None
    return found[0].split() if found else []


def without_tags(text: str) -> str:
    found = _TAGS.match(text) if text.startswith("<") else None
    return text[found.end() :] if found else text


def tags_in(texts: Iterable[str]) -> list[str]:
    """Every tag that a text begins with, sorted."""
    return sorted({tag for text in texts for tag in leading_tags(text)})


def language_tags(kind: Optional[TagKind], languages: Languages) -> str:
    """The tags of a direction; nothing if sources are not tagged."""
    if kind is None:
        return ""
    target = f"<2{languages.target}>"
    return target if kind == "target" else f"<from-{languages.source}> {target}"


def tagged(line: Line, tags: str) -> Line:
    """The line with tags before it; an empty one stays empty."""
    return line._replace(text=f"{tags} {line.text}") if tags and line.text.strip() else line

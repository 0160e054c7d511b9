"""The languages of parallel text, by their tags: en, de, pt-BR, zh-Hant."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from regard.errors import UsageError

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})(-(?P<script>[a-z]{4}))?(-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(-[a-z0-9]{5,8})*)",
    re.IGNORECASE,
)
"""A BCP 47 tag: language, script, region and variants, such as de-CH-1996."""


class Languages(NamedTuple):
    """The languages of source and target; None where not given."""

    source: Optional[str] = None
    target: Optional[str] = None

    @staticmethod
    def of(source: Optional[str], target: Optional[str]) -> Languages:
        """With both tags checked and in their usual case."""
        return Languages(*(None if each is None else _tag(each) for each in (source, target)))

    def or_else(self, others: Languages) -> Languages:
        """These languages, completed by the others where not given."""
        return Languages(self.source or others.source, self.target or others.target)


def _tag(text: str) -> str:
    match = _TAG.fullmatch(text.strip().replace("_", "-"))
    if match is None:
        raise UsageError(f"'{text}' is not a language tag: write one such as en, pt-BR or zh-Hant.")
    language, script, region = match["language"].lower(), match["script"], match["region"]
    parts = [language, script and script.title(), region and region.upper()]
    return "-".join(part for part in parts if part) + match["variants"].lower()

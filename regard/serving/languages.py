"""Language codes as clients of LibreTranslate write them."""

from __future__ import annotations

ALIASES = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
"""Codes of older LibreTranslate servers, which clients still send."""


def code_of(tag: str) -> str:
    """A tag as it is sent: aliases become what they stand for."""
    return ALIASES.get(tag.lower(), tag)

"""Limits of the server: each is checked before any work is done, and none is off by default."""

from __future__ import annotations

from pydantic import Field

from regard.config import Settings


class Limits(Settings):
    """What one client may ask for, and what the server takes on at a time."""

    characters: int = Field(
        default=10_000, ge=1, description="Characters per text, or per paragraph of a file."
    )
    file_characters: int = Field(
        default=100_000, ge=0, description="Characters per file; 0: no file is translated."
    )
    files: int = Field(
        default=200, ge=1, description="Translated files that are kept; then the oldest goes."
    )
    file_bytes: int = Field(
        default=200_000_000, ge=1_000, description="Bytes of translated files that are kept."
    )
    file_seconds: float = Field(
        default=1_800, gt=0, description="Seconds for which a translated file is kept."
    )
    texts: int = Field(default=100, ge=1, description="Texts per request.")
    alternatives: int = Field(default=9, ge=0, le=100, description="Alternatives per text.")
    pieces: int = Field(
        default=200,
        ge=8,
        description="Pieces per sentence; a longer one is divided at punctuation or spaces.",
    )
    body: int = Field(default=10_000_000, ge=1_000, description="Bytes per request.")
    json_depth: int = Field(default=8, ge=2, le=100, description="Nesting of JSON values.")
    deadline: float = Field(
        default=30, gt=0, description="Seconds after which a request is cancelled."
    )
    header_seconds: float = Field(
        default=10, gt=0, description="Seconds a client has to send its headers."
    )
    body_seconds: float = Field(
        default=20, gt=0, description="Seconds a client has to send its body."
    )
    keep_alive_seconds: float = Field(
        default=15, gt=0, description="Seconds before an idle connection is closed."
    )
    connections: int = Field(default=1_000, ge=1, description="Open connections.")
    queue: int = Field(
        default=100_000, ge=1, description="Characters that wait for one run; more get a 503."
    )
    requests: int = Field(
        default=600, ge=1, description="Texts per minute and client; more get a 429."
    )
    batch: int = Field(
        default=64, ge=1, le=4096, description="Sentences decoded together; 1: no batching."
    )
    batch_wait: float = Field(
        default=0.003, ge=0, le=1, description="Seconds to wait for others to join a batch."
    )
    drain: float = Field(
        default=1.0,
        ge=0,
        description="Seconds between a signal to stop and the last new connection.",
    )

"""The families of models. A family is one file and one member of this union."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from regard.models.ensemble import EnsembleConfig, Member
from regard.models.language import LanguageConfig
from regard.models.nonautoregressive import NonAutoregressiveConfig

Architecture = Annotated[
    Union[Member, LanguageConfig, EnsembleConfig, NonAutoregressiveConfig],
    Field(discriminator="kind"),
]

"""The families of models. A family is one file and one member of this union."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from regard.models.ensemble import EnsembleConfig, Member
from regard.models.entity import EntityConfig
from regard.models.hierarchical import HierarchicalConfig
from regard.models.labelling import ClassifierConfig, TaggerConfig
from regard.models.language import LanguageConfig
from regard.models.nonautoregressive import NonAutoregressiveConfig
from regard.models.pointer import PointerConfig
from regard.models.spatial import SpatialConfig

Architecture = Annotated[
    Union[
        Member,
        LanguageConfig,
        EnsembleConfig,
        NonAutoregressiveConfig,
        TaggerConfig,
        ClassifierConfig,
        HierarchicalConfig,
        EntityConfig,
        SpatialConfig,
        PointerConfig,
    ],
    Field(discriminator="kind"),
]

"""The families of models. A family is one file and one member of this union."""

from __future__ import annotations

from typing import Annotated, Union

from pydantic import Field

from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.ensemble import EnsembleConfig
from regard.models.language import LanguageConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig

Architecture = Annotated[
    Union[
        TransformerConfig,
        RecurrentConfig,
        ConvolutionalConfig,
        ByteNetConfig,
        LanguageConfig,
        EnsembleConfig,
    ],
    Field(discriminator="kind"),
]

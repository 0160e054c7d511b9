"""The forward pass of training: on the device of the model, and in the precision asked for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from regard.data.batch import Batch
from regard.models.base import Model
from regard.nn.output import Loss
from regard.processes.devices import Precision


def training_loss(model: Model, batch: Batch, precision: Precision) -> Loss:
    """The loss of a batch. In bfloat16 the large products are rounded to 8 bits of mantissa, and
    the gradients of what they read; weights, losses, norms and softmaxes stay in float32."""
    with in_precision(model.device, precision):
        loss: Loss = model(batch.to(model.device))
    return loss


def in_precision(device: torch.device, precision: Precision) -> AbstractContextManager[Any]:
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)

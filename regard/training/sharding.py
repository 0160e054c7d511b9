"""Models that do not fit in one process: each keeps a part of every weight, gradient and moment."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor

from regard.data.store import Share
from regard.errors import RegardError
from regard.models.base import Model
from regard.models.weights import collect
from regard.nn.attention import CrossAttention
from regard.nn.blocks import DecoderLayer, ParallelLayer, SelfLayer
from regard.processes.devices import on_cpu
from regard.processes.memory import out_of_memory
from regard.processes.ranks import Ranks
from regard.training.gradients import Gradients, Step
from regard.training.precision import training_loss
from regard.training.settings import TrainingSettings

LAYERS: dict[type[nn.Module], tuple[str, ...]] = {
    SelfLayer: ("read",),
    DecoderLayer: (),
    ParallelLayer: (),
    CrossAttention: ("prepare",),
}
"""The parts whose weights are gathered while they compute, and which methods compute besides
`forward`. What is in none of them, such as embeddings, is gathered once per pass."""


def shard(model: Model, ranks: Ranks, device: torch.device) -> None:
    """Divide each weight of a model by its first axis among the processes, in place (FSDP2 of
    torch; Zhao et al. 2023, arXiv 2304.11277). All processes have built the same model on the CPU;
    the parts move to the device layer by layer."""
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view", UserWarning)
    mesh = DeviceMesh.from_group(ranks.group_for(device), device.type)
    # Caches of torch keep the mesh for ever. It finds the group by its name, unless it is compiled,
    # and must not keep that alive too: see `without_default_group`.
    vars(mesh).get("_pg_registry", {}).clear()
    layers = [(part, LAYERS[type(part)]) for part in model.modules() if type(part) in LAYERS]
    for part, methods in [*reversed(layers), (model, ("generate",))]:  # inner ones first
        divided = fully_shard(part, mesh=mesh)
        assert isinstance(divided, FSDPModule)
        divided.set_gradient_divide_factor(1.0)  # gradients are sums, as without sharding
        divided.set_force_sum_reduction_for_comms(True)  # gloo can do no other
        for method in methods:
            register_fsdp_forward_method(part, method)


class ShardedGradients(Gradients):
    """Each process has a part of every weight, and every process takes part in every pass.

    The optimiser updates plain tensors that share their memory with those parts.
    """

    def __init__(self, model: Model, settings: TrainingSettings, ranks: Ranks) -> None:
        self.model = model
        self.ranks = ranks
        self.precision = settings.precision
        self.clip = settings.optimizer.clip or math.inf
        self.sharded = [each for each in model.parameters() if isinstance(each, DTensor)]
        parts = collect(model)
        names = [name for name, each in model.named_parameters() if isinstance(each, DTensor)]
        self.own: list[Tensor] = [nn.Parameter(parts[name]) for name in names]

    def parameters(self) -> list[Tensor]:
        return self.own

    def compute(self, shares: Sequence[Share], stop: bool, news: bool) -> Step:
        tokens = sum(share.tokens for share in shares)
        nll = sum(self._backward(share, tokens) for share in shares)
        gradients = []
        for sharded, own in zip(self.sharded, self.own, strict=True):
            if isinstance(sharded.grad, DTensor):
                own.grad, sharded.grad = sharded.grad.to_local(), None
                gradients.append(own.grad)
        squares = torch.stack([each.square().sum() for each in gradients]).sum()
        known = torch.stack([squares, squares.new_tensor(nll), *_flags(squares, stop, news)])
        self.ranks.all_reduce(known)
        size, loss, *flags = known.tolist()
        norm = math.sqrt(size) if size >= 0 else math.nan
        if norm > self.clip:
            torch._foreach_mul_(gradients, self.clip / (norm + 1e-6))
        return Step(loss, norm, flags[0] > 0, flags[1] > 0)

    def _backward(self, share: Share, tokens: int) -> float:
        """The summed nll of this process's rows; one without any computes for the others."""
        weight, device = 0.0 if share.borrowed else 1.0, self.model.device
        gpus = [] if on_cpu(device) else [device]
        try:
            # A row that does not count must not change the dropout of those that do.
            with torch.random.fork_rng(gpus, enabled=share.borrowed):
                loss = training_loss(self.model, share.batch, self.precision)
            (loss.total * (weight / tokens)).backward()
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise RegardError(
                "Not enough memory for a batch: lower batch.tokens or train with more processes, "
                "in a new run."
            ) from None
        return weight * float(loss.nll.sum())

    def find_non_finite(self, shares: Sequence[Share]) -> str:
        return "loss or gradient"  # to compute it again, no process could stop where it finds it

    def remove(self) -> None:
        pass


def _flags(like: Tensor, *flags: bool) -> list[Tensor]:
    return [like.new_tensor(float(each)) for each in flags]

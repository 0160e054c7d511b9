"""The memory of an entity network, updated sentence by sentence, with a backward pass by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.fast.precision import exactly, widened

NORM_EPSILON = 1e-6


class SlotWeights(NamedTuple):
    """What updates the slots: J keys (J, D) and the two parts of phi(U h_j + V w_j + ...)."""

    keys: Tensor  # (J, D)
    of_key: Tensor  # (J, D): V w_j
    of_content: Tensor  # (D, D): U
    slope: Tensor  # (D,): of phi below 0


def plain_read(
    sentences: Tensor, entered: Tensor, counts: Tensor, weights: SlotWeights
) -> tuple[Tensor, Tensor]:
    """The memory (B, J, D) after the first `counts` (B,) of the sentences (B, M, D), and the gates
    (B, M, J); W s of each sentence has `entered` (B, M, D)."""
    keys, of_key, of_content, slope = weights
    memory = keys.expand(len(sentences), -1, -1)
    opened = []
    for t in range(sentences.shape[1]):
        here = (t < counts)[:, None, None]
        gate = ((memory + keys) @ sentences[:, t, :, None]).sigmoid() * here  # (B, J, 1)
        x = memory @ of_content.t() + of_key + entered[:, t, None]
        new = memory + gate * torch.where(x > 0, x, slope * x)
        memory = torch.where(here, functional.normalize(new, dim=-1, eps=NORM_EPSILON), memory)
        opened.append(gate[:, :, 0])
    return memory, torch.stack(opened, dim=1)


def read(
    sentences: Tensor, entered: Tensor, counts: Tensor, weights: SlotWeights
) -> tuple[Tensor, Tensor]:
    """As `plain_read`, in about half of its time: a row takes part only in the steps that it
    has sentences for, and little is kept for the backward pass. The gates have no gradient."""
    order = counts.argsort(descending=True, stable=True)
    rows = (counts[order, None] > torch.arange(sentences.shape[1], device=counts.device)).sum(dim=0)
    given = (widened(sentences[order]), widened(entered[order]), rows.tolist())
    with exactly(sentences):  # many small products, each read by the next: nothing to gain
        memory, gates = _Read.apply(*given, *map(widened, weights))
    back = order.argsort()
    return memory[back], gates[back]


class _Read(torch.autograd.Function):
    """Rows are ordered by their number of sentences, the longest first: `rows` (M,) of them have a
    sentence t."""

    @staticmethod
    def forward(
        ctx: Any,
        sentences: Tensor,
        entered: Tensor,
        rows: list[int],
        keys: Tensor,
        of_key: Tensor,
        of_content: Tensor,
        slope: Tensor,
    ) -> tuple[Tensor, Tensor]:
        width = keys.shape[1]
        memories = [keys.repeat(len(sentences), 1, 1)]  # before each step, and after the last
        by_key = sentences @ keys.t()  # (B, M, J)
        gates = torch.zeros_like(by_key)
        inner, norms = [], []
        for t, n in enumerate(rows):
            if not n:
                break
            h, done = memories[-1][:n], memories[-1][n:]
            gate = (h @ sentences[:n, t, :, None]).add_(by_key[:n, t, :, None]).sigmoid_()
            x = (h.reshape(-1, width) @ of_content.t()).view_as(h)
            x.add_(of_key).add_(entered[:n, t, None])
            new = torch.prelu(x.view(-1, width), slope).view_as(h)
            torch.addcmul(h, gate, new, out=new)
            norm = torch.linalg.vector_norm(new, dim=-1, keepdim=True).clamp_(min=NORM_EPSILON)
            new.div_(norm)
            gates[:n, t] = gate[:, :, 0]
            memories.append(torch.cat([new, done]) if len(done) else new)
            inner.append(x)
            norms.append(norm)
        ctx.save_for_backward(sentences, gates, keys, of_content, slope)
        ctx.steps = rows, memories, inner, norms
        ctx.mark_non_differentiable(gates)
        return memories[-1].clone(), gates

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        sentences, gates, keys, of_content, slope = ctx.saved_tensors
        rows, memories, inner, norms = ctx.steps
        width = keys.shape[1]
        grad = gradients[0].clone()  # (B, J, D), of the memory after step t
        sentence_grad, entered_grad = torch.zeros_like(sentences), torch.zeros_like(sentences)
        key_grad, of_key_grad = torch.zeros_like(keys), torch.zeros_like(keys)
        content_grad, slope_grad = torch.zeros_like(of_content), torch.zeros_like(slope)
        for t in reversed(range(len(inner))):
            n, x = rows[t], inner[t].view(-1, width)
            h, after, own = memories[t][:n], memories[t + 1][:n], grad[:n]
            s, gate = sentences[:n, t], gates[:n, t, :, None]
            along = (after * own).sum(dim=-1, keepdim=True)  # a norm lets no gradient through here
            new_grad = torch.addcmul(own, after, along, value=-1).div_(norms[t])
            phi = torch.prelu(x, slope).view_as(h)
            gate_grad = (new_grad * phi).sum(dim=-1, keepdim=True).mul_(gate).mul_(1 - gate)
            x_grad, below = torch.ops.aten._prelu_kernel_backward(
                (new_grad * gate).view(-1, width), x, slope
            )
            slope_grad += below.sum(dim=0)
            content_grad.addmm_(x_grad.t(), h.reshape(-1, width))
            torch.addmm(new_grad.view(-1, width), x_grad, of_content, out=own.view(-1, width))
            own.addcmul_(gate_grad, s[:, None])
            sentence_grad[:n, t] = (gate_grad.transpose(1, 2) @ (h + keys))[:, 0]
            key_grad += gate_grad[:, :, 0].t() @ s
            of_key_grad += x_grad.view_as(h).sum(dim=0)
            entered_grad[:n, t] = x_grad.view_as(h).sum(dim=1)
        key_grad += grad.sum(dim=0)
        return sentence_grad, entered_grad, None, key_grad, of_key_grad, content_grad, slope_grad

"""What a step computes and holds, counted by hand."""

from __future__ import annotations

import torch
from torch.nn import functional

from regard.planning.trace import Tracing


def test_flops_and_bytes_of_a_product() -> None:
    left, right = torch.ones(30, 40), torch.ones(40, 50)
    with Tracing() as tracing:
        left @ right
    (product,) = tracing.trace.operations
    assert product.flops == 2 * 30 * 40 * 50
    assert product.moved == 4 * (30 * 40 + 40 * 50 + 30 * 50)
    assert not product.short


def test_a_backward_pass_multiplies_twice_as_much() -> None:
    weight = torch.ones(60, 70, requires_grad=True)
    x = torch.ones(20, 70, requires_grad=True)
    with Tracing() as tracing:
        functional.linear(x, weight).sum().backward()
    assert tracing.trace.flops == 3 * 2 * 20 * 60 * 70


def test_fused_attention_is_counted() -> None:
    query = torch.ones(2, 3, 5, 8, requires_grad=True)
    key, value = torch.ones(2, 3, 7, 8, requires_grad=True), torch.ones(2, 3, 7, 8)
    with Tracing() as tracing:
        mixed = functional.scaled_dot_product_attention(query, key, value)
        forward = tracing.trace.flops
        mixed.sum().backward()
    assert forward == 2 * 2 * (2 * 3 * 5 * 7 * 8)
    assert tracing.trace.flops == forward * 7 / 2


def test_a_recurrent_kernel_is_counted() -> None:
    cell = torch.nn.LSTM(6, 8)
    with Tracing() as tracing, torch.no_grad():
        cell(torch.ones(5, 3, 6))
    assert tracing.trace.flops == 2 * 5 * 3 * 4 * 8 * (6 + 8)


def test_the_peak_is_what_is_held_at_once() -> None:
    with Tracing() as tracing:
        first = torch.zeros(1000)
        del first
        second = torch.zeros(500)
        third = second.view(50, 10) + 1
        assert tracing.trace.peak == 4 * 1000
        fourth = third + 1
    assert tracing.trace.peak == 4 * 1500
    assert len(fourth) == 50


def test_products_in_a_shorter_type_are_told_apart() -> None:
    with Tracing() as tracing, torch.autocast("cpu", torch.bfloat16):
        torch.ones(4, 4) @ torch.ones(4, 4)
    assert any(each.short and each.flops for each in tracing.trace.operations)

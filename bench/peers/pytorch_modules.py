"""The layer as PyTorch modules. All have the same weights and the same result."""
from typing import Any, List

import numpy as np
import torch
import torch.nn.functional as F
from peer import Problem
from torch import Tensor, nn


class Weights:
    """The files' matrices as (out, in), which is how nn.Linear keeps them."""

    def __init__(self, problem: Problem) -> None:
        self.batch, self.tokens, self.width, self.heads = problem.sizes
        self.head_dim = self.width // self.heads
        self.problem = problem

    def linear(self, *names: str, columns: slice = slice(None), bias: bool = False) -> nn.Linear:
        """One product with these matrices, or some of their columns, side by side."""
        parts: List[Any] = [self.problem.mapped(name)[:, columns] for name in names]
        weight = np.ascontiguousarray(np.concatenate(parts, axis=1).T)
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias)
        linear.weight = nn.Parameter(torch.from_numpy(weight))
        if bias:
            linear.bias = nn.Parameter(torch.from_numpy(self.problem.bias()))
        return linear

    def output(self) -> nn.Linear:
        return self.linear("output", bias=True)


class Sdpa(nn.Module):
    """Linear layers around scaled_dot_product_attention, with one product for q, k, v or three."""

    def __init__(self, weights: Weights, fused: bool) -> None:
        super().__init__()
        names = ("query", "key", "value")
        self.heads, self.fused = weights.heads, fused
        products = [weights.linear(*names)] if fused else [weights.linear(n) for n in names]
        self.products = nn.ModuleList(products)
        self.output = weights.output()

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        if self.fused:
            parts = self.products[0](x).view(batch, tokens, 3, self.heads, -1)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        else:
            query, key, value = (
                p(x).view(batch, tokens, self.heads, -1).transpose(1, 2) for p in self.products
            )
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(context.transpose(1, 2).reshape(batch, tokens, width))


class Mha(nn.Module):
    """nn.MultiheadAttention. It has a fast path of its own only if it has biases: zeros here."""

    def __init__(self, weights: Weights, bias: bool) -> None:
        super().__init__()
        inner = nn.MultiheadAttention(weights.width, weights.heads, bias=bias, batch_first=True)
        inner.in_proj_weight = weights.linear("query", "key", "value").weight
        inner.out_proj.weight = weights.output().weight
        inner.out_proj.bias = weights.output().bias
        if bias:
            nn.init.zeros_(inner.in_proj_bias)
        self.inner = inner
        self.register_buffer("hidden", hidden(weights.tokens))

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.inner(x, x, x, need_weights=False, attn_mask=self.hidden, is_causal=True)
        return y


def hidden(tokens: int) -> Tensor:
    return torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = (query @ key.transpose(-2, -1)).masked_fill_(mask, -torch.inf)
    return torch.softmax(scores / query.shape[-1] ** 0.5, dim=-1) @ value


class Textbook(nn.Module):
    """Three wide matrices whose columns are split into heads."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.heads = weights.heads
        self.query, self.key, self.value = (weights.linear(n) for n in ("query", "key", "value"))
        self.output = weights.output()
        self.register_buffer("hidden", hidden(weights.tokens))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        query, key, value = (
            product(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
            for product in (self.query, self.key, self.value)
        )
        context = attend(query, key, value, self.hidden).transpose(1, 2)
        return self.output(context.reshape(batch, tokens, width))


class OneHead(nn.Module):
    def __init__(self, weights: Weights, head: int) -> None:
        super().__init__()
        columns = slice(head * weights.head_dim, (head + 1) * weights.head_dim)
        self.query, self.key, self.value = (
            weights.linear(n, columns=columns) for n in ("query", "key", "value")
        )
        self.register_buffer("hidden", hidden(weights.tokens))

    def forward(self, x: Tensor) -> Tensor:
        return attend(self.query(x), self.key(x), self.value(x), self.hidden)


class TextbookWrapper(nn.Module):
    """One small module per head, their results side by side."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.each = nn.ModuleList(OneHead(weights, head) for head in range(weights.heads))
        self.output = weights.output()

    def forward(self, x: Tensor) -> Tensor:
        return self.output(torch.cat([head(x) for head in self.each], dim=-1))

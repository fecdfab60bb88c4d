"""PyTorch's own products with weights of 8 and 4 bits, in place of nn.Linear."""
from typing import Any, Dict, Type

import torch
from few_bits import GROUP, by_channel, grouped
from torch import Tensor, nn


class Product(nn.Module):
    """Of rows of any leading sizes. x, y, bias and scales are of the dtype."""

    note = ""

    def __init__(self, linear: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.width, self.dtype = linear.weight.shape[0], dtype
        self.bias = None if linear.bias is None else linear.bias.detach().to(dtype)
        self.store(linear.weight.detach().t().numpy())

    def store(self, weight: Any) -> None:  # (in, out)
        raise NotImplementedError

    def product(self, rows: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        y = self.product(x.reshape(-1, x.shape[-1])).view(*x.shape[:-1], self.width)
        return y if self.bias is None else y + self.bias


class ByChannel(Product):
    """It has one scale for each output, and no groups."""

    note = "_weight_int8pack_mm, weights of 8 bits by channel"

    def store(self, weight: Any) -> None:
        values, scales = by_channel(weight)
        self.values = torch.from_numpy(values)
        self.scales = torch.from_numpy(scales).to(self.dtype)

    def product(self, rows: Tensor) -> Tensor:
        return torch._weight_int8pack_mm(rows, self.values, self.scales)


class ByGroup(Product):
    note = "_weight_int4pack_mm_for_cpu, weights of 4 bits in groups of 32"

    def store(self, weight: Any) -> None:
        values, scales = grouped(weight, 4)
        unsigned = torch.from_numpy(values.astype("int32") + 8).reshape(self.width, -1)
        self.values = torch.ops.aten._convert_weight_to_int4pack_for_cpu(unsigned.contiguous(), 1)
        # Scales and zeros beside each other, (groups, out, 2): (q - 8) scale + zero.
        zeros = torch.zeros(scales.shape)
        both = torch.stack([torch.from_numpy(scales), zeros], dim=2)
        self.scales = both.transpose(0, 1).contiguous().to(self.dtype)

    def product(self, rows: Tensor) -> Tensor:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(rows, self.values, GROUP, self.scales)


PRODUCTS: Dict[str, Type[Product]] = {"q8": ByChannel, "q4": ByGroup}

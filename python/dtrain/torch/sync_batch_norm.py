"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from dtrain.horovod.common.basics import basics
from dtrain.torch.mpi_ops import Sum, allreduce

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """BatchNorm whose mean and variance are those of all ranks' inputs, of any number of dimensions from 2."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def _check_input_dim(self, tensor: Any) -> None:
        if tensor.dim() < 2:
            raise ValueError(f"expected an input of 2 or more dimensions, not of {tensor.dim()}")

    def forward(self, input: Any) -> Any:
        """Normalise; while training over all ranks, which then all call it."""
        self._check_input_dim(input)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        if not by_batch or basics.world().size == 1:
            return super().forward(input)
        result, mean, variance, count = _Normalise.apply(input, self.weight, self.bias, self.eps)
        if self.training and self.track_running_stats:
            self._track(mean, variance, float(count))
        return result

    def _track(self, mean: Any, variance: Any, count: float) -> None:
        self.num_batches_tracked.add_(1)
        share = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        with torch.no_grad():
            unbiased = variance * (count / max(1.0, count - 1))
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), share)


def _sum_of_ranks(*parts: Any) -> list[Any]:
    """Return the sums over all ranks of vectors of float64, which are sent as one."""
    joined = allreduce(torch.cat(parts), op=Sum)
    return list(joined.split([part.numel() for part in parts]))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, weight: Any, bias: Any, eps: float) -> Any:
        others = [0, *range(2, tensor.dim())]
        shape = [1, -1, *[1] * (tensor.dim() - 2)]
        wide = tensor.detach().double()
        own_count = torch.tensor([float(tensor.numel() // tensor.shape[1])], dtype=torch.float64, device=tensor.device)
        total, count = _sum_of_ranks(wide.sum(others), own_count)
        mean = total / count
        centered = wide - mean.view(shape)
        (squares,) = _sum_of_ranks(centered.pow(2).sum(others))
        variance = squares / count
        inverse = (variance + eps).rsqrt()
        normal = centered * inverse.view(shape)
        result = normal if weight is None else normal * weight.double().view(shape) + bias.double().view(shape)
        ctx.save_for_backward(normal.to(tensor.dtype), weight, inverse, count)
        ctx.mark_non_differentiable(mean, variance, count)
        memory_format = torch.channels_last if _is_channels_last(tensor) else torch.contiguous_format
        return result.to(tensor.dtype).contiguous(memory_format=memory_format), mean, variance, count

    @staticmethod
    def backward(ctx: Any, gradient: Any, *_: Any) -> Any:
        normal, weight, inverse, count = ctx.saved_tensors
        others = [0, *range(2, gradient.dim())]
        shape = [1, -1, *[1] * (gradient.dim() - 2)]
        wide = gradient.double()
        sum_gradient = wide.sum(others)
        sum_product = (wide * normal.double()).sum(others)
        all_gradient, all_product = _sum_of_ranks(sum_gradient, sum_product)
        own = wide - (all_gradient / count).view(shape) - normal.double() * (all_product / count).view(shape)
        scale = inverse if weight is None else inverse * weight.double()
        own = (own * scale.view(shape)).to(gradient.dtype)
        if weight is None:
            return own, None, None, None
        return own, sum_product.to(weight.dtype), sum_gradient.to(weight.dtype), None


def _is_channels_last(tensor: Any) -> bool:
    return bool(tensor.dim() == 4 and not tensor.is_contiguous() and tensor.stride(1) == 1)

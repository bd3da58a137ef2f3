"""The backend "dtrain" of torch.distributed.

torch.distributed.init_process_group("dtrain")

The installed package makes this import without a line of the script, unless TORCH_DEVICE_BACKEND_AUTOLOAD is 0.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed

from dtrain.torch._c10d import answers
from dtrain.torch._c10d.backend import DtrainBackend
from dtrain.torch._c10d.job import job

__all__ = ["DtrainBackend", "create"]


def create(options: Any, _: object) -> DtrainBackend:
    """Make the backend of one process group, on each of its ranks."""
    ranks = list(options.global_ranks_in_group)
    context = job.context_of(ranks, options.group_rank, options.group_size, options.timeout)
    return DtrainBackend(context, ranks or list(range(options.group_size)), options.timeout)


def _register() -> None:
    if not torch.distributed.is_available():
        raise ImportError("this PyTorch was built without torch.distributed")
    torch.distributed.Backend.register_backend("dtrain", create, extended_api=True, devices=["cpu", "cuda"])
    answers.install()


_register()

"""Tests of the backend on all ranks of a job: `dtrain run -np 3 python -m pytest -x python/tests/torch_distributed`.

Gloo makes the same operations, and its results are the expected ones.
"""

import pytest
import torch
import torch.distributed as dist

import dtrain.torch.distributed  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def job():
    torch.set_num_threads(1)
    dist.init_process_group("dtrain")
    yield
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="session")
def gloo(job):
    return dist.new_group(backend="gloo")


@pytest.fixture(scope="session")
def groups(job, gloo):
    """Pairs of a group and one of gloo, of the same ranks: all, and the last ones in turned order."""
    ranks = list(range(dist.get_world_size()))[-2:][::-1]
    pair = dist.new_group(ranks), dist.new_group(ranks, backend="gloo")
    return [(dist.group.WORLD, gloo), *([pair] if dist.get_rank() in ranks else [])]

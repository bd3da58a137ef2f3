"""Tests of dtrain.torch on all ranks of a job: `dtrain run -np 3 python -m pytest -x python/tests/torch`.

Each rank runs the same tests in the same order. The first failure ends the job.
"""

import pytest
import torch

import dtrain.torch as hvd


@pytest.fixture(scope="session", autouse=True)
def job():
    torch.set_num_threads(1)
    hvd.init()
    yield
    hvd.shutdown()


@pytest.fixture(scope="module")
def sets(job):
    """All ranks, and the process set of those with even or odd numbers that has this rank."""
    both = [range(place, hvd.size(), 2) for place in (0, 1)]
    added = [hvd.add_process_set(ranks) for ranks in both if 0 < len(ranks) < hvd.size()]
    yield [hvd.global_process_set, *(one for one in added if one.included())]
    for one in added:
        hvd.remove_process_set(one)

"""Tests on all ranks of a job: `dtrain run -np 3 python -m pytest -x python/tests/ranks`.

Each rank runs the same tests in the same order. The first failure ends the job.
"""

import pytest

import dtrain


@pytest.fixture(scope="session")
def world():
    with dtrain.init(timeout=60) as context:
        yield context

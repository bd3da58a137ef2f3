"""Tests of dtrain.tensorflow on all ranks of a job: `dtrain run -np 3 python -m pytest -x python/tests/tensorflow`.

Each rank runs the same tests in the same order. The first failure ends the job.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
import tensorflow as tf

import dtrain.tensorflow as hvd

# A graph that waits in a thread of the pool would stop with one thread.
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)


@pytest.fixture(scope="session", autouse=True)
def job():
    hvd.init()
    yield
    hvd.shutdown()


@pytest.fixture(scope="session")
def sets(job):
    """All ranks, and the process set of those with even or odd numbers that has this rank."""
    both = [range(place, hvd.size(), 2) for place in (0, 1)]
    added = [hvd.add_process_set(ranks) for ranks in both if 0 < len(ranks) < hvd.size()]
    # They are not removed, which the ranks would wait for where one has failed.
    return [hvd.global_process_set, *(one for one in added if one.included())]


def _in_function(call, tensors):
    return [one.numpy() for one in tf.nest.flatten(tf.function(lambda given: call(*given), autograph=False)(tensors))]


def _in_session(call, tensors):
    with tf.Graph().as_default():
        places = [tf.compat.v1.placeholder(one.dtype, one.shape) for one in tensors]
        results = tf.nest.flatten(call(*places))
        feeds = {place: one.numpy() for place, one in zip(places, tensors, strict=True)}
        options = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1)
        with tf.compat.v1.Session(config=options) as session:
            return session.run(results, feeds)


def _at_once(call, tensors):
    return [one.numpy() for one in tf.nest.flatten(call(*tensors))]


@pytest.fixture(params=["eager", "function", "session"])
def run(request):
    """Return what runs a function of tensors, and returns its results as a list of arrays."""
    return {"eager": _at_once, "function": _in_function, "session": _in_session}[request.param]


# In graphs, each kind of element has one type: others differ from it in the engine alone, which eager execution tests.
_IN_GRAPHS = {tf.bool, tf.int32, tf.bfloat16, tf.float32, tf.complex64}


def pytest_collection_modifyitems(items):
    def is_run(item):
        chosen = getattr(item, "callspec", None)
        values = {} if chosen is None else chosen.params
        return values.get("run", "eager") == "eager" or values.get("dtype", tf.float32) in _IN_GRAPHS

    items[:] = [item for item in items if is_run(item)]

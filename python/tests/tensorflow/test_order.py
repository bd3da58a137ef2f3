"""Operations that ranks reach in other orders. Each process has one thread for TensorFlow's operations."""

import numpy
import pytest
import tensorflow as tf

import dtrain.tensorflow as hvd


def chains(tensors):
    """Return results of two operations each, of which the second needs the first, in another order on each rank."""
    places = numpy.roll(numpy.arange(len(tensors)), hvd.rank())
    if hvd.rank() % 2:
        places = places[::-1]
    results = [None] * len(tensors)
    for place in places:
        first = hvd.allreduce(tensors[place], op=hvd.Sum, name=f"first {place}")
        results[place] = hvd.allreduce(first + 1, op=hvd.Max, name=f"second {place}")
    return results


def expected(count):
    return [hvd.size() * place + sum(range(hvd.size())) + 1 for place in range(count)]


def tensors_of(count):
    return [tf.constant(float(place + hvd.rank())) for place in range(count)]


def test_chains_in_a_function():
    call = tf.function(chains, autograph=False)
    for _ in range(3):
        assert [float(one) for one in call(tensors_of(8))] == expected(8)


def test_chains_in_a_session():
    with tf.Graph().as_default():
        places = [tf.compat.v1.placeholder(tf.float32, []) for _ in range(8)]
        results = chains(places)
        feeds = dict(zip(places, (float(place + hvd.rank()) for place in range(8)), strict=True))
        # One thread, which a node that waits in it would keep from all others.
        options = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
        with tf.compat.v1.Session(config=options) as session:
            for _ in range(3):
                assert [float(one) for one in session.run(results, feeds)] == expected(8)
            # Others than those that are fetched do not run, and need no values.
            assert float(session.run(results[3], {places[3]: feeds[places[3]]})) == expected(8)[3]


def test_a_function_within_a_function():
    inner = tf.function(chains, autograph=False)

    @tf.function(autograph=False)
    def outer(tensors):
        return inner(tensors)[0] + hvd.allreduce(tensors[0], op=hvd.Sum, name="beside")

    total = sum(range(hvd.size()))
    assert float(outer(tensors_of(4))) == expected(4)[0] + total


def test_loops_and_branches():
    @tf.function
    def loop(tensor, steps):
        for _ in tf.range(steps):
            if steps > 2:
                tensor = hvd.allreduce(tensor, op=hvd.Sum)
            else:
                tensor = hvd.allreduce(tensor, op=hvd.Average)
                tensor += 1
        return tensor

    assert float(loop(tf.constant(1.0), tf.constant(3))) == hvd.size() ** 3
    assert float(loop(tf.constant(1.0), tf.constant(2))) == 3


def test_constants_are_reduced_at_each_run():
    """TensorFlow computes what depends on constants alone once, before the first run, which no operation may be."""
    calls = []

    @tf.function(autograph=False)
    def call():
        tf.py_function(lambda: calls.append(1), [], [])
        return hvd.allreduce(tf.constant(1.0), op=hvd.Sum, name="of a constant")

    for _ in range(2):
        assert float(call()) == hvd.size()
    # A rank that did not start it again would leave the others in a wait.
    found = [hvd.allreduce(tf.constant(1.0), op=hvd.Sum).numpy() for _ in range(2)]
    assert found == [hvd.size()] * 2
    assert len(calls) == 2


@pytest.mark.parametrize("steps", [50])
def test_many_steps(steps):
    @tf.function(autograph=False)
    def step(tensors):
        return hvd.grouped_allreduce(tensors, op=hvd.Sum), hvd.allreduce(tensors[0])

    tensors = [tf.fill([1000 * (place + 1)], 1.0) for place in range(40)]
    for _ in range(steps):
        sums, average = step(tensors)
        assert float(sums[39][-1]) == hvd.size()
        assert float(average[0]) == 1.0

"""The gradients of operations, in eager execution, functions and sessions."""

import numpy
import pytest
import tensorflow as tf

import dtrain.tensorflow as hvd


def gradient_in_session(call, tensor, weights):
    with tf.Graph().as_default():
        place = tf.compat.v1.placeholder(tensor.dtype, tensor.shape)
        result = call(place)
        gradient = tf.gradients(result, place, grad_ys=tf.constant(weights(result.shape)))
        with tf.compat.v1.Session() as session:
            return session.run(gradient, {place: tensor.numpy()})[0]


def gradient_by_tape(call, tensor, weights):
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        result = call(tensor)
        loss = tf.reduce_sum(result * weights(result.shape))
    return tf.convert_to_tensor(tape.gradient(loss, tensor))


def gradient_in_function(call, tensor, weights):
    return tf.function(lambda one: gradient_by_tape(call, one, weights), autograph=False)(tensor).numpy()


@pytest.fixture(params=["eager", "function", "session"])
def gradient(request):
    return {
        "eager": lambda *args: gradient_by_tape(*args).numpy(),
        "function": gradient_in_function,
        "session": gradient_in_session,
    }[request.param]


def ones(shape):
    return numpy.ones([1 if one is None else one for one in shape], numpy.float32)


def test_allreduce(gradient):
    own = tf.ones([4])
    assert gradient(lambda one: hvd.allreduce(one, op=hvd.Sum), own, ones).tolist() == [hvd.size()] * 4
    assert gradient(hvd.allreduce, own, ones).tolist() == [1.0] * 4
    found = gradient(lambda one: hvd.allreduce(one, op=hvd.Sum, prescale_factor=0.5), own, ones)
    assert found.tolist() == [0.5 * hvd.size()] * 4
    found = gradient(lambda one: hvd.grouped_allreduce([one, 2 * one], op=hvd.Sum)[1], own, ones)
    assert found.tolist() == [2.0 * hvd.size()] * 4


def test_allgather_averages_the_rows_of_this_rank(gradient):
    rank = hvd.rank()
    begin = sum(range(1, rank + 1))
    total = sum(range(1, hvd.size() + 1))

    def weights(_):
        return numpy.arange(total, dtype=numpy.float32).reshape(total, 1)

    found = gradient(hvd.allgather, tf.ones([rank + 1, 1]), weights)
    assert numpy.allclose(found, weights(None)[begin : begin + rank + 1])


def test_broadcast_averages_on_the_root(gradient):
    root = hvd.size() - 1
    found = gradient(lambda one: hvd.broadcast(one, root), tf.ones([3]), ones)
    assert found.tolist() == [float(hvd.rank() == root)] * 3


def test_alltoall_takes_the_way_back(gradient):
    size = hvd.size()
    own = tf.ones([size + 1, 2])

    def weights(_):
        # Rank r receives one row of each rank. Its weights are r.
        return numpy.full((size, 2), hvd.rank(), numpy.float32)

    found = gradient(lambda one: hvd.alltoall(one, [1] * size)[0], own, weights)
    # The last row was sent to no rank.
    assert found[:, 0].tolist() == [*range(size), 0]


def test_reducescatter_joins(gradient):
    size = hvd.size()

    def weights(_):
        return numpy.full((2, 1), hvd.rank(), numpy.float32)

    expected = numpy.repeat(numpy.arange(size), 2)
    found = gradient(hvd.reducescatter, tf.ones([2 * size, 1]), weights)
    assert found[:, 0].tolist() == expected.tolist()
    found = gradient(lambda one: hvd.reducescatter(one, op=hvd.Sum), tf.ones([2 * size, 1]), weights)
    assert found[:, 0].tolist() == (size * expected).tolist()


def test_gradients_of_gradients():
    own = tf.constant([2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(own)
        with tf.GradientTape() as inner:
            inner.watch(own)
            loss = tf.reduce_sum(hvd.allreduce(own**3))
        first = inner.gradient(loss, own)
    assert first.numpy().tolist() == [12.0, 27.0]
    assert outer.gradient(first, own).numpy().tolist() == [12.0, 18.0]

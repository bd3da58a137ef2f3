"""Wrong arguments, and ranks that disagree."""

import numpy
import pytest
import tensorflow as tf

import dtrain
import dtrain.tensorflow as hvd


def in_session(call):
    with tf.Graph().as_default():
        result = call()
        with tf.compat.v1.Session() as session:
            return session.run(result)


RUNS = {
    "eager": lambda call: call(),
    "function": lambda call: tf.function(call, autograph=False)(),
    "session": in_session,
}


@pytest.fixture(params=list(RUNS))
def run(request):
    return RUNS[request.param]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hvd.allreduce(tf.constant("text")), "elements of string are not sent"),
        (lambda: hvd.allreduce(tf.ragged.constant([[1.0], [1.0, 2.0]])), "RaggedTensor"),
        (lambda: hvd.allreduce(object()), "tensor: object is no tensor"),
        (lambda: hvd.allreduce(tf.ones(2), op=7), "op: give one of"),
        (lambda: hvd.allreduce(tf.ones(2), prescale_factor=0.0), "prescale_factor: give a finite number"),
        (lambda: hvd.allreduce(tf.ones(2), process_set=3), "process_set: give a ProcessSet"),
        (lambda: hvd.allreduce(tf.complex(1.0, 1.0), op=hvd.Max), "complex tensors have Sum and Average"),
        (lambda: hvd.broadcast(tf.ones(2), 99), "root_rank: give one of the ranks"),
        (lambda: hvd.allgather(tf.constant(1.0)), "no first dimension"),
        (lambda: hvd.alltoall(tf.ones([4]), [5]), "splits: give"),
        (lambda: hvd.alltoall(tf.ones([4]), [1.5]), "splits: give a list of integers"),
        (lambda: hvd.reducescatter(tf.ones(4), op=hvd.Adasum), "reducescatter has no Adasum"),
        (lambda: hvd.grouped_allgather([]), "tensors: give a list"),
        (lambda: hvd.allreduce(tf.IndexedSlices(tf.ones([1, 2]), [0]), op=hvd.Max), "IndexedSlices have Sum and"),
    ],
)
def test_wrong_arguments(run, call, message):
    with pytest.raises(dtrain.ArgumentError, match=message):
        run(call)


def disagreeing(first, others):
    return first() if hvd.rank() == 0 else others()


@pytest.mark.parametrize(
    ("first", "others"),
    [
        (lambda: hvd.allreduce(tf.ones([2]), name="a"), lambda: hvd.allreduce(tf.ones([3]), name="a")),
        (lambda: hvd.allreduce(tf.ones([2]), name="b"), lambda: hvd.allreduce(tf.ones([2], tf.float64), name="b")),
        (
            lambda: hvd.allreduce(tf.ones([2, 2]), name="c"),
            lambda: hvd.allreduce(tf.IndexedSlices(tf.ones([1, 2]), [0], [2, 2]), name="c").values,
        ),
        (lambda: hvd.broadcast(tf.ones([2]), 0, name="e"), lambda: hvd.broadcast(tf.ones([3]), 0, name="e")),
        (
            lambda: hvd.allgather(tf.ones([2, 2]), name="f"),
            lambda: hvd.allgather(tf.ones([2, 3]), name="f"),
        ),
        (
            lambda: hvd.grouped_allreduce([tf.ones([2])] * 2, name="g")[0],
            lambda: hvd.grouped_allreduce([tf.ones([2])] * 3, name="g")[0],
        ),
    ],
)
def test_ranks_that_disagree(run, first, others):
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(hvd.HorovodInternalError) as raised:
        run(lambda: disagreeing(first, others))
    assert raised.value.code == "mismatch"
    # The job continues.
    assert numpy.allclose(run(lambda: hvd.allreduce(tf.ones([2]), op=hvd.Sum, name="after")), hvd.size())


def test_calls_before_init():
    hvd.shutdown()
    try:
        with pytest.raises(ValueError, match=r"Horovod is not initialized; call hvd.init\(\) first"):
            hvd.allreduce(tf.ones(2))
        with pytest.raises(ValueError, match="not initialized"):
            hvd.rank()
    finally:
        hvd.init()
    assert hvd.allreduce(tf.ones(1), op=hvd.Sum).numpy().tolist() == [hvd.size()]

#!/usr/bin/env python3
"""Measures what dtrain.tensorflow adds to the all_reduce of a list of gradients. Rank 0 prints a line for each figure:
its name, a tab, and the value of the slowest rank.

    tensorflow_lists.py STEPS FIGURE…

    dense_plain, small_plain        dtrain_all_reduce_list of arrays with the shapes of `dense` and `small` in
                                    tensorflow_speed.py: median, us
    dense_grouped, small_grouped    the same by grouped_allreduce in a tf.function, in % above the plain one
    dense_tape, small_tape          the same by DistributedGradientTape, of a loss whose gradients are constants, in %
    dense_identity, small_identity  a tf.function that returns the same tensors unchanged, in % of the plain one; the
                                    figures above include this cost of TensorFlow
"""
import statistics
import sys
import time

import numpy
import tensorflow as tf
from tensorflow_speed import DENSE_LAYERS, DENSE_WIDTH, SMALL_COUNT, SMALL_TENSORS, WARMUP_STEPS, limit_threads

import dtrain
import dtrain.tensorflow as hvd
from dtrain import _core

SHAPES = {
    "dense": DENSE_LAYERS * [(DENSE_WIDTH, DENSE_WIDTH), (DENSE_WIDTH,)],
    "small": SMALL_TENSORS * [(SMALL_COUNT,)],
}


def plain_of(arrays, results):
    """Returns a function that sums arrays by the extension itself, which has the addresses already."""
    rows = tuple((one.ctypes.data, out.ctypes.data, one.size, _core.FLOAT32, one.shape)
                 for one, out in zip(arrays, results))
    options = ("plain", 0, 0.0, 0.0, None, 0, 0, None, 0, None)
    core = dtrain.init()._handle

    def reduce():
        core.all_reduce_list(rows, int(dtrain.Op.SUM), options, (arrays, results)).wait(-1.0)
        return results

    return reduce


def grouped(tensors):
    return hvd.grouped_allreduce(tensors, op=hvd.Sum)


def tape(tensors):
    @tf.custom_gradient
    def loss(*_):
        return tf.constant(0.0), lambda upstream: tensors

    with tf.GradientTape() as recorded:
        recorded.watch(tensors)
        value = loss(*tensors)
    return hvd.DistributedGradientTape(recorded, op=hvd.Sum).gradient(value, tensors)


def identity(tensors):
    return [tf.identity(one) for one in tensors]


WAYS = {"plain": grouped, "grouped": grouped, "tape": tape, "identity": identity}


def times_of(steps, shapes, way):
    """Returns the times of the plain way and of a function of TensorFlow, which take turns."""
    arrays = [numpy.full(shape, 1.0 + hvd.rank(), numpy.float32) for shape in shapes]
    tensors = [tf.constant(one) for one in arrays]
    function = tf.function(WAYS[way])
    calls = [plain_of(arrays, [numpy.empty_like(one) for one in arrays]), lambda: function(tensors)]
    times = [[], []]
    total = hvd.size() * (hvd.size() + 1) / 2
    expected = [total, 1.0 + hvd.rank() if way == "identity" else total]
    for _ in range(WARMUP_STEPS + steps):
        for call, took, right in zip(calls, times, expected):
            hvd.barrier()
            begin = time.perf_counter()
            results = call()
            took.append(time.perf_counter() - begin)
            assert all(numpy.all(numpy.asarray(one) == right) for one in results)
            del results
    return [one[WARMUP_STEPS:] for one in times]


def figure_of(name, steps):
    kind, way = name.split("_")
    count = steps if kind == "dense" else 10 * steps
    alone, whole = (statistics.median(times) for times in times_of(count, SHAPES[kind], way))
    if way == "plain":
        return 1e6 * alone
    return 100 * whole / alone - (0 if way == "identity" else 100)


def main():
    steps, figures = int(sys.argv[1]), sys.argv[2:]
    limit_threads()
    hvd.init()
    for figure in figures:
        value = tf.constant(figure_of(figure, steps), tf.float64)
        slowest = hvd.allreduce(value, op=hvd.Max, name="slowest").numpy()
        if hvd.rank() == 0:
            print(f"{figure}\t{slowest:.2f}", flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()

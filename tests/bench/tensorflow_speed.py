#!/usr/bin/env python3
"""Measures an API of TensorFlow for data-parallel training on each rank of a job. Rank 0 prints a line for each figure:
its name, a tab, and the value of the slowest rank.

    tensorflow_speed.py dtrain|horovod|mwms|single STEPS FIGURE…

dtrain and horovod are dtrain.tensorflow and horovod.tensorflow, mwms is MultiWorkerMirroredStrategy by TF_CONFIG.
single has the same models without other ranks: its steps are what forward, backward and optimizer cost alone. Figures:

    dense    a step of ten dense layers, with 25,015,000 parameters in twenty tensors: median, us
    small    a step with 161 tensors of 4 KiB, each of which is multiplied once: median, us
    fit      a step of model.fit, with a model of 50,890 parameters and 32 samples a rank: median of epochs, us
    memory   the most memory of a rank within STEPS steps of `dense`, in copies of its gradients; give it alone
"""
import importlib
import json
import os
import statistics
import sys
import time

import numpy
import tensorflow as tf

WARMUP_STEPS = 3
DENSE_WIDTH, DENSE_LAYERS = 1581, 10
SMALL_TENSORS, SMALL_COUNT = 161, 1024
SAMPLES, FEATURES, CLASSES = 32, 784, 10
EPOCHS = 5


class Dense(tf.Module):
    """Big tensors. One sample keeps the arithmetic at one pass over each weight, forward and backward."""

    def __init__(self):
        super().__init__()
        self.layers = [tf.keras.layers.Dense(DENSE_WIDTH) for _ in range(DENSE_LAYERS)]
        for layer in self.layers:
            layer.build([1, DENSE_WIDTH])

    def loss(self, factor):
        value = tf.fill([1, DENSE_WIDTH], factor)
        for layer in self.layers:
            value = layer(value)
        return tf.reduce_mean(tf.square(value))


class Small(tf.Module):
    """Small tensors, each used once."""

    def __init__(self):
        super().__init__()
        self.weights = [tf.Variable(tf.random.uniform([SMALL_COUNT])) for _ in range(SMALL_TENSORS)]

    def loss(self, factor):
        return tf.add_n([tf.reduce_sum(weight * factor) for weight in self.weights])


class Single:
    """No other rank, with the parts that other APIs replace. As many processes may run, for an equal load."""

    def __init__(self):
        self.rank, self.size, self.average_of = 0, 1, 1
        self.prints = os.environ.get("DTRAIN_RANK", "0") == "0"

    def made(self, make):
        return make()

    def fit_optimizer(self):
        return tf.keras.optimizers.SGD(1e-4)

    def callbacks(self):
        return []

    def tape(self, tape):
        return tape

    def run(self, step):
        return step()

    def samples(self):
        return SAMPLES

    def sum(self, values):
        return values

    def close(self):
        pass


class Horovod(Single):
    """Horovod's API, by Horovod or by dtrain."""

    def __init__(self, module, keras):
        super().__init__()
        self.hvd, self.keras = importlib.import_module(module), importlib.import_module(keras)
        self.hvd.init()
        self.rank, self.size = self.hvd.rank(), self.hvd.size()

    def fit_optimizer(self):
        return self.keras.DistributedOptimizer(super().fit_optimizer())

    def callbacks(self):
        return [self.keras.callbacks.BroadcastGlobalVariablesCallback(0)]

    def tape(self, tape):
        return self.hvd.DistributedGradientTape(tape)

    def sum(self, values):
        return self.hvd.allreduce(tf.constant(values, tf.float64), op=self.hvd.Sum, name="values").numpy()

    def close(self):
        self.hvd.shutdown()


class Mirrored(Single):
    """MultiWorkerMirroredStrategy. Its optimizers sum gradients, so each rank's loss is divided by their number."""

    def __init__(self):
        super().__init__()
        config = json.loads(os.environ["TF_CONFIG"])
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self.rank, self.size = config["task"]["index"], self.strategy.num_replicas_in_sync
        self.average_of = self.size
        self.reduce = tf.function(lambda given: self.strategy.run(self.summed, [given]))

    def made(self, make):
        with self.strategy.scope():
            return make()

    def run(self, step):
        return self.strategy.run(step)

    def samples(self):
        return SAMPLES * self.size  # of the batch that the strategy divides

    def sum(self, values):
        return self.reduce(tf.constant(values, tf.float64)).numpy()

    @staticmethod
    def summed(given):
        # A copy, because it has a device, by which the strategy knows where it puts the result.
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(given))


def of_ranks(api, value):
    """Returns the values of all ranks."""
    values = numpy.zeros(api.size)
    values[api.rank] = value
    return list(api.sum(values))


def check_equal(api, variables):
    """Fails unless all ranks have the same weights, though their samples are not the same."""
    total = float(sum(numpy.abs(one.numpy().astype(numpy.float64)).sum() for one in variables))
    totals = of_ranks(api, total)
    assert numpy.isfinite(total), total
    assert max(totals) - min(totals) <= 1e-9 * total, totals


def limit_threads():
    """One thread for an operation and two operations at once, for each API."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def step_of(api, kind):
    """Returns a function that makes a step, and the model's variables."""
    tf.keras.utils.set_random_seed(1)
    # The legacy one changes weights in place, in less than half of the time.
    model, optimizer = api.made(lambda: (kind(), tf.keras.optimizers.legacy.SGD(1e-4)))
    variables = list(model.trainable_variables)
    factor = tf.constant(1.0 + api.rank)

    def local():
        with tf.GradientTape() as recorded:
            loss = model.loss(factor) / api.average_of
        gradients = api.tape(recorded).gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables))
        return loss

    step = tf.function(lambda: api.run(local))
    return lambda: step().numpy(), variables


def times_of_steps(api, steps, kind):
    step, variables = step_of(api, kind)
    before = float(tf.reduce_sum(variables[0]))
    times = [seconds_of(step) for _ in range(WARMUP_STEPS + steps)][WARMUP_STEPS:]
    assert float(tf.reduce_sum(variables[0])) != before
    check_equal(api, variables)
    return times


def dense(api, steps):
    return 1e6 * statistics.median(times_of_steps(api, steps, Dense))


def small(api, steps):
    return 1e6 * statistics.median(times_of_steps(api, 10 * steps, Small))


class Clock(tf.keras.callbacks.Callback):
    """The times of epochs."""

    def __init__(self):
        super().__init__()
        self.times, self.began = [], 0.0

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter() - self.began)


def fit(api, steps):
    tf.keras.utils.set_random_seed(1)
    count = 10 * steps

    def make():
        layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(CLASSES)]
        made = tf.keras.Sequential([tf.keras.Input([FEATURES]), *layers])
        made.compile(api.fit_optimizer(), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return made

    model, clock = api.made(make), Clock()
    numbers = numpy.random.default_rng(api.rank)
    features = numbers.random([1024, FEATURES], numpy.float32)
    labels = numbers.integers(0, CLASSES, 1024)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    samples = tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(api.samples(), drop_remainder=True)
    model.fit(samples.with_options(options), epochs=1 + EPOCHS, steps_per_epoch=count, verbose=0,
              callbacks=[*api.callbacks(), clock])
    check_equal(api, model.trainable_variables)
    return 1e6 * statistics.median(clock.times[1:]) / count


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def memory(api, steps):
    step, variables = step_of(api, Dense)
    for _ in range(WARMUP_STEPS + steps):
        step()
    check_equal(api, variables)
    return peak_bytes() / sum(4 * one.shape.num_elements() for one in variables)


FIGURES = {one.__name__: one for one in (dense, small, fit, memory)}
APIS = {
    "dtrain": lambda: Horovod("dtrain.tensorflow", "dtrain.keras"),
    "horovod": lambda: Horovod("horovod.tensorflow", "horovod.tensorflow.keras"),
    "mwms": Mirrored,
    "single": Single,
}


def main():
    name, steps, figures = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    limit_threads()
    api = APIS[name]()
    for figure in figures:
        value = max(of_ranks(api, FIGURES[figure](api, steps)))
        if api.prints:
            print(f"{figure}\t{value:.2f}", flush=True)
    api.close()


if __name__ == "__main__":
    main()

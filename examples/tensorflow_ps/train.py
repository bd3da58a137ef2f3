"""Fits the line y = 2 x + 10 with TensorFlow's ParameterServerStrategy, which reads TF_CONFIG.

Workers and parameter servers only serve, and never return; the chief hands out the steps, and saves checkpoints in
the folder that is the argument; an evaluator tells how good each of them is, for ever.
"""
import pathlib
import sys
import time

import tensorflow as tf

BATCH = 64
ROUNDS, STEPS_OF_ROUND = 5, 40


def points(count, seed):
    x = tf.random.stateless_uniform([count], seed=seed, minval=-1.0)
    return x, 2 * x + 10


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(0.0)
        self.bias = tf.Variable(0.0)

    def loss(self, x, y):
        return tf.reduce_mean((self.weight * x + self.bias - y) ** 2)


def serve(resolver):
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc")
    server.join()


def train(resolver, folder):
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        line = Line()
    checkpoint = tf.train.Checkpoint(line=line)

    @tf.function
    def step(number):
        x, y = points(BATCH, tf.stack([number, 1]))
        with tf.GradientTape() as tape:
            loss = line.loss(x, y)
        gradients = tape.gradient(loss, [line.weight, line.bias])
        line.weight.assign_sub(0.1 * gradients[0])
        line.bias.assign_sub(0.1 * gradients[1])

    for training_round in range(ROUNDS):
        for number in range(STEPS_OF_ROUND):
            coordinator.schedule(step, args=(tf.constant(training_round * STEPS_OF_ROUND + number),))
        coordinator.join()
        checkpoint.save(str(folder / "line"))
    print(f"y = {line.weight.numpy():.3f} x + {line.bias.numpy():.3f}", flush=True)


def evaluate(folder):
    line = Line()
    x, y = points(256, (7, 7))
    seen = None
    while True:
        newest = tf.train.latest_checkpoint(str(folder))
        if newest != seen:
            tf.train.Checkpoint(line=line).read(newest).expect_partial()
            print(f"{pathlib.Path(newest).name}: error {line.loss(x, y):.6f}", flush=True)
            seen = newest
        time.sleep(0.2)


def main():
    folder = pathlib.Path(sys.argv[1])
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        serve(resolver)
    elif resolver.task_type == "evaluator":
        evaluate(folder)
    else:
        train(resolver, folder)


main()

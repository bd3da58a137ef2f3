"""Fits the line y = 2 x + 10 with Horovod on TensorFlow 1's interface, as scripts of that time are written.

Each rank has its own points. The learning rate grows with the number of ranks, whose gradients are averaged; rank 0
alone saves checkpoints, in the folder that is the argument.
"""
import sys

import horovod.tensorflow as hvd
import tensorflow.compat.v1 as tf

LAST_STEP = 400
BATCH = 64


def main():
    tf.disable_eager_execution()
    hvd.init()
    tf.set_random_seed(hvd.rank())
    weight = tf.get_variable("weight", initializer=tf.random.normal([]))  # so that the broadcast has something to do
    bias = tf.get_variable("bias", initializer=tf.random.normal([]))
    x = tf.random.uniform([BATCH], -1.0, 1.0)
    loss = tf.reduce_mean((weight * x + bias - (2 * x + 10)) ** 2)
    optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.05 * hvd.size()))
    step = tf.train.get_or_create_global_step()
    training = optimizer.minimize(loss, global_step=step)

    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=LAST_STEP)]
    folder = sys.argv[1] if hvd.rank() == 0 else None
    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
        while not session.should_stop():
            _, w, b = session.run([training, weight, bias])
    print(f"rank {hvd.rank()} of {hvd.size()}: y = {w:.3f} x + {b:.3f}", flush=True)


main()

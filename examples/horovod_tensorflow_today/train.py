"""Fits the line y = 2 x + 10 with Horovod's interface on the TensorFlow of today, in a session as TensorFlow 1 has it.

The learning rate grows with the number of ranks, whose gradients are averaged. Rank 0 alone saves checkpoints, in the
folder that is the first argument. A training that finds one there continues from it.
"""
import argparse

import dtrain.tensorflow as hvd
import numpy as np
import tensorflow.compat.v1 as tf


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoints")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32, help="points of one rank in a step")
    parser.add_argument("--rate", type=float, default=0.02, help="learning rate of one rank")
    return parser.parse_args()


def share_of(step, batch):
    """Returns this rank's points of a step, which are always the same ones."""
    points = np.random.default_rng(step).uniform(-1, 1, batch * hvd.size())
    return points[hvd.rank()::hvd.size()]


def main():
    options = arguments()
    tf.disable_eager_execution()
    hvd.init()
    config = tf.ConfigProto()
    config.gpu_options.visible_device_list = str(hvd.local_rank())

    tf.set_random_seed(hvd.rank())  # so that the broadcast has something to do
    weight = tf.get_variable("weight", initializer=tf.random.normal([]))
    bias = tf.get_variable("bias", initializer=tf.random.normal([]))
    x = tf.placeholder(tf.float32, [None])
    loss = tf.reduce_mean((weight * x + bias - (2 * x + 10)) ** 2)
    loss_of_all = hvd.allreduce(loss, name="loss")
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(options.rate * hvd.size(), 0.5))
    step = tf.train.get_or_create_global_step()
    training = optimizer.minimize(loss, global_step=step)

    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=options.steps)]
    folder = options.checkpoints if hvd.rank() == 0 else None
    with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, config=config, save_checkpoint_secs=None,
            save_checkpoint_steps=10) as session:
        done = session.run_step_fn(lambda step_context: step_context.session.run(step))  # without the hooks: it is no step
        if hvd.rank() == 0:
            print(f"rank 0 of {hvd.size()} begins at step {done}", flush=True)
        while not session.should_stop():
            _, value, w, b = session.run([training, loss_of_all, weight, bias], {x: share_of(done, options.batch)})
            done += 1
            if hvd.rank() == 0 and done % 10 == 0:
                print(f"step {done}: loss {value:.6f}", flush=True)
    print(f"rank {hvd.rank()}: y = {w:.6f} x + {b:.6f}", flush=True)


main()

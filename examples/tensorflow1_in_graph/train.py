"""Fits the line y = 2 x + 10 the TensorFlow 1 way with one graph: a client places parts of it on each worker.

Workers and parameter servers only serve, and never return; the client is none of the cluster.
"""
import argparse

import tensorflow.compat.v1 as tf

STEPS = 300
BATCH = 64


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job_name", choices=["ps", "worker", "client"], required=True)
    parser.add_argument("--task_index", type=int, required=True)
    parser.add_argument("--ps_hosts", required=True, help="comma-separated")
    parser.add_argument("--worker_hosts", required=True, help="comma-separated")
    return parser.parse_args()


def train(worker_hosts):
    with tf.device("/job:ps/task:0"):
        weight, bias = tf.Variable(0.0), tf.Variable(0.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradients = []
    for task in range(len(worker_hosts)):
        with tf.device(f"/job:worker/task:{task}"):
            x = tf.random.uniform([BATCH], -1.0, 1.0)
            loss = tf.reduce_mean((weight * x + bias - (2 * x + 10)) ** 2)
            gradients.append(tf.gradients(loss, [weight, bias]))
    means = [tf.add_n(list(same)) / len(gradients) for same in zip(*gradients)]
    training = optimizer.apply_gradients(zip(means, [weight, bias]))

    with tf.Session(f"grpc://{worker_hosts[0]}") as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(training)
        w, b = session.run([weight, bias])
    print(f"{len(worker_hosts)} workers: y = {w:.3f} x + {b:.3f}", flush=True)


def main():
    tf.disable_v2_behavior()
    flags = parse_flags()
    ps_hosts, worker_hosts = flags.ps_hosts.split(","), flags.worker_hosts.split(",")
    if flags.job_name == "client":
        train(worker_hosts)
    else:
        cluster = tf.train.ClusterSpec({"ps": ps_hosts, "worker": worker_hosts})
        tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index).join()


main()

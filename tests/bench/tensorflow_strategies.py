"""Measures TensorFlow's strategies with one call of BYTES of float32, for tests/bench/strategies.sh.

    tensorflow_strategies.py all_reduce BYTES ROUNDS   MultiWorkerMirroredStrategy, by TF_CONFIG
    tensorflow_strategies.py assign_add BYTES ROUNDS   a variable on the parameter server, by TF_CONFIG

The first worker prints the times as `dtrain bench --format peers` does, in us.
"""
import json
import os
import sys
import time

import tensorflow as tf

WARM_UP = 3


def measure(operation, size, rounds, call):
    """Calls `call`, which returns one element of the result, and prints the line."""
    times = []
    wrong = 0
    for number in range(rounds + WARM_UP):
        begin = time.monotonic()
        wrong += call() != 1.0
        if number >= WARM_UP:
            times.append((time.monotonic() - begin) * 1e6)
    times.sort()
    low, middle, high = (times[(len(times) - 1) * part // 100] for part in (0, 50, 99))
    print(f"tensorflow\t{operation}\t1\t{size}\t{rounds}\t{low:.2f}\t{middle:.2f}\t{high:.2f}\t0\t0\t0\t{wrong}",
          flush=True)


def all_reduce(size, rounds, first):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    values = tf.ones([size // 4])

    @tf.function
    def reduce():
        def each():
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.MEAN, values)[-1]

        return strategy.run(each)

    if first:
        measure("all_reduce", size, rounds, lambda: float(reduce().numpy()))
        return
    for _ in range(rounds + WARM_UP):
        reduce().numpy()


def assign_add(size, rounds, task, cluster):
    spec = tf.train.ClusterSpec({job: cluster[job] for job in ("ps", "worker")})
    if task["type"] == "ps":
        tf.distribute.Server(spec, job_name="ps", task_index=task["index"]).join()
    tf.config.experimental_connect_to_cluster(spec, job_name="worker", task_index=0)
    count = size // 4
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(tf.zeros([count]))
    with tf.device("/job:worker/task:0"):
        values = tf.ones([count])
    pushed = 0

    def push():
        nonlocal pushed
        pushed += 1
        with tf.device("/job:worker/task:0"):
            # A new tensor: TensorFlow keeps a copy of each tensor where it was used.
            gradient = tf.identity(values)
        with tf.device("/job:ps/task:0"):
            variable.assign_add(gradient)
            # The value of one element shows that the server has added them.
            return float(variable[count - 1].numpy()) / pushed

    measure("push", size, rounds, push)


def main():
    operation, size, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    config = json.loads(os.environ["TF_CONFIG"])
    task = config["task"]
    if operation == "all_reduce":
        all_reduce(size, rounds, task["index"] == 0)
    else:
        assign_add(size, rounds, task, config["cluster"])


main()

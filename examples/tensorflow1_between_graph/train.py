"""Fits the line y = 2 x + 10 the TensorFlow 1 way: each worker builds the graph, variables are on parameter servers.

It knows where everybody is by flags: --ps_hosts and --worker_hosts, as many scripts of that time have them, or
--cluster_spec=worker|host:port;host:port,ps|host:port.
"""
import argparse

import tensorflow.compat.v1 as tf

LAST_STEP = 500
BATCH = 64


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job_name", choices=["ps", "worker"], required=True)
    parser.add_argument("--task_index", "--task_id", type=int, required=True)
    parser.add_argument("--ps_hosts", help="comma-separated")
    parser.add_argument("--worker_hosts", help="comma-separated")
    parser.add_argument("--cluster_spec")
    return parser.parse_args()


def cluster_of(flags):
    if flags.cluster_spec:
        jobs = (job.split("|") for job in flags.cluster_spec.split(","))
        return tf.train.ClusterSpec({name: hosts.split(";") for name, hosts in jobs})
    return tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})


def train(cluster, index):
    me = f"/job:worker/task:{index}"
    # Without the filter a worker would wait for all the others, and for ever if one has ended already.
    config = tf.ConfigProto(device_filters=["/job:ps", me])
    server = tf.train.Server(cluster, job_name="worker", task_index=index, config=config)
    with tf.device(tf.train.replica_device_setter(worker_device=me, cluster=cluster)):
        weight = tf.get_variable("weight", initializer=0.0)
        bias = tf.get_variable("bias", initializer=0.0)
        step = tf.train.get_or_create_global_step()
        x = tf.random.uniform([BATCH], -1.0, 1.0)
        loss = tf.reduce_mean((weight * x + bias - (2 * x + 10)) ** 2)
        training = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)

    hooks = [tf.train.StopAtStepHook(last_step=LAST_STEP)]
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, hooks=hooks, config=config) as session:
        while not session.should_stop():
            _, w, b = session.run([training, weight, bias])
    print(f"worker {index}: y = {w:.3f} x + {b:.3f}", flush=True)


def main():
    tf.disable_v2_behavior()
    flags = parse_flags()
    cluster = cluster_of(flags)
    if flags.job_name == "ps":
        tf.train.Server(cluster, job_name="ps", task_index=flags.task_index).join()
    else:
        train(cluster, flags.task_index)


main()

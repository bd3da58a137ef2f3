"""Trains the TensorFlow 1 way. Its parameter server ends with status 0 in the middle, and starts again."""
import json
import os
import time
from pathlib import Path

import tensorflow.compat.v1 as tf

HALF = 55
LAST_STEP = 100
WORKER = "/job:worker/task:0"


def wait_for(name):
    while not Path(name).exists():
        time.sleep(0.05)


def serve(cluster, attempt):
    server = tf.train.Server(cluster, job_name="ps", task_index=0)
    Path(f"server-{attempt}").touch()
    if attempt == 1:
        wait_for("half")
        os._exit(0)
    server.join()


def train(cluster):
    config = tf.ConfigProto(device_filters=["/job:ps", WORKER])
    server = tf.train.Server(cluster, job_name="worker", task_index=0, config=config)
    with tf.device(tf.train.replica_device_setter(worker_device=WORKER, cluster=cluster)):
        weight = tf.get_variable("weight", initializer=0.0)
        step = tf.train.get_or_create_global_step()
        training = tf.train.GradientDescentOptimizer(0.1).minimize((weight - 2) ** 2, global_step=step)
        with tf.control_dependencies([training]):
            trained = [step.read_value(), weight.read_value()]
    last = 0
    with tf.train.MonitoredTrainingSession(
        server.target,
        checkpoint_dir="model",
        save_checkpoint_steps=10,
        hooks=[tf.train.StopAtStepHook(last_step=LAST_STEP)],
        config=config,
    ) as session:
        while not session.should_stop():
            now, value = session.run(trained)
            if now <= last:
                print(f"the checkpoint had step {now - 1}", flush=True)
            last = now
            if now == HALF and not Path("half").exists():
                Path("half").touch()
                wait_for("server-2")
    print(f"step {last}, weight {value:.3f}", flush=True)


def main():
    tf.disable_v2_behavior()
    tf_config = json.loads(os.environ["TF_CONFIG"])
    cluster = tf.train.ClusterSpec(tf_config["cluster"])
    if tf_config["task"]["type"] == "ps":
        serve(cluster, int(os.environ["DTRAIN_ATTEMPT"]))
    else:
        train(cluster)


main()

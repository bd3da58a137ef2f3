"""Counts the rounds of a ParameterServerStrategy, whose chief continues from its last checkpoint after a restart.

In the first life of the job, the chief kills the parameter server, which has the variables, amid a round.
"""
import os
import pathlib
import signal

import tensorflow as tf

ROUNDS, STEPS_OF_ROUND = 5, 10
KILLED_IN_ROUND = 3


def serve(resolver):
    if resolver.task_type == "ps":
        pathlib.Path("ps.pid").write_text(str(os.getpid()))
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc").join()


def train(resolver):
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        rounds, steps = tf.Variable(0), tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(rounds=rounds, steps=steps), "checkpoints", max_to_keep=1)
    manager.restore_or_initialize()

    @tf.function
    def step():
        steps.assign_add(1)

    for number in range(int(rounds.numpy()), ROUNDS):
        for _ in range(STEPS_OF_ROUND):
            coordinator.schedule(step)
        coordinator.join()
        if (restarts, number) == (0, KILLED_IN_ROUND):
            os.kill(int(pathlib.Path("ps.pid").read_text()), signal.SIGKILL)
        rounds.assign(number + 1)
        manager.save()
        print(f"restart {restarts}, round {number}: {steps.numpy()} steps", flush=True)


def main():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "chief":
        train(resolver)
    else:
        serve(resolver)


main()

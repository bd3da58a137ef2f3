"""Runs examples/horovod_tensorflow_today, whose rank 1 kills itself before a step in the first life of the job.

The arguments are the example's script and its arguments.
"""
import os
import runpy
import signal
import sys

import tensorflow.compat.v1 as tf

KILLED_AT = 25


class Kill(tf.train.SessionRunHook):
    def __init__(self):
        self.steps = 0

    def before_run(self, run_context):
        if self.steps == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps += 1


def main():
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        session = tf.train.MonitoredTrainingSession

        def with_kill(*, hooks, **others):
            return session(hooks=[*hooks, Kill()], **others)

        tf.train.MonitoredTrainingSession = with_kill
    sys.argv[:] = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


main()

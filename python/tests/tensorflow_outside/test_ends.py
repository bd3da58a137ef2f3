"""Deaths, forks and signals of ranks that use dtrain.tensorflow."""

import os
import signal
import time

import pytest
from jobs import finish, run_job, start, words_of

SCRIPT = """
world.finalize()
import re
import numpy, tensorflow as tf
import dtrain.keras, dtrain.tensorflow as hvd
hvd.init()
rank = hvd.rank()
keras = tf.keras
model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), loss="mse")
rows = numpy.ones((8, 3), numpy.float32), numpy.ones((8, 1), numpy.float32)
def session():
    with tf.Graph().as_default():
        result = hvd.allreduce(tf.ones(2), name="x")
        with tf.compat.v1.Session() as one:
            one.run(result)
"""
PHASES = {
    "allreduce": "hvd.allreduce(tf.ones(2), name='x')",
    "broadcast": "hvd.broadcast_variables(model.variables, 0)",
    "fit": "model.fit(*rows, batch_size=2, epochs=10**6, verbose=0)",
    "function": "tf.function(lambda: hvd.grouped_allreduce([tf.ones(2)] * 3))()",
    "session": "session()",
    "object": "hvd.broadcast_object(3, 1)",
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.mark.parametrize("phase", list(PHASES))
def test_the_death_of_a_rank_raises_on_the_others(phase):
    # dtrain ends the others soon after a death. They are ready for that before it.
    script = f"""{SCRIPT}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Dies(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if rank == 1 and batch == 1: os.kill(os.getpid(), 9)
hvd.barrier()
if rank == 1 and {phase!r} != "fit":
    os.kill(os.getpid(), 9)
try:
    if {phase!r} == "fit":
        model.fit(*rows, batch_size=2, epochs=10**6, verbose=0, callbacks=[Dies()])
    {PHASES[phase]}
    print("no failure", flush=True)
except hvd.HorovodInternalError as error:
    print(error.rank, error.host, bool(re.search("SIGKILL", str(error))), flush=True)
os._exit(0)
"""
    ended = run_job(2, script)
    assert ended.lines() == ["1 localhost True"], ended
    assert "rank 1 (host localhost" in ended.stderr


def test_an_interrupt_ends_fit():
    script = f"""{SCRIPT}
class Ready(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1 and hvd.rank() == 0: print("ready", flush=True)
try:
    model.fit(*rows, batch_size=2, epochs=10**6, verbose=0, callbacks=[Ready()])
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
except hvd.HorovodInternalError:
    print("interrupted", flush=True)
"""
    process = start(words_of(2, script))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begin = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    ended = finish(process, begin)
    # The end of one rank may be that of the other before it can print.
    assert "interrupted" in ended.lines() or "KeyboardInterrupt" in ended.stderr, ended
    assert ended.status == 130


def test_a_child_by_fork_gets_an_error():
    script = f"""{SCRIPT}
child = os.fork()
if child == 0:
    try: hvd.allreduce(tf.ones(2), name="x")
    except ValueError as error: os._exit(7 if "fork" in str(error) else 1)
    except Exception: os._exit(2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(hvd.allreduce(tf.ones(1), op=hvd.Sum).numpy().tolist())
"""
    ended = run_job(2, script)
    assert ended.lines() == ["[2.0]"] * 2, ended

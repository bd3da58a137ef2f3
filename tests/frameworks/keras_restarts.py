"""Fits a line with Keras on MultiWorkerMirroredStrategy, and continues from BackupAndRestore's backup after a restart.

Worker 1 kills itself amid epoch 3 of the first life of the job. Each worker compares its weights at the end with those
of a training on one process that nothing has interrupted.
"""
import os
import signal

import numpy as np
import tensorflow as tf

EPOCHS = 6
STEPS_PER_EPOCH = 4
RATE, MOMENTUM = 0.02, 0.5  # slow, so that a training that starts again ends elsewhere
KILLED_IN_EPOCH = 3


class Report(tf.keras.callbacks.Callback):
    """Worker 0 prints the loss of each epoch. Worker 1 kills itself once."""

    def __init__(self, worker):
        super().__init__()
        self.worker = worker
        self.restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        # Worker 0 has taken part in this batch, and so has written the backup of the epoch before.
        if (self.worker, self.restarts, self.epoch) == (1, 0, KILLED_IN_EPOCH):
            os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, epoch, logs=None):
        if self.worker == 0:
            print(f"restart {self.restarts}, epoch {epoch}: loss {logs['loss']:.4f}", flush=True)


def trained_alone(x, y):
    line, velocity = np.zeros(2), np.zeros(2)
    for _ in range(EPOCHS * STEPS_PER_EPOCH):
        error = line[0] * x + line[1] - y
        velocity = MOMENTUM * velocity - RATE * 2 * np.array([np.mean(error * x), np.mean(error)])
        line += velocity
    return line


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    worker, workers = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    x = np.random.default_rng(1).uniform(-1, 1, (96, 1)).astype("float32")
    y = 2 * x + 10
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(1,))])
        model.compile(tf.keras.optimizers.SGD(RATE, MOMENTUM), "mse")
    share = tf.data.Dataset.from_tensors((x[worker::workers], y[worker::workers])).repeat()
    data = strategy.distribute_datasets_from_function(lambda _: share)
    callbacks = [tf.keras.callbacks.BackupAndRestore("backup"), Report(worker)]
    model.fit(data, epochs=EPOCHS, steps_per_epoch=STEPS_PER_EPOCH, callbacks=callbacks, verbose=0)

    line = np.array([float(value.numpy().item()) for value in model.trainable_variables])
    alone = trained_alone(x, y)
    assert np.abs(line - alone).max() < 1e-4, (line, alone)
    print(f"worker {worker}: as alone, y = {line[0]:.7f} x + {line[1]:.7f}")


main()

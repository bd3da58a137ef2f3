"""Trains the network of examples/keras_fit by Keras alone: one process, whole batches, and the rates of a warmup.

The arguments are the folder of the example, and the number of ranks whose training this is.
"""
import sys

import keras

sys.path.insert(0, sys.argv[1])
import train as example

RANKS = int(sys.argv[2])
BATCHES = example.POINTS // example.BATCH


def rate_of(epoch, batch):
    """Returns the rate of a batch. It rises from about that of one rank to that of all."""
    done = min(1, (epoch + (batch + 1) / BATCHES) / example.WARM_EPOCHS)
    return example.RATE * (1 + done * (RANKS - 1))


class Warmup(keras.callbacks.Callback):
    """Sets the rate of each batch, and prints the loss of each epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = rate_of(self.epoch, batch)

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: loss {logs['loss']:.6f}, rate {rate_of(epoch, BATCHES - 1):.3f}")


def main():
    x, inside = example.make_points()
    network = example.make_network(0)
    network.compile(keras.optimizers.SGD(example.RATE, momentum=0.9), "binary_crossentropy")
    network.fit(x, inside, example.BATCH, example.EPOCHS, verbose=0, callbacks=[Warmup()], shuffle=False)


main()

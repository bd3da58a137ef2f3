"""Trains a small network with Keras's fit() and the callbacks of Horovod's interface.

Each batch is the same for any number of ranks, and each rank takes its share of it. The learning rate warms up from
that of one rank to that of all.
"""
import dtrain.keras as hvd
import keras
import numpy as np

POINTS = 960
BATCH = 96  # divides by 1, 2, 3, 4, 6, 8 ranks
EPOCHS = 10
WARM_EPOCHS = 3
RATE = 0.2  # of one rank


def make_points():
    """Returns points of a square, and whether each lies in a circle."""
    x = np.random.default_rng(1).uniform(-1, 1, (POINTS, 2)).astype("float32")
    return x, (np.square(x).sum(1, keepdims=True) < 0.6).astype("float32")


def make_network(seed):
    keras.utils.set_random_seed(seed)
    return keras.Sequential([
        keras.Input((2,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])


class PrintEpoch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: loss {logs['loss']:.6f}, rate {logs['lr']:.3f}", flush=True)


def main():
    hvd.init()
    x, inside = make_points()
    network = make_network(hvd.rank())  # other weights on each rank, so that the broadcast has something to do
    rate = RATE * hvd.size()
    optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD(rate, momentum=0.9))
    network.compile(optimizer, "binary_crossentropy")
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(rate, WARM_EPOCHS, steps_per_epoch=POINTS // BATCH),
    ]
    if hvd.rank() == 0:
        callbacks.append(PrintEpoch())
    share = slice(hvd.rank(), None, hvd.size())
    network.fit(x[share], inside[share], BATCH // hvd.size(), EPOCHS, verbose=0, callbacks=callbacks, shuffle=False)

    weights = np.concatenate([weight.ravel() for weight in network.get_weights()])
    all_weights = np.asarray(hvd.allgather(weights[None]))
    assert (all_weights == weights).all(), "the ranks have drifted apart"
    if hvd.rank() == 0:
        right = (network.predict(x, verbose=0) > 0.5) == (inside > 0.5)
        ranks = "1 rank" if hvd.size() == 1 else f"{hvd.size()} ranks with the same weights"
        print(f"{ranks}: accuracy {100 * right.mean():.1f} %")


if __name__ == "__main__":
    main()

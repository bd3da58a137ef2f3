"""Fits the line y = 2 x + 10 with Keras on TensorFlow's MultiWorkerMirroredStrategy, which reads TF_CONFIG.

Keras 3 cannot train with this strategy: install tf-keras and set TF_USE_LEGACY_KERAS=1.
"""
import numpy as np
import tensorflow as tf

POINTS = 960
BATCH = 96  # of all workers together


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    x = np.random.default_rng(1).uniform(-1, 1, (POINTS, 1)).astype("float32")
    y = 2 * x + 10
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        model.compile(tf.keras.optimizers.SGD(0.2), "mse")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    model.fit(data, epochs=10, verbose=0)

    weight, bias = (float(value.numpy().item()) for value in model.trainable_variables)
    resolver = strategy.cluster_resolver
    print(f"worker {resolver.task_id} of {strategy.num_replicas_in_sync}: y = {weight:.3f} x + {bias:.3f}")


main()

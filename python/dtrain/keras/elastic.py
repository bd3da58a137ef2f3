"""The elastic training of dtrain.tensorflow.keras."""

from dtrain.tensorflow.keras.elastic import *  # noqa: F403

"""The callbacks of dtrain.tensorflow.keras."""

from dtrain.tensorflow.keras.callbacks import *  # noqa: F403

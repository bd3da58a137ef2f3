"""Runs an example of Horovod 0.28.1 for TensorFlow on images of its own, for a few steps, on the package dtrain.

    dtrain run -np 2 python -m dtrain.horovod horovod_example.py EXAMPLE.py

Only this differs from the example: the number of steps; the images, which it would load from a server; and what an
example of TensorFlow 1 needs under TensorFlow 2.13, where `tf` and `keras` become the modules with the names of version 1.
"""

import os
import pathlib
import re
import runpy
import sys

import numpy as np
import tensorflow as tf

TENSORFLOW_1 = [
    (r"^import tensorflow as tf$", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()"),
    (r"^import keras$", "import keras.api._v1.keras as keras"),
    (r"^from keras\b", "from keras.api._v1.keras"),
]
FEWER_STEPS = [
    (r"\b(10000|20000|500) // hvd\.size\(\)", "80 // hvd.size()"),
    (r"epochs=24\b", "epochs=4"),
    (r"default=24\b", "default=4"),
    (r"12\.0 / hvd\.size\(\)", "4"),
]


def load_data(path="mnist.npz"):
    """Return digits that a network can learn: each has a bright row, whose place is its label."""
    random = np.random.default_rng(len(path))
    labels = random.integers(0, 10, 1024).astype(np.uint8)
    images = random.integers(0, 64, (1024, 28, 28)).astype(np.uint8)
    images[np.arange(1024), 2 * labels + 4] = 255
    return (images, labels), (images[:256], labels[:256])


def changed(source, changes):
    for pattern, replacement in changes:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


example = pathlib.Path(sys.argv[1])
for module in (tf.keras, tf.compat.v1.keras):
    module.datasets.mnist.load_data = load_data
source = changed(example.read_text(), FEWER_STEPS)
if "tf.ConfigProto" in source:
    source = changed(source, TENSORFLOW_1)
script = pathlib.Path(os.environ.get("DTRAIN_RANK", "0") + ".py")
script.write_text(source)
sys.argv[:] = [str(script), *sys.argv[2:]]
runpy.run_path(str(script), run_name="__main__")

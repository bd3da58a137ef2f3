"""The versions of TensorFlow that the package works with."""

_OLDEST = (2, 13)


def check() -> None:
    """Raise ImportError where TensorFlow is missing or too old."""
    try:
        import tensorflow as tf  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            f"dtrain.tensorflow needs TensorFlow, which cannot be imported ({error}); install it by:"
            " pip install tensorflow"
        ) from error
    major, minor = tf.__version__.split(".")[:2]
    if (int(major), int(minor)) < _OLDEST:
        raise ImportError(f"dtrain.tensorflow needs TensorFlow 2.13 or later, but {tf.__version__} is installed")


check()

"""The versions of torch that the package works with."""

_OLDEST = (1, 13)


def check() -> None:
    """Raise ImportError where torch is missing or too old."""
    try:
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            f"dtrain.torch needs PyTorch, which cannot be imported ({error}); install it by:"
            " pip install 'dtrain[torch]'"
        ) from error
    found = version(torch.__version__)
    if found < _OLDEST:
        raise ImportError(f"dtrain.torch needs PyTorch 1.13 or later, but {torch.__version__} is installed")


def version(text: str) -> tuple[int, int]:
    """Return the first two numbers of a version."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


check()

"""Arrays of JAX through `import dtrain`: they come by DLPack, and results are arrays of numpy."""
import jax
import jax.numpy as jnp
import numpy

import dtrain

TYPES = (jnp.bool_, jnp.int8, jnp.uint8, jnp.int16, jnp.int32, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float32,
         jnp.float8_e4m3fn, jnp.float8_e5m2)


def main():
    world = dtrain.init()
    for dtype in TYPES:
        ones = jnp.ones((2, 3), dtype)
        total = jnp.asarray(world.all_reduce(ones))
        assert total.dtype == ones.dtype and total.shape == ones.shape
        assert (total == jnp.full((2, 3), 1 if dtype is jnp.bool_ else world.size, dtype)).all(), total
        of_numpy = world.all_reduce(numpy.asarray(ones))  # numpy's extension types
        assert of_numpy.dtype == ones.dtype and (jnp.asarray(of_numpy) == total).all(), of_numpy
        own = jnp.full((world.rank + 1, 2), world.rank, dtype)
        joined = jnp.asarray(world.all_gather(own, ragged=True))
        assert joined.dtype == ones.dtype and joined.shape == (sum(range(1, world.size + 1)), 2)
        first = jnp.asarray(world.broadcast(own[:1], root=0))
        assert first.tolist() == jnp.zeros((1, 2), dtype).tolist()
    moved = jnp.asarray(world.broadcast(jnp.full(2, world.rank + 1j, jnp.complex64), 0))
    assert moved.tolist() == [1j, 1j]

    # A gradient, and its average over the ranks by an operation under way.
    gradient = jax.grad(lambda x: (x * x).sum())(jnp.arange(3.0) + world.rank)
    work = world.all_reduce_async(gradient, dtrain.Op.AVERAGE, name="gradient")
    expected = 2 * (numpy.arange(3.0) + (world.size - 1) / 2)
    assert numpy.allclose(work.wait(), expected)
    into = numpy.empty(3, numpy.float32)
    assert world.all_reduce(gradient, dtrain.Op.AVERAGE, out=into) is into
    assert numpy.allclose(into, expected)
    try:
        world.all_reduce(into, out=gradient)  # arrays of JAX do not change
    except ValueError as error:
        assert "read-only" in str(error) or "cannot be written" in str(error), error
    else:
        raise AssertionError("an array of JAX was written")
    try:
        world.all_reduce(jnp.ones(4, jnp.float8_e4m3fnuz))
    except (ValueError, BufferError) as error:
        assert "not supported" in str(error) or "e4m3fnuz" in str(error), error
    else:
        raise AssertionError("a type that dtrain does not know was reduced")
    print(f"rank {world.rank}: {len(TYPES)} types")


main()

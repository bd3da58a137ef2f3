"""Fits the line y = 2 x + 10 with JAX on all processes: one program over arrays of which each process has a part."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

STEPS = 100
POINTS = 960  # of all processes together


def loss(line, x, y):
    weight, bias = line
    return jnp.mean((weight * x + bias - y) ** 2)


@jax.jit
def step(line, x, y):
    return line - 0.2 * jax.grad(loss)(line, x, y)


def main():
    jax.distributed.initialize()
    mesh = jax.make_mesh((jax.device_count(),), ("points",))
    points = np.random.default_rng(jax.process_index()).uniform(-1, 1, POINTS // jax.process_count())
    x = jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("points")), points)
    y = 2 * x + 10
    line = jnp.zeros(2)
    for _ in range(STEPS):
        line = step(line, x, y)
    weight, bias = (float(value) for value in line)
    print(f"process {jax.process_index()} of {jax.process_count()}: y = {weight:.3f} x + {bias:.3f}")


main()

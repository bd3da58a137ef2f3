"""Joins JAX's processes, and gathers one number of each."""
import os

import jax
from jax.experimental import multihost_utils


def main():
    jax.distributed.initialize(
        coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
    )
    squares = multihost_utils.process_allgather(jax.numpy.array(jax.process_index() ** 2))
    print(f"process {jax.process_index()} of {jax.process_count()}: the squares are {squares.tolist()}")


main()

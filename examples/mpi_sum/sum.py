"""Adds up the ranks of an MPI program with mpi4py."""
from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.reduce(world.rank, op=MPI.SUM, root=0)
if world.rank == 0:
    print(f"{world.size} ranks add up to {total}")

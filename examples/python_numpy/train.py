"""Fits a line to points, of which each rank has its own."""

import numpy as np

import dtrain

world = dtrain.init()
x = np.random.default_rng(world.rank).uniform(-1, 1, 100)
y = 2 * x + 10

weights = np.zeros(2)
if world.rank == 0:
    weights[:] = 1
world.broadcast(weights, 0, out=weights)  # every rank starts as rank 0

for _ in range(200):
    error = weights[0] * x + weights[1] - y
    gradient = np.array([np.mean(error * x), np.mean(error)])
    weights -= 0.5 * world.all_reduce(gradient, dtrain.Op.AVERAGE)

points = world.all_gather_object(len(x))
if world.rank == 0:
    print(f"{sum(points)} points of {world.size} ranks: y = {weights[0]:.3f} x + {weights[1]:.3f}")

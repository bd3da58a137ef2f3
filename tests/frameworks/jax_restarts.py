"""Sums over all processes of JAX, which join without arguments. One kills itself amid this in the job's first life."""
import os
import signal

import jax
import jax.numpy as jnp

STEPS = 4

jax.distributed.initialize()
me, restarts = jax.process_index(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
sum_of_all = jax.pmap(lambda x: jax.lax.psum(x, "processes"), "processes")
for step in range(STEPS):
    total = sum_of_all(jnp.array([10.0 ** me * (step + 1)]))
    if (me, restarts, step) == (1, 0, 1):
        os.kill(os.getpid(), signal.SIGKILL)
print(f"process {me} of {jax.process_count()}: the sum is {int(total[0])} after {restarts} restart")

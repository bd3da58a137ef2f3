"""Sums over all processes of JAX, which join without arguments. In the job's first life one of them kills itself amid
this, or the processes whose numbers are in the file that is named."""
import os
import pathlib
import signal
import sys

import jax
import jax.numpy as jnp

STEPS = 4

jax.distributed.initialize()
me, restarts = jax.process_index(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
sum_of_all = jax.pmap(lambda x: jax.lax.psum(x, "processes"), "processes")
for step in range(STEPS):
    total = sum_of_all(jnp.array([10.0 ** me * (step + 1)]))
    if (me, restarts, step) == (1, 0, 1):
        victims = pathlib.Path(sys.argv[1]).read_text().split() if sys.argv[1:] else [os.getpid()]
        for victim in victims:
            os.kill(int(victim), signal.SIGKILL)
print(f"process {me} of {jax.process_count()}: the sum is {int(total[0])} after {restarts} restart")

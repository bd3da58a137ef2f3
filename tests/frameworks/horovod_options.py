"""Gives the same options to the installed horovodrun's parser and to dtrain (the first argument), and compares
the variables of the workers."""
import subprocess
import sys
from unittest import mock

from horovod.runner import launch
from horovod.runner.common.util import config_parser

OPTIONS = """
--fusion-threshold-mb 32
--cycle-time-ms 3.5
--cache-capacity 0
--hierarchical-allreduce
--no-hierarchical-allreduce
--hierarchical-allgather
--no-hierarchical-allgather
--torus-allreduce
--no-torus-allreduce
--autotune
--autotune --autotune-log-file trials.csv
--autotune --autotune-warmup-samples 5
--autotune --autotune-steps-per-sample 6
--autotune --autotune-bayes-opt-max-samples 7
--autotune --autotune-gaussian-process-noise 0.5
--timeline-filename line.json
--timeline-filename line.json --timeline-mark-cycles
--timeline-filename line.json --no-timeline-mark-cycles
--stall-check
--no-stall-check
--stall-check-warning-time-seconds 8
--stall-check-shutdown-time-seconds 9
--mpi-threads-disable
--no-mpi-threads-disable
--tcp
--num-nccl-streams 2
--thread-affinity 1
--gloo-timeout-seconds 60
--log-level DEBUG
--log-with-timestamp
--log-without-timestamp
--log-hide-timestamp
--no-log-hide-timestamp
"""


def of_horovodrun(options):
    with mock.patch.object(sys, "argv", ["horovodrun", "-np", "1", *options, "true"]):
        return config_parser.set_env_from_args({}, launch.parse_args())


def of_dtrain(dtrain, options):
    command = [dtrain, "run", "-np", "1", "--no-tag", "--env-set", "none", *options, "env"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    entries = (line.split("=", 1) for line in printed.splitlines() if "=" in line)
    return {name: value for name, value in entries if name.startswith(("HOROVOD_", "NCCL_IB_"))}


rows = [line.split() for line in OPTIONS.split("\n") if line]
for row in rows:
    expected, found = of_horovodrun(row), of_dtrain(sys.argv[1], row)
    assert expected == found, f"{row}: horovodrun {expected}, dtrain {found}"
print(f"{len(rows)} rows agree")

#!/usr/bin/env bash
# MPI programs: dtrain does not support them, and logs a warning.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

test_processes_of_mpi_that_mpirun_did_not_start_get_one_warning() {
  uses mpi
  cat >alone.py <<'END'
import time
from mpi4py import MPI

print(f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}", flush=True)
time.sleep(3)  # stands for work
END
  # dtrain looks once, a second after the start. All must have loaded MPI by then, so its files are read before.
  "$python" -c 'from mpi4py import MPI'
  run_dtrain run -np 2 --no-tag "$python" alone.py
  expect_status 0
  expect_stdout_lines 'rank 0 of 1' 'rank 0 of 1'
  expect_stderr_contains '2 processes, each alone: MPI was not started by mpirun'
  # shellcheck disable=SC2031  # set by the library
  [[ $(grep -c 'each alone' "$out/stderr") -eq 1 ]] || fail 'expected one warning'
  expect_no_processes
}

test_processes_that_mpirun_starts_within_a_job_get_none() {
  uses mpi
  cat >together.py <<'END'
import sys
import time
from mpi4py import MPI

# mpiexec mixes the writes of both ranks, so a line has to be one write.
sys.stdout.write(f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}\n")
time.sleep(3)
END
  run_dtrain run -np 1 --no-tag "$(dirname "$python")/mpiexec" -n 2 "$python" together.py
  expect_status 0
  expect_stdout_lines 'rank 0 of 2' 'rank 1 of 2'
  expect_stderr_lacks 'each alone'
  expect_no_processes
}

# A batch script's variables are made up, and ./srun is a stand-in that starts MPICH's proxy here.
test_mpirun_within_a_job_of_slurm_has_the_hosts_of_the_batch_script() {
  uses mpi
  cat >srun <<'END'
#!/bin/sh
echo srun >>started
while [ "${1##*/}" != hydra_pmi_proxy ]; do shift; done
exec "$@"
END
  chmod +x srun
  cat >together.py <<'END'
import sys
from mpi4py import MPI

sys.stdout.write(f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}\n")  # in one write
END
  local here
  here=$(hostname)
  local -x SLURM_JOB_ID=21 SLURM_JOBID=21 SLURM_JOB_NODELIST=$here SLURM_NODELIST=$here PATH=$PWD:$PATH
  SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=4 SLURM_NNODES=1 run_dtrain run -np 1 --no-tag "$(dirname "$python")/mpirun" -n 4 "$python" together.py
  expect_status 0
  expect_stdout_lines 'rank 0 of 4' 'rank 1 of 4' 'rank 2 of 4' 'rank 3 of 4'
  expect_file started srun
  expect_no_processes
}

test_a_program_of_mpi_adds_up_what_its_readme_shows() {
  uses mpi
  run_readme mpi_sum
  expect_status 0
  expect_readme mpi_sum
  expect_no_dtrain_message
  expect_no_processes
}

run_tests "$@"

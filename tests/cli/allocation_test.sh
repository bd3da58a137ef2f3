#!/usr/bin/env bash
# The hosts of a scheduler's job. Variables and files are made up; tests/net has real hosts.
. "$(dirname "$0")/lib.sh"
fakes=$(realpath "${FAKE_NVML_FOLDER:-$(dirname "$DTRAIN")/tests/programs/fake_nvml}")
unset CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES

# in_slurm ARG…: runs dtrain as the script of `sbatch -N3 --ntasks-per-node=4` would.
in_slurm() {
  SLURM_JOB_ID=21 SLURM_JOB_NODELIST='n[1-3]' SLURM_NTASKS=12 SLURM_NTASKS_PER_NODE=4 SLURM_TASKS_PER_NODE='4(x3)' \
    run_dtrain "$@"
}

test_a_slurm_job_needs_no_host_list() {
  # A dry run starts no srun. Where PATH has none, one more line reports it.
  printf '#!/bin/sh\nexit 1\n' >srun
  chmod +x srun
  PATH=$PWD:$PATH
  in_slurm run --dry-run true
  expect_status 0
  expect_stderr 'dtrain: Slurm job 21: n[1-3], 12 slots'
  expect_stdout_contains '12 processes on 3 hosts'
  in_slurm run -np 5 --dry-run true
  expect_status 0
  expect_stdout_contains '5 processes on 2 hosts'
  in_slurm run -np 13 --dry-run true
  expect_status 2
  expect_stderr_contains 'asked for 13 processes but Slurm job 21 offers 12 (n1:4 n2:4 n3:4); use -np 12 or --oversubscribe'
}

# make_rsh: ./rsh HOST COMMAND… runs the command here.
make_rsh() {
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
}

# in_script ARG…: the same with more variables of a script, and those of a step and of PMI, which are not the workers'.
in_script() {
  SLURM_JOBID=21 SLURM_NPROCS=12 SLURM_NNODES=3 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEPID=0 \
    SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NODELIST=n1 SLURM_STEP_TASKS_PER_NODE=1 PMI_RANK=0 in_slurm "$@"
}

# Prints the variables of a rank of Slurm and MPI.
# shellcheck disable=SC2016  # the workers' shell expands it
show_rank='[ "$RANK" != $0 ] || env | grep -E "^(SLURM|PMI)" | LC_ALL=C sort'

test_a_rank_of_a_slurm_job_is_a_task_of_a_step() {
  make_rsh
  in_script run -np 6 --rsh-agent ./rsh --no-tag sh -c "$show_rank" 4
  expect_status 0
  expect_stdout 'SLURM_JOBID=21
SLURM_JOB_ID=21
SLURM_JOB_NODELIST=n[1-3]
SLURM_LOCALID=0
SLURM_NNODES=2
SLURM_NODEID=1
SLURM_NPROCS=6
SLURM_NTASKS=6
SLURM_PROCID=4
SLURM_STEP_NODELIST=n[1-2]
SLURM_STEP_NUM_NODES=2
SLURM_STEP_NUM_TASKS=6
SLURM_STEP_TASKS_PER_NODE=4,2
SLURM_TASKS_PER_NODE=4,2'
}

test_settings_of_the_user_win_over_the_variables_of_a_slurm_job() {
  make_rsh
  # shellcheck disable=SC2016  # the workers' shell expands it
  local print='echo $SLURM_NTASKS $SLURM_PROCID $SLURM_STEP_NODELIST $SLURM_NNODES'
  in_script run -np 2 --rsh-agent ./rsh --no-tag -x SLURM_NTASKS=7 -x SLURM_STEP_NODELIST=m -x SLURM_NNODES sh -c "$print"
  expect_stdout_lines '7 0 m 3' '7 1 m 3'
  expect_stderr 'dtrain: Slurm job 21: n[1-3], 12 slots'
  in_script run -np 2 --rsh-agent ./rsh --no-tag --env-set none sh -c "$print"
  expect_stdout_lines '12 3' '12 3'
}

test_a_job_of_one_rank_leaves_the_hosts_to_its_mpirun() {
  make_rsh
  in_script run -np 1 --rsh-agent ./rsh --no-tag sh -c "$show_rank" 0
  expect_status 0
  expect_stdout 'SLURM_JOBID=21
SLURM_JOB_ID=21
SLURM_JOB_NODELIST=n[1-3]
SLURM_LOCALID=0
SLURM_NNODES=3
SLURM_NODEID=0
SLURM_NPROCS=1
SLURM_NTASKS=1
SLURM_NTASKS_PER_NODE=4
SLURM_PROCID=0
SLURM_TASKS_PER_NODE=4(x3)'
}

test_the_first_hosts_of_the_job_run_its_processes() {
  make_rsh
  # shellcheck disable=SC2016  # the workers' shell expands it
  in_slurm run -np 6 --rsh-agent ./rsh --no-tag sh -c 'echo $RANK $DTRAIN_HOSTNAME'
  expect_status 0
  expect_stdout_lines '0 n1' '1 n1' '2 n1' '3 n1' '4 n2' '5 n2'
  expect_stderr_contains 'dtrain: Slurm job 21: n[1-3], 12 slots'
  expect_no_processes
}

test_hosts_that_are_given_come_first() {
  in_slurm run -H localhost:2 --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi
  expect_stderr ''
  echo 'hosts = ["localhost:1"]' >dtrain.toml
  in_slurm run --no-tag echo hi
  expect_status 0
  expect_stdout hi
}

test_the_option_decides_also_in_a_file() {
  in_slurm run --allocation none -np 1 --no-tag echo hi
  expect_status 0
  expect_stdout hi
  expect_stderr ''
  echo 'allocation = "none"' >dtrain.toml
  in_slurm run -np 1 --no-tag echo hi
  expect_status 0
  expect_stdout hi
  run_dtrain run --allocation pbs -np 1 touch started
  expect_status 2
  expect_stderr 'dtrain: --allocation: this is not a PBS job, which would have PBS_JOBID with PBS_NODEFILE in its environment; start dtrain in such a job, or leave the option out'
  expect_not test -e started
}

# A script of a batch job on this machine alone, with the files of each scheduler.
test_each_scheduler_gives_the_slots_of_its_job() {
  printf 'localhost\n\nlocalhost\n' >lines
  printf 'localhost 2 main.q@localhost UNDEFINED\n' >pe
  printf 'localhost slots=2\n' >mpi
  local -a jobs=(
    'LSF job 7|LSB_JOBID=7 LSB_DJOB_HOSTFILE=lines'
    'PBS job 12.server|PBS_JOBID=12.server PBS_NODEFILE=lines'
    'Grid Engine job 4|JOB_ID=4 PE_HOSTFILE=pe'
    'MPIJob|OMPI_MCA_orte_default_hostfile=mpi KUBERNETES_SERVICE_HOST=10.0.0.1'
    'MPIJob|HYDRA_HOST_FILE=mpi K_MPI_JOB_ROLE=launcher'
  )
  local job
  for job in "${jobs[@]}"; do
    # shellcheck disable=SC2086,SC2016  # one word a variable; the workers' shell expands the rest
    run env ${job#*|} "$DTRAIN" run --no-tag sh -c 'echo $RANK of $WORLD_SIZE'
    expect_status 0
    expect_stdout_lines '0 of 2' '1 of 2'
    expect_stderr "dtrain: ${job%%|*}: localhost, 2 slots"
  done
  run env OMPI_MCA_orte_default_hostfile=mpi "$DTRAIN" run -np 1 true
  expect_stderr ''
}

test_a_node_of_slurm_offers_its_gpus() {
  local -x SLURM_JOB_ID=21 SLURM_JOB_NODELIST=localhost SLURM_NTASKS=1 SLURM_TASKS_PER_NODE=1 SLURM_JOB_CPUS_PER_NODE=8
  run env LD_LIBRARY_PATH="$fakes" FAKE_NVML='gpu=A gpu=B gpu=C' "$DTRAIN" run --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi hi
  expect_stderr 'dtrain: Slurm job 21: localhost'
  run env LD_LIBRARY_PATH="$fakes" FAKE_NVML='' "$DTRAIN" run --no-tag echo hi
  expect_status 0
  expect_stdout hi
  unset SLURM_NTASKS
  run env LD_LIBRARY_PATH="$fakes" FAKE_NVML='' "$DTRAIN" run --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi hi hi hi hi hi hi
}

test_a_job_within_the_job_stays_on_its_machine() {
  SLURM_JOB_ID=21 SLURM_JOB_NODELIST=localhost SLURM_NTASKS=2 SLURM_TASKS_PER_NODE=2 \
    run_dtrain run --no-tag "$DTRAIN" run -np 3 --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi hi hi hi hi
  [[ $(grep -c 'Slurm job 21' "$out/stderr") -eq 1 ]] || fail 'a worker has no allocation'
}

test_a_job_within_the_job_has_no_numbers_of_the_outer_rank() {
  make_rsh
  in_script run -np 2 --rsh-agent ./rsh --no-tag \
    sh -c '[ "$RANK" = 0 ] || exec "$@"' sh "$DTRAIN" run -np 2 --no-tag sh -c "$show_rank" 1
  expect_status 0
  expect_stdout 'SLURM_JOBID=21
SLURM_JOB_ID=21
SLURM_JOB_NODELIST=n[1-3]'
}

test_of_the_tasks_of_srun_one_prints_why_none_starts() {
  local -x SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=0
  in_slurm run touch started
  expect_status 2
  expect_stderr 'dtrain: srun has started dtrain run 8 times (SLURM_STEP_NUM_TASKS), and each would be a job of its own. Start it once in the batch script, without srun: dtrain run … uses all hosts of the job. For separate jobs: env -u SLURM_STEP_NUM_TASKS dtrain run --allocation none …'
  SLURM_PROCID=7 in_slurm run -H localhost touch started
  expect_status 2
  expect_stderr ''
  expect_not test -e started
  run env -u SLURM_STEP_NUM_TASKS "$DTRAIN" run --allocation none -np 1 --no-tag echo hi
  expect_status 0
  expect_stdout hi
  # With a given cluster, each task of a step starts its part.
  in_slurm run --cluster-spec 'worker|localhost:2222;n2:2222' --dry-run true
  expect_status 0
}

test_one_container_of_several_nodes_of_torchrun_starts_no_job_of_its_own() {
  PET_NNODES=2 run_dtrain run -np 1 touch started
  expect_status 2
  expect_stderr 'dtrain: PET_NNODES: 2 nodes, but neither their hosts nor the address of node 0 are given. Start dtrain run once with -H HOST,HOST,…, or on each node with --node-rank K and --master-addr HOST'
  expect_not test -e started
  PET_NNODES=2 run_dtrain run -H localhost:1 touch started
  expect_status 2
  expect_stderr 'dtrain: -H: PET_NNODES=2 shows that each node starts this command, and with -H each would be a job of its own; leave -H out, or unset PET_NNODES'
  expect_not test -e started
  PET_NNODES=1 PET_NODE_RANK=0 PET_NPROC_PER_NODE=2 run_dtrain run --no-tag echo hi
  expect_status 0
  expect_stdout $'hi\nhi'
}

test_wrong_variables_and_files_are_named() {
  SLURM_TASKS_PER_NODE=4,4 SLURM_JOB_ID=21 SLURM_JOB_NODELIST='n[1-3]' SLURM_NTASKS=8 run_dtrain run touch started
  expect_status 2
  expect_stderr 'dtrain: SLURM_TASKS_PER_NODE=4,4: 2 numbers for the 3 hosts of SLURM_JOB_NODELIST=n[1-3]
dtrain: (-H HOST:SLOTS,… gives other hosts, --allocation none runs on this machine)'
  PBS_JOBID=12 PBS_NODEFILE=/none run_dtrain run touch started
  expect_status 2
  expect_stderr_contains 'dtrain: PBS_NODEFILE=/none: cannot read this file: No such file or directory'
  expect_not test -e started
}

test_check_tests_the_hosts_of_the_job() {
  LSB_JOBID=7 LSB_HOSTS='localhost localhost' run_dtrain check
  expect_status 0
  expect_stderr 'dtrain: LSF job 7: localhost, 2 slots'
  expect_stdout_contains 'this machine, without ssh'
  LSB_JOBID=7 LSB_HOSTS='localhost localhost' run_dtrain check --allocation none
  expect_status 0
  expect_stderr ''
}

run_tests "$@"

#!/usr/bin/env bash
# What workers of each framework find in their environment, from outside. The frameworks themselves are in
# tests/frameworks.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # the workers' shell expands it
print_torchrun='echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $NODE_RANK \
  $ROLE_NAME $ROLE_RANK $ROLE_WORLD_SIZE $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS \
  $TORCHELASTIC_USE_AGENT_STORE $TORCH_NCCL_ASYNC_ERROR_HANDLING; [ "$TORCHELASTIC_RUN_ID" = "$DTRAIN_JOB_ID" ]'

test_torch_finds_what_torchrun_would_set() {
  run_dtrain run -np 2 --no-tag sh -c "$print_torchrun"
  expect_status 0
  expect_stdout_lines '0 2 0 2 0 1 0 worker 0 2 0 0 False 1' '1 2 1 2 0 1 0 worker 1 2 0 0 False 1'
}

test_jax_finds_a_step_of_slurm_when_asked() {
  # shellcheck disable=SC2016
  local print='echo ${SLURM_JOB_ID:+set} ${SLURM_STEP_NODELIST:-none} $SLURM_NTASKS $SLURM_PROCID $SLURM_LOCALID'
  run_dtrain run -np 2 --no-tag --env-set jax sh -c "$print"
  expect_status 0
  expect_stdout_lines 'set localhost 2 0 0' 'set localhost 2 1 1'
  run_dtrain run -np 1 --no-tag sh -c "$print"
  expect_stdout 'none'
}

test_none_leaves_dtrains_own_alone() {
  # shellcheck disable=SC2016
  local list='env | cut -d= -f1 | grep -E "^(RANK|MASTER|TORCH|HOROVOD|JAX|TF_CONFIG|TF_GRPC|OMPI|SLURM|DTRAIN_RANK)"'
  run_dtrain run -np 1 --no-tag --env-set none sh -c "$list"
  expect_status 0
  expect_stdout 'DTRAIN_RANK'
  run_dtrain run -np 1 --no-tag --env-set none,tf sh -c "$list | sort"
  expect_stdout 'DTRAIN_RANK
TF_CONFIG
TF_GRPC_REUSE_PORT'
}

test_an_outer_jobs_place_does_not_reach_the_workers() {
  # shellcheck disable=SC2016
  PMI_RANK=3 PMIX_RANK=3 SLURM_PROCID=3 SLURM_STEP_ID=1 PORT=80 KUBERNETES_PORT=x K_MPI_JOB_ROLE=launcher \
    NODE_RANK=7 PET_NNODES=9 \
    run_dtrain run -np 1 --no-tag --env-set none sh -c \
    'echo $PMI_RANK $PMIX_RANK $SLURM_PROCID $SLURM_STEP_ID $PORT $NODE_RANK $PET_NNODES .'
  expect_status 0
  expect_stdout '.'
}

test_old_scripts_get_their_local_rank_as_the_last_argument() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --no-tag --pass-local-rank sh -c 'echo $RANK "$@"' - --epochs 3
  expect_status 0
  expect_stdout_lines '0 --epochs 3 --local_rank=0' '1 --epochs 3 --local_rank=1'
}

test_an_unknown_set_is_named_and_nothing_starts() {
  run_dtrain run -np 1 --env-set tensorflow touch started
  expect_status 2
  expect_stderr 'dtrain: --env-set: expected none, torch, tf, horovod, jax or ompi, got "tensorflow"'
  [ ! -e started ] || fail 'the command was started'
}

run_tests "$@"

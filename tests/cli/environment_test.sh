#!/usr/bin/env bash
# The environment of workers for each framework. tests/frameworks has the frameworks themselves.
. "$(dirname "$0")/lib.sh"
page=$(cd "$(dirname "$0")/../../man" && pwd)/dtrain-environment.7.in

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

stale=(RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE LOCAL_SIZE CROSS_RANK GROUP_RANK NODE_RANK ROLE_RANK MASTER_ADDR
  MASTER_PORT PET_RUN_PATH TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE TORCHELASTIC_ERROR_FILE PMI_RANK PMI_FD
  PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_MCA_orte_hnp_uri PRTE_LAUNCHED MPI_LOCALRANKID MV2_COMM_WORLD_RANK SLURM_PROCID
  SLURM_LOCALID SLURM_NODEID SLURM_STEP_ID SLURM_STEP_NODELIST SLURM_LAUNCH_NODE_IPADDR SLURMD_NODENAME HOROVOD_RANK
  HOROVOD_SIZE HOROVOD_GLOO_RENDEZVOUS_ADDR HOROVOD_CONTROLLER HOROVOD_ELASTIC JAX_COORDINATOR_ADDRESS JAX_PROCESS_ID
  DMLC_ROLE DMLC_PS_ROOT_URI BYTEPS_LOCAL_RANK PADDLE_TRAINER_ID PADDLE_TRAINER_ENDPOINTS TRAINING_ROLE
  FLAGS_selected_gpus PORT OLDPWD DTRAIN_TOKEN)

test_an_outer_jobs_place_does_not_reach_the_workers() {
  run env "${stale[@]/%/=stale}" SLURM_JOB_ID=kept "$DTRAIN" run -np 1 --allocation none --no-tag --env-set none env
  expect_status 0
  expect_stdout_contains 'SLURM_JOB_ID=kept'
  expect_stdout_lacks '=stale'
  # All sets of variables, and a task without a rank, which must not keep the stale one.
  run env "${stale[@]/%/=stale}" "$DTRAIN" run --role ps=1,worker=1 --success all --no-tag --env-set jax,paddle env
  expect_status 0
  expect_stdout_lacks '=stale'
}

test_a_job_within_a_job_finds_nothing_of_the_outer_one() {
  local without_jobs_own='^(DTRAIN_(JOB_ID|TOKEN|RENDEZVOUS|LINE_BUFFERED)|LD_PRELOAD)='
  run_dtrain run -np 1 --no-tag --env-set none env
  expect_status 0
  grep -vE "$without_jobs_own" "$out/stdout" | sort >alone
  run_dtrain run --role scheduler=1,server=1,worker=1 --role-command scheduler=true --role-command server=true \
    --no-tag --env-set jax,dmlc,paddle -- "$DTRAIN" run -np 1 --no-tag --env-set none env
  expect_status 0
  grep -vE "$without_jobs_own" "$out/stdout" | sort >within
  expect diff alone within
}

test_a_variable_that_dtrain_does_not_know_is_a_warning() {
  run env DTRAIN_NP=3 "$DTRAIN" run -np 1 true
  expect_status 0
  expect_stderr "dtrain: warning: DTRAIN_NP (did you mean DTRAIN_OPT_NP?): unknown to dtrain, and not \
forwarded without -x NAME"
  run env DTRAIN_NP=3 "$DTRAIN" run -np 1 --quiet true
  expect_stderr ''
  local known
  known=$(grep -oE 'DTRAIN_[A-Z_]+' "$page" | grep -v '^DTRAIN_OPT_' | sort -u | sed 's/$/=1/')
  # shellcheck disable=SC2086,SC2016
  run env $known "$DTRAIN" run -np 1 --no-tag sh -c 'echo $DTRAIN_KERNELS'
  expect_status 0
  expect_stderr ''
  expect_stdout 1
}

test_a_task_without_rank_is_given_none_by_any_set() {
  # shellcheck disable=SC2016
  local list='[ $DTRAIN_ROLE = worker ] || env | cut -d= -f1'
  run_dtrain run --role ps=1,worker=1 --success all --no-tag --env-set jax,paddle sh -c "$list"
  expect_status 0
  expect_stdout_contains 'JAX_COORDINATOR_ADDRESS'
  expect_stdout_contains 'MASTER_ADDR'
  expect_stdout_contains 'TF_CONFIG'
  expect_not grep -E '(RANK|WORLD_SIZE|LOCAL_SIZE|CROSS_SIZE|PROCID|LOCALID|PROCESS_ID|TRAINER_ID)$|GLOO_RENDEZVOUS' \
    "$out/stdout"
}

test_parameter_servers_and_the_evaluator_see_no_gpu_by_default() {
  # shellcheck disable=SC2016
  local print='echo $DTRAIN_ROLE: ${CUDA_VISIBLE_DEVICES-unset}.'
  local job=(--role ps=1 --role evaluator=1 --role worker=1 --success all --no-tag sh -c "$print")
  run env -u CUDA_VISIBLE_DEVICES "$DTRAIN" run "${job[@]}"
  expect_stdout_lines 'ps: .' 'evaluator: .' 'worker: unset.'
  run env CUDA_VISIBLE_DEVICES=1 "$DTRAIN" run --role-env ps=CUDA_VISIBLE_DEVICES=2 "${job[@]}"
  expect_stdout_lines 'ps: 2.' 'evaluator: .' 'worker: 1.'
}

test_the_error_file_is_of_the_torch_set() {
  # shellcheck disable=SC2016
  local print='echo ${TORCHELASTIC_ERROR_FILE:+set}${TORCHELASTIC_ERROR_FILE-none}'
  run_dtrain run -np 1 --no-tag --env-set none,torch sh -c "$print"
  expect_stdout_contains 'set/'
  run_dtrain run -np 1 --no-tag --env-set none,jax sh -c "$print"
  expect_stdout 'none'
}

test_threads_are_shared_out_unless_the_user_sets_their_number() {
  # shellcheck disable=SC2016
  run env -u OMP_NUM_THREADS taskset -c 0 "$DTRAIN" run -np 2 --no-tag sh -c 'echo $OMP_NUM_THREADS'
  expect_stdout_lines 1 1
  # shellcheck disable=SC2016
  run env OMP_NUM_THREADS=7 "$DTRAIN" run -np 2 --no-tag sh -c 'echo $OMP_NUM_THREADS'
  expect_stdout_lines 7 7
}

test_old_scripts_get_their_local_rank_as_the_last_argument() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --no-tag --pass-local-rank sh -c 'echo $RANK "$@"' - --epochs 3
  expect_status 0
  expect_stdout_lines '0 --epochs 3 --local_rank=0' '1 --epochs 3 --local_rank=1'
}

test_a_job_of_ps_lite_meets_at_the_port_that_is_held_for_its_scheduler() {
  # shellcheck disable=SC2016
  local print='[ $DMLC_PS_ROOT_URI:$DMLC_PS_ROOT_PORT = $0 ] || exit 1
    echo $DMLC_ROLE ${DMLC_SERVER_ID--}${DMLC_WORKER_ID--} $DMLC_NUM_SERVER $DMLC_NUM_WORKER $DMLC_NODE_HOST \
    ${RANK--} ${PORT-none}'
  PORT=80 run_dtrain run --role scheduler=1,server=1,worker=2 --env-set dmlc --success all --no-tag \
    sh -c "$print" '{hosts:scheduler}'
  expect_status 0
  expect_stdout_lines 'scheduler -- 1 2 127.0.0.1 - none' 'server 0- 1 2 127.0.0.1 - none' \
    'worker -0 1 2 127.0.0.1 0 none' 'worker -1 1 2 127.0.0.1 1 none'
}

test_dmlc_without_a_scheduler_is_refused_and_nothing_starts() {
  run_dtrain run -np 2 --env-set dmlc touch started
  expect_status 2
  expect_stderr 'dtrain: --env-set: dmlc: its jobs have a scheduler, servers and workers; add --role scheduler=1 --role server=N'
  [ ! -e started ] || fail 'the command was started'
}

test_paddle_finds_all_trainers_and_itself_among_them() {
  # shellcheck disable=SC2016
  local print='endpoints=$PADDLE_TRAINER_ENDPOINTS; first=${endpoints%%,*}; second=${endpoints##*,}
    [ $PADDLE_MASTER = $MASTER_ADDR:$MASTER_PORT ] && [ $first != $second ] || exit 1
    [ $PADDLE_TRAINER_ID = 0 ] && own=$first || own=$second
    [ $PADDLE_CURRENT_ENDPOINT = $own ] || exit 2
    echo $PADDLE_TRAINER_ID $PADDLE_TRAINERS_NUM $PADDLE_GLOBAL_RANK $PADDLE_GLOBAL_SIZE $PADDLE_LOCAL_RANK \
    $PADDLE_LOCAL_SIZE $PADDLE_RANK_IN_NODE $PADDLE_NNODES $FLAGS_selected_gpus $PADDLE_DISTRI_BACKEND \
    ${TRAINING_ROLE-none}'
  CUDA_VISIBLE_DEVICES='' run_dtrain run -np 2 --env-set paddle --no-tag sh -c "$print"
  expect_status 0
  expect_stdout_lines '0 2 0 2 0 2 0 1 0 gloo none' '1 2 1 2 1 2 1 1 1 gloo none'
}

test_paddles_parameter_servers_are_distinguished_from_its_trainers() {
  # shellcheck disable=SC2016
  local print='[ $PADDLE_ROLE = $TRAINING_ROLE ] || exit 1
    case ,$PADDLE_PSERVERS_IP_PORT_LIST,$PADDLE_TRAINER_ENDPOINTS, in *,$POD_IP:$PADDLE_PORT,*) ;; *) exit 2;; esac
    echo $TRAINING_ROLE ${PADDLE_TRAINER_ID--} $PADDLE_TRAINERS_NUM'
  POD_IP=10.9.9.9 run_dtrain run --role ps=1,worker=2 --env-set none,paddle --success all --no-tag sh -c "$print"
  expect_status 0
  expect_stdout_lines 'PSERVER - 2' 'TRAINER 0 2' 'TRAINER 1 2'
}

test_an_unknown_set_is_named_and_nothing_starts() {
  run_dtrain run -np 1 --env-set tensorflow touch started
  expect_status 2
  expect_stderr 'dtrain: --env-set: expected none, torch, tf, horovod, jax, ompi, dmlc or paddle, got "tensorflow"'
  [ ! -e started ] || fail 'the command was started'
}

run_tests "$@"

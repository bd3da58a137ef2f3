#!/usr/bin/env bash
# --strategy: what dtrain refuses, and what the tasks get.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

digits=$(dirname "$DTRAIN")/examples/digits

expect_refusal_of() { # in words that contain $1
  expect_status 2
  expect_stderr_contains "$1"
  expect_stdout ''
  expect_not test -e started
}

# shellcheck disable=SC2016  # the task's shell expands it
print_strategy='echo "$DTRAIN_ROLE:$DTRAIN_TASK_INDEX ${DTRAIN_STRATEGY-none} ${DTRAIN_DEVICES-all}" \
  "${DTRAIN_CROSS_DEVICE_OP-own}"'

test_every_task_gets_the_strategy_with_its_options() {
  printf '%s\n' "$print_strategy" >task.sh
  run_dtrain run --role ps=1 --role worker=2 --strategy parameter_server --no-tag --success all \
    --role-command 'ps=sh task.sh' sh task.sh
  expect_status 0
  expect_stdout_lines 'ps:0 parameter_server all own' 'worker:0 parameter_server all own' \
    'worker:1 parameter_server all own'
  run_dtrain run -np 1 --strategy mirrored --devices 0,1 --cross-device-op AllReduce:2 --no-tag sh -c "$print_strategy"
  expect_status 0
  expect_stdout 'worker:0 mirrored 0,1 AllReduce:2'
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run -np 1 --bytes-per-pack 4M --strategy-timeout 2m --ps-mode sync:1 --no-tag \
    sh -c 'echo "$DTRAIN_BYTES_PER_PACK $DTRAIN_STRATEGY_TIMEOUT $DTRAIN_PS_MODE"'
  expect_stdout '4194304 2m sync:1'
}

test_without_the_option_there_is_no_variable() {
  DTRAIN_STRATEGY=mirrored run_dtrain run -np 1 --no-tag sh -c "$print_strategy"
  expect_status 0
  expect_stdout 'worker:0 none all own'
}

test_a_file_and_a_variable_choose_the_strategy_too() {
  echo 'strategy = "one_device"' >dtrain.toml
  run_dtrain run -np 1 --no-tag sh -c "$print_strategy"
  expect_stdout 'worker:0 one_device all own'
  DTRAIN_OPT_STRATEGY=central_storage run_dtrain run -np 1 --no-tag sh -c "$print_strategy"
  expect_stdout 'worker:0 central_storage all own'
}

test_an_unknown_strategy_is_refused_with_the_known_ones() {
  run_dtrain run -np 1 --strategy allreduce touch started
  expect_refusal_of 'the strategies are mirrored, multi_worker_mirrored, central_storage, parameter_server and one_device'
  run_dtrain run -np 1 --strategy tpu touch started
  expect_refusal_of '--strategy: there is no TPU here; the strategies are'
  run_dtrain run -np 1 --strategy one-device touch started
  expect_refusal_of '--strategy: no strategy "one-device"; did you mean one_device?'
  run_dtrain run -np 1 --strategy mirrored --cross-device-op NCCL touch started
  expect_refusal_of '--cross-device-op: no cross-device operation "NCCL"'
  run_dtrain run -np 1 --strategy mirrored --cross-device-op all_reduce:64k touch started
  expect_refusal_of "--cross-device-op: expected ':' and the operation above the limit 64k"
}

test_several_workers_under_a_strategy_of_one_process_are_refused() {
  for strategy in mirrored central_storage one_device; do
    run_dtrain run -np 2 --strategy "$strategy" touch started
    expect_refusal_of "--strategy $strategy: it trains in one process, and the job has 2 workers"
    expect_stderr_contains 'use --strategy multi_worker_mirrored'
    run_dtrain run -H localhost:2 --dry-run --strategy "$strategy" touch started
    expect_refusal_of "--strategy $strategy: it trains in one process, and the job has 2 workers"
  done
}

test_parameter_server_needs_a_ps() {
  run_dtrain run -np 2 --strategy parameter_server touch started
  expect_refusal_of '--strategy parameter_server: the job has no ps; add --role ps=1'
}

test_devices_have_the_names_of_tensorflow_and_a_place_in_the_log() {
  run_dtrain run -np 2 --strategy multi_worker_mirrored -x DTRAIN_CPU_DEVICES=2 --log-placement --no-tag \
    --devices /job:worker/task:0/cpu:0,/job:worker/task:1/device:CPU:1 "$digits" --epochs 1
  expect_status 0
  expect_stderr_contains 'dtrain: worker:0: replica 0 is on cpu:0'
  expect_stderr_contains 'dtrain: worker:1: replica 1 is on cpu:1'
  expect_stderr_contains 'dtrain: worker:1: variable hidden.weights is on cpu:1'
}

test_with_soft_placement_the_cpu_replaces_a_device_that_does_not_exist() {
  run_dtrain run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2 --devices /gpu:0 --no-tag "$digits" --epochs 1
  expect_status 1
  expect_stderr_contains 'no device "/gpu:0"; this process has cpu:0, cpu:1'
  run_dtrain run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2 --devices /gpu:0 --soft-placement --log-placement \
    --no-tag "$digits" --epochs 1
  expect_status 0
  expect test "$(grep -c 'dtrain: worker:0: /gpu:0 does not exist here: cpu:0 takes its place' "$out/stderr")" = 1
}

test_a_strategy_with_too_little_memory_names_the_variable_and_the_limit() {
  run_dtrain run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=1 --device-memory 1K --no-tag "$digits" --epochs 1
  expect_status 1
  expect_stderr_contains 'variable "hidden.weights": the strategy may have 1024 bytes on cpu:0, has'
}

test_nccl_between_devices_of_the_cpu_is_refused_by_every_rank() {
  run_dtrain run -np 2 --strategy multi_worker_mirrored --communication nccl --on-failure continue --no-tag \
    -x DTRAIN_CPU_DEVICES=1 "$digits"
  expect_status 1
  expect test "$(grep -c '^digits: rank .: .*the communication nccl needs GPUs, and this worker computes on cpu:0; use ring or auto' "$out/stderr")" = 2
  run_dtrain run -np 2 --strategy multi_worker_mirrored --communication gloo touch started
  expect_refusal_of '--communication: no communication "gloo"; they are auto, ring and nccl'
}

# Runs $1 workers whose devices and NCCL are stand-ins; the rest are options and the command.
run_with_nccl() {
  local workers=$1
  shift
  run_dtrain run -np "$workers" --strategy multi_worker_mirrored --communication nccl --on-failure continue --no-tag \
    -x DTRAIN_CPU_DEVICES=2 -x DTRAIN_PEER_MAX=0 \
    -x "DTRAIN_NCCL_LIB=$(dirname "$DTRAIN")/tests/programs/fake_nccl/libnccl.so.2" "$@"
}

test_workers_train_over_nccl_as_over_the_engine() {
  run_dtrain run -np 2 --strategy multi_worker_mirrored --no-tag -x DTRAIN_CPU_DEVICES=2 "$digits" --epochs 1
  expect_status 0
  cp "$out/stdout" by_engine
  run_with_nccl 2 "$digits" --epochs 1
  expect_status 0
  expect test "$(grep -c . by_engine)" -gt 0
  expect diff <(sed 's/[0-9.]* s//' by_engine) <(sed 's/[0-9.]* s//' "$out/stdout")
}

test_two_versions_of_nccl_are_named_with_their_hosts_before_it_connects() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_with_nccl 3 sh -c '[ "$DTRAIN_RANK" -lt 2 ] || export FAKE_NCCL=version=22705; exec "$0"' "$digits"
  expect_status 1
  expect test "$(grep -c "^digits: rank .: rank 2 ($(hostname)) has NCCL 2.27.5 (.*/fake_nccl/libnccl.so.2), but rank 0 ($(hostname)) NCCL 2.28.9" "$out/stderr")" = 3
}

test_a_worker_that_dies_in_a_call_of_nccl_is_named_by_the_others() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_with_nccl 3 sh -c '[ "$DTRAIN_RANK" -lt 2 ] || export FAKE_NCCL=die=ncclAllReduce:20; exec "$0"' "$digits"
  expect_status 137
  expect test "$(grep -c '^digits: rank [01]: .*rank 2' "$out/stderr")" = 2
}

test_a_worker_whose_nccl_cannot_be_aborted_ends_with_a_line() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_with_nccl 2 sh -c '[ "$DTRAIN_RANK" = 0 ] || export FAKE_NCCL="fail=ncclAllReduce:1 hang=ncclCommAbort"
    exec "$0"' "$digits"
  expect_status 1 # of rank 0, which ends first
  expect_stderr_contains 'dtrain: NCCL has not aborted a communicator within 10 s; this process ends'
}

test_a_worker_whose_nccl_cannot_be_destroyed_ends_with_a_line() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_with_nccl 2 sh -c '[ "$DTRAIN_RANK" = 0 ] || export FAKE_NCCL=hang=ncclCommDestroy; exec "$0"' "$digits"
  expect_status 70
  expect_stderr_contains 'dtrain: NCCL has not destroyed a communicator within 10 s; this process ends'
}

test_a_step_of_more_workers_than_there_are_is_refused() {
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode sync:3 touch started
  expect_refusal_of '--ps-mode sync:3: the job has 2 workers; give sync:1 to sync:2'
}

# Runs three workers, of which the last has the strategy $1, under --strategy $2.
run_with_another_strategy() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=3 --strategy "$2" --on-failure continue --no-tag -x "OTHER=$1" -x DTRAIN_CPU_DEVICES=1 \
    sh -c '[ "$DTRAIN_RANK" -lt 2 ] || export $OTHER; exec "$0"' "$digits"
  expect_status 1
}

test_a_task_with_another_strategy_is_named_by_every_rank_at_once() {
  local begin
  begin=$(now_ms)
  run_with_another_strategy DTRAIN_STRATEGY=mirrored parameter_server
  expect test "$(grep -c '^digits: rank .: rank 2 has the strategy mirrored, but rank 0 parameter_server' "$out/stderr")" = 3
  run_with_another_strategy DTRAIN_STRATEGY=parameter_server multi_worker_mirrored
  expect test "$(grep -c '^digits: rank .: rank 2 has the strategy parameter_server, but rank 0 multi_worker_mirrored' "$out/stderr")" = 3
  expect test $(($(now_ms) - begin)) -lt "$(long_or 30000 10000)"
}

test_another_number_of_devices_is_named_by_every_rank_of_parameter_servers() {
  run_with_another_strategy DTRAIN_CPU_DEVICES=2 parameter_server
  expect test "$(grep -c '^digits: rank .: rank 2 has 2 devices, but rank 0 1; each worker needs equally many' "$out/stderr")" = 3
}

test_the_options_of_a_strategy_reach_the_program() {
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode async --no-tag "$digits" --epochs 1
  expect_status 0
  run_dtrain run -np 2 --strategy multi_worker_mirrored --bytes-per-pack 64K --strategy-timeout 1m --no-tag "$digits" --epochs 1
  expect_status 0
  # Where dtrain cannot see the value, the program refuses it.
  run_dtrain run -np 1 -x DTRAIN_BYTES_PER_PACK=none --no-tag "$digits" --epochs 1
  expect_status 1
  expect_stderr_contains 'DTRAIN_BYTES_PER_PACK: expected a size from 1, got "none"'
}

run_tests "$@"

#!/usr/bin/env bash
# The example that users copy: a whole training run on real images, from outside.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
digits=$(dirname "$DTRAIN")/examples/digits
job_file=$(realpath "$(dirname "$0")/../../examples/digits/job.toml")

# Prints the number on the line of stdout that starts with these words.
number_of() { sed -n "s/^$1 \([0-9.]*\).*/\1/p" "$out/stdout"; }

expect_accuracy() {
  local line
  line=$(tail -n 1 "$out/stdout")
  [[ $line =~ ^accuracy\ ([0-9]+\.[0-9])\ %$ ]] || fail "the last line is no accuracy: $line"
  awk -v reached="${BASH_REMATCH[1]}" 'BEGIN { exit !(reached >= 95 && reached <= 100) }' ||
    fail "expected at least 95 %: $line"
}

expect_close() {
  awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 <= 1e-8) }' ||
    fail "expected losses within 1e-4: $1 and $2"
}

# The working directory has no data: the program must find its own.
test_it_needs_no_argument_and_ends_with_an_accuracy_of_95_percent() {
  run "$digits"
  expect_status 0
  expect_stderr ''
  expect_stdout_contains '1437 images to train on, 360 to test on, 1 rank'
  expect_accuracy
}

test_one_two_and_four_ranks_end_with_the_same_loss() {
  local np loss=
  for np in 1 2 4; do
    run_dtrain run -np "$np" --no-tag "$digits"
    expect_status 0
    expect_stderr ''
    expect_stdout_contains "$np rank"
    expect_accuracy
    loss=${loss:-$(number_of 'training loss')}
    expect_close "$loss" "$(number_of 'training loss')"
  done
}

test_the_job_file_trains_with_a_parameter_server_and_keeps_its_model() {
  # A copy: on this machine, the processes of a job start in the tree itself.
  cp "$job_file" .
  PATH=$(dirname "$digits"):$PATH run_dtrain job run job.toml
  expect_status 0
  expect_stdout_contains 'strategy parameter_server'
  expect_accuracy
  expect test -s saved
  expect_no_processes
}

test_every_strategy_trains_by_option_alone() {
  local devices loss=
  run_dtrain run -np 1 --strategy one_device --no-tag "$digits"
  expect_status 0
  expect_stdout_contains 'strategy one_device with 1 replica'
  expect_accuracy
  loss=$(number_of 'training loss')
  for devices in 1 2 3 4; do
    run_dtrain run -np 1 --strategy mirrored -x "DTRAIN_CPU_DEVICES=$devices" --no-tag "$digits"
    expect_status 0
    expect_stdout_contains "strategy mirrored with $devices replica"
    expect_accuracy
    expect_close "$loss" "$(number_of 'training loss')"
  done
  run_dtrain run -np 1 --strategy central_storage -x DTRAIN_CPU_DEVICES=3 --no-tag "$digits"
  expect_status 0
  expect_stdout_contains 'strategy central_storage with 3 replicas'
  expect_accuracy
  expect_close "$loss" "$(number_of 'training loss')"
  run_dtrain run -np 2 --strategy multi_worker_mirrored -x DTRAIN_CPU_DEVICES=2 --no-tag "$digits"
  expect_status 0
  expect_stdout_contains 'strategy multi_worker_mirrored with 4 replicas'
  expect_accuracy
  expect_close "$loss" "$(number_of 'training loss')"
}

test_parameter_servers_train_by_option_alone() {
  local loss servers
  run "$digits"
  loss=$(number_of 'training loss')
  for servers in 1 2; do
    run_dtrain run --role "ps=$servers" --role worker=2 --strategy parameter_server --no-tag "$digits"
    expect_status 0
    expect_stdout_contains 'strategy parameter_server with 2 replicas'
    expect_accuracy
    expect_close "$loss" "$(number_of 'training loss')"
  done
  run_dtrain run --role ps=1 --role worker=2 --strategy parameter_server -x DTRAIN_CPU_DEVICES=2 --no-tag "$digits"
  expect_status 0
  expect_stdout_contains 'strategy parameter_server with 4 replicas'
  expect_accuracy
  expect_close "$loss" "$(number_of 'training loss')"
  expect_no_processes
}

test_a_checkpoint_leads_from_parameter_servers_to_another_strategy_and_back() {
  run_dtrain run --role ps=1 --role worker=2 --strategy parameter_server --no-tag "$digits" --epochs 3 --checkpoint saved
  expect_status 0
  run_dtrain run -np 1 --strategy mirrored --no-tag "$digits" --epochs 20 --checkpoint saved --resume
  expect_status 0
  expect_stdout_contains 'epoch   4/20'
  run_dtrain run --role ps=2 --role worker=2 --strategy parameter_server --no-tag "$digits" --checkpoint saved --resume
  expect_status 0
  expect_stdout_contains 'epoch  21/40'
  expect_stdout_lacks 'epoch  20/40'
  expect_accuracy
}

test_devices_and_the_operation_between_them_are_options() {
  local operation loss=
  # A stand-in of NCCL: its variable is without effect for the other operations.
  for operation in ReductionToOneDevice ReductionToOneDevice:cpu HierarchicalCopyAllReduce:2 AllReduce NcclAllReduce; do
    run_dtrain run -np 1 --strategy mirrored --devices 3,/cpu:0,1 --cross-device-op "$operation" \
      -x DTRAIN_CPU_DEVICES=4 -x "DTRAIN_NCCL_LIB=$(dirname "$DTRAIN")/tests/programs/fake_nccl/libnccl.so.2" \
      --no-tag "$digits" --epochs 4
    expect_status 0
    expect_stdout_contains 'strategy mirrored with 3 replicas'
    loss=${loss:-$(number_of 'training loss')}
    expect_close "$loss" "$(number_of 'training loss')"
  done
}

test_on_one_host_local_async_steps_are_those_of_several_workers() {
  run_dtrain run -np 2 --strategy multi_worker_mirrored -x DTRAIN_CPU_DEVICES=2 --no-tag "$digits" --epochs 4
  expect_status 0
  local loss
  loss=$(number_of 'training loss')
  run_dtrain run --role ps=2,worker=2 --strategy parameter_server --ps-mode local-async -x DTRAIN_CPU_DEVICES=2 \
    --no-tag "$digits" --epochs 4
  expect_status 0
  expect_stdout_contains 'strategy parameter_server with 4 replicas'
  expect_close "$loss" "$(number_of 'training loss')"
}

test_one_worker_under_the_strategy_of_several_is_as_mirrored() {
  run_dtrain run -np 1 --strategy multi_worker_mirrored -x DTRAIN_CPU_DEVICES=2 --no-tag "$digits" --epochs 2
  expect_status 0
  local loss
  loss=$(number_of 'training loss')
  run_dtrain run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2 --no-tag "$digits" --epochs 2
  expect test "$(number_of 'training loss')" = "$loss"
}

test_a_training_resumes_under_another_strategy() {
  run_dtrain run -np 1 --strategy one_device --no-tag "$digits" --epochs 6
  local loss
  loss=$(number_of 'training loss')
  run_dtrain run -np 2 --strategy multi_worker_mirrored -x DTRAIN_CPU_DEVICES=2 "$digits" --epochs 3 --checkpoint saved
  expect_status 0
  run_dtrain run -np 1 --strategy central_storage -x DTRAIN_CPU_DEVICES=3 --no-tag \
    "$digits" --epochs 6 --checkpoint saved --resume
  expect_status 0
  expect_stdout_contains 'epoch   4/6'
  expect_close "$loss" "$(number_of 'training loss')"
}

test_workers_that_differ_in_their_strategy_are_named_at_every_rank() {
  local rank
  # shellcheck disable=SC2016  # the worker's shell reads its rank
  run_dtrain run -np 2 --on-failure continue -- \
    sh -c 'DTRAIN_CPU_DEVICES=$((DTRAIN_RANK + 1)) exec "$1" --epochs 1' sh "$digits"
  expect_status 1
  for rank in 0 1; do
    expect_stderr_contains "[$rank]<stderr>:digits: rank $rank: rank 1 has 2 devices, but rank 0 1;"
  done
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --on-failure continue -- \
    sh -c '[ "$DTRAIN_RANK" = 0 ] || export DTRAIN_STRATEGY=mirrored; exec "$1" --epochs 1' sh "$digits"
  expect_status 1
  for rank in 0 1; do
    expect_stderr_contains "[$rank]<stderr>:digits: rank $rank: rank 1 has the strategy mirrored, but rank 0 multi_worker"
  done
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --on-failure continue -- \
    sh -c '[ "$DTRAIN_RANK" = 0 ] || export DTRAIN_DEVICES=gpu:3; exec "$1" --epochs 1' sh "$digits"
  expect_status 1
  expect_stderr_contains '[0]<stderr>:digits: rank 0: rank 1: no device "gpu:3"; this process has cpu:0'
  expect_stderr_contains '[1]<stderr>:digits: rank 1: no device "gpu:3"; this process has cpu:0'
  expect_no_processes
}

test_a_device_that_does_not_exist_ends_every_rank() {
  run_dtrain run -np 2 --devices 5 --on-failure continue "$digits" --epochs 1
  expect_status 1
  expect_stderr_contains '[0]<stderr>:digits: rank 0: no device "5"; this process has cpu:0'
  expect_stderr_contains '[1]<stderr>:digits: rank 1: no device "5"; this process has cpu:0'
}

test_a_batch_that_does_not_divide_by_the_ranks_gives_the_same_loss() {
  local np loss=
  for np in 1 3 4; do
    # 1437 images: the last batch of an epoch has 23, then 2, of which some ranks have none.
    for batch in 101 205; do
      run_dtrain run -np "$np" --no-tag "$digits" --epochs 4 --global-batch "$batch"
      expect_status 0
      number_of 'training loss' >"loss-$batch-$np"
      loss=$(cat "loss-$batch-1")
      expect_close "$loss" "$(cat "loss-$batch-$np")"
    done
  done
}

test_a_batch_for_each_rank_is_a_larger_batch_at_a_higher_rate() {
  run_dtrain run -np 2 --no-tag "$digits" --batch-per-rank 64
  expect_status 0
  expect_accuracy
  local loss
  loss=$(number_of 'training loss')
  run "$digits" --global-batch 128 --learning-rate 0.2
  expect_close "$loss" "$(number_of 'training loss')"
  run_dtrain run -np 4 --no-tag "$digits" --batch-per-rank 64
  expect_status 0
  expect_accuracy
}

test_only_rank_0_reports() {
  run_dtrain run -np 2 "$digits" --epochs 1
  expect_status 0
  expect_stdout_contains '[0]<stdout>:accuracy'
  expect_stdout_lacks '[1]'
}

test_a_resumed_training_ends_as_one_that_was_not_interrupted() {
  run_dtrain run -np 2 --no-tag "$digits" --epochs 6
  local loss
  loss=$(number_of 'training loss')
  run_dtrain run -np 2 --no-tag "$digits" --epochs 3 --checkpoint saved
  expect_status 0
  expect test -s saved
  run_dtrain run -np 2 --no-tag "$digits" --epochs 6 --checkpoint saved --resume
  expect_status 0
  expect_stdout_contains 'epoch   4/6'
  expect_stdout_lacks 'epoch   3/6'
  expect test "$(number_of 'training loss')" = "$loss"
}

test_after_the_death_of_a_rank_the_training_continues_from_its_checkpoint() {
  run_dtrain run -np 2 --no-tag "$digits"
  local loss
  loss=$(number_of 'training loss')
  mkfifo console
  exec 9<>console
  head -c 65200 /dev/zero >&9 # a pipe has 64 KiB: rank 0 of the first generation waits amid its first epochs
  # shellcheck disable=SC2016  # the tasks' shell expands it
  start_dtrain run -np 2 --max-restarts 1 --no-tag sh -c '
    echo $$ >pid.$RANK
    [ ! -e saved ] || set -- --resume
    [ $DTRAIN_GENERATION != 1 ] || exec >console
    exec "$0" --checkpoint saved "$@"' "$digits"
  wait_for test -e saved
  kill -KILL "$(cat pid.1)"
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 1 after '
  expect_stdout_contains 'epoch  40/40'
  expect_stdout_lacks 'epoch   1/40'
  expect_accuracy
  expect test "$(number_of 'training loss')" = "$loss"
  expect_no_processes
}

test_another_number_of_ranks_can_resume() {
  run "$digits" --epochs 6
  local loss
  loss=$(number_of 'training loss')
  run_dtrain run -np 4 "$digits" --epochs 3 --checkpoint saved
  expect_status 0
  run "$digits" --epochs 6 --checkpoint saved --resume
  expect_close "$loss" "$(number_of 'training loss')"
}

test_a_checkpoint_that_cannot_be_read_ends_the_job() {
  echo 'something else' >saved
  run_dtrain run -np 2 --on-failure continue "$digits" --checkpoint saved --resume
  expect_status 1
  expect_stderr_contains '[0]<stderr>:digits: rank 0: saved is no checkpoint of dtrain'
  expect_stderr_contains '[1]<stderr>:digits: rank 1: rank 0: saved is no checkpoint of dtrain'
  expect_no_processes
  run "$digits" --checkpoint none --resume
  expect_status 1
  expect_stderr 'digits: rank 0: the checkpoint none cannot be read: No such file or directory'
}

test_a_checkpoint_of_another_seed_is_not_resumed() {
  run "$digits" --epochs 1 --seed 7 --checkpoint saved
  expect_status 0
  run "$digits" --epochs 2 --checkpoint saved --resume
  expect_status 1
  expect_stderr 'digits: rank 0: saved: this training began with another seed; give --seed 7'
}

test_a_rank_that_fails_is_named_by_the_others() {
  # shellcheck disable=SC2016  # the worker's shell reads its rank
  run_dtrain run -np 2 --on-failure continue -- \
    sh -c '[ "$DTRAIN_RANK" = 0 ] || set -- "$1" --data none; exec "$@"' sh "$digits"
  expect_status 1
  expect_stderr_contains '[1]<stderr>:digits: rank 1: none: the images cannot be read; give --data FILE'
  expect_stderr_contains '[0]<stderr>:digits: rank 0: '
  expect grep -q '^\[0\]<stderr>:digits: rank 0: .*rank 1' "$out/stderr"
  expect_stdout_lacks accuracy
}

test_a_rate_that_is_too_high_ends_every_rank() {
  run_dtrain run -np 2 --on-failure continue "$digits" --learning-rate 1e300
  expect_status 1
  # The first rank that sees it ends. The other one sees it, too, or gets a notice of that end.
  grep -q ']<stderr>:digits: rank [01]: the loss is no longer a number' "$out/stderr" || fail 'the cause is not named'
  for rank in 0 1; do
    grep -q "^\[$rank\]<stderr>:digits: rank $rank: .*\(no longer a number\|died: exit status 1\)" "$out/stderr" ||
      fail "rank $rank did not log why it ended"
  done
}

test_a_program_that_was_moved_finds_its_images_beside_it() {
  local data
  data=$(realpath "$(dirname "$DTRAIN")/../../examples/data/digits.csv")
  mkdir -p moved/bin moved/share/dtrain
  cp "$digits" moved/bin
  # Fewer images than in the original file: the output shows which file was read.
  head -n 100 "$data" >moved/share/dtrain/digits.csv
  run moved/bin/digits --epochs 1
  expect_status 0
  expect_stdout_contains '80 images to train on, 20 to test on'
  run moved/bin/digits --epochs 1 --data "$data"
  expect_stdout_contains '1437 images to train on'
}

test_wrong_options_are_named_and_nothing_is_trained() {
  run "$digits" --epoch 3
  expect_status 2
  expect_stdout ''
  expect_stderr "digits: unknown option '--epoch'; try --help"
  run "$digits" --resume
  expect_status 2
  expect_stderr 'digits: --resume goes on from a checkpoint: say which with --checkpoint FILE'
  run "$digits" --help
  expect_status 0
  expect_stdout_contains '--batch-per-rank'
  expect_stdout_contains '--device cpu|gpu'
}

# CUDA finds no GPU where CUDA_VISIBLE_DEVICES is empty. Builds without CUDA have another reason.
test_without_a_gpu_every_rank_that_should_use_one_ends() {
  run env CUDA_VISIBLE_DEVICES= "$digits" --device gpu
  expect_status 1
  expect_stdout ''
  expect grep -q '^digits: rank 0: no usable GPU: [^ ].*' "$out/stderr"
  expect test "$(wc -l <"$out/stderr")" -eq 1
  run_dtrain run -np 2 -x CUDA_VISIBLE_DEVICES= --on-failure continue "$digits" --device gpu
  expect_status 1
  expect_stdout_lacks accuracy
  # A rank that joined later gets a notice of the other one's end.
  expect grep -q '^\[[01]\]<stderr>:digits: rank [01]: no usable GPU: ' "$out/stderr"
  expect test "$(grep -c '^\[[01]\]<stderr>:digits: rank [01]: ' "$out/stderr")" -eq 2
  expect_no_processes
}

test_what_gpus_cannot_do_is_refused_with_the_remedy() {
  run "$digits" --device tpu
  expect_status 2
  expect_stderr "digits: --device: cpu or gpu is needed, not 'tpu'"
  run "$digits" --device gpu --checkpoint saved
  expect_status 2
  expect_stderr 'digits: --device gpu has no checkpoints; leave out --checkpoint, or give --device cpu'
  run_dtrain run -np 1 --strategy mirrored "$digits" --device gpu
  expect_status 2
  expect_stderr_contains \
    'digits: rank 0: --device gpu uses no strategy; leave out --strategy of dtrain run, or give --device cpu'
  run_dtrain run -np 1 --devices cpu:0 "$digits" --device gpu
  expect_status 2
  expect_stderr_contains \
    'digits: rank 0: --device gpu uses no strategy; leave out --devices of dtrain run, or give --device cpu'
}

test_the_device_cpu_is_the_default() {
  run "$digits" --epochs 2
  expect_status 0
  local loss
  loss=$(number_of 'training loss')
  run "$digits" --epochs 2 --device cpu
  expect_status 0
  expect test "$(number_of 'training loss')" = "$loss"
}

run_tests "$@"

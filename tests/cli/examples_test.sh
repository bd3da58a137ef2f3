#!/usr/bin/env bash
# The small examples: they run, print the lines of their README, and the same for any number of ranks.
# digits_test.sh tests the large one.
. "$(dirname "$0")/lib.sh"
examples=$(realpath "$(dirname "$0")/../../examples")
programs=$(dirname "$DTRAIN")/examples

# Prints the output that a README shows after the command that contains a word.
shown_after() {
  sed -n "/^    \\\$ .*$2/,/^\$/{/^    [^\$]/s/^    //p}" "$examples/$1/README.md"
}

test_hello_prints_once_for_each_rank() {
  local np rank expected
  for np in 1 2 4; do
    expected=()
    for ((rank = 0; rank < np; rank++)); do
      expected+=("rank $rank of $np on localhost: the ranks add up to $((np * (np - 1) / 2))")
    done
    run_dtrain run -np $np --no-tag "$programs/hello"
    expect_status 0
    expect_stdout_lines "${expected[@]}"
    expect_stderr ''
  done
  expect_no_processes
}

test_hello_prints_what_its_readme_shows() {
  run_dtrain run -np 3 --no-tag "$programs/hello"
  mapfile -t lines < <(shown_after hello 'run -np 3')
  expect test ${#lines[@]} -eq 3
  expect_stdout_lines "${lines[@]}"
}

test_hello_runs_alone_without_a_launcher() {
  run "$programs/hello"
  expect_status 0
  expect_stdout_contains 'rank 0 of 1'
}

test_linear_regression_finds_the_line_and_prints_the_same_for_any_number_of_ranks() {
  local np
  for np in 1 2 4 3; do
    run_dtrain run -np $np --no-tag "$programs/linear_regression"
    expect_status 0
    expect_stdout "$(shown_after linear_regression 'run -np 4')"
  done
  # w and b within 1 % of 2 and 10.
  expect awk '/^y = / { found = 1; w = $3; b = $6 }
    END { exit !(found && w > 1.98 && w < 2.02 && b > 9.9 && b < 10.1) }' "$out/stdout"
  expect_no_processes
}

# Runs linear_regression with parameter servers; each argument is one of dtrain run, then of the program.
run_with_servers() {
  local roles=$1
  shift
  run_dtrain run --role "$roles" --no-tag "$programs/linear_regression" \
    '--cluster_spec={cluster_spec}' '--job_name={role}' '--task_id={index}' "$@"
}

test_linear_regression_finds_the_line_with_parameter_servers() {
  run_with_servers ps=1,worker=2 --sync
  expect_status 0
  expect_stdout "$(sed -n '/ --sync$/{n;s/^    //p}' "$examples/linear_regression/README.md")"
  local roles
  for roles in ps=1,worker=2 ps=2,worker=3; do
    run_with_servers $roles
    expect_status 0
    expect awk '/^y = / { found = 1; w = $3; b = $6 }
      END { exit !(found && w > 1.98 && w < 2.02 && b > 9.9 && b < 10.1) }' "$out/stdout"
  done
  expect_no_processes
}

test_linear_regression_refuses_a_cluster_that_is_none() {
  run "$programs/linear_regression" '--cluster_spec=worker|a:1,ps|a:1' --job_name=worker --task_id=0
  expect_status 1
  expect_stderr_contains 'a:1'
  run "$programs/linear_regression" '--cluster_spec=worker|a:1' --job_name=ps --task_id=0
  expect_status 1
  expect_stderr_contains 'the cluster has no task 0 of job "ps"'
}

test_in_graph_finds_the_line_by_closures_on_workers() {
  local roles
  for roles in chief=1,worker=3,ps=1 chief=1,worker=1,ps=2; do
    run_dtrain run --role $roles --strategy parameter_server --ps-mode async --no-tag "$programs/in_graph"
    expect_status 0
    expect test "$(grep -c '^epoch' "$out/stdout")" = 10
    expect awk '/^y = / { found = 1; w = $3; b = $6 }
      END { exit !(found && w > 1.98 && w < 2.02 && b > 9.9 && b < 10.1) }' "$out/stdout"
  done
  expect_no_processes
}

test_keras_like_fit_trains_on_processes_and_on_devices_alike() {
  local shown words
  shown=$(shown_after keras_like_fit 'run -np 2' | tail -n 10)
  for words in '-np 2' '-np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2' \
    '-np 1 --strategy central_storage -x DTRAIN_CPU_DEVICES=2'; do
    # shellcheck disable=SC2086
    run_dtrain run $words --no-tag "$programs/keras_like_fit"
    expect_status 0
    expect_stdout_contains 'with 2 replicas'
    expect test "$(tail -n 10 "$out/stdout")" = "$shown"
  done
  # The last epoch has an accuracy of 95 % at least, for other numbers of replicas, too.
  for words in '-np 1' '-np 3' '-np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=4' \
    '--role ps=1 --role worker=2 --strategy parameter_server'; do
    # shellcheck disable=SC2086
    run_dtrain run $words --no-tag "$programs/keras_like_fit"
    expect_status 0
    expect awk '/^epoch 10 / { found = $6 >= 95 } END { exit !found }' "$out/stdout"
  done
  expect_no_processes
}

test_keras_like_fit_continues_from_its_checkpoint_under_another_strategy() {
  run_dtrain run -np 2 --no-tag "$programs/keras_like_fit"
  expect_status 0
  cp "$out/stdout" whole
  run_dtrain run -np 2 --no-tag "$programs/keras_like_fit" --epochs 5 --checkpoint saved
  expect_status 0
  expect test "$(tail -n 5 "$out/stdout")" = "$(sed -n 2,6p whole)"
  run_dtrain run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2 --no-tag \
    "$programs/keras_like_fit" --checkpoint saved --resume
  expect_status 0
  expect_stdout_lacks 'epoch  5'
  expect test "$(tail -n 5 "$out/stdout")" = "$(tail -n 5 whole)"
}

test_linear_regression_ends_when_a_rank_dies() {
  run_dtrain run -np 2 sh -c '
    if [ "$DTRAIN_RANK" = 1 ]; then exit 5; fi
    exec "$0"' "$programs/linear_regression"
  expect_status 5
  expect_no_processes
}

# Rank 0 is another program, which makes the first call of the example and leaves.
test_linear_regression_names_each_tensor() {
  run_dtrain run -np 2 --grace 10s sh -c '
    if [ "$DTRAIN_RANK" = 0 ]; then exec "$1"; fi
    exec "$0"' "$programs/linear_regression" "$(dirname "$DTRAIN")/tests/programs/leaving_worker"
  expect_status 1
  expect_stderr_contains 'linear_regression: all_reduce "gradient of w": rank 0 (host localhost) has left the job'
  expect_no_processes
}

# CUDA finds no GPU where CUDA_VISIBLE_DEVICES is empty. Builds without CUDA lack the program.
test_gpu_allreduce_ends_where_no_gpu_is_usable() {
  if [[ ! -x $programs/gpu_allreduce ]]; then skip 'this build has no CUDA'; fi
  run env CUDA_VISIBLE_DEVICES= "$programs/gpu_allreduce"
  expect_status 1
  expect_stdout ''
  expect grep -q '^gpu_allreduce: no usable GPU: [^ ].*' "$out/stderr"
  expect test "$(wc -l <"$out/stderr")" -eq 1
  run_dtrain run -np 2 -x CUDA_VISIBLE_DEVICES= "$programs/gpu_allreduce"
  expect_status 1
  expect_stderr_contains '<stderr>:gpu_allreduce: no usable GPU: '
  expect_no_processes
}

test_the_smoke_test_for_ci_passes_without_a_terminal_and_without_stdin() {
  run setsid --wait env CI=true "DTRAIN=$DTRAIN" "$examples/ci-smoke.sh" <&-
  expect_status 0
  expect_stdout_contains 'ci-smoke: ok'
  expect_stdout_lines '[0]<stdout>:rank 0 of 2' '[1]<stdout>:rank 1 of 2' 'ci-smoke: ok'
  # shellcheck disable=SC2016
  run env "DTRAIN=$DTRAIN" "$examples/ci-smoke.sh" sh -c 'test -z "$(cat)" && test "$CI" = true'
  expect_status 0
  expect_no_processes
}

test_the_smoke_test_for_ci_sees_what_is_wrong() {
  run env "DTRAIN=$DTRAIN" "$examples/ci-smoke.sh" false
  expect_status 1
  expect_stderr_contains 'ci-smoke: expected the status 0, not 1'
  printf '#!/bin/sh\ncase "$*" in *"exit 3"*) exit 0 ;; *) exec "%s" "$@" ;; esac\n' "$DTRAIN" >forgetful
  chmod +x forgetful
  run env "DTRAIN=$PWD/forgetful" "$examples/ci-smoke.sh"
  expect_status 1
  expect_stderr_contains 'ci-smoke: expected the status 3, not 0'
  expect_no_processes
}

run_tests "$@"

#!/usr/bin/env bash
# Horovod's API for TensorFlow, in the package that its wheel installs. python/tests/tensorflow has the tests in Python.
# shellcheck disable=SC2154,SC2031  # set by the libraries
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=python_lib.sh
. "$(dirname "$0")/python_lib.sh"
export TF_CPP_MIN_LOG_LEVEL=2

test_horovods_api_for_tensorflow() {
  uses_wheel tensorflow
  run_on 2 "$repository/python/tests/tensorflow"
  run_on 3 "$repository"/python/tests/tensorflow/test_{order,functions,gradients,arguments}.py
}

test_horovods_api_for_the_oldest_tensorflow() {
  uses_wheel tensorflow-old
  run_on 2 "$repository/python/tests/tensorflow"
}

test_horovods_api_with_keras_2_on_todays_tensorflow() {
  uses_wheel tensorflow
  TF_USE_LEGACY_KERAS=1 run_on 2 -k 'fit or loads' "$repository/python/tests/tensorflow/test_optimizer.py"
}

test_horovods_api_for_tensorflow_on_two_hosts() {
  uses_wheel tensorflow
  run_on_hosts "$repository"/python/tests/tensorflow/test_{order,functions}.py
}

test_jobs_with_tensorflow_from_outside() {
  local name
  for name in tensorflow tensorflow-old; do
    uses_wheel "$name"
    run "$python" -m pytest -q -p no:cacheprovider "$repository/python/tests/tensorflow_outside"
    expect_status 0
  done
  expect_no_processes
}

test_horovods_script_for_tensorflow_with_no_line_changed() {
  uses_wheel tensorflow
  run_dtrain run -np 2 --no-tag "$python" -m dtrain.horovod "$examples/horovod_tensorflow/train.py" saved
  expect_status 0
  expect_stdout_lines 'rank '{0,1}' of 2: y = 2.000 x + 10.000'
}

# The lines of a README, except for the rounding of sums.
expect_readme_numbers() {
  expect_status 0
  LC_ALL=C sort "$out/stdout" >printed
  shown_output "$examples/$1/README.md" | LC_ALL=C sort >shown
  expect_same_numbers printed shown 0.0001
}

# The lines of rank 0 with losses.
losses() { grep -E '^(step|epoch) ' "$out/stdout" >"$1" || fail 'no losses'; }

test_a_session_with_checkpoints() {
  local session=$examples/horovod_tensorflow_today/train.py line
  uses_wheel tensorflow
  run_readme horovod_tensorflow_today
  expect_readme_numbers horovod_tensorflow_today
  losses of_two
  line=$(sed -n 's/^rank 0: //p' "$out/stdout")
  expect_stdout_contains "rank 1: $line"
  expect test -e checkpoints/model.ckpt-60.index

  run_dtrain run -np 1 --no-tag "$python" "$session" alone --batch 64 --rate 0.04
  expect_status 0
  losses of_one
  expect_same_numbers of_one of_two 0.00001

  run_dtrain run -np 2 --no-tag "$python" "$session" parts --steps 30
  expect_status 0
  losses of_parts
  run_dtrain run -np 2 --no-tag "$python" "$session" parts
  expect_status 0
  expect_stdout_contains 'rank 0 of 2 begins at step 30'
  expect_stdout_contains "rank 0: $line"
  losses rest
  cat rest >>of_parts
  expect_file of_parts "$(cat of_two)"
  expect_no_processes
}

test_a_session_restarts_from_its_checkpoint() {
  uses_wheel tensorflow
  run_dtrain run -np 2 --no-tag "$python" "$examples/horovod_tensorflow_today/train.py" undisturbed
  expect_status 0
  grep -E '^rank [01]: ' "$out/stdout" | sort >lines
  run_dtrain run -np 2 --no-tag --max-restarts 1 "$python" "$scripts/horovod_session_restarts.py" \
    "$examples/horovod_tensorflow_today/train.py" killed
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 1 after rank 1 '
  expect test "$(grep begins "$out/stdout")" = 'rank 0 of 2 begins at step 0
rank 0 of 2 begins at step 20'
  expect_file lines "$(grep -E '^rank [01]: ' "$out/stdout" | sort)"
  expect_no_processes
}

test_keras_fits_as_one_process_does() {
  uses_wheel tensorflow
  run_readme keras_fit
  expect_readme_numbers keras_fit
  losses of_two
  run "$python" "$scripts/keras_alone.py" "$examples/keras_fit" 2
  expect_status 0
  losses of_keras
  expect_same_numbers of_two of_keras 0.00001
  expect_no_processes
}

test_keras_2_fits_as_one_process_does() {
  uses_wheel tensorflow-old
  run_dtrain run -np 3 --no-tag "$python" "$examples/keras_fit/train.py"
  expect_status 0
  expect_stdout_contains '3 ranks with the same weights: '
  losses of_three
  run "$python" "$scripts/keras_alone.py" "$examples/keras_fit" 3
  expect_status 0
  losses of_keras
  expect_same_numbers of_three of_keras 0.00001
  expect_no_processes
}

install_wheel tensorflow tensorflow-old
run_tests "$@"

#!/usr/bin/env bash
# The archive for a machine with a GPU, and its parts where there is none.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
repository=$(realpath "$(dirname "$0")/../..")
build=$(dirname "$DTRAIN")
run_timeout_s=300 # the machine may be busy
# The driver of a machine with a GPU then finds none.
export CUDA_VISIBLE_DEVICES=

unpack() {
  run "$repository/tools/gpu_pack.sh" "$build" "$PWD/gpu_pack.tgz"
  expect_status 0
  tar xzf gpu_pack.tgz
}

# rows PART: the steps of a part's table, and their results.
rows() { sed -n '/^| step /,/^$/p' "results/$1.md" | sed -e '1,2d' -e '/^$/d'; }
# count PART PATTERN: how many of them match.
count() { rows "$1" | grep -c "$2" || true; }

test_each_part_of_the_unpacked_archive_ends_with_its_table_where_no_gpu_is() {
  local part
  unpack
  for part in a b c; do
    run gpu_pack/tests/gpu/run.sh $part results
    expect_status 77
    expect_stdout_contains "# Part $part on no usable GPU: "
    expect test "$(count $part '| skipped: no usable GPU: .* |$')" -ge 6
    # Its report has the reason.
    expect test "$(count $part '^| The machine | .* | passed |$')" -eq "$([[ $part == a ]] && echo 1 || echo 0)"
    expect test "$(count $part '')" -eq "$(count $part '| skipped: no usable\|^| The machine ')"
    # Commands on such a machine may end after 600 s.
    expect test "$(sed -n 's/^The limits add up to \([0-9]*\) s, .*/\1/p' results/$part.md)" -le 580
  done
  expect_no_processes
}

test_programs_of_the_archive_find_what_they_need_in_it() {
  local file
  unpack
  export LD_LIBRARY_PATH=$PWD/gpu_pack/comm
  for file in examples/digits examples/gpu_allreduce site/dtrain/_core.abi3.so; do
    run ldd "gpu_pack/$file"
    expect_stdout_contains "libdtrain.so.0 => $PWD/gpu_pack/comm/libdtrain.so.0"
    expect_stdout_lacks 'not found'
  done
  run gpu_pack/dtrain run -np 2 --no-tag env "PYTHONPATH=$PWD/gpu_pack/site" \
    python3 -c 'import dtrain; print(dtrain.init().size, dtrain.__file__)'
  expect_status 0
  expect_stdout_contains "2 $PWD/gpu_pack/site/dtrain/__init__.py"
}

test_a_failed_step_stops_no_other_and_fails_its_part() {
  unpack
  DTRAIN_CPU_DEVICES=1 DTRAIN_NCCL_LIB=$PWD/none run gpu_pack/tests/gpu/run.sh b results
  expect_status 1
  expect test "$(count b '| failed with status [0-9]*: ..* |$')" -eq 7
  expect test "$(count b '^| Collectives of libdtrain, staged | .* | passed |$')" -eq 1
  expect test "$(count b '')" -eq 10
}

test_an_archive_of_too_many_bytes_is_not_made() {
  run "$repository/tools/gpu_pack.sh" "$build" "$PWD/gpu_pack.tgz" 5
  expect_status 1
  expect_stderr_contains 'MiB unpacked, and at most 5 are allowed; the largest:'
  expect_not test -e gpu_pack.tgz
}

run_tests "$@"

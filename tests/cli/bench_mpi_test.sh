#!/usr/bin/env bash
# `dtrain bench --compare mpirun` with a real Open MPI.
. "$(dirname "$0")/lib.sh"

test_open_mpi_is_measured_in_the_same_way() {
  command -v mpirun.openmpi >/dev/null || skip 'no Open MPI (Debian: openmpi-bin)'
  local operation
  for operation in all_reduce all_gather broadcast reduce_scatter all_to_all reduce gather scatter latency; do
    run_dtrain bench $operation -np 2 -b 8 -e 4K -f 8 -n 3 --compare mpirun --format peers
    expect_status 0
    cp "$out/stdout" output
    run python3 -c '
rows = [line.split("\t") for line in open("output").read().splitlines()]
assert [r[0] for r in rows] == ["dtrain"] * 4 + ["ompi"] * 4, rows
assert [r[1:5] for r in rows[:4]] == [r[1:5] for r in rows[4:]] and all(r[11] == "0" for r in rows)'
    expect_status 0
  done
  run_dtrain bench fusion -np 2 --tensors 50 -b 4K -e 64K -f 16 -n 3 --compare mpirun
  expect_status 0
  expect test "$(grep -c 'Out of bounds values : 0 OK' "$out/stdout")" -eq 2
  run_dtrain bench broadcast -np 2 -b 8 -e 32 -n 3 --compare mpirun
  expect_status 0
  expect_stdout_contains '# ompi bench'
  expect_stdout_contains 'a ratio below 1: dtrain is faster'
  expect test "$(grep -c 'Out of bounds values : 0 OK' "$out/stdout")" -eq 2
  expect_no_processes
}

run_tests "$@"

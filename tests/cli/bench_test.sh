#!/usr/bin/env bash
# `dtrain bench`: its output in each format, wrong command lines, and ranks that fail. No test here looks at a
# time. tests/unit/cmd/bench/ tests statistics and formats.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")

# check_output <<PYTHON: runs a script that can use `text`, the last standard output, and `lines`.
check_output() {
  {
    echo 'import csv, io, json, os; text = open(os.environ["OUTPUT"]).read(); lines = text.splitlines()'
    cat
  } >script.py
  cp "$out/stdout" output
  OUTPUT=output run python3 script.py
  expect_status 0
}

test_every_operation_has_exact_results_on_both_transports() {
  local operation transport
  for operation in all_reduce all_gather broadcast reduce_scatter all_to_all reduce gather scatter latency; do
    for transport in shm tcp; do
      run_dtrain bench $operation -np 3 -b 12 -e 3M -f 64 -n 2 -w 1 --transport $transport
      expect_status 0
      expect_stderr ''
      expect_stdout_contains "# dtrain bench"
      expect_stdout_contains "$operation, transport $transport"
      expect_stdout_contains '# Out of bounds values : 0 OK'
      expect test "$(grep -c '^ ' "$out/stdout")" -eq 4
    done
  done
  expect_no_processes
}

test_the_tensors_of_a_step_are_reduced_together_or_one_by_one() {
  local fused transport
  for transport in shm tcp; do
    run_dtrain bench fusion -np 3 -b 1K -e 3M -f 64 -n 2 -w 1 --tensors 100 --transport $transport
    expect_status 0
    expect_stderr ''
    expect_stdout_contains "fusion, transport $transport, buffers user, tensors 100, fused on"
    expect_stdout_contains '# Out of bounds values : 0 OK'
    expect test "$(grep -c '^ ' "$out/stdout")" -eq 2
  done
  for fused in on off; do
    run_dtrain bench fusion -np 2 --tensors resnet50 --fused $fused -n 1 -w 1
    expect_status 0
    expect_stderr ''
    expect_stdout_contains "tensors resnet50, fused $fused"
    expect_stdout_contains '# Out of bounds values : 0 OK'
    expect test "$(grep -c '^ *102228128 ' "$out/stdout")" -eq 1
  done
  run_dtrain bench fusion -np 2 --tensors 1000 -b 4000 -e 4000 -n 2 --json
  expect_status 0
  check_output <<'PYTHON'
document = json.loads(text)
assert document["tensors"] == "1000" and document["fused"] is True and document["wrong"] == 0, document
PYTHON
  run_dtrain bench fusion -np 2 --tensors 1000 -e 1K
  expect_status 1
  expect_stderr_contains 'no size up to -e 1024 has room for 1000 tensors of float32'
}

test_results_in_memory_of_the_library_are_exact() {
  local operation
  for operation in all_reduce all_gather broadcast reduce_scatter; do
    run_dtrain bench $operation -np 3 -b 12 -e 3M -f 64 -n 2 -w 1 --buffers dtrain
    expect_status 0
    expect_stderr ''
    expect_stdout_contains "$operation, transport auto, buffers dtrain"
    expect_stdout_contains '# Out of bounds values : 0 OK'
  done
}

# Devices of the CPU take the place of GPUs.
test_results_in_memory_of_devices_are_exact() {
  local operation
  for operation in all_reduce all_gather broadcast reduce_scatter all_to_all reduce gather scatter latency; do
    run_dtrain bench $operation --device gpu -np 3 -x DTRAIN_CPU_DEVICES=2 -b 12 -e 3M -f 64 -n 2 -w 1
    expect_status 0
    expect_stderr ''
    expect_stdout_contains "$operation, transport auto, buffers user, device gpu"
    expect_stdout_contains '# Out of bounds values : 0 OK'
    expect test "$(grep -c '^ ' "$out/stdout")" -eq 4
    expect test "$(grep -cE '^#  Rank +[02] .* device cpu:0$' "$out/stdout")" -eq 2
    expect test "$(grep -cE '^#  Rank +1 .* device cpu:1$' "$out/stdout")" -eq 1
    expect test "$(grep -cE '^# Ranks 0, 2 share one device of .*: cpu:0$' "$out/stdout")" -eq 1
  done
  run_dtrain bench fusion --device gpu -np 2 -x DTRAIN_CPU_DEVICES=2 --tensors 100 -b 1K -e 64K -f 64 -n 2 -w 1
  expect_status 0
  expect_stdout_contains '# Out of bounds values : 0 OK'
  expect_stdout_lacks 'share one'
  run_dtrain bench all_reduce --device cpu -np 2 -x DTRAIN_CPU_DEVICES=1 -e 64 -n 2
  expect_status 0
  expect_stdout_lacks 'device'
  expect_no_processes
}

test_json_names_the_device_of_each_rank() {
  run_dtrain bench all_reduce --device gpu -np 2 -x DTRAIN_CPU_DEVICES=2 -e 64 -n 2 --json
  expect_status 0
  check_output <<'END'
document = json.loads(text)
assert document["device"] == "gpu" and document["wrong"] == 0, document
assert [(r["device"], r["uuid"]) for r in document["ranks"]] == [("cpu:0", None), ("cpu:1", None)], document
END
  run_dtrain bench all_reduce -np 2 -e 64 -n 2 --json
  check_output <<'END'
document = json.loads(text)
assert document["device"] == "cpu" and [r["device"] for r in document["ranks"]] == [None, None], document
END
}

test_without_a_usable_gpu_one_message_has_the_reason() {
  local variable reason
  for variable in CUDA_VISIBLE_DEVICES= DTRAIN_CPU_DEVICES=0; do
    reason='no usable GPU: '
    if [[ $variable == DTRAIN* ]]; then reason='DTRAIN_CPU_DEVICES: must be a number from 1 to 64'; fi
    run_dtrain bench all_reduce --device gpu -np 3 -x "$variable" -e 64
    expect_status 1
    expect_stdout ''
    expect_stderr_contains "dtrain: --device gpu: rank 0 on localhost: $reason"
    expect test "$(grep -c '^dtrain: --device gpu' "$out/stderr")" -eq 1
    expect test "$(grep -c '^dtrain: rank . .* failed: exit status 1' "$out/stderr")" -eq 1
    expect_no_processes
  done
}

test_memory_of_a_gpu_is_refused_beside_other_memory() {
  local other
  for other in '--buffers dtrain' '--compare mpirun' '--format peers'; do
    # shellcheck disable=SC2086
    run_dtrain bench all_reduce --device gpu -np 2 $other
    expect_status 2
    expect_stdout ''
    expect_stderr_contains 'dtrain: --device gpu: '
    expect_stderr_contains "${other%% *}"
  done
}

# Small sums and broadcasts use few links. An exchange of 8 KiB for each pair uses all.
test_many_ranks_join_over_tcp_and_use_few_links_or_all() {
  local ranks operation bytes
  ranks=$(long_or 32 256)
  run_timeout_s=$(long_or 60 300)
  for operation in all_reduce broadcast all_to_all; do
    bytes=4
    if [[ $operation == all_to_all ]]; then bytes=$((ranks * 8))K; fi
    run_dtrain bench "$operation" -np "$ranks" -b "$bytes" -e "$bytes" -n 2 -w 1 --transport tcp
    expect_status 0
    expect_stderr ''
    expect_stdout_contains '# Out of bounds values : 0 OK'
    expect test "$(grep -c '^#  Rank' "$out/stdout")" -eq "$ranks"
    expect_no_processes
  done
}

# More elements than an int can count, and a few, so that no part of a schedule is even.
test_sums_of_more_than_2_31_elements_are_exact() {
  [[ $(long_or short long) == long ]] || skip 'takes a minute; make test-long runs it'
  local count=$(((1 << 31) + 17)) transport wanted_kb=$((12 << 20)) free_kb
  free_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
  ((free_kb >= wanted_kb)) || skip "needs $wanted_kb kB of memory, $free_kb kB are available"
  run_timeout_s=300
  for transport in shm tcp; do
    run_dtrain bench all_reduce -np 2 -d int8 -b $count -e $count -n 1 -w 0 --transport $transport
    expect_status 0
    expect_stderr ''
    expect_stdout_contains " $count "
    expect_stdout_contains '# Out of bounds values : 0 OK'
  done
  expect_no_processes
}

test_the_table_has_the_columns_of_nccl_tests() {
  run_dtrain bench all_reduce -np 2 -b 8 -e 32 -n 2
  expect_status 0
  check_output <<'END'
first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
names, units = lines[first - 2][1:].split(), lines[first - 1]
assert names == "size count type redop root time algbw busbw #wrong time algbw busbw #wrong".split(), names
assert max(len(line) for line in lines) <= 110, lines
rows = [line.split() for line in lines if not line.startswith("#")]
assert [row[0] for row in rows] == ["8", "16", "32"], rows
for row in rows:
    assert len(row) == len(names)
    assert row[2:5] == ["float32", "sum", "-1"] and row[8] == row[12] == "0"
    assert int(row[1]) * 4 == int(row[0])
    assert all(float(row[i]) > 0 for i in (5, 9))
single = [line[1:].split() for line in lines[first + 6:first + 9]]
assert [row[0] for row in single] == ["8", "16", "32"], single
assert all(0 < float(row[i]) <= float(row[i + 1]) for row in single for i in (1, 3)), single
assert {len(line) for line in lines[:first + 3] if not line.startswith("#")} == {len(units)}
END
}

test_csv_and_json_have_the_same_results_and_no_tags() {
  run_dtrain bench all_gather -np 2 -b 64 -e 1K -f 16 -n 3 -d half --csv
  expect_status 0
  check_output <<'END'
rows = list(csv.DictReader(io.StringIO(text)))
assert [(r["bytes"], r["mode"]) for r in rows] == [
    ("64", "out-of-place"), ("64", "in-place"), ("1024", "out-of-place"), ("1024", "in-place")]
assert all(r["type"] == "float16" and r["iterations"] == "3" and r["wrong"] == "0" for r in rows)
assert all(float(r["min_us"]) <= float(r["p50_us"]) <= float(r["p99_us"]) for r in rows)
END
  run_dtrain bench all_gather -np 2 -b 64 -e 1K -f 16 -n 3 -d half --json
  expect_status 0
  check_output <<'END'
document = json.loads(text)
assert document["operation"] == "all_gather" and document["type"] == "float16"
assert document["redop"] is None and document["wrong"] == 0 and len(document["ranks"]) == 2
assert [(r["bytes"], r["in_place"]) for r in document["results"]] == [
    (64, False), (64, True), (1024, False), (1024, True)]
END
}

test_the_line_for_peers_has_twelve_fields() {
  run_dtrain bench all_reduce -np 2 -b 4 -e 256 -f 8 -n 2000 --ms-per-size 2 --format peers
  expect_status 0
  check_output <<'END'
rows = [line.split("\t") for line in lines]
assert [(r[0], r[1], r[2], r[3]) for r in rows] == [
    ("dtrain", "allreduce", "2", size) for size in ("4", "32", "256")]
assert all(len(r) == 12 and r[11] == "0" and 5 <= int(r[4]) <= 2000 for r in rows)
END
}

test_the_ranks_are_a_job_with_the_options_of_run() {
  run_dtrain bench all_reduce -H localhost:2 -e 8 --csv
  expect_status 0
  expect_stdout_contains 'all_reduce,2,8'
  DTRAIN_OPT_NP=3 run_dtrain bench all_reduce -e 8 --csv
  expect_stdout_contains 'all_reduce,3,8'
  printf 'np = 2\nrole = "chief=1"\noutput-dir = "logs"\n' >dtrain.toml
  run_dtrain bench all_reduce -e 8 --csv
  expect_status 0
  expect_stdout_contains 'all_reduce,2,8'
  expect_not test -e logs
  run_dtrain bench all_reduce --dry-run
  expect_status 0
  expect_stdout_contains '2 processes on 1 host: self __bench all_reduce'
}

test_the_ranks_are_this_binary_also_when_its_file_is_gone() {
  cp "$DTRAIN" copy
  run sh -c 'exec 3<copy && rm copy && exec /proc/self/fd/3 bench broadcast -np 2 -e 8 --csv'
  expect_status 0
  expect_stdout_contains 'broadcast,2,8'
}

test_a_wrong_command_line_starts_nothing_and_names_the_option() {
  local option
  for option in -b -e -f -n -w -d -o --ms-per-size --transport --buffers --device --format --compare; do
    run_dtrain bench all_reduce -np 2 $option wrong
    expect_status 2
    expect_stdout ''
    expect_stderr_contains "dtrain: $option: expected "
    run_dtrain bench all_reduce -np 2 $option
    expect_status 2
    expect_stderr_contains "dtrain: $option: needs a value"
  done
  run_dtrain bench all_reduce
  expect_status 2
  expect_stderr_contains 'dtrain: -np: missing'
  run_dtrain bench all_to_none -np 2
  expect_status 2
  expect_stderr_contains 'expected one of all_reduce, all_gather'
  run_dtrain bench all_reduce -np 2 --output-dir logs
  expect_status 2
  expect_stderr_contains '--output-dir: an option of dtrain run, not of dtrain bench'
  run_dtrain bench latency -np 1
  expect_status 1
  expect_stderr_contains 'a latency is that between two ranks; give -np 2'
  expect_no_processes
}

test_explain_prints_the_algorithms_in_effect() {
  run_dtrain bench --explain -np 3 --transport tcp --algorithms tree:64k:ring
  expect_status 0
  expect_stderr ''
  expect_stdout_contains "# libdtrain's algorithms for 3 rank(s) on 1 host(s)"
  expect test "$(grep -cE '^all_reduce +(up to 65536 +tree|above 65536 +ring)$' "$out/stdout")" -eq 2
  expect test "$(grep -cE '^broadcast +any +tree$' "$out/stdout")" -eq 1
  run_dtrain bench --explain -np 2
  expect_status 0
  expect test "$(grep -cE '^all_reduce +any +shm$' "$out/stdout")" -eq 1
  run_dtrain bench all_reduce -np 3 --transport tcp --algorithms tree:1k:ring -b 12 -e 3M -f 64 -n 2
  expect_status 0
  expect_stdout_contains '# Out of bounds values : 0 OK'
}

test_a_wrong_table_of_algorithms_starts_nothing_and_names_the_column() {
  local command
  for command in 'run true' 'bench all_reduce'; do
    # shellcheck disable=SC2086
    run_dtrain ${command%% *} -np 2 --algorithms tree:64k:rin ${command#* }
    expect_status 2
    expect_stdout ''
    expect_stderr_contains 'dtrain: --algorithms: column 10: expected an algorithm of all_reduce, one of ring, tree'
  done
}

test_a_killed_rank_ends_it_with_the_usual_status() {
  start_dtrain bench all_reduce -np 2 -b 4M -e 4M -n 10000000 --verbose
  # A rank joins by a connection of its own, so either line can be the first.
  wait_for stderr_has 'worker:1 started: pid'
  wait_for stderr_has 'worker:1 (host localhost) joined'
  kill -KILL "$(sed -n 's/^dtrain: worker:1 started: pid //p' "$out/stderr")"
  since_ms=$(now_ms)
  finish
  expect_status 137
  expect_stderr_contains 'rank 1'
  expect_no_processes
}

test_ctrl_c_ends_it_as_any_job() {
  start_dtrain bench broadcast -np 2 -b 4M -e 4M -n 10000000 --verbose
  wait_for stderr_has 'worker:1 (host localhost) joined'
  signal INT
  finish
  expect_status 130
  expect_no_processes
}

test_without_open_mpi_a_comparison_names_what_to_install() {
  mkdir bin
  run env PATH="$PWD/bin" "$DTRAIN" bench all_reduce -np 2 -e 64 --compare mpirun
  expect_status 127
  expect_stdout ''
  expect_stderr_contains '--compare mpirun: cannot run mpirun: not found in PATH'
  expect_stderr_contains 'apt-get install openmpi-bin'
  expect_no_processes
}

test_an_mpirun_that_measures_nothing_is_an_error_and_no_file_is_left() {
  mkdir bin tmp
  printf '#!/bin/sh\n' >bin/mpirun.openmpi
  chmod +x bin/mpirun.openmpi
  run env TMPDIR="$PWD/tmp" PATH="$PWD/bin:$PATH" "$DTRAIN" bench all_reduce -np 2 -e 8 --compare mpirun
  expect_status 126
  expect_stderr_contains 'dtrain: bench: 1 sizes of dtrain and 0 of Open MPI have results'
  expect test -z "$(ls tmp)"
}

test_a_terminal_shows_progress_and_a_file_does_not() {
  cat >script.py <<'END'
import os
from terminal import *
bench = [os.environ["DTRAIN"], "bench", "all_reduce", "-np", "2", "-e", "64", "-n", "2"]
with Terminal(bench) as t:
    t.read_until("dtrain bench: all_reduce of 8 bytes, size 1 of 4…")
    assert t.finish() == 0, t.text()
    assert not any("dtrain bench:" in line and "size" in line for line in t.screen()), t.screen()
with Terminal(bench, environment={"TERM": "dumb"}) as t:
    assert t.finish() == 0, t.text()
    assert "size 1 of" not in t.text(), t.text()
END
  DTRAIN="$DTRAIN" PYTHONPATH="$tests" PYTHONDONTWRITEBYTECODE=1 run python3 script.py
  expect_status 0
  run_dtrain bench all_reduce -np 2 -e 64 -n 2
  expect_stderr ''
}

run_tests "$@"

#!/usr/bin/env bash
# Resources that run out: descriptors, ports, disks and shared memory.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/steady_worker

# Runs sh -c SCRIPT ARG… as root of a mount namespace of its own.
in_own_mounts() {
  ((EUID == 0)) || skip 'needs root for mounts of its own'
  unshare -m true 2>/dev/null || skip 'no mount namespaces here'
  run unshare -m sh -c "$@"
}

test_too_few_descriptors_are_reported_with_both_numbers_before_anything_starts() { # F16 R19
  for limit in 64 100 200; do
    run sh -c 'ulimit -n '$limit'; exec "$0" run -np 100 touch started' "$DTRAIN"
    expect_status 2
    expect_soon
    grep -qE "100 tasks need [0-9]+ open files, the hard limit is $limit; raise it" "$out/stderr" ||
      fail 'not the numbers'
    expect_not test -e started
    need=$(grep -oE 'need [0-9]+ open' "$out/stderr" | grep -oE '[0-9]+')
    ((need > limit)) || fail "$need fit into $limit"
  done
}

test_too_few_descriptors_for_all_hosts_are_reported_before_any_connection() { # F16 R19
  run sh -c 'ulimit -n 256; exec "$0" run -H "$1" true' "$DTRAIN" "$(seq -s, -f 'node%g:1' 400)"
  expect_status 2
  expect_soon
  grep -qE '^dtrain: connections to 400 hosts need 12[0-9]{2} open files, the hard limit is 256; raise it' "$out/stderr" ||
    fail 'not the numbers'
}

test_as_many_descriptors_as_were_asked_for_are_enough() { # F16
  limit=30 need=
  while :; do
    run sh -c 'ulimit -n '"$limit"'; exec "$0" run -np 8 --output-dir logs "$1" stop' "$DTRAIN" "$worker"
    [[ $status -eq 2 ]] || break
    need=$(grep -oE 'need [0-9]+ open' "$out/stderr" | grep -oE '[0-9]+') || fail 'no number'
    ((need > limit)) || fail "$need fit into $limit"
    limit=$need
    touch stop
  done
  [[ -n $need ]] || fail 'the first limit was enough'
  expect_status 0
  [[ $(grep -c 'all sums were right' "$out/stdout") -eq 8 ]] || fail 'not all came to the end'
}

test_workers_have_the_soft_limit_that_dtrain_was_started_with() { # F16
  run sh -c 'ulimit -Sn 200; exec "$0" run -np 1 --no-tag sh -c "ulimit -Sn"' "$DTRAIN"
  expect_stdout 200
}

# Prints the first of N consecutive ports that are free now.
free_ports() {
  /usr/bin/python3 - "$1" <<'END'
import random, socket, sys
count = int(sys.argv[1])
while True:
    first = random.randrange(10000, 30000)
    try:
        sockets = [socket.socket() for _ in range(count)]
        for i, s in enumerate(sockets):
            s.bind(("", first + i))
        print(first)
        break
    except OSError:
        pass
END
}

test_all_ports_of_a_job_are_in_the_range() { # F17
  first=$(free_ports 10)
  last=$((first + 9))
  run_dtrain run -np 3 --port-range "$first-$last" --no-tag sh -c 'echo $MASTER_PORT
    echo ${JAX_COORDINATOR_ADDRESS##*:}; echo ${DTRAIN_RENDEZVOUS##*:}; echo $TF_CONFIG | grep -o ":[0-9][0-9]*\"" | tr -d ":\""'
  expect_status 0
  [[ $(sort -u "$out/stdout" | wc -l) -eq 6 ]] || fail 'expected six different ports'
  while read -r port; do
    ((port >= first && port <= last)) || fail "$port is outside"
  done <"$out/stdout"
}

test_a_limit_of_file_sizes_excludes_shared_memory_and_no_job() {
  touch stop
  run sh -c 'ulimit -f 100; exec "$0" run -np 2 "$1" stop' "$DTRAIN" "$worker"
  expect_status 5
  expect_stderr_contains 'files may not be so large; raise the limit (ulimit -f), or use --transport tcp, which needs none'
  run sh -c 'ulimit -f 100; exec "$0" run -np 2 --transport tcp "$1" stop' "$DTRAIN" "$worker"
  expect_status 0
}

test_a_loopback_that_is_down_is_named() {
  unshare -rn true 2>/dev/null || skip 'no network namespaces here'
  touch stop
  run unshare -rn "$DTRAIN" run -np 2 "$worker" stop
  expect_status 5
  expect_stderr_contains 'Network is unreachable, since the interface lo is down; try: ip link set lo up'
  expect_stderr_lacks 'does that job still run'
}

test_jobs_with_one_range_do_not_meet() { # F17
  first=$(free_ports 8)
  start_dtrain run -np 1 --port-range "$first-$((first + 7))" sh -c 'echo up; exec sleep 60'
  wait_for stdout_has up
  run_dtrain run -np 1 --port-range "$first-$((first + 7))" --no-tag sh -c 'echo $MASTER_PORT $DTRAIN_RENDEZVOUS'
  expect_status 0
  run_dtrain run -np 2 --port-range "$first-$((first + 7))" true
  expect_status 4
  expect_stderr_contains "--port-range $first-$((first + 7)): 4 ports are needed, 3 of 8 are free"
  run_dtrain run -np 2 --port-range "$first-$((first + 3))" true
  expect_status 4
  expect_stderr_contains "dtrain: rendezvous: --port-range $first-$((first + 3)): all 4 ports busy"
  signal TERM
  finish
}

test_a_busy_port_is_named_and_one_of_a_range_is_passed_over() { # F17 B43
  first=$(free_ports 10)
  cat >squat.py <<'END'
import socket, sys, time
held = []
for port in sys.argv[1:]:
    held.append(socket.socket())
    held[-1].bind(("", int(port)))
    held[-1].listen()
print("up", flush=True)
time.sleep(60)
END
  start /usr/bin/python3 squat.py "$first" $((first + 1))
  wait_for stdout_has up
  squatter=$pid
  run_dtrain run -np 1 --port-range "$first" true
  expect_status 4
  expect_stderr_contains "rendezvous: --port-range $first: port $first is busy"
  run_dtrain run -np 1 --port-range "$first-$((first + 9))" --no-tag sh -c 'echo $DTRAIN_RENDEZVOUS'
  expect_status 0
  expect_stdout "127.0.0.1:$((first + 2))"
  kill "$squatter"
}

test_a_wrong_range_is_refused_by_its_rule() { # B43
  for range in 70000-80000 9-3 80-90 x; do
    run_dtrain run -np 1 --port-range "$range" touch started
    expect_status 2
    expect_stderr_contains "--port-range: expected FIRST-LAST of 1024..65535, for example 5000-5099, got "
    expect_not test -e started
  done
}

test_a_full_disk_costs_bytes_of_the_log_and_the_exit_status() { # F14 R17
  for _ in $(seq "$(long_or 1 10)"); do
    mkdir -p disk
    # shellcheck disable=SC2016
    in_own_mounts 'mount -t tmpfs -o size=64k none disk && { "$@"; status=$?; cat disk/rank.*/* | wc -c >kept; exit $status; }' \
      sh "$DTRAIN" run -np 2 --output-dir disk sh -c 'seq 100000; echo done >&2; exit 0'
    expect_status 1
    [[ $(grep -cF '[0]<stdout>:' "$out/stdout") -eq 100000 ]] || fail 'the console lost something'
    grep -qE '^dtrain: warning: cannot write disk/rank\.[01]/stdout: No space left on device; the job goes on' \
      "$out/stderr" || fail 'the file is not named'
    lost=$(sed -n 's/^dtrain: warning: \([0-9]*\) bytes of output were lost, in [234] file(s)$/\1/p' "$out/stderr")
    [[ $(grep -c '^dtrain:' "$out/stderr") -eq 3 ]] || fail 'not three lines'
    (($(cat kept) > 0)) || fail 'what there was room for is gone'
    written=$((2 * ($(seq 100000 | wc -c) + 5)))
    ((lost + $(cat kept) == written)) || fail "lost $lost and kept $(cat kept), of $written"
  done
}

# Runs dtrain with a file size limit of 2 KiB. Its streams are pipes, and their bytes are stored without that limit.
run_with_small_files() {
  run bash -c 'set -o pipefail; { (ulimit -f 2; exec "$0" "$@") 2>&3 | cat; } 3>&1 >stdout.copy | cat >&2' \
    "$DTRAIN" "$@"
}

test_a_limit_of_file_sizes_costs_bytes_of_the_log_and_the_exit_status() {
  run_with_small_files run -np 1 --output-dir logs seq 5000
  expect_status 1
  [[ $(wc -l <stdout.copy) -eq 5000 ]] || fail 'the console lost something'
  [[ $(stat -c %s logs/rank.0/stdout) -eq 2048 ]] || fail 'the file does not end at the limit'
  expect_stderr 'dtrain: warning: cannot write logs/rank.0/stdout: File too large; the job goes on without what does not fit
dtrain: warning: 21845 bytes of output were lost, in 1 file(s)
dtrain: output is lost: cannot write logs/rank.0/stdout: File too large'
}

test_a_stdout_and_a_report_at_the_limit_of_file_sizes_are_reported() {
  run bash -c 'ulimit -f 2; exec "$0" run -np 1 seq 5000 2> >(cat >&4)' "$DTRAIN" 4>stderr.copy
  expect_status 1
  wait_for grep -qF 'dtrain: warning: standard output cannot be written (File too large); the job goes on' stderr.copy
  run_with_small_files run -np 4 --report report.json sh -c 'exit 3'
  expect_status 3
  expect_stderr_contains '--report: cannot write report.json: write: File too large'
}

test_a_task_that_writes_too_large_a_file_ends_by_the_signal_for_it() {
  run_with_small_files run -np 1 sh -c 'exec head -c 5000 /dev/zero >large'
  expect_status 153
  expect_stderr_contains 'SIGXFSZ'
}

test_a_tiny_dev_shm_is_enough() { # F15 R18
  for _ in $(seq "$(long_or 1 5)"); do
    touch stop
    in_own_mounts 'mount -t tmpfs -o size=1m none /dev/shm && exec "$@"' sh \
      "$DTRAIN" run -np 4 "$worker" stop
    expect_status 0
    [[ $(grep -c 'all sums were right' "$out/stdout") -eq 4 ]] || fail 'not all came to the end'
  done
}

run_tests "$@"

#!/usr/bin/env bash
# Disturbances that end: the job continues without any loss.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker

no_agent_on() { [[ -z $(agent_on "$1") ]]; }

# Output that takes three seconds, so that an outage falls into it.
slow_output='i=0; while [ $i -lt 30 ]; do seq $((i * 10000)) $((i * 10000 + 9999)); i=$((i + 1)); sleep 0.1; done'

expect_all_output_of() {
  local rank
  finish
  expect_status 0
  for ((rank = 0; rank < $1; ++rank)); do
    expect cmp "logs/rank.$rank/stdout" <(seq 0 299999)
  done
  expect_stderr ''
  expect_no_processes
}

test_an_outage_of_two_seconds_disturbs_nothing() { # F5 R6
  hosts_up 2
  local n
  for ((n = 0; n < $(long_or 1 50); ++n)); do
    start_on_launcher "$DTRAIN" run --quiet --output-dir logs -H node1:2,node2:2 sh -c "$slow_output"
    wait_for test -s logs/rank.3/stdout
    cut_cable 2
    sleep 2
    mend_cable 2
    expect_all_output_of 4
    rm -r logs
  done
}

test_lost_packets_cost_time_only() { # F6 R7
  hosts_up 2
  local k
  for k in 1 2; do drop_on $k -m statistic --mode random --probability 0.01 -j DROP; done
  start_on_launcher "$DTRAIN" run --quiet --output-dir logs -H node1:2,node2:2 sh -c "$slow_output"
  expect_all_output_of 4
  start_steady
  sleep "$(long_or 2 600)"
  expect_steady_end
  for k in 1 2; do
    ip netns exec "$net-$k" iptables -F
    drop_on $k -m statistic --mode random --probability 0.1 -j DROP
  done
  run_on_launcher "$DTRAIN" run --connect-timeout 40s --start-timeout 60s --dead-after 20s -H node1:2,node2:2 seq 5000
  expect_status 0
  [[ $(wc -l <"$out/stdout") -eq 20000 ]] || fail 'output was lost'
}

# Starts a job of steady workers on two hosts; sets $ranks to the pids of its ranks.
start_steady() {
  rm -f stop
  start_on_launcher "$DTRAIN" run -H node1:2,node2:1 --heartbeat 100ms "$@" \
    "$(dirname "$DTRAIN")/tests/programs/steady_worker" stop
  wait_for stdout_has '<stdout>:steady'
  mapfile -t ranks < <(processes_on 1 steady_worker && processes_on 2 steady_worker)
  [[ ${#ranks[@]} -eq 3 ]] || fail "expected 3 ranks, found ${ranks[*]}"
}

test_a_pause_holds_the_tasks_of_all_hosts() { # F33 R34
  hosts_up 2
  start_steady --dead-after 1s
  signal TSTP
  wait_for states_are T "$pid" "${ranks[@]}"
  sleep "$(long_or 2 60)" # longer than the lease
  states_are T "$pid" "${ranks[@]}" || fail 'something went on'
  signal CONT
  wait_for states_are '[RSD]' "$pid" "${ranks[@]}"
  expect_steady_end
}

test_a_launcher_stopped_for_longer_than_the_lease_ends_cleanly_and_reports_it() { # F33 R34
  hosts_up 2
  start_steady --dead-after 1s
  signal STOP
  wait_for no_agent_on 1
  wait_for no_agent_on 2
  signal CONT
  finish
  expect_status 3
  expect_stderr_contains 'lost: dtrain was suspended for '
  expect_no_processes
}

test_an_agent_that_was_stopped_for_less_than_the_lease_continues() { # F33
  hosts_up 2
  start_steady --dead-after 3s
  local agent
  agent=$(agent_on 2)
  kill -STOP "$agent"
  sleep 1
  kill -CONT "$agent"
  expect_steady_end
}

test_a_clock_that_jumps_on_one_host_changes_nothing() { # F18 R28
  hosts_up 2
  host_variable 2 WRONG_CLOCK="$out/later"
  host_variable 2 LD_PRELOAD="$(realpath "$(dirname "$DTRAIN")/tests/programs/wrong_clock.so")"
  local n begin
  for ((n = 0; n < $(long_or 1 5); ++n)); do
    start_steady --dead-after 2s
    grep -q wrong_clock "/proc/$(agent_on 2)/maps" || fail 'its clock is right'
    touch "$out/later"
    sleep 3 # longer than the lease
    rm "$out/later"
    expect_steady_end
  done
}

test_every_second_call_disturbed_on_both_sides_of_ssh() { # F28
  hosts_up 2
  local shim k
  shim=$(realpath "$(dirname "$DTRAIN")/tests/programs/flaky_io.so")
  for k in 1 2; do
    host_variable $k LD_PRELOAD="$shim"
    host_variable $k FLAKY_IO_COUNT="$out/counts"
  done
  run_on_launcher env LD_PRELOAD="$shim" FLAKY_IO_COUNT="$out/counts" "$DTRAIN" run --no-tag -H node1:2,node2:2 seq 20000
  expect_status 0
  [[ $(sort -n "$out/stdout" | uniq -c | awk '$1 == 4' | wc -l) -eq 20000 ]] || fail 'lines were lost'
  # The launcher and two agents; keepers make few calls.
  [[ $(awk '$1 >= 5' "$out/counts" | wc -l) -eq 3 ]] || fail "hardly anything was disturbed: $(cat "$out/counts")"
  run_on_launcher env LD_PRELOAD="$shim" "$DTRAIN" run -H node1:2,node2:1 "$collective" -1 none none
  expect_status 0
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 3 ]] || fail 'not every rank reached the end'
  expect_no_processes
}

run_tests "$@"

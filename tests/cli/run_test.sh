#!/usr/bin/env bash
# The promises of `dtrain run` for jobs without faults: start, ranks, environment, statuses.
. "$(dirname "$0")/lib.sh"

test_each_rank_runs_the_command_once_and_output_is_tagged() {
  run_dtrain run -np 3 echo hi
  expect_status 0
  expect_stdout_lines '[0]<stdout>:hi' '[1]<stdout>:hi' '[2]<stdout>:hi'
  expect_stderr ''
  expect_no_processes
}

test_all_spellings_of_np_mean_the_same() {
  for spelling in '-np 2' '-np2' '-np=2' '-n 2' '--np 2' '--np=2' '--num-proc 2'; do
    # shellcheck disable=SC2086  # one or two words
    run_dtrain run $spelling echo hi
    expect_status 0
    expect_stdout_lines '[0]<stdout>:hi' '[1]<stdout>:hi'
  done
}

test_everything_after_the_command_belongs_to_the_command() {
  run_dtrain run -np 1 --no-tag printf '%s\n' -np 9 --help -- -x
  expect_status 0
  expect_stdout $'-np\n9\n--help\n--\n-x'
  run_dtrain run -np 1 --no-tag -- printf '%s\n' --np
  expect_stdout '--np'
}

test_this_machine_under_any_of_its_names_is_one_host() {
  run_dtrain run -H "localhost:2,127.0.0.1:1,$(hostname):1" --no-tag sh -c 'echo $LOCAL_RANK/$LOCAL_WORLD_SIZE'
  expect_status 0
  expect_stdout_lines 0/4 1/4 2/4 3/4
}

test_a_host_without_slots_offers_the_cpus_that_it_may_use() {
  run taskset -c 0 "$DTRAIN" run -H localhost --no-tag sh -c 'echo $WORLD_SIZE'
  expect_status 0
  expect_stdout 1
}

test_a_hostfile_gives_hosts_and_slots() {
  printf '# the cluster\n\nlocalhost slots=2\n' >hosts
  run_dtrain run --hostfile hosts --no-tag sh -c 'echo $RANK'
  expect_status 0
  expect_stdout_lines 0 1
}

test_another_host_gives_3_and_one_honest_sentence() {
  run_dtrain run -H nosuchhost:2 echo hi
  expect_status 3
  expect_stdout ''
  expect_stderr_contains "nosuchhost: cannot look up 'nosuchhost': "
  [[ $(wc -l <"$out/stderr") -eq 1 ]] || fail 'expected one line'
}

test_wrong_input_is_reported_before_another_host() {
  run_dtrain run -np 16 -H nosuchhost:2,other:2 echo hi
  expect_status 2
  expect_stderr_contains '--oversubscribe'
}

test_more_processes_than_slots_need_oversubscribe() {
  run_dtrain run -np 4 -H localhost:2 echo hi
  expect_status 2
  expect_stderr_contains '--oversubscribe'
  expect_stdout ''
  run_dtrain run -np 4 -H localhost:2 --oversubscribe --no-tag echo hi
  expect_status 0
  expect_stdout_lines hi hi hi hi
}

# Prints the host, local rank and cross rank of each rank.
planned() {
  run_dtrain run --dry-run "$@" true
  expect_status 0
  tail -n +3 "$out/stdout" | awk '{ print $2 "." $3 "." $4 }' | paste -sd ' '
}

test_processes_and_ranks_are_dealt_by_slot_or_by_node() {
  local a=127.0.0.2 b=127.0.0.3
  local hosts=$a:2,$b:3
  expect test "$(planned -H $hosts)" = "$a.0.0 $a.1.0 $b.0.1 $b.1.1 $b.2.0"
  expect test "$(planned -H $hosts --map-by node)" = "$a.0.0 $b.0.1 $a.1.0 $b.1.1 $b.2.0"
  expect test "$(planned -H $hosts -np 2 --map-by node --rank-by slot)" = "$a.0.0 $b.0.1"
  expect test "$(planned -H $hosts --ppn 1)" = "$a.0.0 $b.0.1"
  expect test "$(planned --ppn 2)" = 'localhost.0.0 localhost.1.0'
  run_dtrain run --dry-run -H $hosts --ppn 3 true
  expect_status 2
  expect_stderr 'dtrain: --ppn 3: host 127.0.0.2 has 2 slots; use --ppn 2 or --oversubscribe'
}

test_the_status_is_that_of_the_first_worker_that_failed() {
  run_dtrain run -np 2 sh -c 'test $RANK = 0 || exit 37; sleep 60'
  expect_status 37
  expect_soon
  expect_stderr_contains 'dtrain: rank 1 (host localhost, pid '
  expect_stderr_contains 'failed: exit status 37'
  expect_no_processes
}

test_a_failure_is_reported_once_with_the_last_lines_of_its_stderr() {
  run_dtrain run -np 3 sh -c 'test $RANK = 2 || exec sleep 30; echo first >&2; echo the cause >&2; exit 1'
  expect_status 1
  expect_stderr_contains '[2]<stderr>:the cause'
  [[ $(grep -c 'the cause' "$out/stderr") -eq 1 ]] || fail 'shown more than once'
  [[ $(grep -c 'failed' "$out/stderr") -eq 1 ]] || fail 'reported more than once'
  run_dtrain run -np 3 --no-tag sh -c 'test $RANK = 2 || exec sleep 30; echo the cause >&2; exit 1'
  expect_stderr_contains 'last lines of its stderr:'
  expect_stderr_contains 'dtrain:   the cause'
}

test_a_failure_to_connect_names_what_the_hosts_name_may_lead_to() {
  run_dtrain run -np 1 sh -c 'echo "[enforce fail at /gloo/transport/tcp/device.cc] rv == 0. -2 vs 0" >&2; exit 1'
  expect_stderr_contains 'dtrain check -H localhost shows it, and the line for /etc/hosts'
}

test_a_worker_killed_by_a_signal_gives_128_plus_n_and_its_name() {
  run_dtrain run -np 2 sh -c 'test $RANK = 0 && kill -SEGV $$; sleep 30'
  expect_status 139
  expect_stderr_contains 'failed: killed by SIGSEGV'
  expect_no_processes
}

test_on_failure_continue_lets_the_others_finish() {
  run_dtrain run -np 2 --on-failure continue --no-tag sh -c 'test $RANK = 0 && exit 5; sleep 0.3; echo done'
  expect_status 5
  expect_stdout 'done'
}

test_a_missing_command_gives_127_before_anything_starts() {
  run_dtrain run -np 2 no-such-command-here
  expect_status 127
  expect_stdout ''
  expect_stderr_contains $'cannot run no-such-command-here: not found in PATH\ndtrain:   PATH=/'
}

test_an_error_names_the_part_of_a_program_that_is_missing() {
  printf '#!/no/python\r\n' >dos
  chmod +x dos
  run_dtrain run -np 1 ./dos
  expect_status 127
  expect_stderr_contains "its interpreter '/no/python\x0D' does not exist; its lines end in CR LF"
}

test_a_removed_folder_is_named_as_such() {
  mkdir removed
  cd removed || return
  rmdir ../removed
  run_dtrain run -np 1 true
  expect_status 2
  expect_stderr_contains 'the current folder has been removed; cd elsewhere, or use --chdir'
}

test_a_folder_of_path_that_may_not_be_searched_has_no_command() {
  local as=()
  # Without these capabilities, even root cannot search all folders.
  if ((EUID == 0)); then as=(setpriv --bounding-set '-dac_override,-dac_read_search'); fi
  mkdir closed
  chmod 000 closed
  run env PATH="$PWD/closed:$PATH" "${as[@]}" "$DTRAIN" run -np 2 no-such-command-here
  expect_status 127
  expect_stderr_contains 'cannot run no-such-command-here: not found in PATH'
}

test_a_file_that_cannot_be_executed_gives_126() {
  echo 'echo hi' >script
  run_dtrain run -np 2 ./script
  expect_status 126
  expect_stderr_contains 'cannot run ./script: Permission denied'
  run_dtrain run -np 2 /usr
  expect_status 126
}

test_a_missing_folder_gives_2_before_anything_starts() {
  run_dtrain run -np 2 --chdir '/no such' echo hi
  expect_status 2
  expect_stdout ''
  expect_stderr_contains "cannot enter the working directory '/no such'"
  expect_stderr_contains 'No such file or directory'
}

test_chdir_is_where_workers_run_and_commands_are_found() {
  mkdir there
  printf '#!/bin/sh\npwd\n' >there/where
  chmod +x there/where
  run_dtrain run -np 1 --chdir there --no-tag ./where
  expect_status 0
  expect_stdout "$PWD/there"
}

test_x_passes_variables() {
  NAMED=from-outside run_dtrain run -np 1 -x NAMED -x SET='a b' --no-tag sh -c 'echo "$NAMED|$SET"'
  expect_status 0
  expect_stdout 'from-outside|a b'
}

test_workers_find_their_ranks_in_every_dialect() {
  run_dtrain run -np 2 --no-tag sh -c 'test $RANK = 1 || exit 0
    echo $DTRAIN_RANK $DTRAIN_SIZE $DTRAIN_LOCAL_RANK $DTRAIN_LOCAL_SIZE $DTRAIN_CROSS_RANK $DTRAIN_CROSS_SIZE
    echo $DTRAIN_ROLE $DTRAIN_TASK_INDEX $DTRAIN_GENERATION $DTRAIN_HOSTNAME
    echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $MASTER_ADDR
    echo $JAX_NUM_PROCESSES $JAX_PROCESS_ID $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $PYTHONUNBUFFERED
    echo $TF_CONFIG | sed "s/:[0-9][0-9]*\"/:PORT\"/g"; echo ${#DTRAIN_TOKEN}
    env | grep -c "^PMI" '
  expect_stdout $'1 2 1 2 0 1\nworker 1 1 localhost\n1 2 1 2 0 1 127.0.0.1\n2 1 1 2 1
{"cluster":{"worker":["127.0.0.1:PORT","127.0.0.1:PORT"]},"task":{"type":"worker","index":1}}\n64\n0'
}

test_held_ports_serve_a_worker_that_sets_reuseaddr_and_no_other_process() {
  cat >bind.py <<'END'
import os, socket
for name in ("MASTER_PORT", "JAX"):
    port = int(os.environ.get(name) or os.environ["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)[1])
    plain = socket.socket()
    try:
        plain.bind(("127.0.0.1", port))
        print("a plain bind got", port)
    except OSError:
        pass
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"ok\n")
    print(server.accept()[0].recv(3).decode().strip())
END
  run_dtrain run -np 1 --no-tag /usr/bin/python3 bind.py
  expect_status 0
  expect_stdout $'ok\nok'
}

test_the_token_is_on_no_command_line_and_in_no_message() {
  run_dtrain run -np 2 --verbose --no-tag sh -c 'echo $DTRAIN_TOKEN; cat /proc/$PPID/cmdline | tr "\0" " "; echo'
  expect_status 0
  token=$(grep -E '^[0-9a-f]{64}$' "$out/stdout" | head -n 1)
  [[ -n $token ]] || fail 'the workers have no token'
  expect_stderr_lacks "$token"
  [[ $(grep -c "$token" "$out/stdout") -eq 2 ]] || fail 'the token is on a command line'
}

test_only_the_rendezvous_listens_and_only_on_loopback() { # S9
  start_dtrain run -np 2 sh -c 'echo up; sleep 60'
  wait_for stdout_has '[1]<stdout>:up'
  ss -Hltnp | grep -E "pid=($pid|$(pgrep -P "$pid" -x dtrain-agent))," >listeners || true
  [[ $(wc -l <listeners) -eq 1 ]] || fail "expected one listener: $(cat listeners)"
  awk '{ print $4 }' listeners | grep -q '^127\.0\.0\.1:[0-9]*$' || fail "not on loopback: $(cat listeners)"
  signal TERM
  finish
  expect_status 143
}

test_dry_run_shows_the_plan_and_starts_nothing() {
  run_dtrain run -np 2 --dry-run touch started
  expect_status 0
  expect_stdout_contains '2 processes on 1 host: touch started'
  expect_not test -e started
  run_dtrain run -np 2 --dry-run --json touch started
  expect_status 0
  /usr/bin/python3 - "$out/stdout" <<'END' || fail 'not the expected document'
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["world_size"] == 2 and [t["rank"] for t in plan["tasks"]] == [0, 1], plan
assert plan["command"] == ["touch", "started"], plan
END
}

test_a_configuration_file_and_variables_give_options_and_flags_win() {
  printf 'np = 3\nno-tag = true\n' >dtrain.toml
  run_dtrain run sh -c 'echo $WORLD_SIZE'
  expect_status 0
  expect_stdout_lines 3 3 3
  DTRAIN_OPT_NP=2 run_dtrain run sh -c 'echo $WORLD_SIZE'
  expect_stdout_lines 2 2
  DTRAIN_OPT_NP=2 run_dtrain run -np 1 sh -c 'echo $WORLD_SIZE'
  expect_stdout 1
}

test_a_nested_run_gets_its_own_ranks() {
  run_dtrain run -np 1 --no-tag "$DTRAIN" run -np 2 --no-tag sh -c 'echo $DTRAIN_RANK/$DTRAIN_SIZE'
  expect_status 0
  expect_stdout_lines 0/2 1/2
}

test_version_names_the_build() {
  run_dtrain version
  expect_status 0
  expect_stdout_contains 'dtrain 0.'
}

run_tests "$@"

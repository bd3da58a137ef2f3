#!/usr/bin/env bash
# Tasks of several roles on several hosts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker

test_each_role_is_on_its_hosts_and_knows_where_the_others_are() {
  hosts_up 3
  # shellcheck disable=SC2016  # for the tasks' shells
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2,node3:1 --role chief=1@node1 --role worker=2@node1:1,node2:1 \
    --role ps=1@node3 --success all --no-tag sh -c 'echo $(hostname) "$@"' - \
    '{role}:{index}' at '{host}' '{hosts:ps}' '{hosts:chief},{hosts:worker}' '{cluster_spec}'
  expect_status 0
  expect test "$(wc -l <"$out/stdout")" = 4
  cp "$out/stdout" told
  run python3 - told <<'END'
import sys

lines = [line.split() for line in open(sys.argv[1])]
node_of = {role: node for node, role, *_ in lines}
assert node_of == {"chief:0": "node1", "worker:0": "node1", "worker:1": "node2", "ps:0": "node3"}, node_of
assert len({tuple(line[4:]) for line in lines}) == 1, "they differ in what they know"
hosts = {line[1]: line[3] for line in lines}
_, _, _, _, ps, ranked, spec = lines[0]
addresses = dict(zip(["ps:0", "chief:0", "worker:0", "worker:1"], [ps] + ranked.split(",")))
for task, address in addresses.items():
    assert address.rpartition(":")[0] == hosts[task], (task, address, hosts)
assert len(set(addresses.values())) == 4
worker = addresses["worker:0"] + ";" + addresses["worker:1"]
assert spec == f"chief|{addresses['chief:0']},ps|{ps},worker|{worker}", spec
END
  expect_status 0
  expect_no_processes
}

test_servers_of_another_host_end_with_the_workers_and_have_completed() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --role worker=2@node1 --role ps=1@node2 --role evaluator=1@node2 \
    --grace 10s --report "$out/report.json" --role-command "ps=sh -c 'trap \"echo told; exit 0\" TERM; : >$out/trapped; while :; do sleep 0.05; done'" \
    --role-command 'evaluator=sleep 600' sh -c "until [ -e $out/trapped ]; do sleep 0.02; done; exec $collective -1 none none"
  expect_status 0
  expect_stdout_contains '[ps:0]<stdout>:told'
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 2 ]] || fail 'not every worker reached the end'
  expect_stderr_lacks failed
  expect test "$(grep -c '"completed": true' "$out/report.json")" = 4
  expect_no_processes
}

test_a_server_that_fails_on_another_host_fails_the_job() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 --role worker=1@node1 --role ps=1@node2 \
    --role-command "ps=sh -c 'echo no variables >&2; exit 7'" sleep 600
  expect_status 7
  expect_stderr_contains 'dtrain: ps:0 (host node2, pid '
  expect_stderr_contains 'no variables'
  expect_no_processes
}

test_a_host_that_is_lost_when_the_chief_is_done_is_a_warning() {
  hosts_up 2
  start_on_launcher "$DTRAIN" run --verbose --dead-after 2s --grace 60s -H node1:1,node2:1 --role chief=1@node1 --role ps=1@node2 \
    --role-command "chief=sh -c 'until [ -e $out/up ]; do sleep 0.02; done'" \
    sh -c "trap '' TERM; : >$out/up; while :; do sleep 0.05; done"
  wait_for stderr_has 'chief:0 ended: exit status 0'
  cut_cable 2
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: warning: agent on node2 lost: no heartbeat for 2s; the job was done without it'
  expect_soon
  expect_no_processes
}

run_tests "$@"

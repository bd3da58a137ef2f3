#!/usr/bin/env bash
# `dtrain token`, and the tokens that a job of nodes refuses before it starts.
. "$(dirname "$0")/lib.sh"

test_each_token_is_new_and_has_64_hex_digits() {
  run_dtrain token
  expect_status 0
  cp "$out/stdout" first
  expect grep -qxE '[0-9a-f]{64}' first
  expect test "$(wc -c <first)" -eq 65
  run_dtrain token
  expect grep -qxE '[0-9a-f]{64}' "$out/stdout"
  expect_not cmp -s first "$out/stdout"
}

test_a_token_that_cannot_be_written_is_an_error() {
  run sh -c 'exec "$1" token >/dev/full' token "$DTRAIN"
  expect_status 3
  expect_stderr_contains 'dtrain: '
}

test_wrong_words_are_named() {
  run_dtrain token 64
  expect_status 2
  expect_stderr 'dtrain: token: "64" means nothing to it; dtrain token prints a new token'
}

test_help_names_the_variable() {
  run_dtrain help token
  expect_status 0
  expect_stdout_contains 'DTRAIN_NODES_TOKEN'
}

# refused TEXT: node 1 of two nodes ends with TEXT, and starts nothing.
refused() {
  local text=$1
  shift
  run_dtrain run --nnodes 2 --node-rank 1 --master-addr localhost "$@" touch started
  expect_status 2
  expect_stderr_contains "dtrain: $text"
  expect_not test -e started
  [[ -z ${secret-} ]] || expect_not grep -q "$secret" "$out/stderr"
}

test_a_job_of_nodes_without_a_token_is_refused() {
  refused 'the nodes of a job prove themselves by a token, and there is none. `dtrain token` prints one: give it to all nodes as DTRAIN_NODES_TOKEN, or as --token-file FILE.'
  DTRAIN_NODES_TOKEN='' refused 'the nodes of a job prove themselves by a token, and there is none.'
}

test_a_wrong_token_is_named_and_not_shown() {
  local secret=5ec5ec5ec5
  DTRAIN_NODES_TOKEN=$secret refused 'DTRAIN_NODES_TOKEN: it has 10 bytes, not 64 hex digits;'
  printf '%s\n' "$secret" >token
  chmod 600 token
  refused "--token-file: token: it has 10 bytes, not 64 hex digits;" --token-file token
  refused "--token-file: other: No such file or directory" --token-file other
  secret=$("$DTRAIN" token)
  printf '%s\n' "$secret" >token
  chmod 666 token
  refused "--token-file: token: other users may write to it;" --token-file token
  chmod 600 token
  refused '--no-token: conflicts with --token-file, which has a token' --token-file token --no-token
  DTRAIN_NODES_TOKEN=$secret refused '--no-token: conflicts with DTRAIN_NODES_TOKEN, which has a token' --no-token
}

test_a_token_of_another_user_is_refused() {
  [[ $(id -u) -eq 0 ]] || skip 'only root can give a file away'
  local secret
  secret=$("$DTRAIN" token)
  printf '%s\n' "$secret" >token
  chmod 600 token
  chown 65534 token
  refused "--token-file: token: it belongs to the user 65534, not to you or root" --token-file token
}

test_a_job_of_nodes_has_no_hosts_to_connect_to() {
  printf '%s\n' 'schema = 1' 'nnodes = "2"' 'node_rank = "0"' 'master_addr = "localhost"' 'command = "true"' >job.toml
  DTRAIN_NODES_TOKEN=$("$DTRAIN" token) run_dtrain job check --connect job.toml
  expect_status 2
  expect_stderr 'dtrain: --connect: the nodes of this job start by themselves, so there are no hosts to connect to; leave it out'
}

run_tests "$@"

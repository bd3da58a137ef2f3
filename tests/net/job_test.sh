#!/usr/bin/env bash
# A job file on hosts with sshd: libdtrain's digits by private code, a dataset, and a session that closes.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

digits=$(dirname "$DTRAIN")/examples/digits
images=$(realpath "$(dirname "$0")/../../examples/data/digits.csv")
jobs=$(realpath "$(dirname "$0")/../../docs/jobs.md")
server_source=$(realpath "$(dirname "$0")/../unit/launcher/sync/source/git_server.h")

# Serves the repository "private/app" to node1 alone, for the user "me" with the token "s3cret".
repository_on_node1() {
  mkdir -p hosted work
  cat >work/train.py <<END
import os, pathlib, time
while not pathlib.Path("/root/go").exists():
    time.sleep(0.05)
os.execv("$digits", ["digits", "--epochs", "2", "--data", "/data/digits.csv", "--checkpoint", "model.bin"])
END
  git -C work init -q
  git -C work add .
  git -C work -c user.name=me -c user.email=me@example.org commit -q -m first
  git clone -q --bare work hosted/app
  sed -n '/R"($/,/^)"/{//!p}' "$server_source" >server.py
  # Its marker ends it with the test.
  on_host 1 env TEST_MARKER="$TEST_MARKER" /usr/bin/env python3 "$PWD/server.py" "$PWD/hosted" "$PWD/requests" >ports &
  wait_for test -s ports
  port=$(cut -d ' ' -f 1 ports)
}

on_node1() { run_on_launcher ssh node1 "cd /root && $*"; }

test_a_job_in_a_file_survives_its_session_and_returns_its_model() {
  hosts_up 2
  repository_on_node1
  local home k
  home=$(home_of 1)
  cp "$out/net/user_key" "$home/.ssh/id_ed25519"
  cp "$(launcher_home)/.ssh/known_hosts" "$home/.ssh/known_hosts"
  (umask 077 && echo s3cret >"$home/token")
  for k in 1 2; do
    mkdir "$(home_of $k)/imagenet"
    cp "$images" "$(home_of $k)/imagenet"
  done
  # The file of docs/jobs.md, with this repository and one process a host.
  sed -n '/^    schema = 1/,/^$/s/^    //p' "$jobs" |
    sed "s|https://[^\"]*|http://127.0.0.1:$port/private/app|; s|/srv/|/root/|; s/:4\"/:1\"/g" >"$home/mnist.toml"
  on_node1 "$DTRAIN job run --detach mnist.toml"
  expect_status 0
  expect_stdout mnist-1
  # That session has ended; others see the job.
  on_node1 "$DTRAIN job status"
  expect_stdout_contains 'mnist-1: running'
  expect_stdout_contains node2
  touch "$(home_of 1)/go" "$(home_of 2)/go"
  on_node1 "$DTRAIN job wait"
  expect_status 0
  on_node1 "$DTRAIN job logs"
  expect_stdout_contains '[0]<stdout>:1437 images to train on, 360 to test on, 2 ranks'
  expect_stdout_contains '[0]<stdout>:accuracy'
  expect test -s "$home/model.bin"
  expect_not grep -rqs s3cret "$home/.local"
  for k in 1 2; do
    expect_not on_host $k test -e /data
    expect_not on_host $k grep -q imagenet /proc/self/mountinfo
  done
}

run_tests "$@"

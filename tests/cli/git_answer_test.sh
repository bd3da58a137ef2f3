#!/usr/bin/env bash
# dtrain as the program that git asks for the user and the token of --sync-from URL.
. "$(dirname "$0")/lib.sh"

# Writes the program `ask`, which prints what git would send to the host of its argument.
write_ask() {
  cat >ask <<END
#!/bin/sh
printf 'protocol=https\nhost=%s\n\n' "\$1" |
  env GIT_ASKPASS="$DTRAIN" GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C \
    DTRAIN_GIT_SERVER=https://git.example.org:8443/ DTRAIN_GIT_USER=me DTRAIN_GIT_TOKEN_FILE="$PWD/token" \
    git credential fill
END
  chmod +x ask
}

test_git_gets_the_token_for_the_server_of_the_url_alone() {
  write_ask
  (umask 077 && echo s3cret >token)
  run ./ask git.example.org:8443
  expect_status 0
  expect_stdout 'protocol=https
host=git.example.org:8443
username=me
password=s3cret'
  run ./ask git.example.org
  expect_status 128
  expect_stdout ''
  expect_stderr_contains 'dtrain: the token is for https://git.example.org:8443/ alone'
  chmod 622 token
  run ./ask git.example.org:8443
  expect_status 128
  expect_stdout ''
  expect_stderr_contains 'other users may write to it'
  expect_stderr_lacks s3cret
}

test_a_question_is_no_command_without_the_variables() {
  run_dtrain "Password for 'https://me@git.example.org': "
  expect_status 2
  expect_stdout ''
}

run_tests "$@"

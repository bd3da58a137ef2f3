#!/bin/sh
# What a CI job runs to see that jobs run there: no terminal, nothing on stdin, an end in any case, and
# every exit status looked at.
#
#   ci-smoke.sh                      with processes that say their rank
#   ci-smoke.sh python smoke.py      with your own program, which must end well
#
# DTRAIN is the dtrain to use, if it is not in PATH.
set -eu
export CI=true
dtrain=${DTRAIN:-dtrain}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# expect_status N COMMAND…
expect_status() {
  expected=$1
  shift
  status=0
  "$@" <&- || status=$?
  if [ "$status" -ne "$expected" ]; then
    echo "ci-smoke: expected the status $expected, not $status, of: $*" >&2
    exit 1
  fi
}

# shellcheck disable=SC2016  # for the worker's shell
if [ $# -eq 0 ]; then set -- sh -c 'echo "rank $DTRAIN_RANK of $DTRAIN_SIZE"'; fi

# It works, on two processes, and what each of them said is kept.
expect_status 0 "$dtrain" run -np 2 --timeout 5m --output-dir "$logs" -- "$@"
for rank in 0 1; do
  if [ ! -e "$logs/rank.$rank/stdout" ]; then
    echo "ci-smoke: nothing is kept of rank $rank" >&2
    exit 1
  fi
done

# A process that fails fails the job, with its status.
# shellcheck disable=SC2016
expect_status 3 "$dtrain" run -np 2 --timeout 5m -- sh -c 'test "$DTRAIN_RANK" = 0 || exit 3; sleep 300'

# A job that hangs ends all the same.
expect_status 124 "$dtrain" run -np 2 --timeout 500ms --grace 1s -- sleep 300

echo "ci-smoke: ok"

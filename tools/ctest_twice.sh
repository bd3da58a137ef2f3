#!/usr/bin/env bash
# Runs CTest, and then the failed tests a second time: `tools/ctest_twice.sh LIST CTEST-ARGUMENT…`. A test
# that passes at its second try still fails the run, unless LIST allows it by a line "name: reason".
#
# The output ends with a summary of CTest. If a second try was not allowed, it is that of the first run, else that of
# the last run.
set -euo pipefail

list=$1
shift
if wrong=$(grep -nvE '^(#.*|[^ #:]+: *[^ ].*|)$' "$list"); then
  echo "$list: a line is 'name: reason', not $wrong" >&2
  exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Prints the names of the failed tests in a run's output.
failed_in() {
  sed -n '/^The following tests FAILED:/,$ s/^[[:space:]]*[0-9]* - \([^ ]*\) (.*/\1/p' "$1" | sort
}
summary_of() { sed -n '/% tests passed/,$ p' "$1"; }
reason_of() { sed -n "s/^${1//./\\.}: *//p" "$list"; }

status=0
ctest "$@" | tee "$folder/first" || status=$?
failed_in "$folder/first" >"$folder/failed"
if [[ ! -s $folder/failed ]]; then exit $status; fi

printf '\n== the failed tests once more\n'
last_status=0
ctest "$@" --rerun-failed | tee "$folder/last" || last_status=$?
failed_in "$folder/last" >"$folder/failed_again"

summary=last
echo
for name in $(comm -23 "$folder/failed" "$folder/failed_again"); do
  reason=$(reason_of "$name")
  if [[ -n $reason ]]; then
    echo "$name needed a second try, which $list allows: $reason"
  else
    echo "$name needed a second try, and is not in $list: this run has failed"
    summary=first
  fi
done
echo
summary_of "$folder/$summary"
if [[ $summary == first ]]; then exit "$status"; fi
exit $last_status

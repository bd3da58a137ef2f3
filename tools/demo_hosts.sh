#!/usr/bin/env bash
# shellcheck disable=SC2031  # a function of lib.sh has variables of these names in a subshell
# The part of `make demo-hosts` after the build. It trains the same small network on four hosts over
# ssh. The hosts are network namespaces of this machine, each with an sshd, a key and a home of its own. They need
# root, and are removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh hosts
# shellcheck source=../tests/cli/lib.sh
. tests/cli/lib.sh
# shellcheck source=../tests/net/lib.sh
. tests/net/lib.sh

out=$(mktemp -d "${TMPDIR:-/tmp}/dtrain-hosts.XXXXXX")
export TEST_MARKER="$out"
skip() {
  echo "demo-hosts: $*" >&2
  exit 1
}
hosts_up 4
trap 'hosts_down; end_marked_processes; rm -rf "$out"' EXIT
hosts=node1:1,node2:1,node3:1,node4:1

echo "\$ dtrain run -H $hosts hostname"
on_launcher "$DTRAIN" run -H "$hosts" hostname
# git ignores the build.
digits=build/release/examples/digits
echo "\$ dtrain run -H $hosts --sync --sync-include $digits $digits"
on_launcher "$DTRAIN" run -H "$hosts" --sync --sync-include "$digits" "$digits"

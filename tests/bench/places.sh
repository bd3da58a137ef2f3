# shellcheck shell=bash
# Sourced by benchmarks that measure at places: a number of ranks on this machine (shm2, tcp2), or hosts, which are
# network namespaces, by ranks (2x1, 2x2; as root). Sets $here to this folder, and makes the folder $out, which is
# removed at the end.

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=../cli/lib.sh
. "$here/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$here/../net/lib.sh"
set -e

out=$(mktemp -d)
# shellcheck disable=SC2031  # tests/cli/lib.sh sets it in a subshell
export TEST_MARKER=bench-$$
trap 'rm -rf "$out"' EXIT

# list SEPARATOR SUFFIX: prints the hosts of the place.
list() {
  local k text=
  for ((k = 1; k <= hosts; ++k)); do text+=${text:+$1}10.77.0.$k$2; done
  echo "$text"
}

# Divides the cores among the hosts: what the sshd of a host starts inherits them. Otherwise each host would
# see all cores as its own, and its ranks would keep them from those of the other hosts.
pin_hosts() {
  local cores first
  cores=$(nproc)
  for ((k = 0; k < hosts; ++k)); do
    first=$((k * cores / hosts))
    # shellcheck disable=SC2154  # the script's folder
    taskset -cp "$first-$((hosts > cores ? first : (k + 1) * cores / hosts - 1))" \
      "$(cat "$out/net/node$((k + 1))/sshd.pid")" >/dev/null
  done
}

# for_places FUNCTION PLACES: calls the function at each place, with its variables: $place, $kind (shm, tcp or hosts),
# $np, $hosts, $each ranks a host, and $enter, the command that enters the launcher's host.
# shellcheck disable=SC2034  # for the function
for_places() {
  local measure=$1
  for place in $2; do
    case $place in
      shm[0-9]* | tcp[0-9]*)
        kind=${place%%[0-9]*} np=${place#"$kind"} hosts=1 each=$np enter=()
        "$measure"
        ;;
      [0-9]*x[0-9]*)
        kind=hosts hosts=${place%x*} each=${place#*x}
        np=$((hosts * each)) enter=("$out/net/on_launcher")
        # A subshell, because the namespaces end with it; it exits early where there can be none.
        (
          rm -rf "$out/net"
          hosts_up "$hosts"
          for ((k = 1; k <= hosts; ++k)); do
            echo "10.77.0.$k $(cut -d' ' -f1,2 "$out/net/node$k/host_key.pub")"
          done >>"$(launcher_home)/.ssh/known_hosts"
          pin_hosts
          "$measure"
        ) || echo "$place: not measured"
        ;;
      *)
        echo "no place '$place'; use shm2, shm4, tcp2, 2x1, 2x2, 4x1 or the like" >&2
        exit 2
        ;;
    esac
  done
}

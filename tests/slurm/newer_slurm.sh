#!/usr/bin/env bash
# Runs run_test.sh with Slurm 24.11, in a Debian 13 in a folder. It shows how a job starts there: srun's options and the
# variables of a job change with versions. Skipped without root, which debootstrap and mounts need.
set -euo pipefail
script=$(realpath "$0")
repository=$(realpath "$(dirname "$script")/../..")
DTRAIN=$(realpath "${DTRAIN:-$repository/build/release/dtrain}")

skip() {
  printf '\n*** NOT TESTED with a newer Slurm: %s ***\n' "$1"
  exit 77
}

# Runs in a namespace of its own, which ends with this process.
inside_namespace() {
  local root=$1
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mkdir -p "$root/old" "$root$repository"
  mount --rbind /dev "$root/dev"
  mount --rbind /sys "$root/sys"
  mount -t proc proc "$root/proc"
  mount --bind "$repository" "$root$repository"
  # In a chroot, no process could make a user namespace, as the containers of the ranks do.
  cd "$root"
  pivot_root . old
  umount --lazy /old
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "DTRAIN=$DTRAIN" \
    bash "$repository/tests/slurm/run_test.sh"
}

if [[ ${1-} == --inside ]]; then inside_namespace "$2"; fi

if [[ $(id -u) -ne 0 ]]; then skip 'needs root'; fi
if ! command -v apt-get >/dev/null; then skip 'needs a Debian or Ubuntu with debootstrap'; fi
if ! unshare --mount --pid --fork true 2>/dev/null; then skip 'mounts are not allowed here'; fi
"$repository/tools/setup.sh" fresh_machine
root=$(mktemp -d /var/tmp/dtrain-newer-slurm.XXXXXX)
trap 'rm -rf --one-file-system "$root" "$root.log"' EXIT
chmod 755 "$root" # apt downloads as another user than root

# shellcheck disable=SC2016  # apt's variables, not the shell's
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'ShortDesc: Packages' |
  sed -n 's/^bookworm //p' | head -n 1)
debootstrap --variant=minbase --include=slurmctld,slurmd,slurm-client,munge,iproute2,procps,bsdutils,python3-minimal \
  trixie "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || {
  tail -n 5 "$root.log"
  skip 'no Debian 13 can be fetched'
}
touch "$root/etc/hosts" # the nodes of the cluster have another one
unshare --mount --pid --fork --kill-child bash "$script" --inside "$root"

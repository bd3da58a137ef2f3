#!/usr/bin/env bash
# Runs `make demo` and `make test` on a fresh machine: a Debian 12 in a folder, with git and make only, and
# with a clone of the last commit. `fresh_machine.sh TARGET…` runs other targets of the Makefile. Skipped
# without root, which debootstrap, chroot and mounts need.
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/.."

skip() {
  printf '\n*** NOT TESTED on a fresh machine: %s ***\n' "$1"
  exit 77
}

# Runs in a namespace of its own, which ends with this process. The mounts and leftover processes always end
# with the namespace.
inside_namespace() {
  local root=$1
  shift
  mount --make-rprivate /
  mount --rbind /dev "$root/dev"
  mount --rbind /sys "$root/sys"
  mount -t proc proc "$root/proc"
  for target in "$@"; do
    local begin=$SECONDS
    printf '\n== fresh machine: make %s\n' "$target"
    # The environment has only the variables that this network needs.
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
      "${network[@]}" chroot "$root" make -C /src/dtrain "$target"
    printf '== fresh machine: make %s took %d s\n' "$target" $((SECONDS - begin))
  done
}

# Copies the settings by which a machine of this network reaches Debian and PyPI: name servers, the settings of
# apt and pip, and the trusted certificate authorities.
copy_network_settings() {
  local root=$1
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  rm -f "$root"/etc/apt/apt.conf.d/docker-*
  if [[ -e /etc/apt/auth.conf.d ]]; then cp -r /etc/apt/auth.conf.d "$root/etc/apt/"; fi
  if [[ -e /etc/pip.conf ]]; then cp /etc/pip.conf "$root/etc/"; fi
  if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
}

network=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_CERT \
  PIP_DEFAULT_TIMEOUT SSL_CERT_FILE; do
  if [[ -n ${!name-} ]]; then network+=("$name=${!name}"); fi
done

if [[ ${1-} == --inside ]]; then
  shift
  inside_namespace "$@"
  exit
fi

if [[ $(id -u) -ne 0 ]]; then skip 'needs root'; fi
if ! command -v apt-get >/dev/null; then skip 'needs a Debian or Ubuntu with debootstrap'; fi
if ! unshare --mount --pid --fork true 2>/dev/null; then skip 'mounts are not allowed here'; fi
tools/setup.sh fresh_machine

targets=("$@")
if ((${#targets[@]} == 0)); then targets=(demo test); fi
root=$(mktemp -d /var/tmp/dtrain-fresh-machine.XXXXXX)
trap 'rm -rf --one-file-system "$root" "$root.log"' EXIT
chmod 755 "$root" # apt downloads as another user than root

# shellcheck disable=SC2016  # apt's variables, not the shell's
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'ShortDesc: Packages' |
  sed -n 's/^bookworm //p' | head -n 1)
debootstrap --variant=minbase --include=git,make bookworm "$root" \
  "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || {
  tail -n 20 "$root.log"
  exit 1
}
copy_network_settings "$root"
git clone --quiet --no-hardlinks . "$root/src/dtrain"
git -C "$root/src/dtrain" checkout --quiet --detach "$(git rev-parse HEAD)"

unshare --mount --pid --fork --kill-child bash "$script" --inside "$root" "${targets[@]}"

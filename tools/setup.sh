#!/bin/sh
# Installs the missing Debian packages for `setup.sh build`, `wheel`, `test`, `ci`, `frameworks`, `hosts`, `fuzz`, `deb`,
# `docker`, `grid_engine`, `gpu_toolkit`, `gpu_pack` or `fresh_machine`. From PyPI, `ci` also installs the pinned clang tools.
# `gpu_toolkit`, and `ci` and `gpu_pack` where the machine has none, install a CUDA Toolkit. `frameworks` installs the
# packages for tests/frameworks, with `--long` all of them. Prints nothing when all are installed.
set -eu
cd "$(dirname "$0")/.."

packages="g++ cmake ninja-build ccache libcli11-dev libexpected-dev libfmt-dev libhwloc-dev libssh2-1-dev libssl-dev
  libtomlplusplus-dev nlohmann-json3-dev"
case ${1-build} in
  build) ;;
  wheel) packages="$packages python3-dev python3-venv advancecomp" ;;
  test | ci)
    packages="$packages doctest-dev python3"
    # Without these, tests are skipped by name.
    useful="pkg-config procps iproute2 time shellcheck bash-completion zsh fish mandoc bsdextrautils openssh-client
      openssh-server tcsh zstd bindfs python3-yaml"
    if [ "$1" = ci ]; then
      packages="$packages $useful libbenchmark-dev python3-dev python3-venv dpkg-dev lintian iptables dnsmasq-base
        slurmctld slurmd slurm-client munge docker-compose"
      useful=
    fi
    ;;
  hosts) packages="openssh-client openssh-server iproute2 procps" ;;
  frameworks) packages="g++ cmake python3 python3-dev python3-venv python3-torch libtorch-dev pybind11-dev
  advancecomp" ;;
  fuzz) packages="$packages clang libclang-rt-dev doctest-dev" ;;
  deb) packages="dpkg-dev" ;;
  docker) packages="docker.io docker-compose busybox-static iptables" ;;
  grid_engine) packages="gridengine-master gridengine-exec gridengine-client" ;;
  gpu_toolkit) packages="python3 python3-venv" ;;
  gpu_pack) packages="$packages doctest-dev python3-dev python3-venv" ;;
  fresh_machine) packages="debootstrap" ;;
  *) echo "usage: setup.sh [build|wheel|test|ci|frameworks [--long]|hosts|fuzz|deb|docker|grid_engine|gpu_toolkit|gpu_pack|fresh_machine]" >&2 && exit 2 ;;
esac

# Prints the names of the packages $1 that are not installed.
missing_of() {
  # shellcheck disable=SC2086  # one word a package
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $1 2>/dev/null) || true
  for package in $1; do
    case "
$installed
" in
      *"
installed $package
"*) ;;
      *) printf ' %s' "$package" ;;
    esac
  done
}

as_root=
if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
can_install() { command -v apt-get >/dev/null && $as_root true 2>/dev/null; }

# Installs the packages $1, or prints the commands for the user.
install_packages() {
  if ! can_install; then
    {
      echo "setup: missing packages:$1"
      echo "setup: neither root nor passwordless sudo on a Debian system, so please install them:"
      echo "setup:   sudo apt-get install$1"
      echo "setup: elsewhere install their equivalents, then: cmake --preset release && cmake --build --preset release"
    } >&2
    exit 1
  fi
  echo "setup: installing$1"
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
  $apt update
  # shellcheck disable=SC2086  # one word a package
  $apt install --no-install-recommends $1 >/dev/null
}

missing=$(missing_of "$packages")
absent=$(missing_of "${useful-}")
if [ -n "$absent" ]; then
  if can_install; then missing="$missing$absent"; else echo "setup: without$absent, some tests are skipped"; fi
fi
if [ -n "$missing" ]; then install_packages "$missing"; fi
case ${1-build} in
  ci) tools/clang_tools.sh && tools/gpu_toolkit.sh --if-missing ;;
  gpu_toolkit) tools/gpu_toolkit.sh ;;
  gpu_pack) tools/gpu_toolkit.sh --if-missing ;;
  frameworks) tools/frameworks.sh "${2-}" ;;
esac

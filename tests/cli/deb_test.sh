#!/usr/bin/env bash
# The Debian packages: they pass lintian, and install, run and uninstall in a root of their own.
. "$(dirname "$0")/lib.sh"
source_dir=$(realpath "$(dirname "$0")/../..")

# Lintian's known findings, and the reasons why they stay.
expected_warnings=(
  embedded-library                            # libssh2 and its zlib: hosts of a job need none, see SECURITY.md
  hardening-no-pie                            # measured, see SECURITY.md
  initial-upload-closes-no-bugs               # these packages are for people, not for an upload to Debian
  pkg-config-unavailable-for-cross-compilation # built for one architecture at a time
)

make_packages() {
  command -v dpkg-gencontrol >/dev/null || skip 'no dpkg-dev; run: tools/setup.sh ci'
  run env -u MAKEFLAGS -u MAKELEVEL make -C "$source_dir" -o build deb "DEBS=$PWD/debs"
  expect_status 0
}

# Runs dpkg for the empty root ./root. The machine that runs the test has the packages' dependencies.
dpkg_there() {
  run dpkg --root="$PWD/root" --force-depends --log=/dev/null "$@"
  expect_status 0
}

make_root() {
  [[ $(id -u) == 0 ]] || skip 'installing packages needs root'
  mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/lib/dpkg/triggers
  touch root/var/lib/dpkg/status
}

test_the_same_build_gives_the_same_packages_in_which_lintian_finds_no_error_and_no_new_warning() {
  command -v lintian >/dev/null || skip 'no lintian; run: tools/setup.sh ci'
  make_packages
  mv debs first
  make_packages
  expect diff -r first debs
  local allow=()
  if [[ $(id -u) == 0 ]]; then allow=(--allow-root); fi
  run lintian "${allow[@]}" --fail-on error --suppress-tags "$(
    IFS=,
    echo "${expected_warnings[*]}"
  )" debs/*.deb
  expect_status 0
  expect_stdout ''
}

test_packages_install_run_and_leave_nothing_behind() {
  make_root
  make_packages
  dpkg_there -i debs/*.deb
  run root/usr/bin/dtrain run -np 2 --no-tag sh -c 'echo "rank $DTRAIN_RANK"'
  expect_status 0
  expect_stdout_lines 'rank 0' 'rank 1'

  printf '%s\n' '#include <dtrain/dtrain.h>' '#include <stdio.h>' \
    'int main(void) { printf("%s\n", dtrain_version()); return 0; }' >program.c
  export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig
  # shellcheck disable=SC2046  # several words
  run cc program.c -o program $(pkg-config --cflags --libs dtrain)
  expect_status 0
  run env LD_LIBRARY_PATH="$PWD/root/usr/lib" ./program
  expect_status 0
  expect_stdout "$("$DTRAIN" version | sed 's/dtrain //')"

  for page in man1/dtrain.1.gz man1/dtrain-run.1.gz man1/dtrain-check.1.gz man1/dtrain-bench.1.gz man1/dtrain-cache.1.gz man1/dtrain-config.1.gz man3/libdtrain.3.gz man5/dtrain.toml.5.gz man5/dtrain-report.5.gz man7/dtrain-environment.7.gz; do
    expect test -s "root/usr/share/man/$page"
  done
  expect test -s root/usr/share/zsh/vendor-completions/_dtrain
  expect test -s root/usr/share/bash-completion/completions/dtrain

  dpkg_there -r dtrain libdtrain-dev libdtrain0
  run find root -path root/var -prune -o ! -type d -print
  expect_stdout ''
  expect_not test -e root/usr/include
}

run_tests "$@"

# shellcheck shell=bash
# For tests of the Python package. Sourced after tests/cli/lib.sh, tests/net/lib.sh and tests/frameworks/lib.sh.
#
#   install_wheel NAME…        builds the wheel of these sources, unless it is newer than they are, and installs it into
#                              those of build/venv-NAME that are there
#   uses_wheel NAME            $python and the dtrain of build/venv-NAME; skips the test where it is not installed
#   run_on RANKS FILE…         pytest passes on each rank of a job, which ends before $run_timeout_s
#   run_on_each_number FILE…   the same with one and with three ranks; other tests have two, and four on two hosts
#   run_on_hosts FILE…         the same with two ranks on each of two hosts
#   expect_all_passed RANKS    pytest has succeeded on each rank of the job that ran
#   $repository, $tools, $wheel
# shellcheck disable=SC2154,SC2031  # set by the libraries
repository=$(realpath "$scripts/../..")
tools=$repository/build/venv-wheel/bin
wheel=
export PYTHONDONTWRITEBYTECODE=1

# Prints the wheel if it is newer than the sources.
newest_wheel() (
  cd "$repository" || return
  [[ -e $(echo build/dist/dtrain-*.whl) ]] || return
  changed=$(find base choices cmake cmd comm gpu launcher python rendezvous pyproject.toml CMakeLists.txt \
    -newer build/dist/dtrain-*.whl -not -name '*.pyc' -print -quit)
  [[ -n $changed ]] || echo "$repository"/build/dist/dtrain-*.whl
)

# Another test may build the wheel at the same time.
install_wheel() {
  local name folder
  [[ -e $tools/../installed && -e $repository/build/venv-python/installed ]] || return 0
  wheel=$(
    exec 9>"$repository/build/wheel.lock"
    flock 9
    [[ -n $(newest_wheel) ]] || (cd "$repository" && tools/wheel.sh) >&2
    newest_wheel
  )
  [[ -n $wheel ]] || fail 'the wheel cannot be built'
  for name; do
    folder=$repository/build/venv-$name
    [[ -e $folder/installed ]] || continue
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
      "$wheel" || fail "the wheel cannot be installed into build/venv-$name"
  done
}

uses_wheel() {
  uses "$1"
  [[ -n $wheel ]] || skip 'build/venv-wheel is not there (tools/setup.sh frameworks)'
  DTRAIN=${python%/*}/dtrain
}

expect_all_passed() {
  if ((status != 0)); then grep -E '^\[[0-9]\]<stdout>:(E  |FAILED)' "$out/stdout" || true; fi
  expect_status 0
  [[ $(grep -cE '^\[[0-9]\]<stdout>:[0-9]+ passed' "$out/stdout") -eq $1 ]] || fail 'not every rank has passed'
  expect_no_processes
}

run_on() {
  local ranks=$1
  shift
  run_dtrain run -np "$ranks" --timeout $((run_timeout_s - 20)) "$python" -m pytest -q -x -p no:cacheprovider "$@"
  expect_all_passed "$ranks"
}

run_on_each_number() {
  local ranks
  for ranks in $(long_or '1 3' '1 2 3 4'); do run_on "$ranks" "$@"; done
}

run_on_hosts() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 -x HOSTS=2 -x PYTHONDONTWRITEBYTECODE=1 --timeout $((run_timeout_s - 20)) \
    "$python" -m pytest -q -x -p no:cacheprovider "$@"
  expect_all_passed 4
}

# shellcheck shell=bash
# For benchmarks of the Python package. Functions:
#
#   read_options ARG…     -k: $keeps is 1; -r, -n, -t and -f: $rounds, $steps, $tables and $figures
#   install_wheel VENV…   installs the wheel of these sources into build/venv-VENV, and the peers, unless $keeps is 1
#   $build                the folder build/
build=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../build")
keeps=0

# shellcheck disable=SC2034  # for the benchmarks
read_options() {
  local option
  while getopts kr:n:t:f: option; do
    case $option in
      k) keeps=1 ;;
      r) rounds=$OPTARG ;;
      n) steps=$OPTARG ;;
      t) tables=$OPTARG ;;
      f) figures=$OPTARG ;;
      *) exit 2 ;;
    esac
  done
}

install_wheel() {
  local name
  if ((keeps)); then return; fi
  "$build/../tools/setup.sh" frameworks --long
  "$build/../tools/wheel.sh" >/dev/null
  for name; do
    "$build/venv-$name/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
      --force-reinstall "$build"/dist/dtrain-*.whl
  done
}

#!/usr/bin/env bash
# Measures dtrain.torch beside Horovod on PyTorch 1.13, and dtrain.torch and the backend "dtrain" beside Gloo on PyTorch
# 2.15, in alternation. Prints Markdown tables of the figures of python_speed.py.
#
#   python.sh [-k] [-r ROUNDS] [-n STEPS] [-t TABLES] [-f FIGURES]
#
#   -k       keeps the installed package, instead of the wheel of these sources
#   TABLES   horovod, torch, init (8 ranks), reinit (4 ranks), hosts (as root: two hosts of two ranks)
set -euo pipefail

# shellcheck source=places.sh
. "$(dirname "$0")/places.sh"
# shellcheck source=python_lib.sh
. "$here/python_lib.sh"

rounds=5 steps=10 tables='horovod torch init reinit hosts'
figures='import submit blocking resnet50 many training small wakeups counting'
read_options "$@"

install_wheel python-torch torch
install "$build/venv-torch/bin/dtrain" "$out/dtrain"
export OMP_NUM_THREADS=1

# command VENV API RANKS FIGURES: RANKS are options of dtrain run.
command_of() {
  echo "${enter[*]-} $out/dtrain run --no-tag $3 -x OMP_NUM_THREADS --timeout 240 $build/venv-$1/bin/python" \
    "$here/python_speed.py $2 $steps $4"
}

# beside_horovod LABEL RANKS FIGURES, beside_gloo LABEL RANKS FIGURES
beside_horovod() {
  python3 "$here/python_table.py" "$rounds" "$1" "dtrain.torch=$(command_of python-torch dtrain "$2" "$3")" \
    "Horovod=$(command_of horovod-torch-optimised horovod "$2" "$3")"
}
beside_gloo() {
  python3 "$here/python_table.py" "$rounds" "$1" "dtrain.torch=$(command_of torch dtrain "$2" "$3")" \
    "backend=$(command_of torch backend "$2" "$3")" "Gloo=$(command_of torch gloo "$2" "$3")"
}

on_hosts() {
  beside_horovod '2x2, PyTorch 1.13' "-H $(list , ":$each")" 'resnet50'
  beside_gloo '2x2, PyTorch 2.15' "-H $(list , ":$each")" 'resnet50'
}

for table in $tables; do
  case $table in
    horovod) beside_horovod '2 ranks, PyTorch 1.13' '-np 2' "$figures" ;;
    torch) beside_gloo '2 ranks, PyTorch 2.15' '-np 2' "$figures" ;;
    init) beside_horovod '8 ranks, PyTorch 1.13' '-np 8' 'init' ;;
    reinit) beside_horovod '4 ranks, PyTorch 1.13' '-np 4' 'reinit' ;;
    hosts) for_places on_hosts 2x2 ;;
    *) exit 2 ;;
  esac
done

#!/usr/bin/env bash
# Measures dtrain.tensorflow beside Horovod, MultiWorkerMirroredStrategy and processes that train alone, in alternation,
# on TensorFlow 2.13. Prints Markdown tables of the figures of tensorflow_speed.py and tensorflow_lists.py.
#
#   tensorflow.sh [-k] [-r ROUNDS] [-n STEPS] [-t TABLES] [-f FIGURES]
#
#   -k       keeps the installed package, instead of the wheel of these sources
#   TABLES   2, 4 (ranks), memory2, memory4, lists2, lists4
#   FIGURES  of the tables 2 and 4
set -euo pipefail

here=$(realpath "$(dirname "$0")")
# shellcheck source=python_lib.sh
. "$here/python_lib.sh"
rounds=5 steps=10 tables='2 4 memory2 memory4 lists2 lists4' figures='dense small fit'
read_options "$@"

install_wheel tensorflow-old
export DTRAIN=$build/venv-tensorflow-old/bin/dtrain
# shellcheck source=lib.sh
. "$here/lib.sh"
export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1

# command_of VENV RANKS SCRIPT ARGUMENT…
command_of() {
  # shellcheck disable=SC2154  # lib.sh sets it
  echo "$dtrain run --no-tag -np $2 --timeout 240 $build/venv-$1/bin/python $here/${*:3}"
}

# speeds LABEL RANKS FIGURES
speeds() {
  local speed=tensorflow_speed.py
  python3 "$here/python_table.py" "$rounds" "$1" \
    "dtrain=$(command_of tensorflow-old "$2" $speed dtrain "$steps" "$3")" \
    "alone=$(command_of tensorflow-old "$2" $speed single "$steps" "$3")" \
    "MWMS=$(command_of tensorflow-old "$2" $speed mwms "$steps" "$3")" \
    "Horovod=$(command_of horovod-tensorflow "$2" $speed horovod "$steps" "$3")"
}

lists() {
  local figures='dense_plain dense_grouped dense_tape dense_identity'
  figures+=' small_plain small_grouped small_tape small_identity'
  python3 "$here/python_table.py" "$rounds" "$1 ranks, lists" \
    "dtrain=$(command_of tensorflow-old "$1" tensorflow_lists.py "$steps" "$figures")"
}

for table in $tables; do
  case $table in
    [24]) speeds "$table ranks, TensorFlow 2.13" "$table" "$figures" ;;
    memory[24]) speeds "${table#memory} ranks, copies of the gradients" "${table#memory}" memory ;;
    lists[24]) lists "${table#lists}" ;;
    *)
      echo "no table '$table'" >&2
      exit 2
      ;;
  esac
done

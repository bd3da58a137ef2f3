#!/usr/bin/env bash
# Compares dtrain's time with that of the launchers of Horovod and PyTorch. They run `true`, a script that ends with
# its first all-reduce, and a script that trains. Runs whole commands in alternation; prints Markdown tables.
#
#   frameworks.sh [--install] [rounds] [np]
#
# --install first installs PyTorch (5.4 GB) and Horovod under build/.
set -euo pipefail

here=$(realpath "$(dirname "$0")")
build=$here/../../build
if [[ ${1-} == --install ]]; then
  "$here/../../tools/setup.sh" frameworks
  shift
fi
# Measures a copy, like an installed binary: the linker's own file lies in small pages and starts 0.2 ms later.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dtrain=$folder/dtrain
install "${DTRAIN:-$build/release/dtrain}" "$dtrain"
rounds=${1:-11}
np=${2:-4}
# torchrun sets this itself, with a warning; with the other launchers, each process has a thread for each CPU.
export OMP_NUM_THREADS=1

# compare LABEL NAME=LAUNCHER WORDS…: runs np processes of the command WORDS by LAUNCHER and by dtrain.
compare() {
  local label=$1 yardstick=$2
  shift 2
  python3 "$here/alternate.py" "$rounds" "$label" "$yardstick $*" "dtrain=$dtrain run -np $np $*"
}

printf '\n| what | launcher | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
horovod=$build/venv-horovod-torch
if [[ -e $horovod/installed ]]; then
  horovodrun="horovodrun=$horovod/bin/horovodrun --gloo -np $np"
  compare true "$horovodrun" true
  compare 'Horovod, first all-reduce' "$horovodrun" "$horovod/bin/python" "$here/first_all_reduce.py" horovod
  compare 'Horovod, digits' "$horovodrun" "$horovod/bin/python" "$here/../../examples/horovod_torch/train.py"
else
  echo 'Horovod is not installed (frameworks.sh --install): no comparison with horovodrun'
fi
torch=$build/venv-torch
if [[ -e $torch/installed ]]; then
  torchrun="torchrun=$torch/bin/torchrun --nproc-per-node $np --no-python"
  compare true "$torchrun" true
  compare 'PyTorch, first all-reduce' "$torchrun" "$torch/bin/python" "$here/first_all_reduce.py" torch
  compare 'PyTorch, digits' "$torchrun" "$torch/bin/python" "$here/../../examples/pytorch_ddp/train.py"
else
  echo 'PyTorch of PyPI is not installed (frameworks.sh --install; 5.4 GB): no comparison with torchrun'
fi

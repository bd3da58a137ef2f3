#!/usr/bin/env bash
# How long dtrain takes beside the launchers that Horovod and PyTorch bring: for `true`, for a script that ends with
# its first all-reduce, and for one that trains. Whole commands in alternation; prints Markdown tables.
#
#   frameworks.sh [--install] [rounds] [np]
#
# --install first installs what is compared with, PyTorch (5.4 GB) and Horovod, under build/.
set -euo pipefail

here=$(realpath "$(dirname "$0")")
build=$here/../../build
if [[ ${1-} == --install ]]; then
  "$here/../../tools/setup.sh" frameworks --bench
  shift
fi
# As it is installed. What a linker writes piece by piece lies in the page cache in small pages, and starts 0.2 ms later.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dtrain=$folder/dtrain
install "${DTRAIN:-$build/release/dtrain}" "$dtrain"
rounds=${1:-11}
np=${2:-4}
# torchrun sets it for each process, with a warning; the others leave as many threads as there are CPUs.
export OMP_NUM_THREADS=1

# compare WHAT NAME=COMMAND WORDS…: COMMAND, which starts np processes of WORDS, beside dtrain.
compare() {
  local what=$1 yardstick=$2
  shift 2
  python3 "$here/alternate.py" "$rounds" "$what" "$yardstick $*" "dtrain=$dtrain run -np $np $*"
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

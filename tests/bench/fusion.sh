#!/usr/bin/env bash
# Measures an all_reduce of each of many tensors that are pending together, by libdtrain, Horovod, and Gloo in
# PyTorch, in alternation. Prints a Markdown table for each set of tensors and place: p50 of a step in us.
#
#   fusion.sh [-r ROUNDS] [-p PLACES] [-t TENSORS] [-n STEPS]
#
#   PLACES   shm2, tcp2, and as root 2x1 2x2: hosts, which are network namespaces, by ranks
#   TENSORS  numbers of tensors of 4 KiB, resnet50, bert-large
#
# dtrain starts all of them. Horovod and Gloo have no shared memory: at shm2 and tcp2 they use loopback.
set -euo pipefail

# shellcheck source=places.sh
. "$(dirname "$0")/places.sh"

rounds=5 places='shm2 2x2' tensors='200 1000 resnet50 bert-large' steps=20
while getopts r:p:t:n: option; do
  case $option in
    r) rounds=$OPTARG ;;
    p) places=$OPTARG ;;
    t) tensors=$OPTARG ;;
    n) steps=$OPTARG ;;
    *) exit 2 ;;
  esac
done

build=$(realpath "$here/../../build")
"$here/../../tools/setup.sh" frameworks --long
python=$build/venv-horovod-torch-optimised/bin/python
install "$DTRAIN" "$out/dtrain"
export OMP_NUM_THREADS=1

# job: prints the options for the ranks of the place.
job() {
  if [[ $kind == hosts ]]; then echo "-H $(list , ":$each")"; else echo "-np $np"; fi
}

# dtrain_command TENSORS OPTION…
dtrain_command() {
  local size=() transport=()
  if [[ $1 =~ ^[0-9]+$ ]]; then size=(-b "$(($1 * 4096))" -e "$(($1 * 4096))"); fi
  if [[ $kind != hosts ]]; then transport=(--transport "$kind"); fi
  echo "${enter[*]} $out/dtrain bench fusion $(job) --tensors $1 ${size[*]} ${transport[*]} -n $steps --format peers" \
    "${@:2}"
}

# peer_command LIBRARY TENSORS
peer_command() {
  echo "timeout -k 5 250 ${enter[*]} $out/dtrain run --no-tag $(job) -x OMP_NUM_THREADS $python $here/fusion_peer.py $1 $2 $steps"
}

measure_place() {
  local set
  for set in $tensors; do
    python3 "$here/alternate.py" --lines "$rounds" "$set, $place" "dtrain=$(dtrain_command "$set")" \
      "Horovod=$(peer_command horovod "$set")" "Gloo=$(peer_command gloo "$set")"
    # The same tensors one by one, and their bytes as one tensor.
    python3 "$here/alternate.py" --lines "$rounds" "$set, $place" "fused=$(dtrain_command "$set")" \
      "one by one=$(dtrain_command "$set" --fused off)"
  done
}

for_places measure_place "$places"

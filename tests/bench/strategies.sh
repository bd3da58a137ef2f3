#!/usr/bin/env bash
# Measures parameter servers and strategies beside what bounds them, and beside TensorFlow's, in alternation. Prints a
# Markdown table for each: p50 of single calls in us, and the ratio of dtrain's to the fastest other's.
#
#   strategies.sh [-r ROUNDS] [-t TABLES] [-s BYTES] [-n CALLS]
#
#   TABLES  push_pull   a worker and a server of one host, the limits of shared memory and of one TCP connection
#           pull        4 KiB from a server, and 4 KiB from rank to rank and back
#           hosts       two workers on one host, two servers on another; as many messages there and back (as root)
#           mirrored    two CPU devices, and two processes that read each other's memory
#           tensorflow  a push beside assign_add, multi_worker_mirrored beside MultiWorkerMirroredStrategy
#           slow        steps a second of three workers, of which the last is ten times slower
#
# TensorFlow is that of `tools/setup.sh frameworks`.
set -euo pipefail

# shellcheck source=places.sh
. "$(dirname "$0")/places.sh"

rounds=3 tables='push_pull pull hosts mirrored tensorflow slow' size=100000000 calls=7
while getopts r:t:s:n: option; do
  case $option in
    r) rounds=$OPTARG ;;
    t) tables=$OPTARG ;;
    s) size=$OPTARG ;;
    n) calls=$OPTARG ;;
    *) exit 2 ;;
  esac
done

programs=$(dirname "$(realpath "$DTRAIN")")/tests/bench
python=$here/../../build/venv-tensorflow/bin/python
install "$DTRAIN" "$out/dtrain"
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1

speeds=$programs/strategy_speeds
run="$out/dtrain run --no-tag"
served="$run --role ps=1,worker=1 --strategy parameter_server $speeds"

compare() { python3 "$here/alternate.py" --lines "$rounds" "$@"; }

measure_push_pull() {
  compare 'push_pull, 1 server, 1 worker' "dtrain=$served push_pull $size $calls" \
    "shared memory=$programs/copy_limits memory $size $calls" "TCP=$programs/copy_limits tcp $size $calls"
}

measure_pull() {
  compare 'pull, 1 server, 1 worker' "dtrain=$served pull 4096 2000" \
    "ranks, shared memory=$run -np 2 $speeds links 4096 2000" \
    "ranks, TCP=$run -np 2 --transport tcp $speeds links 4096 2000" "TCP=$programs/copy_limits tcp 4096 2000"
}

measure_hosts() {
  local tasks='-H 10.77.0.1:2,10.77.0.2:2'
  # shellcheck disable=SC2154  # places.sh sets it
  compare 'push_pull, 2 workers, 2 servers on another host' \
    "dtrain=${enter[*]} $run $tasks --role ps=2@10.77.0.2:2 --role worker=2@10.77.0.1:2 --strategy parameter_server \
      $speeds push_pull $size $calls" "ranks=${enter[*]} $run $tasks $speeds links $size $calls"
}

measure_mirrored() {
  compare 'mirrored, 2 CPU devices' \
    "dtrain=$run -np 1 --strategy mirrored -x DTRAIN_CPU_DEVICES=2 $speeds reduce $size $calls" \
    "2 processes=$out/dtrain bench all_reduce -np 2 --buffers dtrain -b $size -e $size -n $calls --format peers"
}

measure_tensorflow() {
  if [[ ! -x $python ]]; then
    echo 'TensorFlow is not installed (tools/setup.sh frameworks): no comparison'
    return
  fi
  local peer="$python $here/tensorflow_strategies.py"
  compare 'push, 1 server, 1 worker' "dtrain=$served push $size $calls" \
    "TensorFlow=timeout -k 5 100 $run --role ps=1,worker=1 --success all-workers $peer assign_add $size $calls"
  compare 'all_reduce, multi_worker_mirrored, 2 workers' \
    "dtrain=$run -np 2 --strategy multi_worker_mirrored $speeds reduce $size $calls" \
    "TensorFlow=timeout -k 5 100 $run -np 2 $peer all_reduce $size $calls"
}

# steps MODE COUNT LAST_MS: prints the mean steps a second of all workers but the last.
steps() {
  # shellcheck disable=SC2086  # a list of words
  $run --role ps=1,worker=3 --strategy parameter_server "$speeds" steps "$1" "$2" 5 "$3" |
    awk '$2 != "2:" { sum += $3; ++count } END { printf "%.1f", sum / count }'
}

measure_slow() {
  printf '\n| mode, 3 workers | steps a second | the last one 10 times slower | ratio |\n|---|---|---|---|\n'
  local mode equal slow
  for mode in 'async 0' 'sync 2' 'sync 3'; do
    # shellcheck disable=SC2086  # two words
    equal=$(steps $mode 5) slow=$(steps $mode 50)
    awk -v mode="$mode" -v equal="$equal" -v slow="$slow" \
      'BEGIN { sub(" 0$", "", mode); printf "| %s | %s | %s | **%.2f** |\n", mode, equal, slow, slow / equal }'
  done
}

for table in $tables; do
  case $table in
    hosts) for_places measure_hosts 2x2 ;;
    push_pull | pull | mirrored | tensorflow | slow) "measure_$table" ;;
    *)
      echo "no table '$table'" >&2
      exit 2
      ;;
  esac
done

#!/usr/bin/env bash
# Runs what needs a GPU, in three parts: run.sh a|b|c [RESULTS [BUILD]]. Part a has the machine, kernels, and facts about
# the driver; b has ranks; c has speeds, examples and tools. Each part takes at most 580 seconds: each step has a limit,
# and none stops the next one. The part's report is RESULTS/PART.md, with a table of all steps at the end.
#
# Needs no compiler and no network: BUILD is a built tree, or the folder of gpu_pack.tgz (tools/gpu_pack.sh). Ends with 0
# when no step has failed, with 1 when one has, with 77 where no GPU is usable, and with 2 for wrong arguments. With
# DTRAIN_CPU_DEVICES=1 and DTRAIN_NCCL_LIB, stand-ins take the place of GPUs and NCCL: so the script itself is tested.
set -uo pipefail
part=${1-}
if [[ $part != [abc] || $# -gt 3 ]]; then
  echo 'usage: tests/gpu/run.sh a|b|c [RESULTS [BUILD]]' >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../..
if [[ ! -x $build/dtrain ]]; then build=$build/build/release; fi
build=$(realpath "${3:-$build}")
mkdir -p "${2:-gpu_results}"
results=$(realpath "${2:-gpu_results}")
report=$results/$part.md
output=$results/$part.step
export build

# A copied tree has libdtrain elsewhere than the linker of the programs has found it.
export LD_LIBRARY_PATH=$build/comm${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if ldd "$build/tests/gpu/device_check" | grep -q 'libcrypto.* not found'; then LD_LIBRARY_PATH+=:$build/fallback; fi
export PYTHONUNBUFFERED=1 PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH}
# Wheels of NCCL lie where no loader searches.
if [[ -z ${DTRAIN_NCCL_LIB-} ]]; then
  found=$(timeout 10 python3 -c 'import nvidia.nccl as nccl; print(nccl.__path__[0] + "/lib/libnccl.so.2")' 2>/dev/null)
  if [[ -e $found ]]; then export DTRAIN_NCCL_LIB=$found; fi
fi

show() { tee -a "$report"; }
# absent[KIND] is the reason why steps of that kind are skipped.
declare -A absent=()
rows=()
failed=0
limits=10 # the search for NCCL

# step KIND NAME SECONDS COMMAND…: runs a command or a function of this file. KIND is `any`, `device` (a GPU or a
# stand-in), `gpu`, `torch` or the name of a program that it needs. The last 5 seconds are for the end after a signal.
step() {
  local kind=$1 name=$2 limit=$3 begin=$SECONDS status result
  shift 3
  ((limits += limit))
  if [[ -n ${absent[$kind]-} ]]; then
    rows+=("| $name | $limit | 0 | skipped: ${absent[$kind]} |")
    return
  fi
  if declare -F "$1" >/dev/null; then set -- bash -c '"$@"' "$1" "$@"; fi
  printf '\n## %s\n\n' "$name" | show
  timeout -k 5 $((limit - 5)) "$@" >"$output" 2>&1 </dev/null
  status=$?
  show <"$output"
  case $status in
    0) result=passed ;;
    124 | 137) result="failed: after its limit, or killed" ;;
    *) result="failed with status $status: $(grep -v '^ *$' "$output" | tail -n 1 | cut -c -200 | tr '|' '/')" ;;
  esac
  if ((status != 0)); then failed=1; fi
  rows+=("| $name | $limit | $((SECONDS - begin)) | $result |")
}

machine() {
  "$build/dtrain" version
  uname -srm
  grep ^PRETTY_NAME /etc/os-release
  ldd --version | sed -n 1p
  df -h /dev/shm | tail -n 1
  # Programs that the machine cannot start, each with what it lacks.
  find "$build" -maxdepth 3 -type f -perm /111 -exec ldd {} + 2>/dev/null | grep -E '^/|not found' | grep -B 1 'not found'
  echo "NCCL: ${DTRAIN_NCCL_LIB:-found by the loader, or not at all}"
  if [[ -z ${DTRAIN_CPU_DEVICES-} ]]; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode,mig.mode.current,clocks.mem --format=csv
    find /dev -maxdepth 1 -name 'nvidia*'
    python3 -c 'import sys, torch; print("Python", sys.version.split()[0], "PyTorch", torch.__version__, torch.cuda.nccl.version())'
  fi
  "$build/dtrain" check -H localhost
}

# held_streams: what a held stream holds up. A fact that cannot be found does not stop the next one.
held_streams() {
  local facts=$build/tests/cuda/gpu_facts action hold
  fact() { timeout 8 "$facts" held "$@" || echo "| $* | status $? |"; }
  printf '| held by | stream | meanwhile | | took | rounds of the bystander |\n|---|---|---|---|---|---|\n'
  for action in $("$facts" held none own list); do
    for hold in 'none own' 'host own' 'value own' 'host legacy' 'value legacy'; do
      # shellcheck disable=SC2086  # two words
      fact $hold "$action"
    done
  done
  printf '\nWith CUDA_DEVICE_MAX_CONNECTIONS=1:\n\n'
  export CUDA_DEVICE_MAX_CONNECTIONS=1
  for action in kernel copy_pinned; do
    for hold in 'host own' 'host high' 'value own' 'value high'; do
      # shellcheck disable=SC2086  # two words
      fact $hold "$action"
    done
  done
}

# killed COMMAND…: a job whose last rank kills itself. Both others must name it.
killed() {
  local folder text status
  folder=$(mktemp -d)
  text=$("$@" "$folder" 2>&1)
  status=$?
  rm -rf "$folder"
  printf '%s\n' "$text"
  if ((status != 137)); then echo "the job ended with status $status, not 137" && return 1; fi
  if (($(grep -c '^rank [01][,:] .* rank 2' <<<"$text") != 2)); then
    echo 'not each of both other ranks has an error that names rank 2' && return 1
  fi
}

nccl_cost() {
  local folder status
  folder=$(mktemp -d)
  "$@" "$folder"
  status=$?
  rm -rf "$folder"
  return $status
}

# bench COMMAND…: all operations. Each compares its results.
bench() {
  local operation
  for operation in all_reduce latency fusion all_gather broadcast reduce_scatter all_to_all reduce gather scatter; do
    "$@" -b 4K -e 16M -f 64 -n 5 -w 1 $operation || return
  done
}

# trained COMMAND…: digits on GPUs has the loss and the accuracy of digits on the CPU.
trained() {
  set -o pipefail
  local on_cpu on_gpu
  numbers_of() { sed -n -e 's/^training loss //p' -e 's/^accuracy \([0-9.]*\) %/\1/p' | paste -sd' '; }
  on_cpu=$("$build/examples/digits" | numbers_of) || return
  on_gpu=$("$@" "$build/examples/digits" --device gpu | numbers_of) || return
  echo "loss and accuracy on the CPU: $on_cpu; on GPUs: $on_gpu"
  awk -v a="$on_cpu" -v b="$on_gpu" 'BEGIN {
    split(a, cpu); split(b, gpu)
    exit !(gpu[2] >= 95 && gpu[2] >= cpu[2] - 0.5 && (cpu[1] - gpu[1]) ^ 2 <= 1e-8)
  }'
}
export -f machine held_streams killed nccl_cost bench trained

# Ranks of this host, which share its GPU.
stand_ins=()
for variable in DTRAIN_CPU_DEVICES DTRAIN_NCCL_LIB; do
  if [[ -n ${!variable-} ]]; then stand_ins+=(-x "$variable=${!variable}"); fi
done
two=("$build/dtrain" run -np 2 --gpu-share --no-tag "${stand_ins[@]}")
three=("$build/dtrain" run -np 3 --gpu-share --no-tag --on-failure continue "${stand_ins[@]}")
by_nccl=(-x DTRAIN_DEVICE_COLLECTIVES=nccl -x DTRAIN_PEER_MAX=0)
by_peers=(-x DTRAIN_DEVICE_COLLECTIVES=nccl -x DTRAIN_PEER_MAX=1M)

part_a() {
  step device 'Kernels have the bits of the CPU' 90 "$build/tests/gpu/device_check" check
  step gpu 'What a held stream holds up' 205 held_streams
  step gpu "Costs of CUDA's calls" 50 "$build/tests/cuda/gpu_facts" costs
  step gpu 'Variants of kernels' 45 "$build/tests/cuda/kernel_variants"
  step gpu "All_reduce of peers, and vLLM's schedule: one launch for all ranks" 40 "$build/tests/cuda/peer_check" one
  # Kernels wait for each other: each stream needs a queue, and no kernel may be loaded meanwhile.
  step gpu 'All_reduce of peers: a stream for each rank' 40 \
    env CUDA_DEVICE_MAX_CONNECTIONS=32 CUDA_MODULE_LOADING=EAGER "$build/tests/cuda/peer_check" streams
}

part_b() {
  local ranks=$build/tests/gpu/device_ranks
  step torch 'NCCL alone: the cost of its calls' 60 nccl_cost "${two[@]}" python3 "$here/nccl_cost.py"
  step device 'Collectives of NCCL have the bits of the host' 70 "${three[@]}" "$build/tests/gpu/nccl_ranks" check
  step device 'Collectives of libdtrain by NCCL' 60 "${three[@]}" "${by_nccl[@]}" "$ranks" check nccl
  step torch 'DDP, FSDP2 and the optimizer of Horovod train as one process does' 40 \
    "${two[@]}" python3 "$here/torch_training.py"
  step device 'The cost of calls of libdtrain' 45 "${two[@]}" "${by_nccl[@]}" "$ranks" cost
  step device 'Collectives of libdtrain, staged' 60 "${three[@]}" -x DTRAIN_DEVICE_COLLECTIVES=staged "$ranks" check staged
  # The ranks share a GPU, so their streams wait for each other. Kernels that wait: part a.
  step device 'Collectives of libdtrain, whose small sums need no NCCL' 60 "${three[@]}" "${by_peers[@]}" "$ranks" check nccl
  step device 'A death in a collective of libdtrain is named' 40 killed "${three[@]}" "${by_nccl[@]}" "$ranks" killed
  step device 'A death in a sum that needs no NCCL is named' 40 killed "${three[@]}" "${by_peers[@]}" "$ranks" killed
  # A stand-in of NCCL hangs where the ranks have packed their tensors. NVIDIA's ignores this variable, so buffers may
  # also have their sums there.
  step device 'A death behind the packing of small tensors leaves no partial sums' 40 \
    killed "${three[@]}" "${by_nccl[@]}" -x FAKE_NCCL=hang=ncclAllReduce "$ranks" killed_in_list
}

part_c() {
  step gpu 'Speeds beside a copy' 40 "$build/tests/gpu/device_check" speed
  step gpu "Packing, beside Horovod's scheme and single copies" 40 "$build/tests/cuda/scheme_speed"
  step torch 'Packing and sums by PyTorch' 45 python3 "$here/torch_speed.py"
  step device 'Collectives of dtrain bench have exact results in memory of the device' 110 \
    bench "$build/dtrain" bench --device gpu -np 2 --gpu-share "${stand_ins[@]}"
  step torch "Horovod's calls on tensors of a GPU" 50 "${two[@]}" python3 "$here/hvd_cuda.py"
  step gpu 'Example gpu_allreduce: each element is checked on the GPU' 40 "${two[@]}" "$build/examples/gpu_allreduce"
  step gpu 'Example digits: its loss and its accuracy on GPUs are those on the CPU' 60 trained "${two[@]}"
  step ncu 'Counters of the kernels that pack' 50 ncu --clock-control none -k 'regex:copy_' -c 8 --metrics \
    gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,sm__warps_active.avg.pct_of_peak_sustained_active \
    "$build/tests/cuda/scheme_speed"
  step compute-sanitizer 'Accesses out of bounds' 80 \
    compute-sanitizer --tool memcheck --error-exitcode 9 "$build/tests/gpu/device_check" check
}

# Fills `absent`, before the steps.
find_absent() {
  local text status program
  text=$(timeout -k 5 25 "$build/tests/gpu/device_check" probe 2>&1)
  status=$?
  ((limits += 30))
  printf '# Part %s on %s\n' "$part" "${text%%$'\n'*}" | show
  if ((status == 77)); then
    absent[device]="${text%%;*}"
  elif ((status == 124 || status == 137)); then
    absent[device]='the probe of the GPU did not end in 25 s'
    failed=1
  elif ((status != 0)); then
    absent[device]="the probe of the GPU failed: ${text##*$'\n'}"
    failed=1
  fi
  absent[gpu]=${absent[device]-}
  if [[ -n ${DTRAIN_CPU_DEVICES-} ]]; then absent[gpu]='stand-ins take the place of GPUs'; fi
  absent[torch]=${absent[gpu]}
  if [[ $part != a ]]; then ((limits += 25)); fi
  if [[ -z ${absent[gpu]} && $part != a ]]; then
    timeout -k 5 20 python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
      absent[torch]='python3 has no PyTorch that finds the GPU'
  fi
  for program in ncu compute-sanitizer; do
    absent[$program]=${absent[gpu]}
    if [[ -z ${absent[gpu]} ]] && ! command -v $program >/dev/null; then absent[$program]="$program is not there"; fi
  done
}

: >"$report"
find_absent
if [[ $part == a ]]; then step any 'The machine' 45 machine; fi
"part_$part"
rm -f "$output"
printf '\n## Steps of part %s\n\n| step | limit, s | took, s | result |\n|---|---|---|---|\n' "$part" | show
printf '%s\n' "${rows[@]}" | show
printf '\nThe limits add up to %d s, and the part took %d s.\n' $limits $SECONDS | show
if ((failed)); then exit 1; fi
if [[ -n ${absent[device]-} ]]; then exit 77; fi

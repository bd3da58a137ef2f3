#!/usr/bin/env bash
# Runs what needs a GPU, and writes the results: run.sh [BUILD [FILE]]. It needs a built tree only: no compiler, no
# network, no git. A part that fails or exceeds its time does not stop the next one. Ends with 77, and the reason, where no
# GPU is usable. With DTRAIN_CPU_DEVICES=1 and DTRAIN_NCCL_LIB, stand-ins take the place of GPUs and NCCL: so the script
# itself is tested.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
results=${2:-$here/RESULTS.md}
check=$build/tests/gpu/device_check

reason=$("$check" check 2>&1 | head -1)
if [[ $reason == 'no usable GPU: '* ]]; then
  echo "skipped: $reason"
  exit 77
fi

failed=0
show() { tee -a "$results.new"; }
# part NAME SECONDS COMMAND…: runs a part, and appends its output and its end to the results.
part() {
  local name=$1 limit=$2 status
  shift 2
  printf '\n## %s\n\n' "$name" | tee "$results.part" | show
  timeout "$limit" "$@" 2>&1 | tee -a "$results.part" | show
  status=${PIPESTATUS[0]}
  if ((status == 0)); then
    printf '\nThis part passed.\n' | show
  else
    printf '\nThis part failed with status %d.\n' "$status" | tee -a "$results.part" | show
    cat "$results.part" >>"$results.failed"
    failed=1
  fi
}
# shellcheck disable=SC2016  # the inner shell expands it
machine='set -o pipefail; uname -srm; "$0" version
if [ -z "${DTRAIN_CPU_DEVICES-}" ]; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_mode --format=csv
fi'

# Ranks of this host, which share its GPUs.
ranks=("$build/dtrain" run -np 3 --gpu-share --no-tag --timeout 100s --on-failure continue)
bench=("$build/dtrain" bench --device gpu -np 2 --gpu-share --timeout 60s)
for variable in DTRAIN_CPU_DEVICES DTRAIN_NCCL_LIB; do
  if [[ -n ${!variable-} ]]; then
    ranks+=(-x "$variable=${!variable}")
    bench+=(-x "$variable=${!variable}")
  fi
done
# shellcheck disable=SC2016  # the inner shell expands it
measured='for operation in all_reduce all_gather broadcast reduce_scatter all_to_all reduce gather scatter latency fusion; do
  "$0" "$@" -b 4K -e 16M -f 64 -n 5 -w 1 $operation || exit
done'
# shellcheck disable=SC2016  # the inner shell expands it
killed='folder=$(mktemp -d) && trap "rm -rf $folder" EXIT
output=$("$@" "$folder" 2>&1); status=$?; printf "%s\n" "$output"
[[ $status -eq 137 && $(grep -c "^rank [01][,:] .* rank 2" <<<"$output") -eq 2 ]]'

# shellcheck disable=SC2016  # the inner shell expands it
trained='set -o pipefail
results_of() { sed -n -e "s/^training loss //p" -e "s/^accuracy \([0-9.]*\) %/\1/p" | paste -sd" "; }
on_cpu=$("$0" | results_of) || exit
on_gpu=$("$@" "$0" --device gpu | results_of) || exit
printf "loss and accuracy on the CPU: %s; on GPUs: %s\n" "$on_cpu" "$on_gpu"
awk -v a="$on_cpu" -v b="$on_gpu" "BEGIN {
  split(a, cpu); split(b, gpu)
  exit !(gpu[2] >= 95 && gpu[2] >= cpu[2] - 0.5 && (cpu[1] - gpu[1]) ^ 2 <= 1e-8)
}"'

rm -f "$results.new" "$results.failed"
printf '# Results on %s\n' "${reason%%: *}" | show
part 'Machine and versions' 60 bash -c "$machine" "$build/dtrain"
part 'Kernels have the bits of the CPU' 180 "$check" check
if [[ -z ${DTRAIN_CPU_DEVICES-} ]]; then
  part 'Speeds' 120 "$check" speed
  part "Packing, beside Horovod's scheme and single copies" 120 "$build/tests/cuda/scheme_speed"
  if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    part 'Packing and sums by PyTorch' 120 python3 "$here/torch_speed.py"
  fi
  part "All_reduce between peers, and vLLM's schedule: one launch for all ranks" 60 "$build/tests/cuda/peer_check" one
  # Kernels wait for each other: each stream needs a queue, and no kernel may be loaded meanwhile.
  part 'All_reduce between peers: a stream for each rank' 60 \
    env CUDA_DEVICE_MAX_CONNECTIONS=32 CUDA_MODULE_LOADING=EAGER "$build/tests/cuda/peer_check" streams
fi
part 'Collectives of NCCL have the bits of the host' 120 "${ranks[@]}" "$build/tests/gpu/nccl_ranks" check
part 'The death of a rank in a collective is named by the others' 120 \
  bash -c "$killed" killed "${ranks[@]}" "$build/tests/gpu/nccl_ranks" killed
part 'Collectives of dtrain bench have exact results in memory of the device' 180 bash -c "$measured" "${bench[@]}"
for way in nccl staged; do
  part "Collectives of libdtrain on memory of devices: $way" 120 \
    "${ranks[@]}" -x DTRAIN_DEVICE_COLLECTIVES=$way "$build/tests/gpu/device_ranks" check "$way"
done
part 'The death of a rank in a collective of libdtrain is named by the others' 120 \
  bash -c "$killed" killed "${ranks[@]}" -x DTRAIN_DEVICE_COLLECTIVES=nccl "$build/tests/gpu/device_ranks" killed
# A stand-in of NCCL hangs where the ranks have packed their tensors, in whose place no kernel of ours sums. NVIDIA's
# ignores this variable, so buffers may also have their sums there.
part 'The death of a rank behind the packing of small tensors leaves no partial sums at the others' 120 \
  bash -c "$killed" killed "${ranks[@]}" -x DTRAIN_DEVICE_COLLECTIVES=nccl -x DTRAIN_PEER_MAX=0 \
  -x FAKE_NCCL=hang=ncclAllReduce "$build/tests/gpu/device_ranks" killed_in_list
# The ranks share a GPU, so their streams wait for each other. Kernels that wait: peer_check.
peers=("${ranks[@]}" -x DTRAIN_DEVICE_COLLECTIVES=nccl -x DTRAIN_PEER_MAX=1M)
part 'Collectives of libdtrain, whose small sums need no NCCL' 120 \
  "${peers[@]}" "$build/tests/gpu/device_ranks" check nccl
part 'The death of a rank in a sum that needs no NCCL is named by the others' 120 \
  bash -c "$killed" killed "${peers[@]}" "$build/tests/gpu/device_ranks" killed
part 'GPUs, by dtrain check' 60 "$build/dtrain" check -H localhost
if [[ -z ${DTRAIN_CPU_DEVICES-} ]]; then
  examples=("$build/dtrain" run -np 2 --gpu-share --no-tag --timeout 100s)
  part 'Example gpu_allreduce: each element is checked on the GPU' 120 "${examples[@]}" "$build/examples/gpu_allreduce"
  part 'Example digits: its loss and its accuracy on GPUs are those on the CPU' 240 \
    bash -c "$trained" "$build/examples/digits" "${examples[@]}"
fi
mv "$results.new" "$results"
# Once more at the end, since readers of a long log see that first.
if ((failed)); then printf '\n# What failed\n' && cat "$results.failed"; fi
rm -f "$results.part" "$results.failed"
exit $failed

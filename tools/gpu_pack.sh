#!/usr/bin/env bash
# Makes an archive of all that tests/gpu/run.sh needs on a machine with a GPU, from a build with the GPU parts:
# gpu_pack.sh BUILD ARCHIVE [MIB]. Fails when the files have more than MIB (64) unpacked.
set -euo pipefail
build=$(realpath "$1")
archive=$(realpath "$2")
limit_mib=${3:-64}
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pack=$folder/gpu_pack
mkdir -p "$pack"/{comm,examples/data,fallback,site,tests/cuda,tests/gpu}
for file in dtrain comm/libdtrain.so.0 examples/{digits,gpu_allreduce} tests/gpu/{device_check,device_ranks,nccl_ranks} \
  tests/cuda/{gpu_facts,kernel_variants,peer_check,scheme_speed}; do
  if [[ ! -e $build/$file ]]; then
    echo "gpu_pack: $build/$file was not built; make gpu-pack builds all" >&2
    exit 1
  fi
  strip --strip-unneeded -o "$pack/$file" "$build/$file"
done
# A machine without OpenSSL 3 takes this one.
cp "$(ldd "$build/tests/gpu/device_check" | sed -n 's/.*libcrypto\.so\.3 => \([^ ]*\) .*/\1/p')" "$pack/fallback/"
cp examples/data/digits.csv "$pack/examples/data/"
cp tests/gpu/*.py tests/gpu/run.sh "$pack/tests/gpu/"
cp -r python/dtrain "$pack/site/"
find "$pack/site" -name __pycache__ -prune -exec rm -r {} +
strip --strip-unneeded -o "$pack/site/dtrain/_core.abi3.so" "$build/python/_core.abi3.so"
cp "$build/python/_version.py" "$pack/site/dtrain/"

mib=$((($(du -sb "$pack" | cut -f 1) + (1 << 20) - 1) >> 20))
if ((mib > limit_mib)); then
  echo "gpu_pack: the files have $mib MiB unpacked, and at most $limit_mib are allowed; the largest:" >&2
  find "$pack" -type f -printf '%s %P\n' | sort -rn | head -n 5 >&2
  exit 1
fi
tar czf "$archive" -C "$folder" gpu_pack
echo "$archive: $mib MiB unpacked"

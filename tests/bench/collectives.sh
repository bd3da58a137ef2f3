#!/usr/bin/env bash
# Measures libdtrain's collectives beside those of Open MPI and MPICH where they are installed, in alternation.
# Prints a Markdown table for each place and operation: p50 of single calls in us, and the ratio of dtrain's to
# the fastest other's. The operation `first` is the time to join a job and to sum 4 bytes.
#
#   collectives.sh [-r ROUNDS] [-p PLACES] [-o OPERATIONS] [-b MIN] [-e MAX] [-f FACTOR] [-t MS]
#
#   PLACES      shm2 shm4 shm8 tcp2, and as root 2x1 2x2 4x1: hosts, which are network namespaces, by ranks
#   OPERATIONS  all_reduce broadcast all_gather reduce_scatter first
#   MIN … MS    the sizes in bytes, and the time for each size in each round
#
# Tables of two ranks are apart for each distance between the two cores, see core_distance.cc.
#
# Each rank has a core where the ranks fit. MPICH never yields a core to another rank, so it is left out where
# they do not fit. OTHER_BENCH names one more library, by a command that prints the lines of `dtrain bench
# --format peers`, with {place}, {np}, {operation}, {min}, {max}, {factor} and {ms} in it.
set -euo pipefail

# shellcheck source=places.sh
. "$(dirname "$0")/places.sh"

rounds=5 places='shm2 shm4 tcp2 2x1 2x2 4x1' operations='all_reduce broadcast all_gather reduce_scatter'
min=4 max=67108864 factor=16 ms=60
while getopts r:p:o:b:e:f:t: option; do
  case $option in
    r) rounds=$OPTARG ;;
    p) places=$OPTARG ;;
    o) operations=$OPTARG ;;
    b) min=$OPTARG ;;
    e) max=$OPTARG ;;
    f) factor=$OPTARG ;;
    t) ms=$OPTARG ;;
    *) exit 2 ;;
  esac
done

install "$DTRAIN" "$out/dtrain"
for mpi in openmpi mpich; do
  if command -v "mpicc.$mpi" >/dev/null; then
    "mpicc.$mpi" -O2 -o "$out/$mpi" "$here/mpi_collectives.c"
  else
    echo "no mpicc.$mpi (apt-get install lib$mpi-dev): not compared"
  fi
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Each prints the command for one operation at a place of places.sh.
dtrain_command() {
  local job=(-np "$np")
  if [[ $kind == hosts ]]; then job=(-H "$(list , ":$each")"); fi
  if [[ $1 == first ]]; then
    echo "${enter[*]} $out/dtrain run --no-tag ${job[*]} $(dirname "$DTRAIN")/tests/bench/first_all_reduce"
    return
  fi
  if [[ $kind != hosts ]]; then job+=(--transport "$kind"); fi
  echo "${enter[*]} $out/dtrain bench $1 ${job[*]} -b $min -e $max -f $factor --ms-per-size $ms --format peers"
}

openmpi_command() {
  local how=(--oversubscribe --bind-to none)
  if ((np <= $(nproc))) && [[ $kind != hosts ]]; then how=(--bind-to core); fi
  if ((np > $(nproc))); then how+=(--mca mpi_yield_when_idle 1); fi
  case $kind in
    tcp) how+=(--mca pml ob1 --mca btl 'tcp,self') ;;
    hosts) how+=(--host "$(list , ":$each")" --map-by "ppr:$each:node" --mca pml ob1
      --mca btl "vader,tcp,self" --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24) ;;
  esac
  echo "${enter[*]} mpirun.openmpi -np $np ${how[*]} $out/openmpi $1 openmpi $min $max $factor $ms"
}

mpich_command() {
  local how=() with=()
  case $kind in
    tcp) with=(env "UCX_TLS=tcp,self" UCX_NET_DEVICES=lo MPIR_CVAR_NOLOCAL=1) how=(-bind-to core) ;;
    shm) how=(-bind-to core) ;;
    hosts)
      how=(-launcher ssh -localhost 10.77.0.254 -hosts "$(list , '')" -ppn "$each")
      how+=(-env UCX_TLS "tcp,self" -env UCX_NET_DEVICES eth0)
      ;;
  esac
  if ((np > $(nproc))); then how=(); fi
  echo "${enter[*]} ${with[*]} mpiexec.hydra -n $np ${how[*]} $out/mpich $1 mpich $min $max $factor $ms"
}

# other_command OPERATION PLACE
other_command() {
  local text=$OTHER_BENCH
  text=${text//\{place\}/$2} text=${text//\{np\}/$np} text=${text//\{operation\}/$1}
  text=${text//\{min\}/$min} text=${text//\{max\}/$max} text=${text//\{factor\}/$factor}
  echo "${text//\{ms\}/$ms}"
}

measure() {
  local operation=$1 place=$2 commands
  commands=("dtrain=$(dtrain_command "$operation")")
  if [[ -x $out/openmpi ]]; then commands+=("Open MPI=timeout -k 5 150 $(openmpi_command "$operation")"); fi
  # A start with more ranks than cores is slow, but it ends.
  if [[ -x $out/mpich ]] && { ((np <= $(nproc))) || [[ $operation == first ]]; }; then
    commands+=("MPICH=timeout -k 5 150 $(mpich_command "$operation")")
  fi
  if [[ -n ${OTHER_BENCH-} ]]; then commands+=("other=timeout -k 5 150 $(other_command "$operation" "$place")"); fi
  local how=(--lines)
  if ((np == 2)); then how=(--probe "$(dirname "$DTRAIN")/tests/bench/core_distance"); fi
  python3 "$here/alternate.py" "${how[@]}" "$rounds" "$operation, $place" "${commands[@]}"
}

# measure_place: all operations, with the variables of the place set.
measure_place() {
  local operation
  for operation in $operations; do measure "$operation" "$place"; done
}

for_places measure_place "$places"

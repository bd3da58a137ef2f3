#include "gpu/kernels/peer_sum_on_host.h"

#include "gpu/kernels/one_thread.h"
#include "gpu/kernels/peer_types.cuh"

namespace dt {

namespace {

using HostSum = void (*)(const PeerAllReduce& call);

template <class T>
void run_blocks(const PeerAllReduce& call) {
  const OneThread threads;
  for (int block = 0; block < call.blocks; ++block) {
    const PeerAllReduceBlock<T, ReduceOp::sum, SystemOrder, OneThread> ran(call, block, threads);
    if (!ran.run()) return;
  }
}

struct PeerVisit {
  template <class T>
  HostSum operator()() const {
    return run_blocks<T>;
  }
  HostSum none() const { return nullptr; }
};

HostSum host_sum(ElementType type) {
  return visit_peer_types(type, PeerVisit());
}

}  // namespace

bool peers_can_sum(ElementType type) {
  return host_sum(type) != nullptr;
}

void sum_peers_on_host(ElementType type, const PeerAllReduce& call) {
  host_sum(type)(call);
}

}  // namespace dt

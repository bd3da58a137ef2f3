#include "comm/training/strategy/replica_reducer.h"

#include "comm/training/strategy/device_schedule.h"
#include "comm/training/strategy/worker_packs.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace dt {
namespace {

constexpr size_t pack_alignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + pack_alignment - 1) / pack_alignment * pack_alignment;
}

bool lies_on(const Device& device, const std::byte* at) {
  const MemoryPlace place = device.place_of(at);
  return place.kind == MemoryPlace::Kind::device && place.device == device.index();
}

}  // namespace

Result<> ReplicaReducer::reduce(const std::vector<ReplicaTensors*>& by_replica, ReduceOp op) {
  Result<> queued = queue(by_replica, op);
  // After a failure, too: queued copies use the caller's memory.
  const Result<> ended = devices_.synchronize();
  return queued ? ended : queued;
}

Result<> ReplicaReducer::queue(const std::vector<ReplicaTensors*>& by_replica, ReduceOp op) {
  const ByReplica tensors = TRY(on_devices(by_replica));
  const bool average = op == ReduceOp::average && !workers_.alone();
  // The workers' call divides, so that one device of each worker needs no other pass.
  const bool divides = average && devices_.count() > 1;
  TRY(reduce_on_devices(tensors, average ? ReduceOp::sum : op, !workers_.alone()));
  if (!workers_.alone()) {
    TRY(devices_.synchronize());
    TRY(reduce_over_workers(tensors[0], divides ? ReduceOp::sum : op));
    if (divides) TRY(divide(tensors[0]));
    TRY(copy_to_others(tensors));
  }
  if (devices_.connected()) TRY(devices_.synchronize());
  return copy_back(by_replica, tensors);
}

Result<ReplicaReducer::ByReplica> ReplicaReducer::on_devices(
    const std::vector<ReplicaTensors*>& given) {
  staging_.resize(devices_.count());
  ByReplica tensors;
  for (size_t i = 0; i < given.size(); ++i) {
    tensors.push_back(*given[i]);
    size_t needed = 0;
    for (const ReplicaTensor& tensor : *given[i]) {
      if (tensor.count > 0 && !lies_on(devices_.device(i), tensor.at))
        needed += aligned(tensor.bytes());
    }
    if (staging_[i].bytes() < needed) {
      staging_[i] = {};
      staging_[i] = TRY(devices_.allocate(i, needed));
    }
    std::byte* at = staging_[i].at();
    for (ReplicaTensor& tensor : tensors.back()) {
      if (tensor.count == 0 || lies_on(devices_.device(i), tensor.at)) continue;
      TRY(devices_.stream(i).copy({at, tensor.at, tensor.bytes()}));
      tensor.at = at;
      at += aligned(tensor.bytes());
    }
  }
  return tensors;
}

Result<> ReplicaReducer::copy_back(const std::vector<ReplicaTensors*>& given,
                                   const ByReplica& staged) {
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t t = 0; t < given[i]->size(); ++t) {
      const ReplicaTensor& tensor = (*given[i])[t];
      if (tensor.at == staged[i][t].at || (tensor.only && *tensor.only != i)) continue;
      TRY(devices_.stream(i).copy({tensor.at, staged[i][t].at, tensor.bytes()}));
    }
  }
  return {};
}

Result<> ReplicaReducer::reduce_on_devices(const ByReplica& tensors, ReduceOp op, bool to_first) {
  struct Key {
    ElementType type;
    size_t rule;
    std::optional<size_t> only;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::vector<ReplicatedTensor>> lists;
  for (size_t t = 0; t < tensors[0].size(); ++t) {
    const ReplicaTensor& first = tensors[0][t];
    if (first.count == 0) continue;
    const std::optional<size_t> only = to_first ? 0 : first.only;
    ReplicatedTensor one = {.count = first.count};
    for (size_t i = 0; i < tensors.size(); ++i) {
      one.inputs.push_back(tensors[i][t].at);
      one.outputs.push_back(only && *only != i ? nullptr : tensors[i][t].at);
    }
    const size_t rule = cross_device_rule_for(devices_.rules(), first.bytes());
    lists[{first.type, rule, only}].push_back(std::move(one));
  }
  for (const auto& [key, list] : lists) {
    const CrossDeviceTerms terms = {.type = key.type, .op = op};
    const std::string& algorithm = devices_.rules()[key.rule].registered;
    if (algorithm.empty() || key.only) {
      TRY(devices_.reduce(key.rule, terms, list));
    } else {
      TRY(reduce_by(algorithm, terms, list));
    }
  }
  return {};
}

/// Runs a program's own algorithm, whose ranks are the replicas.
Result<> ReplicaReducer::reduce_by(const std::string& algorithm, const CrossDeviceTerms& terms,
                                   std::span<const ReplicatedTensor> tensors) {
  if (devices_.count() == 1) return {};
  for (const ReplicatedTensor& tensor : tensors) {
    TRY(check(devices_.group(), terms, tensor, Destinations::all));
    const CollectiveShape shape = {.kind = OperationKind::all_reduce,
                                   .count = tensor.count,
                                   .element_bytes = element_bytes(terms.type),
                                   .in_place = true};
    std::vector<Steps> steps;
    for (size_t i = 0; i < devices_.count(); ++i) {
      const Group ranks = {static_cast<int>(i), static_cast<int>(devices_.count())};
      Steps own = TRY(workers_.registered_steps(algorithm, ranks, shape));
      steps.push_back(std::move(own));
    }
    TRY(DeviceSchedule(devices_, terms, tensor).run(algorithm, steps));
  }
  return {};
}

Result<> ReplicaReducer::connect_by_nccl() {
  const DeviceBuffer number = TRY(devices_.allocate(0, sizeof(int32_t)));
  TRY(devices_.stream(0).fill(number.at(), std::byte{0}, sizeof(int32_t)));
  TRY(devices_.synchronize());
  return workers_.connect_by_nccl(number.at());
}

Result<> ReplicaReducer::reduce_over_workers(const ReplicaTensors& first, ReduceOp op) {
  if (bytes_per_pack_ > 0) return reduce_packs(first, op);
  std::vector<WorkerTensor> tensors;
  for (const ReplicaTensor& tensor : first)
    tensors.push_back({tensor.type, tensor.count, tensor.at});
  return workers_.all_reduce(tensors, op);
}

Result<> ReplicaReducer::reduce_packs(const ReplicaTensors& first, ReduceOp op) {
  std::vector<PackedTensor> sizes;
  for (const ReplicaTensor& tensor : first)
    sizes.push_back({tensor.type, tensor.count});
  for (const std::vector<size_t>& pack : pack_for_workers(sizes, bytes_per_pack_)) {
    const ReplicaTensor& lead = first[pack[0]];
    if (pack.size() == 1) {
      const WorkerTensor alone = {lead.type, lead.count, lead.at};
      TRY(workers_.all_reduce({&alone, 1}, op));
      continue;
    }
    size_t bytes = 0;
    for (const size_t t : pack)
      bytes += first[t].bytes();
    if (pack_.bytes() < bytes) {
      pack_ = {};
      pack_ = TRY(devices_.allocate(0, bytes));
    }
    std::byte* at = pack_.at();
    for (const size_t t : pack) {
      TRY(devices_.stream(0).copy({at, first[t].at, first[t].bytes()}));
      at += first[t].bytes();
    }
    TRY(devices_.synchronize());
    const WorkerTensor all = {lead.type, bytes / element_bytes(lead.type), pack_.at()};
    TRY(workers_.all_reduce({&all, 1}, op));
    at = pack_.at();
    for (const size_t t : pack) {
      TRY(devices_.stream(0).copy({first[t].at, at, first[t].bytes()}));
      at += first[t].bytes();
    }
    TRY(devices_.synchronize());
  }
  return {};
}

Result<> ReplicaReducer::divide(const ReplicaTensors& first) {
  const int replicas = workers_.size() * static_cast<int>(devices_.count());
  for (const ReplicaTensor& tensor : first) {
    if (tensor.count == 0) continue;
    TRY(devices_.stream(0).reduce(
        division_in_place(tensor.type, tensor.at, tensor.count, replicas)));
  }
  return {};
}

Result<> ReplicaReducer::copy_to_others(const ByReplica& tensors) {
  for (size_t i = 1; i < tensors.size(); ++i) {
    TRY(devices_.group().order({.before = 0, .after = i}));
    for (size_t t = 0; t < tensors[i].size(); ++t) {
      const ReplicaTensor& tensor = tensors[i][t];
      if ((tensor.only && *tensor.only != i) || tensor.count == 0) continue;
      TRY(devices_.stream(i).copy({tensor.at, tensors[0][t].at, tensor.bytes()}));
    }
  }
  return {};
}

}  // namespace dt

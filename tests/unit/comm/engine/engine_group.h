#pragma once

#include "base/format.h"
#include "comm/engine/engine.h"
#include "comm/engine/groups.h"
#include "tests/unit/comm/memory/heap_area.h"
#include "tests/unit/comm/memory/heap_pool.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The engines of ranks 0 … n-1, over links in memory. The test sets the time.
class EngineGroup {
 public:
  enum class Hosts : uint8_t { several, one };  ///< one: the ranks share memory

  explicit EngineGroup(int size, Duration dead_after = seconds(5), Hosts hosts = Hosts::several)
      : EngineGroup({size}, hosts == Hosts::one, dead_after) {}
  /// Hosts with these numbers of ranks, which share memory on each.
  explicit EngineGroup(const std::vector<int>& local_sizes) : EngineGroup(local_sizes, true) {}

  EngineGroup(const std::vector<int>& local_sizes, bool memory, Duration dead_after = seconds(5)) {
    int first = 0;
    for (size_t host = 0; host < local_sizes.size(); first += local_sizes[host++])
      for (int index = 0; index < local_sizes[host]; ++index)
        places_.push_back({static_cast<int>(host), index});
    const int size = first;
    std::vector<HeapArea> areas;  // of some MiB
    std::vector<HeapArea> named;
    std::vector<HeapPool> pools;
    for (const int local : local_sizes) {
      if (!memory) break;
      pools.emplace_back(local);
      areas.emplace_back(local);
      named.emplace_back(local);
    }
    for (int self = 0; self < size; ++self) {
      std::vector<Engine::Peer> peers(static_cast<size_t>(size));
      for (int other = 0; other < size; ++other) {
        Engine::Peer& peer = peers[static_cast<size_t>(other)];
        peer.task.id = task(other);
        peer.task.rank = other;
        peer.task.host = format("n{}", other);
        peer.task.agent = places_[static_cast<size_t>(other)].host;
        if (other != self)
          peer.link =
              std::make_unique<MemoryLink>(shared_pipe(self, other), shared_pipe(other, self));
      }
      const auto [host, index] = places_[static_cast<size_t>(self)];
      const auto of_host = [&](const std::vector<HeapArea>& memories) {
        return memory ? memories[static_cast<size_t>(host)].of(index) : nullptr;
      };
      engines_.push_back(std::make_unique<Engine>(
          Engine::Options{.rank = self,
                          .dead_after = dead_after,
                          .generation = 3,
                          .shared = of_host(areas),
                          .named_shared = of_host(named),
                          .pool = memory ? pools[static_cast<size_t>(host)].of(index) : nullptr,
                          .host_memory = memory},
          std::move(peers)));
    }
  }

  static TaskId task(int rank) { return {"worker", rank}; }
  int size() const { return static_cast<int>(engines_.size()); }
  Engine& operator[](int rank) { return *engines_[static_cast<size_t>(rank)]; }
  /// Returns the pipe with the bytes from one rank to another.
  MemoryPipe& pipe(int from, int to) { return *shared_pipe(from, to); }

  std::shared_ptr<Operation> submit(int rank, OperationRequest request) {
    return (*this)[rank].submit(std::move(request), now);
  }
  /// Submits the same request on every rank.
  std::vector<std::shared_ptr<Operation>> submit_all(const OperationRequest& request) {
    std::vector<std::shared_ptr<Operation>> operations;
    for (int rank = 0; rank < size(); ++rank)
      operations.push_back(submit(rank, request));
    return operations;
  }

  /// Makes a group on all of its members, with the memory that they have for it.
  void create(uint32_t number, const std::vector<int>& members) {
    std::vector<int> places;
    for (const int rank : members)
      places.push_back((*this)[rank].groups().reserve_place());
    for (const int rank : members)
      (*this)[rank].groups().create(number, {members, places}, now);
  }

  /// Steps all ranks that are not stopped until nothing moves.
  void settle() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int rank = 0; rank < size(); ++rank)
        if (!stopped[rank]) moved |= (*this)[rank].step(now);
    }
  }
  /// Lets this time pass. The ranks step at each of their deadlines meanwhile.
  void pass(Duration time) {
    const Time end = now + time;
    while (now < end) {
      Time next = end;
      for (int rank = 0; rank < size(); ++rank)
        if (!stopped[rank]) next = std::min(next, (*this)[rank].next_deadline());
      now = std::max(next, now + microseconds(1));
      settle();
    }
  }
  /// Ends the process of a rank: the rank never steps again, and its links close.
  void end(int rank) {
    stopped[rank] = true;
    for (int other = 0; other < size(); ++other) {
      if (other == rank) continue;
      pipe(rank, other).closed = true;
      pipe(other, rank).closed = true;
    }
  }
  void notify(int rank, Notice::Kind kind, int about, const std::string& cause = "") {
    (*this)[rank].notice({kind, task(about), cause}, now);
  }

  Time now = Time(seconds(100));
  std::map<int, bool> stopped;

 private:
  std::shared_ptr<MemoryPipe> shared_pipe(int from, int to) {
    std::shared_ptr<MemoryPipe>& pipe = pipes_[{from, to}];
    if (!pipe) pipe = std::make_shared<MemoryPipe>();
    return pipe;
  }

  struct Place {
    int host = 0;
    int index = 0;  ///< among the ranks of the host
  };

  std::vector<Place> places_;  ///< by rank
  std::map<std::pair<int, int>, std::shared_ptr<MemoryPipe>> pipes_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

inline bool pending(const std::shared_ptr<Operation>& operation) {
  return !operation->outcome.has_value();
}
inline bool succeeded(const std::shared_ptr<Operation>& operation) {
  return operation->outcome && operation->outcome->has_value();
}
/// Returns the error's message; "pending" or "ok" when there is none.
inline std::string failure(const std::shared_ptr<Operation>& operation) {
  if (!operation->outcome) return "pending";
  return *operation->outcome ? "ok" : operation->outcome->error().message;
}
inline Errc failure_code(const std::shared_ptr<Operation>& operation) {
  return operation->outcome.value().error().code;
}

}  // namespace dt

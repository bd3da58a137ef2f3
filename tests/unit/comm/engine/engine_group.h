#pragma once

#include "base/format.h"
#include "comm/engine/engine.h"
#include "tests/unit/comm/memory/heap_area.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The engines of ranks 0 … n-1, over links in memory. The test sets the time.
class EngineGroup {
 public:
  enum class Hosts : uint8_t { several, one };  ///< one: the ranks share memory

  explicit EngineGroup(int size, Duration dead_after = seconds(5), Hosts hosts = Hosts::several) {
    std::optional<HeapArea> area;  // of some MiB
    std::optional<HeapArea> named;
    if (hosts == Hosts::one) area.emplace(size);
    if (hosts == Hosts::one) named.emplace(size);
    for (int self = 0; self < size; ++self) {
      std::vector<Engine::Peer> peers(static_cast<size_t>(size));
      for (int other = 0; other < size; ++other) {
        Engine::Peer& peer = peers[static_cast<size_t>(other)];
        peer.task.id = task(other);
        peer.task.rank = other;
        peer.task.host = format("n{}", other);
        if (other != self)
          peer.link =
              std::make_unique<MemoryLink>(shared_pipe(self, other), shared_pipe(other, self));
      }
      engines_.push_back(std::make_unique<Engine>(
          Engine::Options{.rank = self,
                          .dead_after = dead_after,
                          .generation = 3,
                          .shared = area ? area->of(self) : nullptr,
                          .named_shared = named ? named->of(self) : nullptr},
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

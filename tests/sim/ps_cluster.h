#pragma once

#include "base/format.h"
#include "comm/training/ps/state/part_copy.h"
#include "tests/sim/virtual_events.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// Parameter servers in virtual time, with the connections of replicas. Each message is the encoded
/// form of the real one.
class PsCluster {
 public:
  struct Options {
    std::vector<PsWorker> tasks;
    PsServers servers;
  };
  /// Gets a reply that leaves a server.
  using Reply = std::function<void(uint32_t server, uint32_t part, PsDelivery delivery)>;
  PsCluster(VirtualEvents& events, Options options, Reply reply)
      : events_(events), ring_(options.servers), reply_(std::move(reply)) {
    servers_.resize(ring_.count);
    for (uint32_t server = 0; server < ring_.count; ++server) {
      add_copy(server, server, PartCopy::Role::head, options);
      if (ring_.copies == 2)
        add_copy(server, ring_.previous(server), PartCopy::Role::replica, options);
    }
  }

  const std::string& complaint() const { return complaint_; }
  const PsServers& ring() const { return ring_; }
  bool dead(uint32_t server) const { return ring_.dead.contains(server); }
  int take_overs() const { return take_overs_; }
  /// Null when the server is dead or has no copy.
  PartCopy* copy(uint32_t server, uint32_t part) {
    auto& copies = servers_[server].copies;
    const auto at = copies.find(part);
    return at == copies.end() ? nullptr : at->second.get();
  }

  /// Connects the replicas.
  void start_replicas() {
    for (uint32_t server = 0; server < ring_.count && ring_.copies == 2; ++server) {
      if (dead(server)) continue;
      copy(server, server)->start_replica(uint64_t{1} << 40);
      pump(server);
    }
  }

  /// A request has arrived. Before the server has taken over the part, it waits. The connection of
  /// a worker's next attempt replaces that of the one before.
  void arrived(uint32_t server, uint32_t part, const PsIncoming& asked) {
    PartCopy* const at = copy(server, part);
    if (at == nullptr) return;
    const auto closed = closed_.find({server, asked.worker});
    if (closed != closed_.end() && closed->second >= asked.attempt) return;
    if (at->role() == PartCopy::Role::replica) {
      servers_[server].parked.emplace_back(part, asked);
      return;
    }
    uint32_t& attached = servers_[server].attached[{part, asked.worker}];
    if (attached > asked.attempt) return;
    attached = asked.attempt;
    at->take(asked);
    pump(server);
  }

  /// A server learns of a worker's end or restart. If `closes`, the connections of that attempt are
  /// closed; otherwise, its last messages may arrive later.
  void note(uint32_t server, uint32_t worker, const Notice& notice, bool closes) {
    if (dead(server)) return;
    Server& self = servers_[server];
    if (closes) closed_[{server, worker}] = std::max(closed_[{server, worker}], notice.attempt);
    std::erase_if(self.notices, [&](const Notice& before) { return before.task == notice.task; });
    self.notices.push_back(notice);
    for (auto& [part, at] : self.copies)
      if (at->role() == PartCopy::Role::head) at->take(notice);
    pump(server);
  }

  /// A server dies with its memory. Messages that it has sent may still arrive.
  void die(uint32_t server) {
    if (!ring_.dead.insert(server).second) return;
    servers_[server] = {};
    for (uint32_t other = 0; other < ring_.count; ++other) {
      events_.after(events_.random().up_to(milliseconds(8)),
                    [this, server, other] { learn_of_death(other, server); });
    }
  }

 private:
  struct Server {
    std::map<uint32_t, std::unique_ptr<PartCopy>> copies = {};
    std::vector<Notice> notices = {};
    std::vector<std::pair<uint32_t, PsIncoming>> parked = {};
    /// The last attempt that has asked, by part and worker.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> attached = {};
  };

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }
  void add_copy(uint32_t server, uint32_t part, PartCopy::Role role, const Options& options) {
    servers_[server].copies[part] = std::make_unique<PartCopy>(
        PsServerState::Options{.workers = options.tasks, .server = part, .servers = ring_.count},
        role);
  }

  void learn_of_death(uint32_t server, uint32_t dead_server) {
    if (dead(server)) return;
    Server& self = servers_[server];
    if (ring_.copies == 2 && ring_.next(server) == dead_server)
      self.copies.at(server)->replica_lost();
    const auto taken = self.copies.find(dead_server);
    if (taken != self.copies.end()) {
      ++take_overs_;
      taken->second->take_over();
      for (const Notice& notice : self.notices)
        taken->second->take(notice);
      for (const auto& [part, asked] : std::exchange(self.parked, {}))
        arrived(server, part, asked);
    }
    pump(server);
  }

  /// Sends all that may leave a server.
  void pump(uint32_t server) {
    for (auto& [part, at] : servers_[server].copies) {
      while (auto message = at->take_outgoing())
        forward(server, std::make_shared<const Bytes>(message->joined()));
      for (PsDelivery& delivery : at->take_deliveries())
        reply_(server, part, std::move(delivery));
    }
  }

  void forward(uint32_t server, std::shared_ptr<const Bytes> message) {
    const uint32_t next = ring_.next(server);
    events_.send(format("inputs {}", server), [this, server, next, message] {
      PartCopy* const at = copy(next, server);
      if (at == nullptr) return;
      const bool late = at->role() == PartCopy::Role::head;
      const Result<> followed = at->follow(message);
      if (late != !followed.has_value())
        complain(late ? "an input of a dead server had an effect" : followed.error().message);
      if (late || !followed) return;
      acknowledge(server, at->number());
    });
  }

  void acknowledge(uint32_t server, uint64_t number) {
    events_.send(format("acknowledgements {}", server), [this, server, number] {
      PartCopy* const at = copy(server, server);
      if (at == nullptr) return;
      if (!at->acknowledged(number)) complain("an input was acknowledged too early");
      pump(server);
    });
  }

  VirtualEvents& events_;
  PsServers ring_;
  Reply reply_;
  std::vector<Server> servers_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> closed_;  ///< attempts, by server and worker
  std::string complaint_;
  int take_overs_ = 0;
};

}  // namespace dt

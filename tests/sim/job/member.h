#pragma once

#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "tests/sim/job/cable.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// A task's side of the rendezvous: what joining a job with libdtrain says, in real handshakes,
/// sealed frames and requests, but without ever blocking. Then it waits until all have arrived,
/// and listens for notices.
class Member {
 public:
  struct Handlers {
    std::function<void()> on_barrier;  ///< all are there
    std::function<void(const Notice&)> on_notice;
    /// Turned away, some task is gone, or the rendezvous is lost. Said once.
    std::function<void(const std::string& why)> on_failure;
  };
  /// `dial` gets the rendezvous' end of the connection.
  Member(Site& site, Cable::Nature nature, Claim claim, const std::function<void(Fd)>& dial,
         Handlers handlers);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  /// It has joined, and its connection stands.
  bool hears() const;
  Cable& cable();

 private:
  class Conversation;
  std::unique_ptr<Conversation> conversation_;
};

}  // namespace dt

#pragma once

#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Resolves names to addresses by the system's resolver (files, DNS, LDAP, as nsswitch.conf lists).
/// Its calls block, so each look-up has its own thread, at most `threads_max` at once. The thread
/// passes its result through a queue and an eventfd, and ends. A look-up that timed out or was
/// cancelled leaves its thread, which ends when the system's call returns. Nothing waits for it,
/// not even the end of the program.
class Resolver {
 public:
  enum class Family { any, v4, v6 };
  struct Question {
    std::string name;
    uint16_t port = 0;
    Family family = Family::any;
    Time deadline;
  };
  /// Addresses in the order of preference (RFC 6724), each once; never empty.
  using Answer = std::function<void(Result<std::vector<Address>>)>;

  static Result<std::unique_ptr<Resolver>> create(Loop& loop);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Calls `answer` once, from the Loop, never within this call; numeric addresses need no thread.
  /// Fails with Errc::not_found for a name that does not exist, and with Errc::timeout when the
  /// deadline passed. Errc::unreachable: the resolver failed, perhaps for now. The message contains
  /// the name. Destroying the Resolver, which `answer` must not do, cancels all look-ups.
  void look_up(Question question, Answer answer);

  static constexpr size_t threads_max = 32;

 private:
  /// Shared with the look-up threads, which may outlive the Resolver.
  struct Mailbox;
  struct Pending {
    Question question;
    Answer answer;
    Timer deadline;
  };
  Resolver(Loop& loop, std::shared_ptr<Mailbox> mailbox)
      : loop_(loop), mailbox_(std::move(mailbox)) {}
  void start_some();
  void collect();
  void finish(uint64_t number, Result<std::vector<Address>> result);

  Loop& loop_;
  std::shared_ptr<Mailbox> mailbox_;
  Watch watch_;
  std::map<uint64_t, Pending> pending_;
  std::deque<uint64_t> waiting_;  ///< numbers of look-ups that have no thread yet
  uint64_t next_number_ = 1;
};

/// Looks up all names at once, and waits for the answers. Names without one after `patience` fail
/// with Errc::timeout. Fails as a whole when the kernel has no descriptor left.
Result<std::vector<Result<std::vector<Address>>>> look_up_all(const std::vector<std::string>& names,
                                                              Duration patience);

}  // namespace dt

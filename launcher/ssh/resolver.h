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

/// Names → addresses by the system's resolver (files, DNS, LDAP: whatever nsswitch.conf says),
/// which knows only blocking calls: each look-up is a thread of its own, at most `threads_max` at
/// once. It hands its result over through a queue and an eventfd and then ends. A look-up whose
/// time is up, or that nobody wants any more, is abandoned: its thread ends when the system lets
/// it, and nobody waits for that, not even the end of the program.
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
  /// Errc::not_found: no such name; Errc::unreachable: the resolver failed, perhaps for now;
  /// Errc::timeout: no answer by the deadline.
  /// The message names the name. Destroying the Resolver, which an answer must not do, cancels all.
  void look_up(Question question, Answer answer);

  static constexpr size_t threads_max = 32;

 private:
  /// What look-up threads share with us, and own together: they may outlive us.
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
  std::deque<uint64_t> waiting_;  ///< of these no thread has begun
  uint64_t next_number_ = 1;
};

}  // namespace dt

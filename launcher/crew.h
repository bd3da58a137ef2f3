#pragma once

#include "base/loop.h"
#include "base/result.h"
#include "base/stream.h"
#include "launcher/carrier.h"
#include "launcher/lease.h"
#include "launcher/message.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The agents of a job, one a host, each over one link. Numbers them in the order of their hosts,
/// keeps their leases, and hands out what they say.
class Crew {
 public:
  struct Options {
    Duration heartbeat = seconds(1);
    Duration dead_after = seconds(5);
    /// Told at the start and with each hello; may be empty.
    std::function<void(size_t connected, size_t all)> on_connected;
  };
  struct Handlers {
    /// An error is the agent's: it is lost.
    std::function<Result<>(size_t agent, const FrameView& message)> on_message;
    /// Called once for each agent that is gone before it was let go.
    std::function<void(size_t agent, const std::string& why)> on_lost;
  };
  Crew(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  /// Starts an agent on each host, all at once; answers come later.
  Result<> connect(const std::vector<Host>& hosts);
  /// Waits until each has said hello. `interrupted` is asked on the way.
  Result<std::vector<Hello>> await_hellos(Time deadline, const std::function<bool()>& interrupted);
  /// Sends each its prepare and waits for all answers.
  Result<std::vector<Prepared>> prepare(const std::vector<Prepare>& wanted, Time deadline,
                                        const std::function<bool()>& interrupted);

  /// From now on what agents say goes to the handlers.
  void hand_over(Handlers handlers) { handlers_ = std::move(handlers); }
  void send(size_t agent, MessageType type, uint32_t stream, ByteSpan payload);
  void send_all(MessageType type, ByteSpan payload);
  /// The silence until now, on either side, was agreed.
  void restart_leases();
  /// The agent has finished: its end is expected, and nobody is told.
  void let_go(size_t agent);
  /// Lets all agents go and waits for their processes; those that stay longer are killed.
  void collect(Time deadline);
  size_t size() const { return agents_.size(); }

 private:
  struct Agent {
    Agent(std::string on, const Lease& granted) : host(std::move(on)), lease(granted) {}
    std::string host;
    std::unique_ptr<Stream> link;
    MessageAssembler assembler;
    std::optional<Child> process;
    Lease lease;
    Watch end_watch;  // after the process: destroyed before its descriptor is closed
    Timer end_timer;
    bool magic_seen = false;
    bool gone = false;
    std::optional<Hello> hello;
    std::optional<Prepared> prepared;
    std::string why_gone;
  };
  size_t receive(size_t agent, ByteSpan bytes);
  Result<> handle(size_t agent, const FrameView& message);
  void tell_connected() const;
  void link_ended(size_t agent);
  void lose(size_t agent, std::string why);
  void beat();
  /// What to say of an agent whose link has ended: how its process ended, when that is known.
  std::string end_of(Agent& agent);
  Result<> await(Time deadline, const std::function<bool()>& interrupted,
                 const std::function<bool(const Agent&)>& done, std::string_view what);

  Loop& loop_;
  Options options_;
  Handlers handlers_;
  std::vector<std::unique_ptr<Agent>> agents_;
  uint32_t generation_ = 0;
  Timer heartbeat_;
};

}  // namespace dt

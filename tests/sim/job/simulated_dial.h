#pragma once

#include "launcher/network/dial_order.h"
#include "rendezvous/secure/record_layer.h"
#include "tests/sim/job/cable.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// How an agent connects that a scheduler's program has started.
enum class Dialing : uint8_t {
  well,
  never,        ///< the program did not start it
  breaks_off,   ///< its first connection ends before it has sent a byte
  twice,        ///< a second agent of the host comes later
  wrong_token,  ///< a stranger comes first
};
inline constexpr int dialings = 5;

/// An agent's way to a launcher that it dials: the real handshake and records over Cables.
class SimulatedDial {
 public:
  struct Handlers {
    std::function<void(const std::string& event)> on_event;
    std::function<void(const std::string& what)> on_broken_promise;
    std::function<void()> start_agent;
    std::function<void(ByteSpan bytes)> on_bytes;
    std::function<void()> on_end;
    std::function<void(Fd)> dial;  ///< receives the launcher's end of each connection
  };
  SimulatedDial(Site& site, Dialing dialing, Handlers handlers);
  SimulatedDial(const SimulatedDial&) = delete;
  SimulatedDial& operator=(const SimulatedDial&) = delete;

  /// Dials after some time.
  void begin(const DialOrder& order, int host, Cable::Nature nature, Duration delay);
  /// The connection of the agent; null before begin().
  Cable* cable() const { return agent_ == nullptr ? nullptr : agent_->cable.get(); }
  /// While it is held, no bytes pass on any connection, also on later ones.
  void hold();
  void release();
  bool input_ended() const { return agent_ != nullptr && agent_->ended; }
  /// Sends bytes as records. Requires that the agent was started.
  void send(ByteSpan bytes);

 private:
  struct Conversation {
    Handshake handshake;
    std::unique_ptr<Cable> cable = {};
    std::optional<RecordLayer> records = {};
    Bytes in = {};
    bool ended = false;
  };
  /// `on_done` is called when the launcher has accepted the agent, `on_end` when it is gone.
  Conversation& converse(const Claim& claim, std::function<void(Conversation&)> on_done,
                         std::function<void()> on_end);
  void receive(Conversation& conversation, ByteSpan bytes,
               const std::function<void(Conversation&)>& on_done);
  void dial();
  void dial_as_agent();
  void dial_again();

  Site& site_;
  Dialing dialing_;
  Handlers handlers_;
  Claim claim_;
  Cable::Nature nature_;
  std::list<Conversation> conversations_;
  Conversation* agent_ = nullptr;
  Timer timer_;
  bool held_ = false;
};

}  // namespace dt

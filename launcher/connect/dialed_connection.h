#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/connect/agent_connection.h"
#include "rendezvous/secure/record_layer.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The connection to an agent that connects to the launcher by itself (DialedHosts).
///
///   awaited ── attach() ─▶ attached ── first byte ─▶ connected ─▶ ended
///      ▲                      │
///      └──── it hung up ◀─────┘
class DialedConnection final : public AgentConnection {
 public:
  /// Changes that matter to the connections of all hosts together.
  struct Events {
    std::function<void()> on_settled;  ///< the agent speaks, or is not awaited any more
    std::function<void(const DialedConnection* destroyed)> on_destroyed;
    /// Where it is that of a node: close_after_sending() leaves it open for dismiss().
    bool stays_until_dismissed = false;
  };
  DialedConnection(Loop& loop, Events events, Handlers handlers);
  ~DialedConnection() override;

  /// True while an agent may connect.
  bool awaited() const { return !stream_ && !ended_; }
  /// True when no agent is awaited any more.
  bool settled() const { return arrived_ || ended_; }
  /// Takes the agent's connection after the handshake, and first sends the acceptor's verdict.
  /// Requires awaited().
  Result<> attach(Fd connection, Session session, ByteSpan verdict);
  /// Ends the wait for an agent, and calls on_end. Requires awaited().
  void give_up(CloseReason reason);

  /// Sends the last message, if a node is connected, and closes this direction.
  void dismiss(ByteSpan frame);
  /// True while the node has not closed its own direction after dismiss().
  bool dismissing() const { return dismissed_ && stream_; }

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return stream_ ? stream_->unsent() : 0; }
  void arrived() override;
  void close_after_sending() override;
  void hang_up() override;
  /// A node that has finished awaits dismiss().
  void kill() override {
    if (!finished_) hang_up();
  }
  CloseReason so_far() override;
  std::string login() const override { return from_; }
  bool ended() const override { return ended_ || finished_; }

 private:
  size_t receive(ByteSpan bytes);
  void stream_ended(const std::optional<Error>& why);
  void end(CloseReason reason);

  Loop& loop_;
  Events events_;
  Handlers handlers_;
  std::string from_;
  std::unique_ptr<Stream> stream_;
  std::optional<RecordLayer> records_;
  Bytes opened_;  ///< the content of records that has not been consumed
  bool heard_ = false;
  bool arrived_ = false;
  bool finished_ = false;  ///< close_after_sending() was called, and the node stays
  bool dismissed_ = false;
  bool ended_ = false;
};

}  // namespace dt

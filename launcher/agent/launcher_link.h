#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"
#include "rendezvous/secure/record_layer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace dt {

/// The agent's end of the link to its launcher: messages both ways, heartbeats, and the lease. Once
/// the launcher is lost, it neither sends nor receives.
class LauncherLink {
 public:
  struct Handlers {
    /// A failure is an error of the protocol, and counts as the loss of the launcher.
    std::function<Result<>(const FrameView& message)> on_message;
    std::function<void()> on_beat;  ///< called before each heartbeat
    std::function<void()> on_lost;  ///< called once
  };
  struct Terms {
    uint32_t generation = 0;  ///< of the job, in each message
    Duration heartbeat = seconds(1);
    Duration dead_after = unprepared_patience;
  };
  /// The lease until the launcher sends its terms. A launcher that waits for many hosts is silent
  /// for a while.
  static constexpr Duration unprepared_patience = seconds(60);

  LauncherLink(Loop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;

  /// Takes the two descriptors; without `out`, `in` is for both directions. With a session, all
  /// bytes travel as its records. The agent's magic line precedes the first message.
  Result<> open(Fd in, Fd out, std::optional<Session> session = {});
  /// A new lease begins. The next beat() is the first with this interval.
  void set_terms(const Terms& terms);
  /// Queues a message. All messages of one round of the loop are written together.
  void send(MessageType type, uint32_t stream, ByteSpan payload);
  /// Writes the queued messages now.
  void flush();
  /// False while the launcher has not read all that was written.
  bool all_sent() const { return link_->unsent() == 0; }
  /// Sends a heartbeat now, and then one in each interval, until the lease is over.
  void beat();
  /// Suspends heartbeats and the lease: the launcher stops itself next.
  void pause();
  void resume();
  /// The launcher counts as lost from now on.
  void lose();
  bool lost() const { return lost_; }

 private:
  size_t receive(ByteSpan bytes);
  size_t receive_records(ByteSpan bytes);
  size_t receive_frames(ByteSpan bytes);

  Loop& loop_;
  Handlers handlers_;
  std::unique_ptr<Stream> link_;
  std::optional<RecordLayer> records_;
  Bytes opened_;  ///< the content of records that is no whole frame yet
  Bytes outbox_;
  Timer outbox_timer_;
  MessageAssembler assembler_;
  Terms terms_;
  Lease lease_{terms_.heartbeat, terms_.dead_after, loop_.now()};
  Timer heartbeat_;
  bool lost_ = false;
};

}  // namespace dt

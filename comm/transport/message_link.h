#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/transport/link.h"
#include "rendezvous/secure/handshake.h"

#include <array>
#include <cstdint>
#include <deque>
#include <span>

namespace dt {

/// Frames whose type has this bit carry data: their header alone is sealed, and their payload goes
/// straight to the place that the receiver names. All others are small control messages.
inline constexpr uint8_t data_frame_bit = 0x80;
inline constexpr size_t control_bytes_max = 4096;
/// Data travels in frames of at most this, so that a control message never waits for long.
inline constexpr size_t data_frame_bytes = 256 << 10;
inline constexpr size_t queued_messages_max = 1024;

/// The head of one frame that arrived.
struct Message {
  int from = 0;  ///< the rank at the other end
  uint8_t type = 0;
  uint32_t stream = 0;
  uint32_t length = 0;
};

/// Where the payload of a data frame goes.
struct PayloadTarget {
  enum class Action { wait, take, discard };
  Action action = Action::wait;
  std::span<std::byte> into = {};  ///< take: as long as the frame, valid until it has arrived
};

/// What a MessageLink hands its frames to. Errors mean that the peer broke the protocol.
class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  virtual Result<> control(const Message& message, ByteSpan payload) = 0;
  /// Asked again at each receive() for as long as it says wait: nothing else is read meanwhile.
  virtual Result<PayloadTarget> place(const Message& message) = 0;
  /// The payload lies where place() said. Not called for what was discarded.
  virtual Result<> arrived(const Message& message) = 0;
};

/// Frames over a byte Link. Outgoing: a bounded queue of control messages, which go first, and data
/// messages with borrowed payload that take turns frame by frame. Incoming: data is read where the
/// receiver wants it, or not at all until it does.
class MessageLink {
 public:
  struct Options {
    Link* link = nullptr;
    Session* session = nullptr;  ///< null: frames are plain
    int peer = 0;
    uint32_t generation = 0;
  };
  explicit MessageLink(Options options) : options_(options) {}
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  /// Queues a control message; fails when the peer has not read so many that the queue is full.
  Result<> send_control(uint8_t type, uint32_t stream, ByteSpan payload);
  /// Queues a data message. `payload`, not empty, stays the caller's and must live until sending()
  /// is false. The caller bounds how many there are.
  void send_data(uint8_t type, uint32_t stream, ByteSpan payload);
  /// Part of that data message has not left yet.
  bool sending(uint8_t type, uint32_t stream) const;
  /// Nothing is queued.
  bool all_sent() const { return !out_.active && controls_.empty() && data_.empty(); }
  /// Forgets the rest of a data message. The frame under way ends with a copy of its bytes, so that
  /// the caller's buffer is free at once.
  void cancel_send(uint8_t type, uint32_t stream);
  /// Sends what goes now, up to a number of frames; true if anything did.
  Result<bool> flush();

  /// Reads what has arrived; true if anything did.
  Result<bool> receive(MessageReceiver& receiver);
  /// A frame is there that its receiver does not want yet.
  bool has_waiting() const {
    return in_.in_body && in_.place.action == PayloadTarget::Action::wait;
  }
  /// If a frame of that stream is under way, the rest of it is thrown away. Returns the length of
  /// that frame, for which arrived() will not be called; 0 if there is none.
  size_t cancel_receive(uint8_t type, uint32_t stream);

 private:
  struct Control {
    uint8_t type;
    uint32_t stream;
    Bytes payload;
  };
  struct Data {
    uint8_t type;
    uint32_t stream;
    ByteSpan rest;
  };
  /// One frame that is being sent: its head (for control, all of it), then its body.
  struct Outgoing {
    bool active = false;
    bool data = false;  ///< its message is data_.front()
    Bytes head;
    size_t head_sent = 0;
    ByteSpan body;    ///< what is left of it
    Bytes body_copy;  ///< owns the body after a cancel
  };
  /// One frame that is being received.
  struct Incoming {
    std::array<std::byte, frame_header_bytes + control_bytes_max + frame_mac_bytes> head;
    size_t head_received = 0;
    bool in_body = false;
    Message message;
    PayloadTarget place;
    size_t body_received = 0;
  };

  bool start_frame();
  void start_control();
  void start_data();
  void end_frame();
  Result<bool> send_some(ByteSpan& bytes);

  Result<bool> receive_some(MessageReceiver& receiver);
  Result<size_t> head_bytes_wanted() const;
  Result<bool> receive_head(MessageReceiver& receiver);
  Result<bool> receive_body(MessageReceiver& receiver);
  Result<> open_control(ByteSpan frame, MessageReceiver& receiver);
  Result<> open_data(ByteSpan head);

  Options options_;
  std::deque<Control> controls_;
  std::deque<Data> data_;
  Outgoing out_;
  Incoming in_ = {};
};

}  // namespace dt

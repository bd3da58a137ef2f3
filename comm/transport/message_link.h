#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "base/vector_queue.h"
#include "comm/transport/link.h"
#include "comm/transport/ready_set.h"
#include "rendezvous/secure/handshake.h"

#include <array>
#include <cstdint>
#include <span>

namespace dt {

/// Frames whose type has this bit carry data. Only their header is sealed, and their payload is
/// read directly into the receiver's buffer. Where the session encrypts, the payload has a tag.
/// Then only a whole frame that passes its check reaches that buffer. All other frames are small
/// control messages.
inline constexpr uint8_t data_frame_bit = 0x80;
inline constexpr size_t control_bytes_max = 4096;
/// The maximum of a data frame, so that a control message never waits for long.
inline constexpr size_t data_frame_bytes = 256 << 10;
inline constexpr size_t queued_messages_max = 1024;

/// The header of one frame that arrived.
struct Message {
  int from = 0;  ///< the rank at the other end
  uint8_t type = 0;
  uint32_t stream = 0;
  uint32_t length = 0;
};

/// The memory for the payload of a data frame.
struct PayloadTarget {
  enum class Action { wait, take, discard };
  Action action = Action::wait;
  std::span<std::byte> into = {};  ///< take: as long as the frame, valid until it has arrived
};

/// Receives the frames of a MessageLink. An error means that the peer broke the protocol.
class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  virtual Result<> control(const Message& message, ByteSpan payload) = 0;
  /// Returns the memory for a data frame. After `wait`, called again at each receive(); nothing
  /// else is read from this link meanwhile.
  virtual Result<PayloadTarget> place(const Message& message) = 0;
  /// Called when the payload lies in the memory that place() returned. Not called for discarded
  /// frames.
  virtual Result<> arrived(const Message& message) = 0;
};

/// Frames over a byte Link. Outgoing control messages have a bounded queue and go first. Data
/// messages with borrowed payload follow, alternating frame by frame. Incoming data is read into
/// the receiver's memory, or stays in the link until the receiver has some for it.
///
/// A link that connects at its first use does so at the first flush() with something to send. All
/// is sealed after it has connected.
class MessageLink {
 public:
  struct Options {
    Link* link = nullptr;
    /// Null: frames are plain, unless the link has a session once it is connected.
    Session* session = nullptr;
    int peer = 0;
    uint32_t generation = 0;
    /// Gets `peer` whenever something is queued on a link that had nothing to send.
    ReadySet* unsent = nullptr;
  };
  explicit MessageLink(Options options);
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  /// Queues a control message. Fails with Errc::protocol when the queue is full, because the peer
  /// does not read.
  Result<> send_control(uint8_t type, uint32_t stream, ByteSpan payload);
  /// The same for a message that is of no use to a peer without a connection. It does not make the
  /// link connect, unless many of them have come together.
  Result<> send_when_connected(uint8_t type, uint32_t stream, ByteSpan payload);
  /// Queues a data message. `payload` must not be empty, belongs to the caller, and must live until
  /// sending() is false. The caller limits their number to queued_messages_max.
  void send_data(uint8_t type, uint32_t stream, ByteSpan payload);
  /// True while a part of that data message has not been sent.
  bool sending(uint8_t type, uint32_t stream) const;
  /// Returns how many bytes of that data message have not been sent.
  size_t unsent_bytes(uint8_t type, uint32_t stream) const;
  /// True when nothing is queued.
  bool all_sent() const { return !batch_.under_way() && controls_.empty() && data_.empty(); }
  /// Drops the rest of a data message. A frame that is under way is completed from a copy, so that
  /// the caller's buffer is free at once. Without memory for the copy, the link closes.
  void cancel_send(uint8_t type, uint32_t stream);
  /// Sends what the link takes now, up to a number of batches; true if it sent anything. A batch is
  /// one call of the link: all control messages, and data frames of data_frame_bytes together.
  Result<bool> flush();

  /// Reads what has arrived; true if it read anything.
  Result<bool> receive(MessageReceiver& receiver);
  /// True when a frame has arrived for which the receiver has no memory yet.
  bool has_waiting() const {
    return in_.in_body && in_.target.action == PayloadTarget::Action::wait;
  }
  /// Discards the rest of that stream's frame, if one is partly received. Returns the length of
  /// that frame, for which arrived() will not be called; 0 if there is none.
  size_t cancel_receive(uint8_t type, uint32_t stream);

 private:
  static constexpr size_t batch_frames_max = 16;

  struct Data {
    bool is(uint8_t t, uint32_t s) const { return type == t && stream == s; }
    uint8_t type = 0;
    uint32_t stream = 0;
    ByteSpan rest = {};
  };
  /// A data frame in the batch.
  struct Frame {
    SealedHeader head;
    Data message;          ///< `rest` is what follows behind this frame
    size_t body_part = 0;  ///< its index in Batch::parts
    bool cancelled = false;
    Bytes body_copy;  ///< owns the body after a cancel
  };
  /// The frames that are being sent. They are sealed, so nothing can go before them any more.
  struct Batch {
    bool under_way() const { return first_part < part_count; }
    void add(ByteSpan part) { parts[part_count++] = part; }
    Bytes controls;
    Bytes sealed;             ///< the encrypted bodies
    size_t sealed_bytes = 0;  ///< of `sealed` that are in use
    std::array<Frame, batch_frames_max> frames;
    size_t first_frame = 0;  ///< those before are sent
    size_t frame_count = 0;
    std::array<ByteSpan, 1 + 2 * batch_frames_max> parts;
    size_t first_part = 0;  ///< those before are sent, and the sent bytes of this one are cut off
    size_t part_count = 0;
  };
  /// One frame that is being received.
  struct Incoming {
    std::array<std::byte, frame_header_bytes + control_bytes_max + frame_mac_bytes> head;
    size_t head_received = 0;
    bool in_body = false;
    Message message;
    PayloadTarget target;
    size_t body_received = 0;
    std::array<std::byte, frame_header_bytes + frame_mac_bytes> sealed_head;
    Bytes sealed;  ///< the encrypted body
  };

  Result<bool> ready();
  void take_connection();
  Result<> queue_control(uint8_t type, uint32_t stream, ByteSpan payload);
  void copy_body(Frame& frame);
  void note_unsent();
  bool start_batch();
  size_t start_frame();
  void make_room_for_sealed();
  void add_sealed_body(const Frame& frame, ByteSpan body);
  bool encrypts() const { return options_.session != nullptr && options_.session->encrypts_data(); }
  void advance_batch(size_t sent);
  std::span<Frame> unsent_frames() {
    return std::span(batch_.frames).first(batch_.frame_count).subspan(batch_.first_frame);
  }

  Result<bool> receive_some(MessageReceiver& receiver);
  Result<size_t> head_bytes_wanted() const;
  Result<bool> receive_head(MessageReceiver& receiver);
  Result<bool> receive_body(MessageReceiver& receiver);
  Result<> ask_target(MessageReceiver& receiver);
  Result<size_t> receive_plain();
  Result<size_t> receive_sealed();
  Result<> open_body();
  Result<> open_control(ByteSpan frame, MessageReceiver& receiver);
  Result<> open_data(ByteSpan head);

  Options options_;
  bool connected_ = false;
  /// All that is queued can wait until the link connects for another reason.
  bool may_wait_ = false;
  /// Whole frames: they leave in this order, before all data_. Sealed once connected_.
  Bytes controls_;
  size_t control_count_ = 0;
  VectorQueue<Data> data_;
  Batch batch_ = {};
  Incoming in_ = {};
};

}  // namespace dt

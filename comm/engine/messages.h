#pragma once

#include "comm/transport/message_link.h"

#include <cstdint>

namespace dt {

/// The frames between engines. Collectives carry their sequence number as the stream, sends and
/// receives the number of the message between the two ranks.
///
///   collective:  every rank ─ descriptor ▶ rank 0 ─ verdict ▶ every rank; then collective_data
///   message:     sender ─ offer ▶ receiver ─ accept | refuse ▶ sender ─ message_data ▶ receiver
enum class EngineMessageType : uint8_t {
  descriptor = 1,  ///< what this rank wants to do
  verdict,         ///< go, or how the ranks disagree
  stop,            ///< no collective from this one on; passed on by everyone who hears it first
  withdrawn,       ///< the sender's engine is over, though its task lives
  offer,
  accept,
  refuse,
  cancel,  ///< the sender of a message gave up
  collective_data = data_frame_bit,
  message_data,
};

}  // namespace dt

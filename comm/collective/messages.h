#pragma once

#include "comm/transport/message_link.h"

#include <cstdint>

namespace dt {

/// The types of frames between engines. A collective's stream is its sequence number. The stream of
/// a send and its receive is the number of the message between the two ranks. The stream of
/// left_group is the number of the group.
///
///   collective:  sender ─ call, collective_data ▶ receiver; large: receiver ─ call ▶ sender first
///   agreement:   rank 0 ─ roll_call ▶ every rank ─ descriptor ▶ rank 0 ─ verdict ▶ every rank
///   message:     sender ─ offer ▶ receiver ─ accept | refuse ▶ sender ─ message_data ▶ receiver
enum class EngineMessageType : uint8_t {
  descriptor = 1,  ///< the collective that this rank has called
  verdict,         ///< the calls are equal, or how the ranks disagree
  stop,            ///< fails all collectives from one on; every rank forwards it once
  aborted,         ///< the sender's engine has aborted, but its task lives
  offer,
  accept,
  refuse,
  cancel,         ///< the send of a message timed out
  left_group,     ///< the sender takes no part in messages of that group any more
  call,           ///< a hash of the collective that the sender has called
  roll_call,      ///< rank 0 asks all for their descriptors
  name_call,      ///< the named collectives that the sender has called, for rank 0
  name_decision,  ///< the named collectives that run next, or one that fails
  leaving,        ///< the last message: the sender has finalized
  collective_data = data_frame_bit,
  message_data,
};

}  // namespace dt

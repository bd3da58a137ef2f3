#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/peer/message_parts.h"
#include "comm/training/ps/state/server_state.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace dt {

/// The first input of a replica.
struct PsStart {
  uint64_t bytes_max = 0;    ///< as PsLimits::bytes
  ByteSpan checkpoint = {};  ///< of PsServerState::save()
  std::shared_ptr<const Bytes> owner = {};
};
/// A server's result for a PsFileRequest.
struct PsFileAnswer {
  uint32_t worker = 0;
  uint32_t request = 0;
  std::optional<Error> error = {};
  std::optional<uint64_t> step = {};  ///< of a file that was only checked
  ByteSpan content = {};              ///< of a file to be loaded
  std::shared_ptr<const Bytes> owner = {};
};
/// All that changes a PsServerState. A server sends its inputs to its replica in their order, so
/// that both are equal.
using PsInput = std::variant<PsStart, PsIncoming, PsFileAnswer, Notice>;

struct NumberedInput {
  uint64_t number = 0;  ///< from 1, without a gap
  PsInput input;
};

/// Long arrays are not copied: their owners keep them.
MessageParts encode_parts(uint64_t number, const PsInput& input);
/// Fails with Errc::protocol. The views of the result refer to `message`, as does `owner`.
Result<NumberedInput> decode_ps_input(const std::shared_ptr<const Bytes>& message);

/// The reply of a replica: it has carried out all inputs up to this number.
Bytes encode_acknowledgement(uint64_t number);
/// Fails with Errc::protocol.
Result<uint64_t> decode_acknowledgement(ByteSpan bytes);

}  // namespace dt

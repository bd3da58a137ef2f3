#include "launcher/ssh/command_input.h"

namespace dt {

namespace {

/// Sent bytes leave the queue in pieces of this size.
constexpr size_t sent_bytes_max = size_t{1} << 20;

}  // namespace

Result<> SshCommandInput::send(SshProtocol& protocol, const std::function<bool()>& has_room) {
  while (size() > 0 && has_room()) {
    const size_t n = TRY(protocol.write(ByteSpan(queue_).subspan(sent_)));
    if (n == 0) break;
    sent_ += n;
  }
  if (size() == 0) {
    queue_.clear();
    sent_ = 0;
    if (closing_ && !ended_) {
      const SshProtocol::Step ending = TRY(protocol.end_input());
      ended_ = ending == SshProtocol::Step::done;
    }
  } else if (sent_ > sent_bytes_max) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  return {};
}

}  // namespace dt

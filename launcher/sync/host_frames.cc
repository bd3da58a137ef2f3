#include "launcher/sync/host_frames.h"

#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {

constexpr size_t read_bytes = size_t{256} << 10;

}  // namespace

Result<std::optional<FrameView>> HostFrames::read() {
  for (;;) {
    const auto frame = TRY(front_frame(ByteSpan(received_).subspan(used_)));
    if (frame) {
      used_ += frame_header_bytes + frame->header.length;
      return frame;
    }
    received_.erase(received_.begin(), received_.begin() + static_cast<ptrdiff_t>(used_));
    used_ = 0;
    const size_t before = received_.size();
    received_.resize(before + read_bytes);
    const ssize_t n = ::read(connection_.get(), received_.data() + before, read_bytes);
    received_.resize(before + static_cast<size_t>(n < 0 ? 0 : n));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ECONNRESET) return fail_errno("cannot read from the agent");
    if (n <= 0) return std::nullopt;
  }
}

Result<> HostFrames::write(SyncMessage type, ByteSpan payload) {
  Bytes frame;
  append_sync_message(frame, type, payload);
  return write_all(connection_.get(), frame);
}

}  // namespace dt

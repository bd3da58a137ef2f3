#include "launcher/agent/launcher_link.h"

#include "base/io/socket.h"

#include <optional>
#include <utility>

namespace dt {

namespace {

/// An outbox of this size is written at once, before the end of the loop's round.
constexpr size_t outbox_bytes = size_t{64} << 10;

}  // namespace

Result<> LauncherLink::open(Fd in, Fd out, std::optional<Session> session) {
  if (session) records_.emplace(*std::move(session));
  TRY(set_nonblocking(in.get()));
  if (out) TRY(set_nonblocking(out.get()));
  link_ = TRY(Stream::open(loop_, std::move(in), std::move(out),
                           {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                            .on_end = [this](const std::optional<Error>&) { lose(); },
                            .on_drained = {}}));
  const ByteSpan magic = as_bytes(agent_magic);
  outbox_.assign(magic.begin(), magic.end());
  return {};
}

void LauncherLink::set_terms(const Terms& terms) {
  terms_ = terms;
  lease_ = Lease(terms_.heartbeat, terms_.dead_after, loop_.now());
}

void LauncherLink::send(MessageType type, uint32_t stream, ByteSpan payload) {
  if (lost_) return;
  append_message(outbox_, type, {.generation = terms_.generation, .stream = stream}, payload);
  if (outbox_.size() >= outbox_bytes) {
    flush();
  } else if (!outbox_timer_) {
    outbox_timer_ = loop_.after(Duration::zero(), [this] { flush(); });
  }
}

void LauncherLink::flush() {
  outbox_timer_ = Timer();
  if (lost_) return;
  if (records_) {
    Bytes sealed;
    records_->seal(sealed, outbox_);
    link_->write(sealed);
  } else {
    link_->write(outbox_);
  }
  outbox_.clear();
}

size_t LauncherLink::receive(ByteSpan bytes) {
  lease_.heard(loop_.now());
  return records_ ? receive_records(bytes) : receive_frames(bytes);
}

size_t LauncherLink::receive_records(ByteSpan bytes) {
  const auto used = records_->open(bytes, opened_);
  if (!used) {
    lose();
    return bytes.size();
  }
  const size_t read = receive_frames(opened_);
  opened_.erase(opened_.begin(), opened_.begin() + static_cast<ptrdiff_t>(read));
  return *used;
}

size_t LauncherLink::receive_frames(ByteSpan bytes) {
  size_t used = 0;
  while (!lost_) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    if (!message || (*message && !handlers_.on_message(**message))) {
      lose();
      return bytes.size();
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return used;
}

void LauncherLink::beat() {
  if (lease_.over(loop_.now())) {
    send(MessageType::lease_over, 0, {});
    flush();
    lose();
    return;
  }
  handlers_.on_beat();
  send(MessageType::heartbeat, 0, {});
  heartbeat_ = loop_.after(terms_.heartbeat, [this] { beat(); });
}

void LauncherLink::pause() {
  // Silence does not end the lease now, since no beat checks it.
  heartbeat_ = Timer();
}

void LauncherLink::resume() {
  lease_.restart(loop_.now());
  beat();
}

void LauncherLink::lose() {
  if (lost_) return;
  lost_ = true;
  heartbeat_ = Timer();
  handlers_.on_lost();
}

}  // namespace dt

#include "launcher/network/handshake_dial.h"

#include "launcher/network/small_send.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace dt {

HandshakeDial::HandshakeDial(Loop& loop, Target target, const Claim& claim,
                             std::function<void(Result<Dialed>)> on_done)
    : loop_(loop), target_(std::move(target)), on_done_(std::move(on_done)) {
  if (auto started = start(claim); !started) {
    // Not from the constructor: the owner has no pointer to this object yet.
    timer_ = loop_.after(Duration::zero(), [this, error = std::move(started).error()] {
      end(tl::unexpected(error));
    });
  }
}

Result<> HandshakeDial::start(const Claim& claim) {
  handshake_ = TRY(Handshake::dial(claim, target_.peer));
  fd_ = TRY(start_connect(target_.address));
  watch_ = TRY(loop_.watch(fd_.get(), EPOLLOUT, [this](uint32_t) { ready(); }));
  timer_ = loop_.at(target_.deadline, [this] {
    end(fail(Errc::timeout, connected_ ? "the handshake was not answered in time" : "no answer"));
  });
  return {};
}

void HandshakeDial::ready() {
  if (auto stepped = step(); !stepped) return end(tl::unexpected(std::move(stepped).error()));
  if (handshake_->done()) end(Dialed{std::move(fd_), handshake_->session()});
}

Result<> HandshakeDial::step() {
  if (!connected_) {
    TRY(connect_result(fd_.get(), target_.address));
    connected_ = true;
    tune_tcp(fd_.get(), target_.dead_after);
    watch_.set_events(EPOLLIN);
    return send_small(fd_.get(), handshake_->take_output());
  }
  std::array<std::byte, handshake_bytes_max> buffer;
  const size_t wanted = std::min(handshake_->wanted(), buffer.size());
  const size_t got = TRY(read_ready(fd_.get(), std::span(buffer).first(wanted)));
  const Result<size_t> used = handshake_->receive(ByteSpan(buffer).first(got));
  TRY(send_small(fd_.get(), handshake_->take_output()));
  TRY(used);
  return {};
}

void HandshakeDial::end(Result<Dialed> result) {
  watch_ = Watch();
  timer_ = Timer();
  fd_.reset();
  const auto on_done = std::move(on_done_);
  on_done(std::move(result));
}

}  // namespace dt

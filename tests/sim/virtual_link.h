#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/transport/link.h"
#include "tests/sim/random.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

namespace dt {

/// One direction between two virtual ranks. It holds some bytes, delays them, and cuts them at any
/// place. Segments never overtake each other.
class Wire {
 public:
  struct Nature {
    size_t capacity = 1 << 16;
    Duration delay_max = milliseconds(1);
    bool cut = true;  ///< send and receive take pieces of random size
  };
  Wire(const Time& now, Random& random, Nature nature)
      : now_(now), random_(random), nature_(nature) {}

  Result<size_t> send(ByteSpan bytes) {
    if (ended_ || broken_) return fail(Errc::closed, "virtual link closed");
    const size_t room = std::min(bytes.size(), nature_.capacity - held_);
    if (room == 0) return size_t{0};
    const size_t size = piece(room);
    last_arrival_ = std::max(last_arrival_, now_ + random_.up_to(nature_.delay_max));
    segments_.push_back({last_arrival_, {bytes.begin(), bytes.begin() + diff(size)}, 0});
    held_ += size;
    sent_ += size;
    return size;
  }

  Result<size_t> receive(std::span<std::byte> into) {
    if (broken_) return fail(Errc::closed, "virtual link closed");
    if (silent_) return size_t{0};
    if (segments_.empty()) {
      if (ended_ && *ended_ <= now_) return fail(Errc::closed, "virtual link closed");
      return size_t{0};
    }
    Segment& segment = segments_.front();
    if (segment.arrives > now_ || into.empty()) return size_t{0};
    const size_t size = piece(std::min(into.size(), segment.bytes.size() - segment.used));
    std::copy_n(segment.bytes.begin() + diff(segment.used), size, into.begin());
    segment.used += size;
    held_ -= size;
    if (segment.used == segment.bytes.size()) segments_.pop_front();
    return size;
  }

  /// Returns how many bytes have been sent so far.
  size_t sent() const { return sent_; }

  /// From now on nothing arrives, and neither end gets an error.
  void silence() { silent_ = true; }
  /// Drops all bytes under way. From now on, both ends fail with Errc::closed.
  void break_now() { broken_ = true; }
  /// The sender has closed: the receiver still gets the bytes under way, then Errc::closed.
  void end_after(Duration delay) {
    if (!ended_) ended_ = std::max(last_arrival_, now_ + delay);
  }

  /// Returns the next future time at which receive() has bytes or an error; Time::max() if none.
  Time next_event() const {
    if (silent_ || broken_) return Time::max();
    Time next = segments_.empty() ? ended_.value_or(Time::max()) : segments_.front().arrives;
    return next > now_ ? next : Time::max();
  }

 private:
  struct Segment {
    Time arrives;
    Bytes bytes;
    size_t used;
  };
  static std::ptrdiff_t diff(size_t size) { return static_cast<std::ptrdiff_t>(size); }
  size_t piece(size_t most) { return nature_.cut ? 1 + random_.below(most) : most; }

  const Time& now_;
  Random& random_;
  Nature nature_;
  std::deque<Segment> segments_;
  size_t held_ = 0;
  size_t sent_ = 0;
  Time last_arrival_ = {};
  std::optional<Time> ended_;
  bool silent_ = false;
  bool broken_ = false;
};

/// One end of a pair of wires.
class VirtualLink final : public Link {
 public:
  VirtualLink(std::shared_ptr<Wire> out, std::shared_ptr<Wire> in)
      : out_(std::move(out)), in_(std::move(in)) {}
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    size_t sent = 0;
    for (const ByteSpan part : parts) {
      const size_t n = TRY(out_->send(part));
      sent += n;
      if (n < part.size()) break;
    }
    return sent;
  }
  Result<size_t> receive(std::span<std::byte> into) override { return in_->receive(into); }
  void close() override {
    out_->end_after(Duration::zero());
    in_->end_after(Duration::zero());
  }
  bool exposed() const override { return false; }

 private:
  std::shared_ptr<Wire> out_;
  std::shared_ptr<Wire> in_;
};

}  // namespace dt

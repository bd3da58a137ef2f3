#include "tests/sim/job/cable.h"

#include <cassert>
#include <utility>

namespace dt {

Cable::Cable(Site& site, Nature nature, Handlers handlers)
    : site_(site), nature_(nature), handlers_(std::move(handlers)) {
  auto pair = make_socketpair();
  assert(pair && set_nonblocking(pair->ours.get()) && set_nonblocking(pair->theirs.get()));
  near_ = std::move(pair->ours);
  auto far = Stream::open(site_.loop, std::move(pair->theirs), Fd(),
                          {.on_bytes =
                               [this](ByteSpan bytes) {
                                 put(down_, site_.down, bytes);
                                 return bytes.size();
                               },
                           .on_end =
                               [this](const std::optional<Error>&) {
                                 near_closed_ = true;
                                 put(down_, site_.down, {});
                               },
                           .on_drained = {}});
  assert(far);
  far_ = *std::move(far);
}

void Cable::send(ByteSpan bytes) {
  if (!bytes.empty() && !ended()) put(up_, site_.up, bytes);
}

void Cable::hang_up() {
  if (ended()) return;
  hung_up_ = true;
  put(up_, site_.up, {});
}

void Cable::reset() {
  hung_up_ = true;
  up_ = {};
  down_ = {};
  // The far machine answers even when the cable has nothing left to deliver.
  if (!held_) far_.reset();
}

void Cable::release() {
  held_ = false;
  arm(down_);
  arm(up_);
}

void Cable::put(Lane& lane, Uplink& uplink, ByteSpan bytes) {
  const Time arrives = uplink.pass(site_.loop.now(), bytes.size()) + nature_.latency +
                       site_.random.up_to(nature_.jitter);
  lane.last = std::max(lane.last, arrives);
  lane.segments.push_back({lane.last, {bytes.begin(), bytes.end()}});
  if (lane.segments.size() == 1) arm(lane);
}

void Cable::arm(Lane& lane) {
  if (held_ || lane.segments.empty()) return;
  lane.timer = site_.loop.at(lane.segments.front().arrives, [this, &lane] { deliver(lane); });
}

void Cable::deliver(Lane& lane) {
  const Segment segment = std::move(lane.segments.front());
  lane.segments.pop_front();
  arm(lane);
  arrive(lane, segment.bytes);
}

void Cable::arrive(Lane& lane, const Bytes& bytes) {
  if (&lane == &up_) {
    if (bytes.empty()) {
      far_.reset();
    } else if (far_) {
      far_->write(bytes);
    }
  } else if (bytes.empty()) {
    if (handlers_.on_end) handlers_.on_end();
  } else {
    handlers_.on_bytes(bytes);
  }
}

}  // namespace dt

#include "launcher/sync/server/host_peer.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/protocol/message.h"
#include "launcher/sync/server/room_advice.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Frames of small files are written together: each write wakes the launcher, an agent and the
/// host's process.
constexpr size_t batch_bytes = size_t{64} << 10;

}  // namespace

HostPeer::HostPeer(Loop& loop, HostOrder host, const SyncedTree& tree, Handlers handlers)
    : loop_(loop),
      host_(std::move(host)),
      tree_(tree),
      handlers_(std::move(handlers)),
      marker_(format("{}-{}", tree.place.job, host_.id)) {
}

Result<> HostPeer::open(Fd connection) {
  TRY(set_nonblocking(connection.get()));
  stream_ = TRY(Stream::open(loop_, std::move(connection), Fd(),
                             {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                              .on_end =
                                  [this](const std::optional<Error>&) {
                                    if (state_ != State::closed)
                                      fail("its process for --sync has ended");
                                  },
                              .on_drained = [this] { send_more(); }}));
  heard_ = loop_.now();
  PlaceOrder order = tree_.place;
  order.marker = marker_;
  if (host_.original) order.original = tree_.root;
  if (!host_.here && order.source_marker.empty()) order.source = "";
  send(SyncMessage::place, encode(order));
  return {};
}

void HostPeer::look() {
  enter(State::looking);
  send(SyncMessage::look);
}

void HostPeer::send_tree() {
  state_ = State::receiving;
  heard_ = loop_.now();
  send_more();
}

void HostPeer::adopt() {
  state_ = State::building;
  heard_ = loop_.now();
  send_more();
}

void HostPeer::set_up(bool runs) {
  SetUpOrder order = *tree_.setup;
  order.runs = runs;
  enter(State::setting_up);
  send(SyncMessage::set_up, encode(order));
}

void HostPeer::pause() {
  is_paused_ = true;
  if (stream_) stream_->pause();
}

void HostPeer::resume() {
  is_paused_ = false;
  heard_ = loop_.now();
  if (stream_) stream_->resume();
}

void HostPeer::fetch(const std::vector<std::string>& patterns) {
  enter(State::fetching);
  send(SyncMessage::fetch, encode(FetchPatterns{patterns}));
}

void HostPeer::close() {
  enter(State::closing);
  send(SyncMessage::close);
}

bool HostPeer::is_at_work() const {
  return state_ == State::placing || state_ == State::looking || state_ == State::receiving ||
         state_ == State::building || state_ == State::fetching || state_ == State::closing;
}

bool HostPeer::is_receiving() const {
  return state_ == State::receiving || (state_ == State::building && !knows_manifest_);
}

void HostPeer::check_progress(Duration silence_max) {
  if (is_paused_) return;
  const Duration silence = loop_.now() - heard_;
  // The host itself ends a setup in time, unless its process hangs.
  if (state_ == State::setting_up && silence > 2 * tree_.setup->timeout + silence_max)
    return fail("its setup has not ended long after --setup-timeout");
  if (!is_at_work() || silence < silence_max) return;
  fail(format("nothing has come from it for {} while it got the files of --sync",
              duration_text(silence_max)));
}

void HostPeer::fail(std::string why) {
  if (state_ == State::failed) return;
  why_ = std::move(why);
  wanted_.clear();
  is_sending_ = false;
  // Not at once: a function of the stream may call this. Its end lets the host's process leave.
  closing_ = loop_.after(Duration::zero(), [this] {
    stream_.reset();
    reader_.reset();
  });
  enter(State::failed);
}

void HostPeer::enter(State state) {
  state_ = state;
  heard_ = loop_.now();
  handlers_.on_step();
}

size_t HostPeer::receive(ByteSpan bytes) {
  heard_ = loop_.now();
  size_t used = 0;
  while (state_ != State::failed) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) return used;
    const auto handled = frame ? handle(**frame) : Result<>(tl::unexpected(frame.error()));
    if (!handled) {
      fail(handled.error().message);
      break;
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return bytes.size();
}

Result<> HostPeer::expect(State state) const {
  if (state_ == state) return {};
  return dt::fail(Errc::protocol, "its process for --sync has sent an answer at the wrong time");
}

Result<> HostPeer::handle(const FrameView& frame) {
  const auto type = static_cast<SyncMessage>(frame.header.type);
  switch (type) {
    case SyncMessage::placed:
      TRY(expect(State::placing));
      enter(State::placed);
      return {};
    case SyncMessage::seen:
      TRY(expect(State::looking));
      return take_seen(frame.payload);
    case SyncMessage::lacking: {
      // An object that it had may be gone, or broken, when it builds.
      if (state_ == State::building) state_ = State::receiving;
      TRY(expect(State::receiving));
      const auto lacking = TRY(decode<Lacking>(frame.payload));
      wanted_.insert(wanted_.end(), lacking.entries.begin(), lacking.entries.end());
      wants_all_ = !lacking.more;
      send_more();
      return {};
    }
    case SyncMessage::progress:
      return {};
    case SyncMessage::built: {
      TRY(expect(State::building));
      const auto built = TRY(decode<Built>(frame.payload));
      host_tree_.folder = built.folder;
      enter(tree_.setup ? State::built : State::ready);
      return {};
    }
    case SyncMessage::output:
      handlers_.on_output(frame.payload);
      return {};
    case SyncMessage::is_set_up: {
      TRY(expect(State::setting_up));
      const auto done = TRY(decode<IsSetUp>(frame.payload));
      host_tree_.setup_folder = done.folder;
      host_tree_.has_bin = done.has_bin;
      enter(State::ready);
      return {};
    }
    case SyncMessage::file:
    case SyncMessage::file_bytes:
    case SyncMessage::file_end:
    case SyncMessage::fetched: {
      TRY(expect(State::fetching));
      TRY(handlers_.on_file(type, frame.payload));
      if (type == SyncMessage::fetched) enter(State::ready);
      return {};
    }
    case SyncMessage::closed:
      TRY(expect(State::closing));
      enter(State::closed);
      return {};
    case SyncMessage::note:
      handlers_.on_note(std::string(as_text(frame.payload)));
      return {};
    case SyncMessage::failed: {
      auto failure = TRY(decode<SyncFailure>(frame.payload));
      const std::string advice = room_advice(host_, failure.why);
      fail(std::move(failure.why) + advice);
      return {};
    }
    default:
      return dt::fail(Errc::protocol, "its process for --sync has sent an unknown message");
  }
}

Result<> HostPeer::take_seen(ByteSpan payload) {
  const auto seen = TRY(decode<Seen>(payload));
  handlers_.on_seen(seen);
  enter(State::looked);
  return {};
}

void HostPeer::add(SyncMessage type, ByteSpan payload) {
  append_sync_message(batch_, type, payload);
}

void HostPeer::send(SyncMessage type, ByteSpan payload) {
  add(type, payload);
  send_batch();
}

void HostPeer::send_batch() {
  if (batch_.empty()) return;
  // Its memory is freed: there may be a thousand hosts.
  stream_->write(std::exchange(batch_, Bytes()));
}

/// Queues one batch at most: the connection itself holds some more.
void HostPeer::send_more() {
  heard_ = loop_.now();
  bool more = true;
  while (more && stream_->unsent() == 0) {
    while (more && batch_.size() < batch_bytes)
      more = add_piece();
    send_batch();
  }
}

/// Adds the next piece to the batch. Returns false when the host has to answer first.
bool HostPeer::add_piece() {
  const bool gets_tree = state_ == State::receiving || state_ == State::building;
  if (!gets_tree) return false;
  if (!knows_manifest_) {
    add_manifest_piece();
    return true;
  }
  if (state_ != State::receiving) return false;
  if (!is_sending_ && wanted_.empty()) {
    if (!wants_all_) return false;
    reader_.reset();
    enter(State::building);
    add(SyncMessage::build);
    return false;
  }
  const auto sent = add_file_piece();
  if (!sent) handlers_.on_broken_tree(sent.error());
  return sent.has_value();
}

void HostPeer::add_manifest_piece() {
  const ByteSpan left = ByteSpan(tree_.encoded).subspan(manifest_sent_);
  const ByteSpan piece = left.first(std::min<size_t>(left.size(), stream_chunk_bytes));
  manifest_sent_ += piece.size();
  if (!piece.empty()) return add(SyncMessage::manifest_part, piece);
  knows_manifest_ = true;
  // A tree that another host has built is compared with the manifest.
  add(state_ == State::receiving ? SyncMessage::manifest : SyncMessage::adopt);
  handlers_.on_step();
}

Result<> HostPeer::add_file_piece() {
  if (!is_sending_) return start_file();
  const auto piece = reader_->read();
  // A file that has changed is sent once more: it may be as it was.
  if (!piece && (piece.error().code != Errc::mismatch || reads_ == reads_max))
    return tl::unexpected(piece.error());
  if (!piece || piece->empty()) {
    end_file(piece.has_value());
    return {};
  }
  host_tree_.bytes_sent += piece->size();
  add(SyncMessage::object_bytes, *piece);
  return {};
}

Result<> HostPeer::start_file() {
  const uint32_t number = wanted_.front();
  const auto& entries = tree_.manifest.entries;
  if (number >= entries.size() || entries[number].kind != TreeEntry::Kind::file) {
    fail("its process for --sync has asked for a file that is not in the tree");
    return {};
  }
  if (!reader_) {
    TreeReader opened = TRY(TreeReader::open(tree_.root));
    reader_.emplace(std::move(opened));
  }
  TRY(reader_->begin(entries[number]));
  is_sending_ = true;
  ++reads_;
  add(SyncMessage::object, encode(ObjectStart{number}));
  return {};
}

void HostPeer::end_file(bool as_listed) {
  is_sending_ = false;
  add(SyncMessage::object_end, Writer().number(as_listed).take());
  if (!as_listed) return;
  wanted_.pop_front();
  reads_ = 0;
  ++host_tree_.files_sent;
}

}  // namespace dt

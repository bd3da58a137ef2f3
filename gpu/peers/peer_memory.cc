#include "gpu/peers/peer_memory.h"

#include "base/format.h"
#include "gpu/kernels/peer_all_reduce.cuh"

#include <algorithm>
#include <cstring>
#include <new>

namespace dt {

namespace {

constexpr size_t data_bytes_min = size_t{64} << 10;
/// Data begins at a multiple of it.
constexpr size_t part_align = 256;
/// The part of a sum that the threads of a block copy at once.
constexpr size_t tile_bytes = size_t{8} << 10;
/// Fills the memory only.
constexpr Duration clear_max = seconds(60);
/// The flags of the sums that streams wait for.
constexpr auto stream_phase = static_cast<size_t>(PeerPhase::start);
constexpr size_t stream_block = 0;
constexpr std::string_view stopped = "the sums of this host's GPUs were stopped";

constexpr size_t aligned(size_t bytes) {
  return (bytes + part_align - 1) / part_align * part_align;
}
constexpr size_t signal_bytes = aligned(sizeof(PeerSignals));

size_t memory_bytes(size_t data_bytes) {
  return signal_bytes + 4 * data_bytes;
}

/// One-shot, each rank reads all inputs; two-shot, there is one more barrier. These limits for 2,
/// up to 4, and more ranks are those of vLLM's kernels on NVLink.
bool is_one_shot(size_t bytes, int ranks) {
  if (ranks <= 2) return true;
  return bytes <= (ranks <= 4 ? size_t{512} : size_t{256}) << 10;
}

}  // namespace

Bytes encode(const PeerMemoryOffer& offer) {
  Writer writer;
  writer.blob(offer.handle).number(offer.data_bytes).number(offer.blocks);
  return writer.take();
}

Result<PeerMemoryOffer> decode_peer_memory_offer(ByteSpan bytes) {
  Reader reader(bytes);
  PeerMemoryOffer offer;
  offer.handle = reader.blob();
  offer.data_bytes = reader.number<uint64_t>();
  offer.blocks = reader.number<uint32_t>();
  if (offer.data_bytes < data_bytes_min || offer.data_bytes % part_align != 0) reader.refuse();
  if (offer.blocks < 1 || offer.blocks > peer_blocks_max) reader.refuse();
  TRY(reader.finish("offer of memory for peers"));
  return offer;
}

Result<std::unique_ptr<PeerMemory>> PeerMemory::allocate(Device& device, size_t data_bytes) {
  std::unique_ptr<PeerMemory> made(new PeerMemory(device));
  made->blocks_ = TRY(device.prepare_peers());
  TRY(made->allocate_for(std::max(aligned(data_bytes), data_bytes_min)));
  TRY(made->clear());
  return made;
}

Result<> PeerMemory::allocate_for(size_t data_bytes) {
  auto own = device_.allocate_shared(memory_bytes(data_bytes));
  while (!own && own.error().code == Errc::out_of_memory && data_bytes > data_bytes_min) {
    data_bytes = std::max(aligned(data_bytes / 2), data_bytes_min);
    own = device_.allocate_shared(memory_bytes(data_bytes));
  }
  own_ = TRY(std::move(own));
  data_bytes_ = data_bytes;
  pinned_ = TRY(device_.allocate_pinned(sizeof(HostWords)));
  new (pinned_.at()) HostWords;
  return {};
}

Result<> PeerMemory::clear() {
  const auto stream = TRY(device_.make_stream());
  TRY(stream->fill(own_.at(), std::byte{0}, own_.bytes()));
  return stream->synchronize(Clock::now() + clear_max);
}

PeerMemory::~PeerMemory() {
  if (others_have_it_) own_.leave_to_driver();
}

Result<PeerMemoryOffer> PeerMemory::offer() {
  Bytes handle = TRY(device_.share(own_));
  others_have_it_ = true;
  return PeerMemoryOffer{.handle = std::move(handle),
                         .data_bytes = data_bytes_,
                         .blocks = static_cast<uint32_t>(blocks_)};
}

Result<> PeerMemory::open(int rank, std::span<const PeerMemoryOffer> offers, PeerMeeting meeting) {
  rank_ = rank;
  meeting_ = meeting;
  opened_.resize(offers.size());
  memory_.clear();
  for (size_t peer = 0; peer < offers.size(); ++peer) {
    data_bytes_ = std::min<size_t>(data_bytes_, offers[peer].data_bytes);
    blocks_ = std::min(blocks_, static_cast<int>(offers[peer].blocks));
    if (static_cast<int>(peer) == rank) {
      memory_.push_back(own_.at());
      continue;
    }
    auto opened = device_.open_shared(offers[peer].handle);
    if (!opened)
      return tl::unexpected(std::move(opened).error().during(format("memory of rank {}", peer)));
    if (opened->bytes() < memory_bytes(offers[peer].data_bytes))
      return fail(Errc::protocol, format("memory of rank {} is smaller than it says", peer));
    memory_.push_back(opened->at());
    opened_[peer] = *std::move(opened);
  }
  if (meeting == PeerMeeting::streams) ending_ = TRY(device_.make_stream());
  return {};
}

void PeerMemory::close() {
  opened_.clear();
  for (size_t peer = 0; peer < memory_.size(); ++peer)
    if (static_cast<int>(peer) != rank_) memory_[peer] = nullptr;
}

/// Returns input 0 or 1, or result 2 or 3, of a rank.
std::byte* PeerMemory::part(size_t rank, size_t number) const {
  return memory_[rank] + signal_bytes + number * data_bytes_;
}

Result<> PeerMemory::sum(DeviceStream& stream, const PeerSum& sum) {
  const auto ranks = static_cast<int>(memory_.size());
  const size_t element = element_bytes(sum.type);
  const size_t padded = (sum.bytes() + sizeof(Chunk) - 1) / sizeof(Chunk) * sizeof(Chunk);
  const size_t tiles = (padded + tile_bytes - 1) / tile_bytes;
  const size_t half = half_ ? 1 : 0;
  half_ = !half_;
  HostWords& host = words();
  PeerAllReduce call = {
      .place = {.stop = &host.stop,
                .timeouts = host.timeouts,
                .patience_ns = static_cast<uint64_t>(sum.patience.count()),
                .rank = rank_,
                .ranks = ranks},
      .from = sum.from,
      .to = sum.to,
      .count = sum.count,
      .input = part(static_cast<size_t>(rank_), half),
      .tile_elements = tile_bytes / element,
      .blocks = static_cast<int>(std::clamp<size_t>(tiles, 1, static_cast<size_t>(blocks_))),
      .one_shot = meeting_ == PeerMeeting::streams || is_one_shot(sum.bytes(), ranks)};
  for (size_t peer = 0; peer < memory_.size(); ++peer) {
    call.place.signals[peer] = &signals(peer);
    call.reduction.arrays[peer] = part(peer, half);
    call.results[peer] = part(peer, 2 + half);
  }
  call.reduction.into = part(static_cast<size_t>(rank_), 2 + half);
  call.reduction.count = padded / element;
  call.reduction.array_count = ranks;
  call.reduction.second_half = ranks;
  if (meeting_ == PeerMeeting::kernels) return stream.sum_peers(sum.type, call);
  return sum_by_streams(stream, sum, call);
}

/// Between its kernels, the stream waits for all ranks, and writes its progress for the host. A
/// kernel announces the sum to the other ranks: after a failure a kernel announces nothing, as a
/// write of the stream would.
Result<> PeerMemory::sum_by_streams(DeviceStream& stream, const PeerSum& sum, PeerAllReduce call) {
  {
    const std::lock_guard lock(mutex_);
    call.epoch = ++sums_;
    patience_ = sum.patience;
  }
  call.step = PeerStep::copy_in;
  TRY(stream.sum_peers(sum.type, call));
  PeerAllReduce announcement = call;
  announcement.step = PeerStep::announce;
  announcement.blocks = 1;
  TRY(stream.sum_peers(sum.type, announcement));
  TRY(stream.write_value(&words().begun, call.epoch));
  const auto self = static_cast<size_t>(rank_);
  for (size_t peer = 0; peer < memory_.size(); ++peer) {
    if (peer == self) continue;
    TRY(stream.wait_value(&signals(self).flags[stream_phase][stream_block][peer], call.epoch));
    TRY(stream.write_value(&words().met[peer], call.epoch));
  }
  call.step = PeerStep::reduce;
  return stream.sum_peers(sum.type, call);
}

void PeerMemory::stop() {
  SystemOrder::release(&words().stop, 1);
  const std::lock_guard lock(mutex_);
  if (ending_ == nullptr) return;
  if (!failure_) failure_ = Error{Errc::closed, std::string(stopped)};
  end_waits();
}

/// Lets the stream pass its waits, and its sums end without results. A late peer may set its flag
/// once more afterwards. Called with the mutex locked.
void PeerMemory::end_waits() {
  // Beyond all sums that are queued.
  constexpr uint32_t ahead = uint32_t{1} << 30;
  const Result<bool> ended = ending_->done();
  if (!ended || !*ended) return;
  PeerSignals& mine = signals(static_cast<size_t>(rank_));
  (void)ending_->write_value(&mine.failed, 1);
  for (uint32_t& flag : mine.flags[stream_phase][stream_block])
    (void)ending_->write_value(&flag, sums_ + ahead);
}

/// Returns the rank that the stream is waiting for, as it waits for one after the other.
std::optional<PeerMemory::Wait> PeerMemory::find_wait() const {
  const HostWords& host = words();
  const uint32_t begun = SystemOrder::acquire(&host.begun);
  for (size_t peer = 0; peer < memory_.size(); ++peer) {
    if (static_cast<int>(peer) == rank_) continue;
    if (!peer_reached(SystemOrder::acquire(&host.met[peer]), begun)) return Wait{begun, peer};
  }
  return std::nullopt;
}

Result<> PeerMemory::status() {
  const std::lock_guard lock(mutex_);
  if (ending_ == nullptr) return status_of_kernels();
  const std::optional<Wait> wait = find_wait();
  const Time now = Clock::now();
  if (wait != wait_) waits_since_ = now;
  wait_ = wait;
  if (wait && !failure_ && now - waits_since_ > patience_) {
    failure_ =
        Error{Errc::timeout, format("rank {} has not begun the same sum in time", wait->peer)};
  }
  if (!failure_) return {};
  end_waits();
  return tl::unexpected(*failure_);
}

Result<> PeerMemory::status_of_kernels() const {
  for (const PeerTimeout& timeout : words().timeouts) {
    const uint32_t ended = SystemOrder::acquire(&timeout.ended);
    if (ended == 0) continue;
    if (ended == 2) return fail(Errc::closed, std::string(stopped));
    const bool begins = timeout.phase == static_cast<uint32_t>(PeerPhase::start);
    return fail(Errc::timeout, format("rank {} has not {} the same sum in time", timeout.peer,
                                      begins ? "begun" : "made its part of"));
  }
  return {};
}

}  // namespace dt

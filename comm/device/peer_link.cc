#include "comm/device/peer_link.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/kernels/peer_sum_on_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

namespace dt {

namespace {

constexpr std::string_view limit_variable = "DTRAIN_PEER_MAX";
constexpr size_t default_bytes = size_t{1} << 20;
constexpr size_t user_bytes_max = size_t{1} << 30;
/// Larger sums are NCCL's from the first size on that it runs faster.
constexpr std::array<size_t, 4> measured_bytes = {size_t{16} << 10, size_t{64} << 10,
                                                  size_t{256} << 10, size_t{1} << 20};
constexpr int measured_rounds = 3;
constexpr size_t failure_bytes_max = 1000;
constexpr Duration status_every = milliseconds(1);

std::optional<ElementType> element_type(NcclType type) {
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto element = static_cast<ElementType>(i);
    if (nccl_type(element) == type) return element;
  }
  return std::nullopt;
}

std::string target_of(const char* link) {
  std::array<char, 100> target = {};
  const ssize_t length = readlink(link, target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<size_t>(length));
}

NcclCall nccl_sum(std::byte* at, size_t bytes) {
  return {.count = bytes / sizeof(float), .from = at, .to = at};
}

}  // namespace

Result<std::optional<size_t>> peer_bytes_max(const Environment& environment) {
  const auto found = environment.find(std::string(limit_variable));
  if (found == environment.end() || found->second.empty()) return std::optional<size_t>();
  const auto bytes = parse_size(found->second);
  if (bytes && *bytes <= user_bytes_max) return bytes;
  return fail(Errc::input, format("{} is '{}'; it can be a size from 0 to 1G, such as 256K",
                                  limit_variable, printable(found->second, 40)));
}

std::string peer_place() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::string processes = target_of("/proc/self/ns/pid");
  const std::string ipc = target_of("/proc/self/ns/ipc");
  // Without these, another host could look the same.
  if (boot.empty() || processes.empty() || ipc.empty()) return {};
  return boot + ' ' + processes + ' ' + ipc;
}

Result<> watched_end(DeviceStream& stream, Time deadline, const std::function<void()>& watch) {
  while (true) {
    const Time next = std::min<Time>(deadline, Clock::now() + status_every);
    Result<> ended = stream.synchronize(next);
    if (ended || ended.error().code != Errc::timeout || next == deadline) return ended;
    watch();
  }
}

Result<std::unique_ptr<PeerLink>> PeerLink::connect(Terms terms) {
  std::unique_ptr<PeerLink> link(new PeerLink(std::move(terms)));
  Result<bool> linked = link->link();
  if (linked && *linked) return link;
  const Result<bool> done = link->terms_.stream->done();
  if (!done || !*done) link->end_sums(linked ? nullptr : &linked.error());
  if (!linked) return tl::unexpected(std::move(linked).error());
  link->close_with_all();
  return std::unique_ptr<PeerLink>();
}

/// Returns true when all ranks are linked.
Result<bool> PeerLink::link() {
  if (!TRY(share_memory())) return false;
  if (!TRY(all_did("sum", try_sums()))) return false;
  TRY(find_limit());
  return all_did("measure", status());
}

/// Sums may wait for a rank that has ended. They are stopped, so that they use no memory any more.
/// With a failure of the connection, NCCL's kernels are ended, too.
void PeerLink::end_sums(const Error* failure) {
  if (memory_ == nullptr) return;
  memory_->stop();
  if (failure != nullptr) terms_.abandon(*failure);
  const auto watch = [this] { (void)memory_->status(); };
  (void)watched_end(*terms_.stream, Clock::now() + staged_work_max, watch);
}

/// Called by all ranks when some rank cannot link. Each frees its memory when all have closed it. A
/// rank whose device has failed does not know whether its kernels have ended.
void PeerLink::close_with_all() {
  const Result<bool> idle = terms_.stream->done();
  const bool closed = idle && *idle;
  if (closed && memory_) memory_->close();
  const Result<std::vector<Bytes>> noted = gather("closed", Writer().number(closed).take());
  if (!noted || memory_ == nullptr) return;
  const bool all_closed =
      std::ranges::all_of(*noted, [](const Bytes& note) { return Reader(note).number<bool>(); });
  if (all_closed) memory_->note_all_closed();
}

/// Returns true when all ranks have the memory of all.
Result<bool> PeerLink::share_memory() {
  const size_t wanted = std::max(default_bytes, terms_.bytes_max.value_or(0));
  PeerMemoryOffer offer;
  const Result<> made = [&]() -> Result<> {
    memory_ = TRY(PeerMemory::allocate(terms_.stream->device(), wanted));
    offer = TRY(memory_->offer());
    return {};
  }();
  if (!TRY(all_did("allocate", made))) return false;
  const bool has_shrunk = memory_->data_bytes() < wanted;
  const Offers offers = TRY(exchange({{offer}, has_shrunk}));
  if (!TRY(all_did("open", memory_->open(terms_.self.rank, offers.memory, terms_.meeting))))
    return false;
  if (offers.any_has_shrunk) {
    warn(format("a GPU has little memory left, so kernels of ours sum at most {} KiB",
                memory_->data_bytes() >> 10));
  }
  return true;
}

/// Exchanges this rank's offer with those of all, and the limits that users want.
Result<PeerLink::Offers> PeerLink::exchange(const Offers& own) {
  constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
  Writer writer;
  writer.number(static_cast<uint64_t>(terms_.bytes_max.value_or(none))).number(own.any_has_shrunk);
  writer.raw(encode(own.memory.front()));
  const std::vector<Bytes> sent = TRY(gather("memory", writer.take()));
  Offers all;
  uint64_t least = none;
  for (const Bytes& bytes : sent) {
    Reader reader(bytes);
    least = std::min(least, reader.number<uint64_t>());
    all.any_has_shrunk = reader.number<bool>() || all.any_has_shrunk;
    PeerMemoryOffer offer = TRY(decode_peer_memory_offer(reader.rest()));
    all.memory.push_back(std::move(offer));
  }
  if (least != none) terms_.bytes_max = least;
  return all;
}

/// Sums numbers whose sum is known, by calls of a few elements and of many.
Result<> PeerLink::try_sums() {
  const size_t most = std::min(memory_->data_bytes(), terms_.free->bytes()) / sizeof(float);
  for (const size_t count : {size_t{3}, size_t{1000}, most})
    TRY(try_sum(count));
  return {};
}

Result<> PeerLink::try_sum(size_t count) {
  const auto ranks = static_cast<float>(terms_.self.size);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(terms_.self.rank) + static_cast<float>(i % 64);
  const size_t bytes = count * sizeof(float);
  auto* const host = reinterpret_cast<std::byte*>(values.data());
  std::byte* const at = terms_.free->at();
  TRY(terms_.stream->copy({at, host, bytes}));
  TRY(wait_for_sum());
  TRY(memory_->sum(*terms_.stream,
                   {.count = count, .from = at, .to = at, .patience = terms_.patience}));
  TRY(wait_for_sum());
  TRY(memory_->status());
  TRY(terms_.stream->copy({host, at, bytes}));
  TRY(wait_for_sum());
  for (size_t i = 0; i < count; ++i) {
    const float expected = ranks * (ranks - 1) / 2 + ranks * static_cast<float>(i % 64);
    if (values[i] != expected)
      return fail(Errc::os, format("a sum of known numbers is {}, not {}", values[i], expected));
  }
  return {};
}

/// Finds the limit of all ranks.
Result<> PeerLink::find_limit() {
  limit_ = std::min(terms_.bytes_max.value_or(memory_->data_bytes()), memory_->data_bytes());
  if (terms_.bytes_max) return {};
  uint64_t limit = 0;
  bool faster = true;
  for (const size_t bytes : measured_bytes) {
    if (bytes > std::min(memory_->data_bytes(), terms_.free->bytes())) break;
    // All ranks run the same calls, whatever they find.
    const bool wins = TRY(faster_than_nccl(bytes));
    faster = faster && wins;
    if (faster) limit = bytes;
  }
  if (terms_.self.rank == 0) TRY(terms_.store.set("peers/limit", Writer().number(limit).take()));
  const Bytes sent = TRY(terms_.store.wait("peers/limit", Duration::zero()));
  Reader reader(sent);
  limit = reader.number<uint64_t>();
  TRY(reader.finish("limit of sums between peers"));
  limit_ = std::min<size_t>(limit, limit_);
  return {};
}

Result<bool> PeerLink::faster_than_nccl(size_t bytes) {
  const NcclCall call = nccl_sum(terms_.free->at(), bytes);
  const Duration by_nccl = TRY(measure([&] { return terms_.nccl(call); }));
  const Duration by_peers = TRY(measure([&] { return begin(call, terms_.patience); }));
  return by_peers < by_nccl;
}

/// Returns the least time of some calls, after one that is not counted.
Result<Duration> PeerLink::measure(const std::function<Result<>()>& begin) {
  Duration least = Duration::max();
  for (int round = 0; round <= measured_rounds; ++round) {
    const Time start = Clock::now();
    TRY(begin());
    TRY(wait_for_sum());
    if (round > 0) least = std::min<Duration>(least, Clock::now() - start);
  }
  return least;
}

Result<> PeerLink::wait_for_sum() {
  Result<> finished = terms_.finish([this] { (void)memory_->status(); });
  if (!finished) end_sums(&finished.error());
  return finished;
}

Result<std::vector<Bytes>> PeerLink::gather(const std::string& step, const Bytes& own) const {
  const std::string whole_step = "peers/" + step;
  TRY(terms_.store.set(rank_key(whole_step, terms_.self.rank), own));
  std::vector<Bytes> all;
  for (int rank = 0; rank < terms_.self.size; ++rank) {
    Bytes sent = TRY(terms_.store.wait(rank_key(whole_step, rank), Duration::zero()));
    all.push_back(std::move(sent));
  }
  return all;
}

/// Returns true when all ranks have done the step. Rank 0 warns otherwise. The cause is not a rank
/// that has waited for another one, if there is one that has not.
Result<bool> PeerLink::all_did(const std::string& step, const Result<>& own) const {
  const bool waited = !own && own.error().code == Errc::timeout;
  const std::string failure = own ? "" : printable(own.error().message, failure_bytes_max);
  const std::vector<Bytes> outcomes =
      TRY(gather(step, Writer().number(waited).text(failure).take()));
  std::optional<std::string> cause;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    Reader reader(outcomes[rank]);
    const auto only_waited = reader.number<bool>();
    const std::string text = reader.text();
    TRY(reader.finish("outcome of a step"));
    if (text.empty() || (cause && only_waited)) continue;
    cause = format("rank {} cannot sum with the other GPUs of this host, so NCCL does: {}", rank,
                   printable(text, failure_bytes_max));
    if (!only_waited) break;
  }
  if (cause) warn(*cause);
  return !cause;
}

void PeerLink::warn(const std::string& text) const {
  if (terms_.self.rank == 0) Log(Log::Level::normal, terms_.log).warn("{}", text);
}

bool PeerLink::runs(const NcclCall& call) const {
  if (call.kind != NcclCall::Kind::all_reduce || call.op != NcclOp::sum) return false;
  const auto type = element_type(call.type);
  return type && peers_can_sum(*type) && call.count * element_bytes(*type) <= limit_;
}

Result<> PeerLink::begin(const NcclCall& call, Duration patience) {
  return memory_->sum(*terms_.stream, {.type = element_type(call.type).value(),
                                       .count = call.count,
                                       .from = static_cast<const std::byte*>(call.from),
                                       .to = static_cast<std::byte*>(call.to),
                                       .patience = patience});
}

}  // namespace dt

#include "cmd/bench/bench_rank.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// A rank in the form in which ranks exchange it. Its texts end with a NUL.
struct RankRecord {
  int64_t pid = 0;
  std::array<char, 256> host = {};
  std::array<char, 64> device = {};
  std::array<char, 128> uuid = {};
  std::array<char, 256> model = {};
  std::array<char, 1024> failure = {};
};

template <size_t Size>
void put(std::string_view text, std::array<char, Size>& to) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), Size - 1));
}

RankRecord record_of(const BenchRank& rank) {
  RankRecord record = {.pid = rank.pid};
  put(rank.host, record.host);
  put(rank.device, record.device);
  put(rank.uuid, record.uuid);
  put(rank.model, record.model);
  put(rank.failure, record.failure);
  return record;
}

/// The ranks of one device.
struct DeviceUsers {
  const BenchRank* first = nullptr;
  std::vector<std::string> ranks = {};
};

/// True for the same GPU, also under two numbers. Devices that stand in for GPUs have a name only.
bool share(const BenchRank& a, const BenchRank& b) {
  if (a.device.empty() || a.uuid != b.uuid) return false;
  return !a.uuid.empty() || (a.host == b.host && a.device == b.device);
}

std::vector<DeviceUsers> users_of_devices(const std::vector<BenchRank>& ranks) {
  std::vector<DeviceUsers> all;
  for (size_t i = 0; i < ranks.size(); ++i) {
    auto found = std::ranges::find_if(
        all, [&](const DeviceUsers& users) { return share(*users.first, ranks[i]); });
    if (found == all.end()) found = all.insert(all.end(), {.first = &ranks[i]});
    found->ranks.push_back(format("{}", i));
  }
  return all;
}

}  // namespace

Result<std::vector<BenchRank>> exchange_ranks(CollectiveWorld& world, const BenchRank& own) {
  const RankRecord record = record_of(own);
  std::vector<RankRecord> all(static_cast<size_t>(world.size()));
  TRY(world.run({.operation = BenchOperation::all_gather,
                 .input = &record,
                 .output = all.data(),
                 .count = sizeof record,
                 .type = DTRAIN_UINT8}));
  std::vector<BenchRank> ranks;
  for (const RankRecord& one : all) {
    ranks.push_back({.pid = one.pid,
                     .host = one.host.data(),
                     .device = one.device.data(),
                     .uuid = one.uuid.data(),
                     .model = one.model.data(),
                     .failure = one.failure.data()});
  }
  return ranks;
}

std::optional<Error> first_failure(const std::vector<BenchRank>& ranks) {
  const auto found =
      std::ranges::find_if(ranks, [](const BenchRank& rank) { return !rank.failure.empty(); });
  if (found == ranks.end()) return std::nullopt;
  return Error{Errc::not_found, format("--device gpu: rank {} on {}: {}", found - ranks.begin(),
                                       printable(found->host), found->failure)};
}

std::vector<std::string> shared_devices(const std::vector<BenchRank>& ranks) {
  std::vector<std::string> sentences;
  for (const DeviceUsers& users : users_of_devices(ranks)) {
    if (users.ranks.size() < 2) continue;
    const BenchRank& first = *users.first;
    sentences.push_back(format("Ranks {} share one {} of {}: {}", join(users.ranks, ", "),
                               first.uuid.empty() ? "device" : "GPU", first.host,
                               first.uuid.empty() ? first.device : first.uuid));
  }
  return sentences;
}

}  // namespace dt

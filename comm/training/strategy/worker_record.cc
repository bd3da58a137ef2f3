#include "comm/training/strategy/worker_record.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace dt {
namespace {

constexpr size_t failure_bytes_max = 340;

/// Fails where the devices of two workers conflict: those with the lowest ranks.
Result<> check_device_conflict(const WorkerRecords& by_rank) {
  for (size_t i = 1; i < by_rank.size(); ++i) {
    for (size_t j = 0; by_rank[i] && j < i; ++j) {
      if (!by_rank[j]) continue;
      auto text = find_conflict({static_cast<int>(j), &by_rank[j]->in_use},
                                {static_cast<int>(i), &by_rank[i]->in_use});
      if (text) return fail(Errc::mismatch, *std::move(text), static_cast<int>(i));
    }
  }
  return {};
}

void encode(Writer& writer, const CrossDeviceRules& rules) {
  writer.number(static_cast<uint32_t>(rules.size()));
  for (const CrossDeviceRule& rule : rules) {
    writer.number(rule.name.kind).number(rule.name.packs).text(rule.name.device);
    writer.text(rule.registered).number(static_cast<uint64_t>(rule.bytes_max));
  }
}

/// Returns no rules for bytes that are wrong.
CrossDeviceRules decode_rules(Reader& reader) {
  constexpr size_t bytes_min = 1 + sizeof(int) + 2 * sizeof(uint32_t) + sizeof(uint64_t);
  CrossDeviceRules rules(reader.count(bytes_min));
  for (CrossDeviceRule& rule : rules) {
    rule.name.kind = reader.number<CrossDeviceName::Kind>();
    rule.name.packs = reader.number<int>();
    rule.name.device = reader.text();
    rule.registered = reader.text();
    rule.bytes_max = reader.number<uint64_t>();
    if (rule.name.kind > CrossDeviceName::Kind::nccl_all_reduce) return {};
  }
  return rules;
}

/// Returns the sentence about the first difference; empty: none.
std::string difference_of(const WorkerRecord& first, const WorkerRecord& other, int rank) {
  if (first.name != other.name) {
    return format("rank {} has the strategy {}, but rank 0 {}; --strategy gives all the same", rank,
                  strategy_text(other.name), strategy_text(first.name));
  }
  if (first.devices != other.devices) {
    return format("rank {} has {} device{}, but rank 0 {}; each worker needs equally many", rank,
                  other.devices, other.devices == 1 ? "" : "s", first.devices);
  }
  if (first.cross_device != other.cross_device) {
    return format("rank {} reduces by {}, but rank 0 by {}", rank,
                  cross_device_text(other.cross_device), cross_device_text(first.cross_device));
  }
  if (first.bytes_per_pack != other.bytes_per_pack) {
    return format("rank {} has {} bytes_per_pack, but rank 0 {}", rank, other.bytes_per_pack,
                  first.bytes_per_pack);
  }
  if (first.communication != other.communication) {
    return format("rank {} has the communication {}, but rank 0 {}", rank,
                  communication_text(other.communication), communication_text(first.communication));
  }
  if (first.mode != other.mode) {
    return format(
        "rank {} has the mode {} of parameter servers, but rank 0 {}; --ps-mode gives all "
        "the same",
        rank, server_mode_text(other.mode), server_mode_text(first.mode));
  }
  return {};
}

}  // namespace

Bytes encode(const WorkerRecord& record) {
  Writer writer;
  writer.number(record.name);
  encode(writer, record.cross_device);
  writer.number(record.devices)
      .number(record.on_host)
      .number(record.bytes_per_pack)
      .number(record.mode.kind)
      .number(record.mode.count)
      .number(record.mode.local)
      .number(record.communication)
      .raw(std::as_bytes(std::span(record.id)))
      .text(std::string_view(record.failure).substr(0, failure_bytes_max));
  encode(record.in_use, writer);
  return writer.take();
}

Result<WorkerRecord> decode_worker_record(ByteSpan bytes) {
  Reader reader(bytes);
  WorkerRecord record;
  record.name = reader.number<StrategyName>();
  record.cross_device = decode_rules(reader);
  record.devices = reader.number<uint32_t>();
  record.on_host = reader.number<bool>();
  record.bytes_per_pack = reader.number<uint64_t>();
  record.mode.kind = reader.number<ServerMode::Kind>();
  record.mode.count = reader.number<int>();
  record.mode.local = reader.number<bool>();
  record.communication = reader.number<Communication>();
  const ByteSpan id = reader.raw(record.id.size());
  if (id.size() == record.id.size()) std::memcpy(record.id.data(), id.data(), id.size());
  record.failure = reader.text();
  record.in_use = decode_devices_in_use(reader);
  const bool known = record.name <= StrategyName::one_device && !record.cross_device.empty() &&
                     record.mode.kind <= ServerMode::Kind::bounded &&
                     record.communication <= Communication::nccl;
  if (reader.ok() && known) return record;
  return fail(Errc::protocol, "a worker sent no record of a strategy of this version");
}

Result<> compare_records(const WorkerRecords& by_rank) {
  for (size_t i = 0; i < by_rank.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (!by_rank[i] || by_rank[i]->failure.empty()) continue;
    const std::string& failure = by_rank[i]->failure;
    return fail(Errc::input, by_rank.size() == 1 ? failure : format("rank {}: {}", rank, failure),
                rank);
  }
  if (!by_rank.front()) return {};
  const WorkerRecord& first = *by_rank.front();
  for (size_t i = 1; i < by_rank.size(); ++i) {
    if (!by_rank[i]) continue;
    const int rank = static_cast<int>(i);
    std::string text = difference_of(first, *by_rank[i], rank);
    if (!text.empty()) return fail(Errc::mismatch, std::move(text), rank);
  }
  if (by_rank.size() == 1) return {};
  if (!is_of_one_process(first.name)) return check_device_conflict(by_rank);
  return fail(Errc::input, format("{} trains in one process, and the job has {} workers; use "
                                  "multi_worker_mirrored",
                                  strategy_text(first.name), by_rank.size()));
}

std::vector<std::string> doubtful_differences(const WorkerRecords& by_rank) {
  std::vector<std::string> sentences;
  for (size_t i = 1; i < by_rank.size(); ++i) {
    if (!by_rank[0] || !by_rank[i]) continue;
    std::string text =
        doubtful_difference({0, &by_rank[0]->in_use}, {static_cast<int>(i), &by_rank[i]->in_use});
    if (!text.empty()) sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace dt

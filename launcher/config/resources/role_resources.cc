#include "launcher/config/resources/role_resources.h"

#include "base/format.h"
#include "base/text.h"

#include <utility>
#include <vector>

namespace dt {
namespace {

/// Parses "0.5": a decimal fraction below 1 of which 1 is a multiple.
std::optional<GpuCount> parse_share(std::string_view decimals) {
  constexpr size_t places_max = 6;
  if (decimals.empty() || decimals.size() > places_max) return std::nullopt;
  int64_t unit = 1;
  for (size_t i = 0; i < decimals.size(); ++i)
    unit *= 10;
  const auto part = parse_integer(decimals);
  if (!part || *part < 1 || unit % *part != 0 || unit / *part > task_gpus_max) return std::nullopt;
  return GpuCount{.whole = 0, .sharers = static_cast<int>(unit / *part)};
}

}  // namespace

std::string GpuCount::text() const {
  return shares() ? format("{}", 1.0 / sharers) : format("{}", whole);
}

std::optional<GpuCount> parse_gpu_count(std::string_view text) {
  constexpr std::string_view below_one = "0.";
  if (text.starts_with(below_one)) return parse_share(text.substr(below_one.size()));
  const auto whole = parse_integer(text);
  if (!whole || *whole < 0 || *whole > task_gpus_max) return std::nullopt;
  return GpuCount{.whole = static_cast<int>(*whole), .sharers = 1};
}

std::string RoleResources::text() const {
  std::vector<std::string> parts;
  if (cpus > 0) parts.push_back(format("cpus {}", cpus));
  if (gpus) parts.push_back(format("gpus {}", gpus->text()));
  if (memory_bytes > 0) parts.push_back(format("memory {}", memory_text(memory_bytes)));
  return join(parts, ", ");
}

std::optional<uint64_t> parse_memory(std::string_view text) {
  const auto bytes = parse_size(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

std::string memory_text(uint64_t bytes) {
  constexpr std::pair<char, int> units[] = {{'G', 30}, {'M', 20}, {'K', 10}};
  for (const auto& [letter, shift] : units) {
    if (bytes >> shift << shift == bytes) return format("{}{}", bytes >> shift, letter);
  }
  return format("{}", bytes);
}

}  // namespace dt

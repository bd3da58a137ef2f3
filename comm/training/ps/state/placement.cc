#include "comm/training/ps/state/placement.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dt {

namespace {

/// FNV-1a, which is the same on all machines.
uint64_t hash_of(std::string_view name, uint64_t first_row) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char letter : name)
    add(static_cast<uint8_t>(letter));
  for (uint64_t rest = first_row; rest > 0; rest >>= 8)
    add(static_cast<uint8_t>(rest));
  return hash;
}

uint64_t shard_count(const VariableSpec& variable, const ShardingRule& rule, uint32_t servers) {
  if (rule.fixed > 0) return rule.fixed;
  if (rule.bytes_max > 0) {
    const uint64_t rows = std::max<uint64_t>(1, rule.bytes_max / variable.row_bytes());
    return (variable.rows() + rows - 1) / rows;
  }
  if (rule.bytes_min > 0) return std::min<uint64_t>(servers, variable.bytes() / rule.bytes_min);
  return 1;
}

}  // namespace

std::vector<uint64_t> shard_rows(const VariableSpec& variable, const ShardingRule& rule,
                                 uint32_t servers) {
  const uint64_t count =
      std::clamp<uint64_t>(shard_count(variable, rule, servers), 1, variable.rows());
  std::vector<uint64_t> rows(count, variable.rows() / count);
  for (uint64_t extra = variable.rows() % count; extra > 0; --extra)
    ++rows[extra - 1];
  return rows;
}

uint32_t Placement::choose(const std::string& name, uint64_t first_row) {
  switch (options_.rule) {
    case PlacementRule::round_robin:
      return next_++ % options_.servers;
    case PlacementRule::hash:
      return static_cast<uint32_t>(hash_of(name, first_row) % options_.servers);
    case PlacementRule::greedy:
    case PlacementRule::lpt:
      break;
  }
  return static_cast<uint32_t>(std::ranges::min_element(loads_) - loads_.begin());
}

std::vector<PlacedShard> Placement::add(std::span<const VariableSpec> variables) {
  const size_t first_line = lines_.size();
  for (const VariableSpec& variable : variables) {
    uint64_t first_row = 0;
    for (const uint64_t rows : shard_rows(variable, options_.sharding, options_.servers)) {
      const ShardSpec shard{.number = static_cast<uint32_t>(lines_.size()),
                            .variable = this->variables(),
                            .first_row = first_row,
                            .rows = rows};
      lines_.push_back({{shard, 0}, rows * variable.row_bytes()});
      first_row += rows;
    }
    names_.push_back(variable.name);
  }
  std::vector<size_t> order(lines_.size() - first_line);
  std::iota(order.begin(), order.end(), first_line);
  if (options_.rule == PlacementRule::lpt)
    std::ranges::stable_sort(order, std::greater(), [this](size_t i) { return lines_[i].bytes; });
  for (const size_t i : order) {
    PlacedShard& placed = lines_[i].placed;
    placed.server = choose(names_[placed.shard.variable], placed.shard.first_row);
    loads_[placed.server] += lines_[i].bytes;
  }
  std::vector<PlacedShard> added;
  for (size_t i = first_line; i < lines_.size(); ++i)
    added.push_back(lines_[i].placed);
  return added;
}

std::string Placement::table() const {
  size_t width = std::string_view("variable").size();
  for (const std::string& name : names_)
    width = std::max(width, printable(name).size());
  std::string text = format("{:<{}}  {:>12}  {:>12}  {:>14}  server\n", "variable", width,
                            "first row", "rows", "bytes");
  for (const Line& line : lines_) {
    const ShardSpec& shard = line.placed.shard;
    text += format("{:<{}}  {:>12}  {:>12}  {:>14}  {}\n", printable(names_[shard.variable]), width,
                   shard.first_row, shard.rows, line.bytes, line.placed.server);
  }
  for (size_t server = 0; server < loads_.size(); ++server)
    text += format("server {}: {} bytes\n", server, loads_[server]);
  return text;
}

}  // namespace dt

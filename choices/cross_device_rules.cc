#include "choices/cross_device_rules.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// In the order of CrossDeviceName::Kind.
constexpr std::string_view names_by_size[] = {"reduction_to_one", "hierarchical_copy", "all_reduce",
                                              "nccl_all_reduce"};
constexpr size_t registered_bytes_max = 63;

/// Reads one name of operations by size.
Result<CrossDeviceRule> operation_by_size(std::string_view text) {
  using Kind = CrossDeviceName::Kind;
  const auto* const found = std::ranges::find(names_by_size, text);
  if (found != std::end(names_by_size)) {
    return CrossDeviceRule{.name = {.kind = static_cast<Kind>(found - std::begin(names_by_size))}};
  }
  if (text.starts_with('@')) {
    const std::string_view name = text.substr(1);
    const bool registrable = !name.empty() && name.size() <= registered_bytes_max &&
                             std::ranges::all_of(name, [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      (c >= '0' && c <= '9') || c == '_';
                             });
    if (registrable) return CrossDeviceRule{.registered = std::string(name)};
    return fail(Errc::input, format("\"{}\": the name of an algorithm has 1 to {} letters, digits "
                                    "and underscores",
                                    printable(text), registered_bytes_max));
  }
  return fail(Errc::input,
              format("no cross-device operation \"{}\"; they are ReductionToOneDevice, "
                     "HierarchicalCopyAllReduce, AllReduce and NcclAllReduce; by size, they are "
                     "reduction_to_one, hierarchical_copy, all_reduce, nccl_all_reduce and @NAME",
                     printable(text)));
}

}  // namespace

Result<CrossDeviceRules> parse_cross_device_rules(std::string_view text) {
  const auto parts = split(text, ':');
  if (std::ranges::count(cross_device_names, parts.front()) > 0) {
    CrossDeviceName name = TRY(parse_cross_device_name(text));
    return CrossDeviceRules{{.name = std::move(name)}};
  }
  CrossDeviceRules rules;
  for (size_t i = 0; i < parts.size(); i += 2) {
    CrossDeviceRule rule = TRY(operation_by_size(parts[i]));
    rules.push_back(std::move(rule));
    if (i + 1 == parts.size()) break;
    const auto limit = parse_size(parts[i + 1]);
    if (!limit) {
      return fail(Errc::input, format("expected a limit in bytes behind {}, got \"{}\"", parts[i],
                                      printable(parts[i + 1])));
    }
    if (i + 2 == parts.size()) {
      return fail(Errc::input,
                  format("expected ':' and the operation above the limit {}", parts[i + 1]));
    }
    if (rules.size() > 1 && rules[rules.size() - 2].bytes_max >= *limit)
      return fail(Errc::input,
                  format("the limit {} must be above the one before it", parts[i + 1]));
    rules.back().bytes_max = static_cast<size_t>(*limit);
  }
  if (rules.size() <= cross_device_rules_max) return rules;
  return fail(Errc::input, format("{} cross-device operations by size; at most {} are possible",
                                  rules.size(), cross_device_rules_max));
}

size_t cross_device_rule_for(const CrossDeviceRules& rules, size_t bytes) {
  size_t at = 0;
  while (bytes > rules[at].bytes_max)
    ++at;
  return at;
}

std::string cross_device_text(const CrossDeviceRules& rules) {
  const CrossDeviceRule& first = rules.front();
  if (rules.size() == 1 && first.registered.empty()) {
    const std::string_view name = cross_device_names[static_cast<size_t>(first.name.kind)];
    if (!first.name.device.empty()) return format("{} on {}", name, printable(first.name.device));
    return format("{} with {} pack{}", name, first.name.packs, first.name.packs == 1 ? "" : "s");
  }
  std::string text;
  for (const CrossDeviceRule& rule : rules) {
    if (!text.empty()) text += ':';
    text += rule.registered.empty()
                ? std::string(names_by_size[static_cast<size_t>(rule.name.kind)])
                : "@" + rule.registered;
    if (rule.bytes_max != SIZE_MAX) text += format(":{}", rule.bytes_max);
  }
  return text;
}

}  // namespace dt

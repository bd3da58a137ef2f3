#include "choices/strategy_name.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr int packs_max = 1024;
constexpr size_t device_bytes_max = 64;
constexpr int server_count_max = 1'000'000;
constexpr std::string_view local_async = "local-async";
constexpr std::string_view server_modes[] = {"sync", "async", "bounded"};

std::string listed(const std::vector<std::string>& names) {
  const std::vector<std::string> front(names.begin(), names.end() - 1);
  return format("{} and {}", join(front, ", "), names.back());
}

}  // namespace

std::string_view strategy_text(StrategyName name) {
  return split(strategy_choices, '|')[static_cast<size_t>(name)];
}

Result<StrategyName> parse_strategy_name(std::string_view word) {
  const auto choices = split(strategy_choices, '|');
  const auto found = std::ranges::find(choices, word);
  if (found != choices.end()) return static_cast<StrategyName>(found - choices.begin());
  const std::vector<std::string> names(choices.begin(), choices.end());
  const std::string known = "the strategies are " + listed(names);
  if (word == "tpu") return fail(Errc::input, "there is no TPU here; " + known);
  const auto guess = nearest(word, names);
  return fail(Errc::input, format("no strategy \"{}\"; {}", printable(word),
                                  guess ? format("did you mean {}?", *guess) : known));
}

Result<ServerMode> parse_server_mode(std::string_view text) {
  if (text == local_async) return ServerMode{.kind = ServerMode::Kind::async, .local = true};
  const std::string_view word = text.substr(0, text.find(':'));
  const auto* const found = std::ranges::find(server_modes, word);
  ServerMode mode;
  if (found != std::end(server_modes))
    mode.kind = static_cast<ServerMode::Kind>(found - std::begin(server_modes));
  const bool counts = word.size() < text.size();
  const auto count = counts ? parse_integer(text.substr(word.size() + 1)) : std::nullopt;
  mode.count = static_cast<int>(count.value_or(0));
  const int64_t least = mode.kind == ServerMode::Kind::sync ? 1 : 0;
  const bool in_range = count && *count >= least && *count <= server_count_max;
  const bool bare = !counts && mode.kind != ServerMode::Kind::bounded;
  const bool counted = counts && mode.kind != ServerMode::Kind::async && in_range;
  if (found != std::end(server_modes) && (bare || counted)) return mode;
  return fail(Errc::input,
              format("no mode of parameter servers \"{}\"; they are sync, sync:N with N workers in "
                     "each step, async, local-async, and bounded:N with N pushes of staleness",
                     printable(text)));
}

std::string server_mode_text(const ServerMode& mode) {
  if (mode.local) return std::string(local_async);
  const std::string_view name = server_modes[static_cast<size_t>(mode.kind)];
  const bool counts = mode.count > 0 || mode.kind == ServerMode::Kind::bounded;
  return counts ? format("{}:{}", name, mode.count) : std::string(name);
}

Result<CrossDeviceName> parse_cross_device_name(std::string_view text) {
  const auto parts = split(text, ':');
  const auto* const found = std::ranges::find(cross_device_names, parts.front());
  if (found == std::end(cross_device_names)) {
    const std::vector<std::string> names(std::begin(cross_device_names),
                                         std::end(cross_device_names));
    return fail(Errc::input, format("no cross-device operation \"{}\"; they are {}",
                                    printable(parts.front()), listed(names)));
  }
  CrossDeviceName name = {
      .kind = static_cast<CrossDeviceName::Kind>(found - std::begin(cross_device_names))};
  if (parts.size() == 1) return name;
  const std::string_view argument = text.substr(parts.front().size() + 1);
  if (name.kind == CrossDeviceName::Kind::reduction_to_one_device) {
    if (argument.empty() || argument.size() > device_bytes_max ||
        argument.find(',') != argument.npos)
      return fail(Errc::input, format("{}: expected one device behind the colon, got \"{}\"",
                                      *found, printable(argument)));
    name.device = argument;
    return name;
  }
  const auto packs = parse_integer(argument);
  if (!packs || *packs < 0 || *packs > packs_max) {
    return fail(Errc::input, format("{}: expected 0..{} packs behind the colon, got \"{}\"", *found,
                                    packs_max, printable(argument)));
  }
  name.packs = static_cast<int>(*packs);
  return name;
}

std::string_view communication_text(Communication communication) {
  return split(communication_choices, '|')[static_cast<size_t>(communication)];
}

Result<Communication> parse_communication(std::string_view word) {
  const auto choices = split(communication_choices, '|');
  const std::string small = lower_case(word);
  const auto found = std::ranges::find(choices, small);
  if (found != choices.end()) return static_cast<Communication>(found - choices.begin());
  return fail(Errc::input, format("no communication \"{}\"; they are {}", printable(word),
                                  listed({choices.begin(), choices.end()})));
}

}  // namespace dt

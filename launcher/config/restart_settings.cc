#include "launcher/config/restart_settings.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr std::string_view fixed_size =
    "without --min-np, --max-np, --host-discovery-script or --nnodes MIN:MAX, the number of ranks "
    "is fixed";

/// Returns the option by which the number of ranks follows the hosts; none: it is fixed.
std::optional<OptionValue> sizing_option(const OptionSources& sources, const RunConfig& config,
                                         const std::optional<NodeRange>& nodes) {
  for (const std::string_view name : {"min-np", "max-np"}) {
    if (auto given = find_option(sources, name)) return given;
  }
  if (!config.host_source.program.empty()) return find_option(sources, "host-discovery-script");
  if (nodes && nodes->least < nodes->most) return find_option(sources, "nnodes");
  return std::nullopt;
}

/// Fails for a layout of tasks that has no place for more or fewer ranks.
Result<> check_layout(const OptionSources& sources, const OptionValue& given,
                      const RunConfig& config) {
  if (config.oversubscribe) {
    return find_option(sources, "oversubscribe")
        ->refuse(format("with {} the number of ranks is at most that of the slots; leave one of "
                        "them out",
                        given.origin));
  }
  std::vector<std::string> ranked;
  for (const Role& role : config.roles) {
    if (role.ranked) ranked.push_back(role.name);
    if (role.hosts.empty()) continue;
    return given.refuse(
        format("role {} has hosts of its own, which may be lost, but its tasks are needed; name "
               "them by -H, or leave {} out",
               role.name, given.origin));
  }
  if (ranked.size() == 1) return {};
  return given.refuse(
      format("the roles {} have ranks, but the number of tasks of only one role can follow the "
             "hosts; use one of them, or leave {} out",
             join(ranked, ", "), given.origin));
}

/// Reads --min-np, --max-np, -np and --nnodes.
Result<JobSize> read_limits(const OptionSources& sources, const RunConfig& config,
                            const std::optional<NodeRange>& nodes) {
  JobSize size;
  const int count = ranked_count(config.roles);
  if (count > 0) size.ranks_first = size.ranks_min = count;
  if (nodes) {
    size.hosts_min = nodes->least;
    size.hosts_max = nodes->most;
  }
  const auto least = find_option(sources, "min-np");
  const auto most = find_option(sources, "max-np");
  if (least) {
    const int64_t number = TRY(least->integer(1, processes_max));
    size.ranks_min = static_cast<int>(number);
  }
  if (most) {
    const int64_t number = TRY(most->integer(1, processes_max));
    size.ranks_max = static_cast<int>(number);
  }
  if (least && most && size.ranks_min > size.ranks_max) {
    return least->refuse(
        format("{} is more than {} of {}; the fewest ranks are at most the most ranks",
               size.ranks_min, size.ranks_max, most->origin));
  }
  if (count == 0) return size;
  const auto np = find_option(sources, "np");
  const auto counted = np ? np : find_option(sources, "role");
  if (least && count < size.ranks_min) {
    return counted->refuse(
        format("{} rank{} fewer than {} of {}; give {} or more, or leave the number out", count,
               count == 1 ? " is" : "s are", size.ranks_min, least->origin, size.ranks_min));
  }
  if (most && count > size.ranks_max) {
    return counted->refuse(
        format("{} ranks are more than {} of {}; give {} or fewer, or leave the number "
               "out",
               count, size.ranks_max, most->origin, size.ranks_max));
  }
  return size;
}

/// Returns the number of ranks that the job has whatever hosts it loses.
int fewest_ranks(const RunConfig& config) {
  const JobSize& size = *config.restarts.size;
  const int others = unranked_count(config.roles);
  return std::max(size.ranks_min, size.hosts_min * config.placement.per_host.value_or(1) - others);
}

/// Decides how many slots the first start needs, if only the most are given: all, up to these.
/// Fails where all slots are known, can never be more, and are too few for the first start.
Result<> check_slots(const OptionValue& given, RunConfig& config) {
  const std::vector<Host>& hosts = config.hosts;
  const auto per_host = config.placement.per_host;
  const bool known =
      per_host || std::ranges::all_of(hosts, [](const Host& host) { return host.slots > 0; });
  if (hosts.empty() || !known) return {};
  JobSize& size = *config.restarts.size;
  const size_t most = size.hosts_max == 0 ? hosts.size() : static_cast<size_t>(size.hosts_max);
  int64_t slots = 0;
  for (size_t i = 0; i < std::min(most, hosts.size()); ++i)
    slots += per_host.value_or(hosts[i].slots);
  const int others = unranked_count(config.roles);
  if (given.name == "max-np" && !size.ranks_first)
    size.ranks_first =
        static_cast<int>(std::clamp<int64_t>(slots - others, size.ranks_min, size.ranks_max));
  const int ranks = size.ranks_first.value_or(size.ranks_min);
  if (ranks + others <= slots || config.host_source.changes()) return {};
  return given.refuse(format(
      "{} ranks{} must be there first, but the hosts have {} slot{}, and no --hostfile or "
      "--host-discovery-script can add some; name more hosts, or more slots of them",
      ranks, others == 0 ? "" : format(" and {} other task{}", others, others == 1 ? "" : "s"),
      slots, slots == 1 ? "" : "s"));
}

/// Fails for options that need more ranks than the job may have.
Result<> check_fewest(const OptionSources& sources, const RunConfig& config) {
  const int fewest = fewest_ranks(config);
  const std::string may_have =
      format("the job may start again with {} rank{}", fewest, fewest == 1 ? "" : "s");
  const StdinTarget& input = config.stdin_target;
  if (input.kind == StdinTarget::Kind::rank && input.rank >= fewest) {
    return find_option(sources, "stdin")
        ->refuse(format("rank {} may be missing, since {}; give a rank of 0..{}", input.rank,
                        may_have, fewest - 1));
  }
  if (config.success.workers_min > fewest) {
    return find_option(sources, "min-workers")
        ->refuse(format("{} workers, but {}; give {} or fewer", config.success.workers_min,
                        may_have, fewest));
  }
  const ServerMode mode = config.ps_mode.value_or(ServerMode());
  if (mode.kind == ServerMode::Kind::sync && mode.count > fewest) {
    return find_option(sources, "ps-mode")
        ->refuse(format("{} needs {} workers, but {}; give sync:1 to sync:{}",
                        server_mode_text(mode), mode.count, may_have, fewest));
  }
  return {};
}

Result<> read_size(const OptionSources& sources, RunConfig& config) {
  const auto slots = find_option(sources, "slots-per-host");
  if (slots && !find_option(sources, "host-discovery-script"))
    return slots->refuse("only for hosts of --host-discovery-script; -H and --hostfile have slots");
  const std::optional<NodeRange> nodes = TRY(read_node_range(sources));
  const auto given = sizing_option(sources, config, nodes);
  if (!given) return {};
  if (config.external_cluster) {
    // Where another source of options has the cluster, it wins over the counts.
    if (given->name != "nnodes") return {};
    return given->refuse("--cluster-spec already has the hosts; leave one of them out");
  }
  TRY(check_layout(sources, *given, config));
  config.restarts.size = TRY(read_limits(sources, config, nodes));
  TRY(check_slots(*given, config));
  return check_fewest(sources, config);
}

/// Finds --max-restarts or --reset-limit in the first source that has one of them.
Result<std::optional<OptionValue>> most_restarts(const OptionSources& sources) {
  for (const OptionSource& source : sources) {
    auto most = find_in(source, "max-restarts");
    auto limit = find_in(source, "reset-limit");
    if (most && limit)
      return limit->refuse(format("conflicts with {}; give one of them", most->origin));
    if (most || limit) return most ? std::move(most) : std::move(limit);
  }
  return std::nullopt;
}

Result<> read_most(const OptionSources& sources, RunConfig& config) {
  const std::optional<OptionValue> most = TRY(most_restarts(sources));
  const bool is_elastic = config.restarts.size &&
                          (find_option(sources, "min-np") || !config.host_source.program.empty());
  if (most) {
    const int64_t number = TRY(most->integer(0, std::numeric_limits<int32_t>::max()));
    config.restarts.max = static_cast<uint32_t>(number);
    if (number > 0 && config.external_cluster)
      return most->refuse(
          "others start a part of the cluster's tasks, which dtrain cannot restart");
  } else if (is_elastic) {
    config.restarts.max = unlimited_restarts;
  }
  if (is_elastic && config.restarts.max > 0 && (!most || most->name == "reset-limit")) {
    config.notes.emplace_back(
        "after a failure all ranks start again, each from its own checkpoint; dtrain keeps none "
        "of their memory");
  }
  return {};
}

Result<> read_spares(const OptionSources& sources, const TextReader& read_text, RunConfig& config) {
  const auto spare = find_option(sources, "spare");
  if (!spare) return {};
  if (config.restarts.max == 0)
    return spare->refuse("without --max-restarts N, no job starts again on other hosts");
  if (config.restarts.size) {
    return spare->refuse(
        "where the number of ranks follows the hosts, those above --max-np are spares: name them "
        "by -H");
  }
  if (!config.slurm_job.empty()) {
    return spare->refuse(
        format("the hosts are those of {}, whose nodes without processes are "
               "spares: leave it out, and give -np N",
               config.allocation));
  }
  HostList list = TRY(parse_host_list(join(*spare->values, ","), spare->origin, read_text));
  config.restarts.spares = std::move(list.hosts);
  std::ranges::move(list.warnings, std::back_inserter(config.warnings));
  return {};
}

Result<> read_restart_on(const OptionSources& sources, RunConfig& config) {
  const auto on = find_option(sources, "restart-on");
  if (!on) return {};
  if (config.restarts.max == 0) return on->refuse("without --max-restarts N, no job starts again");
  const auto statuses = parse_statuses(on->value());
  if (!statuses) return on->expected("exit statuses of failures, such as 42,143,128-255");
  config.restarts.on = *statuses;
  return {};
}

/// horovodrun's limit of --blacklist-cooldown-range.
constexpr int64_t cooldown_seconds_max = 3600;

/// Parses "MIN MAX".
std::optional<CooldownRange> parse_cooldown(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 2) return std::nullopt;
  const int64_t least = parse_integer(words[0]).value_or(0);
  const int64_t most = parse_integer(words[1]).value_or(0);
  if (least < 1 || least > most || most > cooldown_seconds_max) return std::nullopt;
  return CooldownRange{.least = seconds(least), .most = seconds(most)};
}

Result<> read_cooldown(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "blacklist-cooldown-range");
  if (!given) return {};
  const std::string text = join(*given->values, " ");  // a file may have one string
  const std::optional<CooldownRange> range = parse_cooldown(text);
  if (!range) {
    return given->refuse(
        format("expected MIN MAX, two numbers of seconds of 1..{}, the smaller first, got \"{}\"",
               cooldown_seconds_max, printable(text)));
  }
  if (!config.restarts.size)
    return given->refuse(format("{}, and each host is needed", fixed_size));
  if (config.restarts.max == 0)
    return given->refuse("without --max-restarts N, no job starts again");
  config.restarts.cooldown = range;
  return {};
}

Result<> read_elastic_timeout(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "elastic-timeout");
  if (!given) return {};
  config.restarts.elastic_timeout = TRY(given->positive_duration());
  if (config.restarts.size) return {};
  return given->refuse(format("{}, and no job waits for hosts", fixed_size));
}

}  // namespace

Result<std::optional<NodeRange>> read_node_range(const OptionSources& sources) {
  const auto given = find_option(sources, "nnodes");
  if (!given) return std::nullopt;
  const std::vector<std::string_view> parts = split(given->value(), ':');
  const auto least = parse_integer(parts.front());
  const auto most = parse_integer(parts.back());
  constexpr auto hosts_limit = static_cast<int64_t>(hosts_max);
  const bool valid =
      parts.size() <= 2 && least && most && 1 <= *least && *least <= *most && *most <= hosts_limit;
  if (!valid)
    return given->expected(
        format("1..{} hosts, or MIN:MAX with MIN up to MAX, such as 2:4", hosts_limit));
  return NodeRange{.least = static_cast<int>(*least), .most = static_cast<int>(*most)};
}

Result<> read_restart_settings(const OptionSources& sources, const TextReader& read_text,
                               RunConfig& config) {
  TRY(read_size(sources, config));
  TRY(read_most(sources, config));
  TRY(read_spares(sources, read_text, config));
  TRY(read_restart_on(sources, config));
  TRY(read_cooldown(sources, config));
  return read_elastic_timeout(sources, config);
}

}  // namespace dt

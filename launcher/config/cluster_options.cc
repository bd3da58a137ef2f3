#include "launcher/config/cluster_options.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string>

namespace dt {
namespace {

constexpr std::string_view name_of_cluster = "cluster-spec";
constexpr std::string_view names_of_counts[] = {
    "np", "min-np", "max-np", "role", "hosts", "hostfile", "host-discovery-script", "ppn"};

std::optional<OptionValue> find_counts(const OptionSource& source) {
  for (const std::string_view name : names_of_counts) {
    if (auto given = find_in(source, name)) return given;
  }
  return std::nullopt;
}

/// Reads the option: the cluster's text, or @FILE.
Result<> read_option(const OptionValue& given, const TextReader& read_text, RunConfig& config) {
  const std::string& value = given.value();
  std::string text = value;
  if (value.starts_with('@')) text = TRY(given.text_of(value.substr(1), read_text));
  config.external_cluster = TRY(parse_cluster_option(trim(text), given.origin));
  return {};
}

/// Reads a scheduler's TF_CONFIG. Called when no option decides which tasks start.
Result<> read_variable(const std::string& text, RunConfig& config) {
  auto given = cluster_of_tf_config(text);
  if (!given) {
    return fail(
        Errc::input,
        given.error().message + "\n(-np N starts so many instead, --cluster-spec none ignores it)");
  }
  config.external_cluster = *std::move(given);
  return {};
}

}  // namespace

LayoutChoice find_layout(const OptionSources& by_precedence) {
  for (const OptionSource& source : by_precedence) {
    LayoutChoice choice = {.cluster = find_in(source, name_of_cluster),
                           .counts = find_counts(source)};
    if (choice.cluster && choice.cluster->value() == "none") return {};
    if (choice.cluster || choice.counts) return choice;
  }
  return {};
}

bool is_overridden(const LayoutChoice& choice, std::string_view name) {
  if (name == name_of_cluster) return choice.counts && !choice.cluster;
  const bool counts = std::ranges::count(names_of_counts, name) > 0;
  return counts && choice.cluster && !choice.counts;
}

Result<> read_external_cluster(const OptionSources& by_precedence, const Environment& environment,
                               const TextReader& read_text, RunConfig& config) {
  const auto [cluster, counts] = find_layout(by_precedence);
  if (cluster && counts) {
    return counts->refuse(format(
        "{} already has the tasks and their addresses; leave one of them out", cluster->origin));
  }
  if (cluster) return read_option(*cluster, read_text, config);
  const std::optional<std::string> found = found_tf_config(environment);
  const auto option = find_option(by_precedence, name_of_cluster);
  if (!found || (option && option->value() == "none")) return {};
  if (!counts) return read_variable(*found, config);
  config.warnings.push_back(
      format("TF_CONFIG is ignored, since {} decides what to start (--cluster-spec none: no "
             "warning)",
             counts->origin));
  return {};
}

}  // namespace dt

#include "launcher/job/sync/dry_run_report.h"

#include "base/format.h"
#include "base/json.h"
#include "base/text.h"
#include "launcher/report/json_values.h"
#include "launcher/report/report.h"
#include "launcher/sync/source/find_tree.h"
#include "launcher/sync/source/tree_size.h"

#include <cstdint>
#include <utility>

namespace dt {

namespace {

Json count_json(uint64_t number) {
  return Json(static_cast<int64_t>(number));
}

/// Returns the member of the plan for a tree that lies here.
Json tree_json(const FoundTree& tree) {
  Json::Array largest;
  for (const LargeEntry& entry : largest_entries(tree, shown_entries_max)) {
    largest.emplace_back(Json::Object{
        {"path", entry.path}, {"bytes", count_json(entry.bytes)}, {"folder", entry.folder}});
  }
  Json::Array warnings;
  for (const std::string& warning : tree.warnings)
    warnings.emplace_back(warning);
  return Json::Object{{"root", tree.root},
                      {"commit", text_or_null(tree.commit)},
                      {"dirty", tree.dirty},
                      {"files", count_json(tree.entries.size())},
                      {"bytes", count_json(tree.total_bytes())},
                      {"largest", std::move(largest)},
                      {"warnings", std::move(warnings)}};
}

/// The same for a repository: --dry-run does not run git.
Json repository_json(const std::string& name) {
  return Json::Object{
      {"root", name},    {"commit", Json()},         {"dirty", false},           {"files", Json()},
      {"bytes", Json()}, {"largest", Json::Array()}, {"warnings", Json::Array()}};
}

}  // namespace

Result<std::string> dry_run_report(const Plan& plan, const RunConfig& config,
                                   const Environment& environment) {
  if (!config.sync) return plan_report(plan, config, {});
  if (config.sync->repository) {
    const std::string name = name_of_repository(*config.sync->repository);
    if (config.json) return plan_report(plan, config, repository_json(name));
    return plan_report(plan, config, {}) +
           format("Files of {}: not listed, since --dry-run does not run git\n", printable(name));
  }
  const FoundTree tree = TRY(find_tree(*config.sync, {current_folder(environment), environment}));
  TRY(check_tree_size(tree, config.sync->bytes_max));
  if (config.json) return plan_report(plan, config, tree_json(tree));
  return plan_report(plan, config, {}) + tree_text(tree);
}

}  // namespace dt

#include "launcher/job/sync/tree_orders.h"

#include "base/format.h"
#include "launcher/sync/server/folder_in_tree.h"
namespace dt {

Result<> place_in_trees(std::vector<Prepare>& orders, const RunConfig& config, const Plan& plan,
                        const CodeSync& code) {
  std::string below;
  if (config.sync) below = TRY(folder_in_tree(*code.facts(), config.chdir));
  const std::vector<HostTree> trees = code.trees(plan);
  for (size_t agent = 0; agent < orders.size(); ++agent) {
    const HostTree& tree = trees[agent];
    Prepare& order = orders[agent];
    order.cwd = below.empty() ? tree.folder : format("{}/{}", tree.folder, below);
    order.home_instead = false;
    order.path = tree.with_setup(order.path);
    for (RoleCommand& of_role : order.role_commands)
      of_role.path = tree.with_setup(of_role.path);
  }
  return {};
}

void set_stage(std::vector<Prepare>& orders, PrepareStage stage) {
  for (Prepare& order : orders)
    order.stage = stage;
}

void add_failures(std::vector<Prepared>& answers, const std::vector<std::string>& why) {
  for (size_t agent = 0; agent < answers.size(); ++agent) {
    if (why[agent].empty()) continue;
    answers[agent].failure = why[agent];
    answers[agent].status = exit_status_of(Errc::input);
  }
}

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/node_shape.h"
#include "launcher/export/kubernetes/pod.h"
#include "launcher/export/left_out.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The command of equal pods, as Kubernetes has it.
struct PodCommand {
  std::vector<std::string> launcher;   ///< up to the --
  std::vector<std::string> arguments;  ///< the user's words
};

/// How dtrain reaches the other nodes: they dial, it uses ssh, or there are none.
enum class NodeReach : uint8_t { dialed, ssh, alone };

/// Returns the part of an option of `dtrain run` in pods that run dtrain. One that is written
/// stands in the pod's command, or Kubernetes has it in another form.
ExportPart part_in_pods(std::string_view option, NodeReach reach);
/// Returns its part in pods that do not run dtrain.
ExportPart part_in_plain_pods(std::string_view option);

/// Returns "dtrain run", these words about nodes, the job's other options, and the command.
/// Requires a job whose only role is worker.
PodCommand dtrain_command(const ExportJob& job, const std::vector<std::string>& node_words,
                          NodeReach reach);
/// Returns the user's command behind the words of another launcher, in which Kubernetes replaces
/// $(NAME).
PodCommand other_command(const ExportJob& job, std::vector<std::string> launcher);

/// Returns the variables that the user sets for the workers, in the order of their names.
std::vector<PodVariable> user_pod_variables(const ExportJob& job);

}  // namespace dt

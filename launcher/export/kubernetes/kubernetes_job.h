#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"
#include "launcher/export/kubernetes/node_shape.h"
#include "launcher/export/kubernetes/pod.h"
#include "launcher/export/kubernetes/pod_command.h"
#include "launcher/export/kubernetes/role_pod.h"

#include <string>
#include <vector>

namespace dt {

/// A job, and what its objects of all kinds need of it.
struct KubernetesJob {
  const ExportJob& job;
  const KubernetesOptions& options;
  std::string name = {};  ///< of its objects
  NodeShape shape = {};   ///< of equal pods
  PodSurroundings surroundings = {};
  std::vector<std::string> left_out = {};  ///< by the kind, each a part of a sentence
  std::vector<std::string> warnings = {};  ///< whole sentences
};

/// True for a job whose pods differ by their roles. They have no launcher.
bool has_roles(const ExportJob& job);
/// True where dtrain starts the processes in the pods.
bool has_launcher(const KubernetesJob& job);
/// Returns how that launcher reaches the other nodes.
NodeReach node_reach(const KubernetesJob& job);
/// True where nodes prove to each other that they belong to the job, by the token of a Secret.
bool needs_token(const KubernetesJob& job);

/// Adds "suspend: true" for a queue, which then starts the job.
void add_suspend(const KubernetesJob& job, YamlValue& spec);
/// Returns the metadata of the object that the queue of --queue starts.
YamlValue queued_metadata(const KubernetesJob& job);
/// Returns the first members of an object: apiVersion, kind and metadata.
YamlValue object_of(std::string_view version, std::string_view kind, YamlValue metadata);

/// Adds the time limit of --timeout, where no dtrain in the pods keeps it.
void add_deadline(const KubernetesJob& job, YamlValue& spec);

/// Returns the pod of a node: the command, the user's variables and the nodes' token. Fails with
/// Errc::input for resources that pods cannot have.
Result<Pod> node_pod(const KubernetesJob& job, PodCommand command);

/// How pods of a kind find their number and node 0.
struct NodePlace {
  std::string rank;       ///< the value of --node-rank of dtrain
  std::string reference;  ///< the same as $(NAME)
  std::string address;    ///< of node 0
};
/// Returns the command of a node: dtrain's, or torchrun's for an image without dtrain.
PodCommand node_command(const KubernetesJob& job, const NodePlace& place);

}  // namespace dt

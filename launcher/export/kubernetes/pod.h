#pragma once

#include "base/result.h"
#include "launcher/config/placement_options.h"
#include "launcher/config/resources/role_resources.h"
#include "launcher/export/yaml_text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns the text by which Kubernetes gives a container this one. In commands and in values of
/// variables it replaces $(NAME), and takes $$ for $.
std::string literal_text(std::string_view text);
std::vector<std::string> literal_texts(const std::vector<std::string>& texts);

/// A variable of a container: its name, and "value" or "valueFrom" as Kubernetes has them.
struct PodVariable {
  std::string name;
  YamlValue value;
  bool operator==(const PodVariable&) const = default;
};

/// The variable has this text, in which Kubernetes replaces $(NAME).
PodVariable variable_of_text(std::string_view name, std::string_view text);
/// The variable has a field of its pod, such as "metadata.labels['job-name']".
PodVariable variable_of_field(std::string_view name, std::string_view field);
/// The variable has the key `token` of a Secret.
PodVariable variable_of_secret(std::string_view name, std::string_view secret);

/// A folder of other storage in a container.
struct PodVolume {
  YamlValue source;  ///< with its name and kind, as Kubernetes has it
  std::string target;
  bool read_only = false;
};

/// The resources of all processes of a pod.
struct PodResources {
  int cpus = 0;               ///< 0: no limit
  int gpus = 0;               ///< 0: none
  uint64_t memory_bytes = 0;  ///< 0: no limit
  bool operator==(const PodResources&) const = default;
};

/// Returns the need of `processes` tasks of the role. Fails with Errc::input where tasks share a
/// GPU: Kubernetes gives pods whole ones.
Result<PodResources> pod_resources(const RoleResources& each, int processes, GpuBind bind);
/// Returns {"limits": …}, or null where nothing is limited.
YamlValue resource_limits(const PodResources& resources);

/// The parts that all pods of a job share.
struct PodSurroundings {
  std::string job;            ///< the name of the job
  int64_t grace_seconds = 0;  ///< between SIGTERM and SIGKILL
  std::string folder = {};    ///< in which the command starts; empty: that of the image
  std::vector<PodVolume> volumes = {};
};

/// A pod of one container. Empty members are left out.
struct Pod {
  std::string container = "main";
  std::string image = {};
  std::vector<std::string> command = {};    ///< Kubernetes replaces $(NAME) in it
  std::vector<std::string> arguments = {};  ///< behind the command, the same
  std::vector<PodVariable> environment = {};
  PodResources resources = {};
  std::string restart_policy = "Never";
  std::string subdomain = {};
};

YamlValue variable_list(const std::vector<PodVariable>& variables);
/// An object, and the job to which it belongs. The name of an object may be too long for a label.
struct ObjectName {
  std::string_view name;
  std::string_view job;
};
/// Returns the metadata of an object, with the job's name as a label.
YamlValue object_metadata(const ObjectName& object);
/// Returns the template of a pod, with the job's name as a label.
YamlValue pod_template(const Pod& pod, const PodSurroundings& surroundings);

}  // namespace dt

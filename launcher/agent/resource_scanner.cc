#include "launcher/agent/resource_scanner.h"

#include "base/format.h"
#include "base/io/cores.h"
#include "base/text.h"
#include "launcher/agent/gather_facts.h"
#include "launcher/agent/local_host.h"
#include "launcher/environment/environment.h"
#include "launcher/process/task_cgroup.h"
#include "launcher/protocol/message.h"

namespace dt {

namespace {

VisibleVariables own_visible_variables() {
  const Environment own = parse_environment(own_environment());
  const auto variable = [&own](const char* name) -> std::optional<std::string> {
    const auto at = own.find(name);
    return at == own.end() ? std::nullopt : std::optional(at->second);
  };
  return {.cuda = variable("CUDA_VISIBLE_DEVICES"), .nvidia = variable("NVIDIA_VISIBLE_DEVICES")};
}

/// Runs in a process of its own, since the driver may hang.
Bytes list_gpus_as_bytes() {
  HostResources resources;
  if (auto list = list_gpus()) {
    resources.gpus = *std::move(list);
  } else {
    resources.gpu_failure = list.error().message;
    resources.has_driver = list.error().code != Errc::not_found;
  }
  return encode(resources);
}

/// Returns why list_gpus_as_bytes() sent no list, when its process ended so.
std::string why_no_list(ForkedQuery::End end, Duration patience) {
  switch (end) {
    case ForkedQuery::End::late:
      return format("NVIDIA's driver has not answered for {}", duration_text(patience));
    case ForkedQuery::End::silent:
      return "the process that asked NVIDIA's driver has ended without an answer";
    case ForkedQuery::End::cut:
      return "the process that asked NVIDIA's driver has ended in the middle of its answer";
    case ForkedQuery::End::answered:
      break;
  }
  return "the process that asked NVIDIA's driver has sent no list";
}

}  // namespace

Result<std::unique_ptr<ResourceScanner>> ResourceScanner::start(Loop& loop,
                                                                const ResourcesWanted& wanted,
                                                                Done on_done) {
  std::unique_ptr<ResourceScanner> scanner(new ResourceScanner(std::move(on_done)));
  scanner->resources_.topology = TRY(own_topology());
  scanner->resources_.cpu_quota = cpu_quota();
  scanner->resources_.memory_bytes = static_cast<uint64_t>(usable_memory_bytes());
  scanner->resources_.limits_memory = TaskCgroup::can_limit_memory();
  scanner->resources_.visible = own_visible_variables();
  if (wanted.gpus) {
    const auto answered = [&it = *scanner,
                           patience = wanted.patience](const ForkedQuery::Answer& answer) {
      it.driver_answered(answer, patience);
    };
    scanner->query_ = TRY(ForkedQuery::start(loop, list_gpus_as_bytes, wanted.patience, answered));
  } else {
    scanner->soon_ = loop.after(Duration::zero(), [&it = *scanner] { it.on_done_(it.resources_); });
  }
  return scanner;
}

void ResourceScanner::driver_answered(const ForkedQuery::Answer& answer, Duration patience) {
  if (auto resources = decode<HostResources>(answer.bytes)) {
    resources_.gpus = std::move(resources->gpus);
    resources_.gpu_failure = std::move(resources->gpu_failure);
    resources_.has_driver = resources->has_driver;
  } else {
    resources_.gpu_failure =
        format("cannot list GPUs: {}; see nvidia-smi", why_no_list(answer.end, patience));
  }
  on_done_(resources_);
}

}  // namespace dt

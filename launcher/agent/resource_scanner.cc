#include "launcher/agent/resource_scanner.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/agent/local_host.h"
#include "launcher/environment/environment.h"
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

/// In a process of its own.
Bytes ask_driver_for_gpus() {
  HostResources resources;
  if (auto list = list_gpus()) {
    resources.gpus = *std::move(list);
  } else {
    resources.gpu_failure = list.error().message;
    resources.has_driver = list.error().code != Errc::not_found;
  }
  return encode(resources);
}

}  // namespace

Result<std::unique_ptr<ResourceScanner>> ResourceScanner::start(Loop& loop,
                                                                const ResourcesWanted& wanted,
                                                                Done on_done) {
  std::unique_ptr<ResourceScanner> surveyor(new ResourceScanner(std::move(on_done)));
  surveyor->resources_.topology = TRY(own_topology());
  surveyor->resources_.visible = own_visible_variables();
  if (wanted.gpus) {
    const auto answered = [&it = *surveyor,
                           patience = wanted.patience](const ForkedQuery::Answer& said) {
      it.driver_answered(said, patience);
    };
    surveyor->asker_ =
        TRY(ForkedQuery::start(loop, ask_driver_for_gpus, wanted.patience, answered));
  } else {
    surveyor->soon_ =
        loop.after(Duration::zero(), [&it = *surveyor] { it.on_done_(it.resources_); });
  }
  return surveyor;
}

void ResourceScanner::driver_answered(const ForkedQuery::Answer& answer, Duration patience) {
  if (auto said = decode<HostResources>(answer.bytes)) {
    resources_.gpus = std::move(said->gpus);
    resources_.gpu_failure = std::move(said->gpu_failure);
    resources_.has_driver = said->has_driver;
  } else if (answer.end == ForkedQuery::End::late) {
    resources_.gpu_failure =
        format("cannot list GPUs: NVIDIA's driver has not answered for {}; see nvidia-smi",
               duration_text(patience));
  } else {
    resources_.gpu_failure =
        "cannot list GPUs: what asked NVIDIA's driver has ended without a word; see nvidia-smi";
  }
  on_done_(resources_);
}

}  // namespace dt

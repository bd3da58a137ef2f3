#include "launcher/agent/surveyor.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/agent/own_host.h"
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
  HostSurvey survey;
  if (auto list = list_gpus()) {
    survey.gpus = *std::move(list);
  } else {
    survey.gpu_failure = list.error().message;
    survey.has_driver = list.error().code != Errc::not_found;
  }
  return encode(survey);
}

}  // namespace

Result<std::unique_ptr<Surveyor>> Surveyor::start(Loop& loop, const Survey& wanted, Done on_done) {
  std::unique_ptr<Surveyor> surveyor(new Surveyor(std::move(on_done)));
  surveyor->survey_.topology = TRY(own_topology());
  surveyor->survey_.visible = own_visible_variables();
  if (wanted.gpus) {
    const auto answered = [&it = *surveyor, patience = wanted.patience](const Asker::Answer& said) {
      it.driver_answered(said, patience);
    };
    surveyor->asker_ = TRY(Asker::start(loop, ask_driver_for_gpus, wanted.patience, answered));
  } else {
    surveyor->soon_ = loop.after(Duration::zero(), [&it = *surveyor] { it.on_done_(it.survey_); });
  }
  return surveyor;
}

void Surveyor::driver_answered(const Asker::Answer& answer, Duration patience) {
  if (auto said = decode<HostSurvey>(answer.bytes)) {
    survey_.gpus = std::move(said->gpus);
    survey_.gpu_failure = std::move(said->gpu_failure);
    survey_.has_driver = said->has_driver;
  } else if (answer.end == Asker::End::late) {
    survey_.gpu_failure =
        format("cannot list GPUs: NVIDIA's driver has not answered for {}; see nvidia-smi",
               duration_text(patience));
  } else {
    survey_.gpu_failure =
        "cannot list GPUs: what asked NVIDIA's driver has ended without a word; see nvidia-smi";
  }
  on_done_(survey_);
}

}  // namespace dt

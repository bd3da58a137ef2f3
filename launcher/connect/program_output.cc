#include "launcher/connect/program_output.h"

#include "base/format.h"
#include "base/text.h"

namespace dt {

ProgramOutput::ProgramOutput(Loop& loop, const std::vector<std::string>& command, OnDone on_done)
    : on_done_(std::move(on_done)) {
  const Result<> started = start(loop, command);
  if (started) return;
  failing_ = loop.after(Duration::zero(),
                        [this, error = started.error()] { done(tl::unexpected(error)); });
}

Result<> ProgramOutput::start(Loop& loop, const std::vector<std::string>& command) {
  const auto explain = [this, name = join(command, " ")](const ProcessConnection::Facts& facts) {
    ended_well_ = facts.status && facts.status->good();
    std::string stderr_text = facts.stderr_text;
    std::erase(stderr_text, '\r');
    // ssh names the fault in its first line. The others only repeat that it ends.
    const std::string_view first = trim(trim(stderr_text).substr(0, trim(stderr_text).find('\n')));
    const std::string how = facts.status ? facts.status->text() : "it closed its output";
    return AgentConnection::CloseReason{
        .why = format("{}: {} ({})", name, printable(first, 300), how)};
  };
  SpawnedProcess process = TRY(start_client(command));
  process_ = TRY(ProcessConnection::open(
      loop, std::move(process), {.is_client = true, .explain = explain},
      {.on_bytes =
           [this](ByteSpan bytes) {
             output_ += as_text(bytes).substr(0, bytes_max - output_.size());
             return bytes.size();
           },
       .on_end =
           [this](const AgentConnection::CloseReason& reason) {
             done(ended_well_ ? Result<std::string>(std::move(output_))
                              : Result<std::string>(fail(Errc::os, reason.why)));
           }}));
  return {};
}

void ProgramOutput::done(Result<std::string> result) {
  const OnDone on_done = on_done_;  // a copy: the call may destroy this
  on_done(std::move(result));
}

}  // namespace dt

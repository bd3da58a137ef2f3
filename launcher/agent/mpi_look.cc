#include "launcher/agent/mpi_look.h"

#include "base/bytes.h"
#include "launcher/agent/mpi_program.h"

#include <utility>

namespace dt {

namespace {

/// After their start, tasks have loaded their libraries.
constexpr Duration loading_time = seconds(1);
/// What has not been seen by then is not told of.
constexpr Duration look_patience = seconds(5);

uint32_t count_said(const ForkedQuery::Answer& answer) {
  Reader reader(answer.bytes);
  const auto count = reader.number<uint32_t>();
  return reader.finish("look") ? count : 0;
}

}  // namespace

MpiLook::MpiLook(Loop& loop, Tasks tasks, Done on_done)
    : loop_(loop),
      tasks_(std::move(tasks)),
      on_done_(std::move(on_done)),
      timer_(loop.after(loading_time, [this] { look(); })) {
}

void MpiLook::look() {
  const auto count = [tasks = tasks_()] { return Writer().number(count_alone(tasks)).take(); };
  const auto done = [this](const ForkedQuery::Answer& answer) {
    answered_ = true;
    on_done_(count_said(answer));
  };
  if (auto asker = ForkedQuery::start(loop_, count, look_patience, done)) {
    asker_ = *std::move(asker);
  } else {
    on_done_(0);
  }
}

std::vector<pid_t> MpiLook::processes() const {
  return asker_ && !answered_ ? std::vector<pid_t>{asker_->pid()} : std::vector<pid_t>();
}

}  // namespace dt

#include "launcher/agent/mpi_look.h"

#include "base/bytes.h"
#include "launcher/agent/mpi_program.h"

#include <utility>

namespace dt {

namespace {

/// The time from the start of tasks until they have loaded their libraries.
constexpr Duration loading_time = seconds(1);
/// An MPI program that is not found by then is not reported.
constexpr Duration check_patience = seconds(5);

/// Returns 0 for an answer that is not complete.
uint32_t decode_count(const ForkedQuery::Answer& answer) {
  Reader reader(answer.bytes);
  const auto count = reader.number<uint32_t>();
  return reader.finish("look") ? count : 0;
}

}  // namespace

MpiLook::MpiLook(Loop& loop, Tasks tasks, Done on_done)
    : loop_(loop),
      tasks_(std::move(tasks)),
      on_done_(std::move(on_done)),
      timer_(loop.after(loading_time, [this] { check(); })) {
}

void MpiLook::check() {
  const auto count = [tasks = tasks_()] { return Writer().number(count_alone(tasks)).take(); };
  const auto done = [this](const ForkedQuery::Answer& answer) {
    answered_ = true;
    on_done_(decode_count(answer));
  };
  if (auto query = ForkedQuery::start(loop_, count, check_patience, done)) {
    query_ = *std::move(query);
  } else {
    on_done_(0);
  }
}

std::vector<pid_t> MpiLook::processes() const {
  return query_ && !answered_ ? std::vector<pid_t>{query_->pid()} : std::vector<pid_t>();
}

}  // namespace dt

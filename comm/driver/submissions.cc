#include "comm/driver/submissions.h"

#include "comm/collective/operation.h"

#include <exception>
#include <string>

namespace dt {

void Submissions::submit(const Work& work, Time now) {
  if (!staged_.concerns(*work)) return submit_to_engine(work, now);
  try {
    staged_.add(work);
  } catch (const std::exception& thrown) {
    fail_for_memory(work, thrown.what());
  }
}

void Submissions::submit_to_engine(const Work& work, Time now) {
  try {
    engine_.submit(work, now);
  } catch (const std::exception& thrown) {
    fail_for_memory(work, thrown.what());
  }
}

void Submissions::fail_for_memory(const Work& work, std::string_view why) {
  abort_(why);
  if (!work->outcome) work->outcome.emplace(fail(Errc::os, std::string(out_of_memory)));
  if (work->staged) work->staged->release();
}

void Submissions::submit_inbox(Time now) {
  while (!inbox_.empty()) {
    const Work work = inbox_.take();
    if (work) submit(work, now);
  }
}

bool Submissions::step_staged(Time now) {
  if (staged_.empty()) return false;
  staged_.stop_lost(engine_, now);
  const auto progress = staged_.step([&](const Work& work) { submit_to_engine(work, now); });
  if (!progress.result) abort_(progress.result.error().message);
  return progress.moved;
}

void Submissions::finish() {
  staged_.finish();
  drop_inbox();
}

void Submissions::drop_inbox() {
  while (!inbox_.empty()) {
    const Work work = inbox_.take();
    if (!work || !work->staged) continue;
    work->staged->release();
    work->staged->finish();
  }
}

}  // namespace dt

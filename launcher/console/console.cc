#include "launcher/console/console.h"

#include <sys/stat.h>

namespace dt {

namespace {

bool same_file(int one, int other) {
  struct stat first = {};
  struct stat second = {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

Result<Console> Console::open(Loop& loop, Descriptors descriptors,
                              std::function<void(Error)> on_out_broken) {
  Console console;
  const bool shared = same_file(descriptors.out, descriptors.err);
  const auto ignore = [](const Error&) {};
  console.err_ = TRY(Sink::open(loop, descriptors.err,
                                shared ? on_out_broken : std::function<void(Error)>(ignore)));
  if (shared) return console;
  console.out_ = TRY(Sink::open(loop, descriptors.out, std::move(on_out_broken)));
  return console;
}

void Console::forget_writers() {
  err_->forget_writers();
  if (out_) out_->forget_writers();
}

}  // namespace dt

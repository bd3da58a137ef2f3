#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// Blocks signals for this thread and hands them out on a Loop, one call each, which may destroy
/// this; the old mask then comes back. A signal that was inherited as ignored stays ignored
/// (nohup).
class Signals {
 public:
  static Result<std::unique_ptr<Signals>> block(Loop& loop, const std::vector<int>& numbers,
                                                std::function<void(int number)> on_signal);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

 private:
  Signals() = default;
  struct State;
  std::unique_ptr<State> state_;
};

/// "SIGTERM" for 15; "signal 99" for one without a name.
std::string signal_name(int number);

}  // namespace dt

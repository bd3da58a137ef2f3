#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// Blocks signals for this thread, and calls a handler on a Loop once for each signal. The handler
/// may destroy this object. The destructor restores the old mask. A signal that was inherited as
/// ignored stays ignored (nohup).
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

/// Returns "SIGTERM" for 15, "signal 99" for a number without a name.
std::string signal_name(int number);

}  // namespace dt

#pragma once

#include "python/core/core.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace dt::python {

/// A call on a thread of its own, and the thread of Python that waits for it.
template <class Outcome>
struct ThreadedCall {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Outcome> outcome;
  bool interrupted = false;
};

/// Waits up to one slice. True when the call has returned. Other threads than the main one handle
/// no signals, so they wait until then.
template <class Outcome>
bool wait_a_slice(ThreadedCall<Outcome>& call, bool handles_signals) {
  PyThreadState* thread = PyEval_SaveThread();
  bool done = true;
  {
    std::unique_lock lock(call.mutex);
    const auto returned = [&] { return call.outcome.has_value(); };
    if (handles_signals) {
      done = call.changed.wait_for(lock, std::chrono::milliseconds(slice_ms), returned);
    } else {
      call.changed.wait(lock, returned);
    }
  }
  // In a daemon thread after the interpreter's end, this call does not return.
  PyEval_RestoreThread(thread);
  return done;
}

/// True also when Python cannot tell.
bool on_main_thread();

/// Runs a call of the library that has no asynchronous form. Returns its outcome, or nothing with a
/// Python exception set, such as KeyboardInterrupt. In that case the thread remains until the call
/// returns, and `discard` then gets the outcome on that thread.
template <class Call, class Discard>
auto run_interruptibly(Call call, Discard discard) -> std::optional<decltype(call())> {
  using Outcome = decltype(call());
  const auto shared = std::make_shared<ThreadedCall<Outcome>>();
  try {
    std::thread([shared, call, discard] {
      Outcome outcome = call();
      const std::lock_guard lock(shared->mutex);
      if (shared->interrupted) {
        discard(outcome);
        return;
      }
      shared->outcome = std::move(outcome);
      shared->changed.notify_all();
    }).detach();
  } catch (const std::exception& thrown) {
    PyErr_SetString(PyExc_OSError, thrown.what());
    return std::nullopt;
  }
  const bool handles_signals = on_main_thread();
  while (!wait_a_slice(*shared, handles_signals)) {
    if (PyErr_CheckSignals() == 0) continue;
    const std::lock_guard lock(shared->mutex);
    shared->interrupted = true;
    if (shared->outcome) discard(*shared->outcome);
    return std::nullopt;
  }
  return std::move(shared->outcome);
}

}  // namespace dt::python

#include "comm/driver/background_thread.h"

#include "base/io/blocked_signals.h"

#include <exception>

namespace dt {

void BackgroundThread::need(const std::function<void()>& body) {
  if (begun()) return wake();
  // The application's signals must not be delivered to this thread.
  const BlockedSignals blocked;
  try {
    thread_ = std::thread(body);
  } catch (const std::exception&) {
    // No more threads are possible. Operations then proceed only while a thread waits.
  }
}

void BackgroundThread::join() {
  if (begun()) thread_.join();
}

}  // namespace dt

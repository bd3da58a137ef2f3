#include "comm/training/strategy/replica_threads.h"

#include <memory>
#include <system_error>

namespace dt {

Result<std::unique_ptr<ReplicaThreads>> ReplicaThreads::start(size_t count) {
  std::unique_ptr<ReplicaThreads> made(new ReplicaThreads());
  try {
    for (size_t i = 1; i < count; ++i)
      made->threads_.emplace_back([self = made.get(), i] { self->work(i); });
  } catch (const std::system_error& error) {
    return fail_errno("start a thread for a replica", error.code().value());
  }
  return made;
}

ReplicaThreads::~ReplicaThreads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_)
    thread.join();
}

void ReplicaThreads::run(const std::function<void(size_t)>& body) {
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    running_ = threads_.size();
    ++round_;
    changed_.notify_all();
  }
  body(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
}

void ReplicaThreads::work(size_t number) {
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || round_ != done; });
    if (ending_) return;
    done = round_;
    const auto& body = *body_;
    lock.unlock();
    body(number);
    lock.lock();
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace dt

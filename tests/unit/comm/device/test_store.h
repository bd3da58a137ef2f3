#pragma once

#include "comm/device/rank_store.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace dt {

/// A store for the threads of this process, which are ranks. Waits end when it is closed.
class TestStore {
 public:
  RankStore use() {
    return {.set = [this](const std::string& key, const Bytes& value) -> Result<> {
              const std::lock_guard lock(mutex_);
              values_[key] = value;
              changed_.notify_all();
              return {};
            },
            .wait = [this](const std::string& key, Duration limit) -> Result<Bytes> {
              std::unique_lock lock(mutex_);
              const auto there = [&] { return closed_ || values_.contains(key); };
              if (limit == Duration::zero()) {
                changed_.wait(lock, there);
              } else if (!changed_.wait_for(lock, limit, there)) {
                ++timeouts_;
                return fail(Errc::timeout, "no such key");
              }
              if (!closed_) return values_[key];
              return fail(Errc::peer_lost, "rank 7 died");
            },
            .note = [this](const std::string& key, const Bytes& value) -> Result<> {
              const std::lock_guard lock(mutex_);
              notes_.insert(key);
              values_[key] = value;
              changed_.notify_all();
              return {};
            }};
  }
  /// Erases the keys that end with a context.
  void end_contexts() {
    const std::lock_guard lock(mutex_);
    std::erase_if(values_, [this](const auto& value) { return !notes_.contains(value.first); });
  }
  /// Returns the number of waits that have timed out.
  int timeouts() {
    const std::lock_guard lock(mutex_);
    return timeouts_;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int timeouts_ = 0;
  std::set<std::string> notes_;
  std::map<std::string, Bytes> values_;
};

}  // namespace dt

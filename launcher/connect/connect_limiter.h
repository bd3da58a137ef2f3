#pragma once

#include "base/io/loop.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace dt {

/// Limits how many hosts the launcher logs in to at once. Grants permits in the order of the
/// requests, each as soon as one is free.
class ConnectLimiter {
 public:
  /// A permit, granted or waiting. Its destruction releases it or withdraws the request.
  class Permit {
   public:
    Permit(ConnectLimiter& limiter, std::function<void()> on_granted)
        : limiter_(limiter), on_granted_(std::move(on_granted)) {}
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { limiter_.release(*this); }

   private:
    friend class ConnectLimiter;
    ConnectLimiter& limiter_;
    std::function<void()> on_granted_;
    Timer grant_timer_;
    bool granted_ = false;
  };

  ConnectLimiter(Loop& loop, size_t at_once) : loop_(loop), free_(at_once) {}
  ConnectLimiter(const ConnectLimiter&) = delete;
  ConnectLimiter& operator=(const ConnectLimiter&) = delete;

  /// Requests a permit. `on_granted` is called once, from the Loop, never within this call.
  std::unique_ptr<Permit> acquire(std::function<void()> on_granted);

 private:
  void release(const Permit& permit);
  void grant();

  Loop& loop_;
  size_t free_;
  std::deque<Permit*> waiting_;
};

}  // namespace dt

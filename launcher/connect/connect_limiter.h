#pragma once

#include "base/io/loop.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace dt {

/// Lets so many work at once: who asks has its turn as soon as another's has ended, in the order of
/// asking.
class ConnectLimiter {
 public:
  /// Had, or waited for; ends with this object.
  class Permit {
   public:
    Permit(ConnectLimiter& turns, std::function<void()> go) : turns_(turns), go_(std::move(go)) {}
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { turns_.ended(*this); }

   private:
    friend class ConnectLimiter;
    ConnectLimiter& turns_;
    std::function<void()> go_;
    Timer going_;
    bool had_ = false;
  };

  ConnectLimiter(Loop& loop, size_t at_once) : loop_(loop), free_(at_once) {}
  ConnectLimiter(const ConnectLimiter&) = delete;
  ConnectLimiter& operator=(const ConnectLimiter&) = delete;

  /// Calls `go` once, from the Loop, never within this call.
  std::unique_ptr<Permit> ask(std::function<void()> go);

 private:
  void ended(const Permit& turn);
  void give();

  Loop& loop_;
  size_t free_;
  std::deque<Permit*> waiting_;
};

}  // namespace dt

#pragma once

#include "base/io/loop.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace dt {

/// Lets so many work at once: who asks has its turn as soon as another's has ended, in the order of
/// asking.
class Turns {
 public:
  /// Had, or waited for; ends with this object.
  class Turn {
   public:
    Turn(Turns& turns, std::function<void()> go) : turns_(turns), go_(std::move(go)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { turns_.ended(*this); }

   private:
    friend class Turns;
    Turns& turns_;
    std::function<void()> go_;
    Timer going_;
    bool had_ = false;
  };

  Turns(Loop& loop, size_t at_once) : loop_(loop), free_(at_once) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Calls `go` once, from the Loop, never within this call.
  std::unique_ptr<Turn> ask(std::function<void()> go);

 private:
  void ended(const Turn& turn);
  void give();

  Loop& loop_;
  size_t free_;
  std::deque<Turn*> waiting_;
};

}  // namespace dt

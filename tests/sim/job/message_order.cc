#include "tests/sim/job/message_order.h"

namespace dt {

bool MessageOrder::accepts(MessageType type) {
  const bool right = fits(type);
  if (right && type == MessageType::prepare && finish_asked_) *this = {};  // the next generation
  prepared_ |= type == MessageType::prepare;
  launched_ |= type == MessageType::launch;
  finish_asked_ |= type == MessageType::finish;
  if (type == MessageType::pause || type == MessageType::resume)
    paused_ = type == MessageType::pause;
  return right;
}

bool MessageOrder::fits(MessageType type) const {
  switch (type) {
    case MessageType::resources_wanted:
      return !prepared_;
    case MessageType::prepare:
      return !launched_ || finish_asked_;
    case MessageType::launch:
      return prepared_ && !launched_;
    case MessageType::restart:
      return launched_ && !finish_asked_ && !paused_;
    case MessageType::signal:
      return launched_ && !finish_asked_;
    case MessageType::pause:
      return !paused_;
    case MessageType::resume:
      return paused_;
    case MessageType::finish:
      return !finish_asked_ && !paused_;
    case MessageType::heartbeat:
      return true;
    default:
      return prepared_;
  }
}

}  // namespace dt

#pragma once

#include "launcher/protocol/message.h"

namespace dt {

/// The order of the launcher's messages to one agent. In each generation the messages prepare,
/// probe and launch come in this order, pause and resume in turn. Only prepare may come again, when
/// another host was lost. After `finish` no message is for tasks.
class MessageOrder {
 public:
  /// Returns false when a message of this type may not come now.
  bool accepts(MessageType type);
  bool paused() const { return paused_; }

 private:
  bool fits(MessageType type) const;

  bool prepared_ = false;
  bool launched_ = false;
  bool paused_ = false;
  bool finish_asked_ = false;
};

}  // namespace dt

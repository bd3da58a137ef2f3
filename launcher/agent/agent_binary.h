#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <memory>
#include <string>

namespace dt {

/// This process's executable, to be sent to hosts. Copies of the object share the content.
class AgentBinary {
 public:
  AgentBinary() = default;
  static AgentBinary of(ByteSpan bytes);
  static Result<AgentBinary> own();

  ByteSpan bytes() const;
  /// Returns the digest as hex digits, the name of its folder on hosts. The first call takes 4 ms,
  /// so make it while the process waits for something else.
  const std::string& sha256() const;

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

}  // namespace dt

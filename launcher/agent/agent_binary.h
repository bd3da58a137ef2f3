#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <memory>
#include <string>

namespace dt {

/// The executable that hosts get: this one. Copies share it.
class AgentBinary {
 public:
  AgentBinary() = default;
  static AgentBinary of(ByteSpan bytes);
  static Result<AgentBinary> own();

  ByteSpan bytes() const;
  /// Hex digits; names its folder on the hosts. Takes 4 ms the first time: best asked when there is
  /// something to wait for.
  const std::string& sha256() const;

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

}  // namespace dt

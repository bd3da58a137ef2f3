#pragma once

#include "comm/transport/link.h"

namespace dt {

/// A Link to another host that has no connection, and notes when its owner asks for one.
class UnopenedLink final : public Link {
 public:
  void connect() override { asked = true; }
  Result<bool> connected() const override { return false; }
  Result<size_t> send_parts(std::span<const ByteSpan> /*parts*/) override { return size_t{0}; }
  Result<size_t> receive(std::span<std::byte> /*into*/) override { return size_t{0}; }
  void close() override {}
  bool exposed() const override { return true; }

  bool asked = false;
};

}  // namespace dt

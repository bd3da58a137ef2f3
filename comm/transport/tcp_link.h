#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "comm/transport/link.h"

#include <memory>
#include <vector>

namespace dt {

/// A Link over a connected, non-blocking TCP socket. Small reads go ahead into a buffer, so that a
/// header and the payload behind it cost one system call. Large reads go directly to the caller.
class TcpLink : public Link {
 public:
  /// The mesh shares the socket: it waits on it, and drains it before the end.
  explicit TcpLink(std::shared_ptr<const Fd> socket);

  Result<size_t> send_parts(std::span<const ByteSpan> parts) override;
  Result<size_t> receive(std::span<std::byte> into) override;
  void close() override;
  bool exposed() const override { return true; }

 private:
  size_t take_buffered(std::span<std::byte> into);

  std::shared_ptr<const Fd> socket_;
  Bytes buffer_;
  size_t used_ = 0;  ///< bytes of buffer_ that were returned
};

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "comm/transport/link.h"

#include <memory>
#include <vector>

namespace dt {

/// A Link over a connected, non-blocking TCP socket. Reads ahead into a small buffer, so that a
/// header and the payload behind it cost one system call; a large read goes straight to its place.
class TcpLink : public Link {
 public:
  /// The socket is shared with the mesh, which waits on it and ends it gently.
  explicit TcpLink(std::shared_ptr<const Fd> socket);

  Result<size_t> send(ByteSpan bytes) override;
  Result<size_t> receive(std::span<std::byte> into) override;
  void close() override;
  bool exposed() const override { return true; }

 private:
  size_t take_buffered(std::span<std::byte> into);

  std::shared_ptr<const Fd> socket_;
  Bytes buffer_;
  size_t used_ = 0;  ///< of buffer_, already handed out
};

}  // namespace dt

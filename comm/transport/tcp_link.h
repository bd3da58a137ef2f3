#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "comm/transport/link.h"
#include "comm/transport/tcp_silence.h"
#include "comm/transport/tcp_socket.h"

#include <memory>

namespace dt {

/// Sets the options of a connection between two ranks. A peer whose system is silent for
/// `dead_after` ends it, but not within one host.
void tune_link(int fd, bool same_host, Duration dead_after);

/// Reads the state of a connection's sending direction.
Result<TcpProgress> progress_of(int fd);
/// Returns the error of a peer whose system is silent: "no answer for 5 s".
tl::unexpected<Error> no_answer(const TcpProgress& progress);

/// A Link over a non-blocking TCP socket, which may connect at its first use only. A read takes
/// more than was asked into a buffer. So a header and the payload behind it cost one system call.
///
/// A read or write may move less than possible. Then the link makes no system call until the
/// socket's events show that another one is of use.
class TcpLink : public Link {
 public:
  /// The mesh shares the socket: it waits on it, and drains it before the end.
  explicit TcpLink(std::shared_ptr<TcpSocket> socket);

  void connect() override { socket_->connect(); }
  Result<bool> connected() const override { return socket_->connected(); }
  Session* session() override { return socket_->session(); }
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override;
  Result<size_t> receive(std::span<std::byte> into) override;
  Result<bool> check_answers(Duration silence_max) override;
  void close() override;
  bool exposed() const override { return true; }
  bool report_arrivals(const std::shared_ptr<ReadySet>& arrivals, size_t index) override;
  bool may_receive() const override;
  bool poll() override;

 private:
  Result<size_t> not_open() const;
  size_t take_buffered(std::span<std::byte> into);
  Result<size_t> read(std::span<std::byte> into);

  std::shared_ptr<TcpSocket> socket_;
  TcpSilence silence_;
  Bytes buffer_;
  size_t begin_ = 0;  ///< the bytes of buffer_ from here to end_ were read ahead
  size_t end_ = 0;
};

}  // namespace dt

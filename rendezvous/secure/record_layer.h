#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>

namespace dt {

/// A stream of bytes as encrypted records over a Session, as in the record layer of TLS (RFC 8446,
/// section 5). A record is a sealed header, then the bytes and their tag. The records do not keep
/// the borders of what was sealed.
class RecordLayer {
 public:
  /// Requires session.encrypts_data().
  explicit RecordLayer(Session session);

  /// Appends the records of `bytes` to `wire`.
  void seal(Bytes& wire, ByteSpan bytes);
  /// Appends the content of all whole records at the front of `wire` to `bytes`. Returns how much
  /// of `wire` they are. Fails with Errc::protocol when a record was changed, replayed or
  /// reordered.
  Result<size_t> open(ByteSpan wire, Bytes& bytes);

 private:
  Session session_;
};

}  // namespace dt

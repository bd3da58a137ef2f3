#pragma once

#include "base/bytes.h"
#include "rendezvous/horovod/http.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace dt {

/// What Horovod's values may take together. A rank of a group of n publishes its host's name and
/// n - 1 addresses of under 200 bytes, and each group is cleared when it is connected.
struct HorovodLimits {
  size_t keys = 4096;  ///< scopes count too
  size_t bytes = size_t{16} << 20;
  size_t value_bytes = size_t{64} << 10;

  /// Enough for what a job of so many ranks has under way at once.
  static HorovodLimits for_ranks(size_t ranks);
};

/// Where Horovod's workers find each other (the gloo controller's store): bytes of HTTP in, bytes
/// of HTTP out, for all connections alike.
///
///     PUT /scope/key     200; the body is the value
///     GET /scope/key     200 and the value, or 404
///     DELETE /scope/key  200; the rank `key` has connected to its group
///
/// A scope is one group of ranks: all, those of a host, those of equal local rank, and the same for
/// each process set. In it, rank r puts `rank_r` (its host) and `r` (its addresses). When all that
/// have put their addresses have connected, the scope is forgotten, and may be used again.
class HorovodStore {
 public:
  explicit HorovodStore(HorovodLimits limits) : limits_(limits) {}

  /// How much of what a connection has received is dealt with, and whether it ends when the
  /// answers have left.
  struct Served {
    size_t used = 0;
    bool close = false;
  };
  /// Appends the answers to the whole requests at the front of `received`, and goes no further
  /// when `out` has `out_bytes_max`.
  Served serve(ByteSpan received, Bytes& out, size_t out_bytes_max);

  uint64_t requests() const { return requests_; }
  /// Whether a value was ever refused for want of room.
  bool was_full() const { return was_full_; }
  /// How long a request can be that is not refused.
  size_t request_bytes_max() const;
  size_t keys() const { return keys_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Value {
    Bytes bytes;
    bool connected = false;  ///< the rank that it belongs to
  };
  struct Scope {
    std::map<std::string, Value, std::less<>> values;
    size_t unconnected = 0;  ///< ranks that have put their addresses and are not connected
  };
  struct Path {
    std::string_view scope;
    std::string_view key;
  };

  HttpLimits http_limits() const;
  HttpStatus answer(const HttpRequest& request, ByteSpan* body);
  HttpStatus put(const Path& path, ByteSpan value);
  HttpStatus get(const Path& path, ByteSpan* body) const;
  void connected(const Path& path);
  const Value* find(const Path& path) const;

  HorovodLimits limits_;
  std::map<std::string, Scope, std::less<>> scopes_;
  size_t keys_ = 0;
  size_t bytes_ = 0;
  uint64_t requests_ = 0;
  bool was_full_ = false;
};

}  // namespace dt

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

/// The limits of all Horovod's values together. A rank of a group of n publishes its host's name
/// and n - 1 addresses of under 200 bytes. A group is cleared when it is connected.
struct HorovodLimits {
  size_t keys = 4096;  ///< scopes count too
  size_t bytes = size_t{16} << 20;
  size_t value_bytes = size_t{64} << 10;

  /// Returns limits that suffice for a job of so many ranks.
  static HorovodLimits for_ranks(size_t ranks);
};

/// The store in which Horovod's workers find each other (that of its gloo controller). HTTP
/// requests go in, HTTP answers come out; connections do not matter.
///
///     PUT /scope/key     200; the body is the value.
///     GET /scope/key     200 and the value, or 404.
///     DELETE /scope/key  200; the rank `key` has connected to its group.
///
/// A scope is one group of ranks: all, those of a host, or those of equal local rank. Each process
/// set has the same. In it, rank r puts `rank_r` (its host) and `r` (its addresses). When all that
/// have put their addresses have connected, the scope is forgotten, and may be used again.
class HorovodStore {
 public:
  explicit HorovodStore(HorovodLimits limits) : limits_(limits) {}

  /// How many received bytes of a connection are consumed, and whether to close it after the
  /// answers are sent.
  struct Served {
    size_t used = 0;
    bool close = false;
  };
  /// Appends the answers to the whole requests at the front of `received`. Stops when `out` has
  /// `out_bytes_max`.
  Served serve(ByteSpan received, Bytes& out, size_t out_bytes_max);

  uint64_t requests() const { return requests_; }
  /// True when a value was ever refused because the store was full.
  bool was_full() const { return was_full_; }
  /// The length of the longest request that is not refused.
  size_t request_bytes_max() const;
  size_t keys() const { return keys_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Value {
    Bytes bytes;
    bool connected = false;  ///< its rank has connected
  };
  struct Scope {
    std::map<std::string, Value, std::less<>> values;
    size_t unconnected = 0;  ///< ranks that have put their addresses and have not connected
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

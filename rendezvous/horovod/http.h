#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

/// What we answer, by HTTP's numbers.
enum class HttpStatus : uint16_t {
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  content_too_large = 413,
  head_too_large = 431,
  not_implemented = 501,
  version_not_supported = 505,
  insufficient_storage = 507,
};

/// A request; the texts lie in the bytes that it was read from.
struct HttpRequest {
  std::string_view method;
  std::string_view target;
  ByteSpan body;
  bool keep_alive = true;  ///< the client may send another one on this connection
};

struct HttpLimits {
  size_t head_bytes_max = 4096;
  size_t body_bytes_max = 0;
};

/// What is at the front of received bytes.
struct HttpFront {
  std::optional<HttpRequest> request;  ///< none while it is not whole
  size_t length = 0;                   ///< of the request
  /// Not ok: why there will be no request. It is the last answer on a connection, since nobody
  /// knows where the next request would begin.
  HttpStatus status = HttpStatus::ok;
};

/// Reads a request of HTTP/1.0 or 1.1. Bodies have a Content-Length; nothing beyond what Horovod's
/// and common clients send is spoken.
HttpFront read_http_request(ByteSpan bytes, const HttpLimits& limits);

/// Appends an answer. Clients of Horovod look for exactly "Content-Length", also where it is 0.
void append_http_answer(Bytes& out, HttpStatus status, ByteSpan body, bool keep_alive);

}  // namespace dt

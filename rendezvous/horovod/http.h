#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

/// The status codes that we send.
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

/// A request; its texts point into the bytes that it was read from.
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

/// The request at the front of received bytes.
struct HttpFront {
  std::optional<HttpRequest> request;  ///< none while it is incomplete
  size_t length = 0;                   ///< of the request
  /// Not ok: the reason why the bytes are no request. The connection must be closed after this
  /// answer, because the start of the next request is unknown.
  HttpStatus status = HttpStatus::ok;
};

/// Reads a request of HTTP/1.0 or 1.1. Bodies need a Content-Length. Supports only the features
/// that Horovod's and common clients use.
HttpFront read_http_request(ByteSpan bytes, const HttpLimits& limits);

/// Appends an answer. Horovod's clients search for exactly "Content-Length", also when it is 0.
void append_http_answer(Bytes& out, HttpStatus status, ByteSpan body, bool keep_alive);

}  // namespace dt

#include "rendezvous/horovod/http.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";

/// The head of a request, and the facts about its body.
struct Head {
  HttpRequest request;
  std::optional<size_t> body_bytes;
};

/// Removes and returns the text before `separator`, and removes the separator. Without one, takes
/// the whole text.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return front;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return lower(x) == lower(y);
  });
}

/// True for a text without blanks, control characters and bytes beyond ASCII.
bool is_graphic(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

HttpStatus read_request_line(std::string_view line, HttpRequest& request) {
  request.method = take_until(line, " ");
  request.target = take_until(line, " ");
  if (!is_graphic(request.method) || !is_graphic(request.target) || !is_graphic(line)) {
    return HttpStatus::bad_request;
  }
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return HttpStatus::version_not_supported;
  request.keep_alive = line == "HTTP/1.1";
  return HttpStatus::ok;
}

HttpStatus read_body_length(std::string_view value, const HttpLimits& limits, Head& head) {
  const bool digits = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  if (value.empty() || !digits) return HttpStatus::bad_request;
  const std::optional<int64_t> length = parse_integer(value);
  // Digits that are no int64_t are too large a number.
  if (!length || std::cmp_greater(*length, limits.body_bytes_max)) {
    return HttpStatus::content_too_large;
  }
  if (head.body_bytes && std::cmp_not_equal(*head.body_bytes, *length)) {
    return HttpStatus::bad_request;
  }
  head.body_bytes = static_cast<size_t>(*length);
  return HttpStatus::ok;
}

HttpStatus read_field(std::string_view line, const HttpLimits& limits, Head& head) {
  if (line.find(':') == std::string_view::npos) return HttpStatus::bad_request;
  const std::string_view name = take_until(line, ":");
  const std::string_view value = trim(line);
  if (!is_graphic(name)) return HttpStatus::bad_request;
  if (same_word(name, "Content-Length")) return read_body_length(value, limits, head);
  if (same_word(name, "Transfer-Encoding")) return HttpStatus::not_implemented;
  if (same_word(name, "Connection")) {
    if (same_word(value, "close")) head.request.keep_alive = false;
    if (same_word(value, "keep-alive")) head.request.keep_alive = true;
  }
  return HttpStatus::ok;
}

HttpStatus read_head(std::string_view text, const HttpLimits& limits, Head& head) {
  HttpStatus status = read_request_line(take_until(text, line_end), head.request);
  while (status == HttpStatus::ok && !text.empty())
    status = read_field(take_until(text, line_end), limits, head);
  return status;
}

std::string_view reason(HttpStatus status) {
  switch (status) {
    case HttpStatus::ok:
      return "OK";
    case HttpStatus::bad_request:
      return "Bad Request";
    case HttpStatus::not_found:
      return "Not Found";
    case HttpStatus::method_not_allowed:
      return "Method Not Allowed";
    case HttpStatus::content_too_large:
      return "Content Too Large";
    case HttpStatus::head_too_large:
      return "Request Header Fields Too Large";
    case HttpStatus::not_implemented:
      return "Not Implemented";
    case HttpStatus::version_not_supported:
      return "HTTP Version Not Supported";
    case HttpStatus::insufficient_storage:
      return "Insufficient Storage";
  }
  return "";
}

}  // namespace

HttpFront read_http_request(ByteSpan bytes, const HttpLimits& limits) {
  const std::string_view text = as_text(bytes.first(std::min(bytes.size(), limits.head_bytes_max)));
  const size_t head_length = text.find(head_end);
  if (head_length == std::string_view::npos) {
    return {.status =
                text.size() == limits.head_bytes_max ? HttpStatus::head_too_large : HttpStatus::ok};
  }
  Head head;
  const HttpStatus status = read_head(text.substr(0, head_length), limits, head);
  if (status != HttpStatus::ok) return {.status = status};
  const ByteSpan rest = bytes.subspan(head_length + head_end.size());
  const size_t body_bytes = head.body_bytes.value_or(0);
  if (rest.size() < body_bytes) return {};
  head.request.body = rest.first(body_bytes);
  return {.request = head.request, .length = head_length + head_end.size() + body_bytes};
}

void append_http_answer(Bytes& out, HttpStatus status, ByteSpan body, bool keep_alive) {
  const std::string head =
      format("HTTP/1.1 {} {}\r\nContent-Length: {}\r\n{}\r\n", static_cast<unsigned>(status),
             reason(status), body.size(), keep_alive ? "" : "Connection: close\r\n");
  const ByteSpan head_bytes = as_bytes(head);
  out.insert(out.end(), head_bytes.begin(), head_bytes.end());
  out.insert(out.end(), body.begin(), body.end());
}

}  // namespace dt

#include "rendezvous/horovod/http.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using enum HttpStatus;

constexpr HttpLimits limits = {.head_bytes_max = 200, .body_bytes_max = 10};

TEST_CASE("a request has a method, a target, a body of Content-Length, and what follows is left") {
  struct Row {
    std::string text;
    std::string_view method;
    std::string_view target;
    std::string_view body;
    bool keep_alive;
  };
  const std::vector<Row> rows = {
      {"GET /a/b HTTP/1.1\r\n\r\n", "GET", "/a/b", "", true},
      // As Horovod's worker asks.
      {"GET /global/rank_0 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n", "GET",
       "/global/rank_0", "", true},
      {"PUT /s/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n\r\n", "PUT", "/s/0",
       "\r\n\r\n", true},
      {"PUT /s/0 HTTP/1.1\r\ncontent-LENGTH:3\r\n\r\nabc", "PUT", "/s/0", "abc", true},
      {"PUT /s/0 HTTP/1.1\r\nContent-Length: \t 0010 \r\n\r\n0123456789", "PUT", "/s/0",
       "0123456789", true},
      {"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "PUT", "/", "x", true},
      {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET", "/", "", false},
      {"GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", "GET", "/", "", false},
      {"GET / HTTP/1.0\r\n\r\n", "GET", "/", "", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET", "/", "", true},
      {"GET / HTTP/1.1\r\nX-Empty:\r\nY: a:b\r\n\r\n", "GET", "/", "", true},
      {"BREW /local_::1_x/0?y HTTP/1.1\r\n\r\n", "BREW", "/local_::1_x/0?y", "", true}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const std::string text = row.text + "GET /next";
    const HttpFront front = read_http_request(as_bytes(text), limits);
    REQUIRE(front.request);
    CHECK(front.length == row.text.size());
    CHECK(front.request->method == row.method);
    CHECK(front.request->target == row.target);
    CHECK(as_text(front.request->body) == row.body);
    CHECK(front.request->keep_alive == row.keep_alive);
  }
}

TEST_CASE("every front of a request is a request that is not whole yet") {
  const std::string text = "PUT /s/0 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
  for (size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    const HttpFront front = read_http_request(as_bytes(text).first(length), limits);
    CHECK(!front.request);
    CHECK(front.status == ok);
  }
}

TEST_CASE("what is no request, or too much of one, has its status") {
  struct Row {
    std::string text;
    HttpStatus status;
  };
  const std::vector<Row> rows = {
      {"\r\n\r\n", bad_request},
      {"GET\r\n\r\n", bad_request},
      {"GET / \r\n\r\n", bad_request},
      {"GET /\r\n\r\n", bad_request},
      {"GET  / HTTP/1.1\r\n\r\n", bad_request},
      {"GET / HTTP/1.1 x\r\n\r\n", bad_request},
      {"GET /a\tb HTTP/1.1\r\n\r\n", bad_request},
      {"GET /\xc3\xa4 HTTP/1.1\r\n\r\n", bad_request},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", bad_request},
      {"GET / HTTP/1.1\r\n: no name\r\n\r\n", bad_request},
      {"GET / HTTP/1.1\r\nName : v\r\n\r\n", bad_request},
      {"GET / HTTP/1.1\r\n folded: v\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length:\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", bad_request},
      {"PUT / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", content_too_large},
      {"PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", content_too_large},
      {"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", not_implemented},
      {"GET / HTTP/2.0\r\n\r\n", version_not_supported},
      {"GET / HTTP/1.10\r\n\r\n", version_not_supported},
      {"GET / http/1.1\r\n\r\n", version_not_supported},
      {"GET /" + std::string(195, 'a'), head_too_large},
      {"GET / HTTP/1.1\r\nX: " + std::string(200, 'a') + "\r\n\r\n", head_too_large},
      {std::string(200, '\0'), head_too_large},
      {std::string(200, '\n'), head_too_large}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const HttpFront front = read_http_request(as_bytes(row.text), limits);
    CHECK(!front.request);
    CHECK(front.status == row.status);
  }
}

TEST_CASE("an answer has its length spelled as Horovod's client looks for it") {
  struct Row {
    HttpStatus status;
    std::string_view body;
    bool keep_alive;
    std::string_view text;
  };
  const Row rows[] = {
      {ok, "abc", true, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"},
      {not_found, "", true, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
      {bad_request, "", false,
       "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"}};
  for (const Row& row : rows) {
    Bytes out = to_bytes("before ");
    append_http_answer(out, row.status, as_bytes(row.body), row.keep_alive);
    CHECK(as_text(out) == "before " + std::string(row.text));
  }
}

}  // namespace
}  // namespace dt

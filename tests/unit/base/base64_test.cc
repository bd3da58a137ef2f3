#include "base/base64.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("base64 both ways: the vectors of RFC 4648") {
  struct Case {
    std::string plain;
    std::string encoded;
  };
  const Case cases[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\xfb\xff\xfe", "+//+"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.encoded);
    CHECK(base64_encode(as_bytes(c.plain)) == c.encoded);
    CHECK(base64_decode(c.encoded) == to_bytes(c.plain));
  }
}

TEST_CASE("every byte survives base64, whatever stands before it") {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
    CHECK(base64_decode(base64_encode(as_bytes(all))) == to_bytes(all));
  }
}

TEST_CASE("base64 with blanks is read; what is cut, padded wrong or no base64 is not") {
  CHECK(base64_decode(" Zm9v\r\nYmFy\t") == to_bytes("foobar"));
  CHECK(base64_decode("Zm8 =") == to_bytes("fo"));
  for (const char* bad : {"Z", "Zg", "Zg=", "Zm8", "Zm9v=", "Zg===", "=", "====", "Zm=v",
                          "Zg==Zg==", "Zh==", "Zm9=", "Zm9-", "Zm9v!", "Zm9\xc3"}) {
    CAPTURE(bad);
    CHECK(base64_decode(bad) == std::nullopt);
  }
}

}  // namespace
}  // namespace dt

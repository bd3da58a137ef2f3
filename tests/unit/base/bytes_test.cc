#include "base/bytes.h"

#include <doctest/doctest.h>

#include <limits>

namespace dt {
namespace {

enum class Colour : uint8_t { red, green };

TEST_CASE("Reader reads what Writer wrote") {
  const std::vector<std::string> words = {"", "one", std::string("a\0b", 3)};
  Writer writer;
  writer.number(uint8_t{255})
      .number(int64_t{-2})
      .number(1.5)
      .number(true)
      .number(Colour::green)
      .text("text")
      .blob(as_bytes("blob"))
      .texts(words)
      .raw(as_bytes("rest"));
  const Bytes bytes = writer.take();

  Reader reader(bytes);
  CHECK(reader.number<uint8_t>() == 255);
  CHECK(reader.number<int64_t>() == -2);
  CHECK(reader.number<double>() == 1.5);
  CHECK(reader.number<bool>());
  CHECK(reader.number<Colour>() == Colour::green);
  CHECK(reader.text() == "text");
  CHECK(as_text(reader.blob()) == "blob");
  CHECK(reader.texts() == words);
  CHECK(as_text(reader.rest()) == "rest");
  CHECK(as_text(reader.raw(4)) == "rest");
  CHECK(reader.finish("message"));
}

TEST_CASE("numbers are little-endian on the wire") {
  Writer writer;
  writer.number(uint32_t{0x01020304});
  CHECK(as_text(writer.view()) == "\x04\x03\x02\x01");
}

TEST_CASE("every cut of a message is noticed, and nothing is read past its end") {
  Writer writer;
  writer.number(uint16_t{7}).text("abc").texts({"d", "ef"});
  const Bytes whole = writer.take();
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    Reader reader(cut);
    reader.number<uint16_t>();
    reader.text();
    reader.texts();
    CHECK(!reader.ok());
    const auto finished = reader.finish("message");
    REQUIRE(!finished);
    CHECK(finished.error() == Error{Errc::protocol, "message is cut short"});
    CHECK(reader.number<uint32_t>() == 0);
    CHECK(reader.text().empty());
  }
}

TEST_CASE("bytes left over are noticed") {
  const Bytes bytes(5);
  Reader reader(bytes);
  reader.number<uint32_t>();
  CHECK(reader.ok());
  const auto finished = reader.finish("message");
  REQUIRE(!finished);
  CHECK(finished.error() == Error{Errc::protocol, "message has trailing bytes"});
}

TEST_CASE("a length or a count that cannot be true allocates nothing") {
  Writer writer;
  writer.number(std::numeric_limits<uint32_t>::max()).raw(as_bytes("few"));
  const Bytes bytes = writer.take();
  CHECK(Reader(bytes).text().empty());
  CHECK(Reader(bytes).blob().empty());
  CHECK(Reader(bytes).texts().empty());
  Reader reader(bytes);
  CHECK(reader.count(1) == 0);
  CHECK(!reader.ok());
}

TEST_CASE("a bool on the wire is 0 or 1") {
  const Bytes two = {std::byte{2}};
  Reader reader(two);
  CHECK(!reader.number<bool>());
  CHECK(!reader.ok());
}

}  // namespace
}  // namespace dt

#include "base/json.h"

#include <doctest/doctest.h>

#include <cmath>

namespace dt {
namespace {

TEST_CASE("a document is written on one line in the order of its members") {
  const Json json = Json::Object{
      {"z", 1}, {"a", Json::Array{true, Json(), 1.5, "text"}}, {"empty", Json::Object{}}};
  CHECK(json.text() == R"({"z":1,"a":[true,null,1.5,"text"],"empty":{}})");
  CHECK(Json(Json::Object{{"a", 1}}).text(2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("what was written is read back") {
  const Json json = Json::Object{{"n", int64_t{-9'007'199'254'740'993}},
                                 {"s", "ä \" \\ \n \x01"},
                                 {"list", Json::Array{Json::Array{}, 0.25, false}}};
  const auto read = Json::parse(json.text());
  REQUIRE(read);
  CHECK(*read == json);
}

TEST_CASE("as and find give what is there, and null otherwise") {
  const Json json = Json::Object{{"n", 5}, {"s", "x"}};
  REQUIRE(json.find("n") != nullptr);
  REQUIRE(json.find("n")->as<int64_t>() != nullptr);
  CHECK(*json.find("n")->as<int64_t>() == 5);
  CHECK(json.find("n")->as<std::string>() == nullptr);
  CHECK(json.find("missing") == nullptr);
  CHECK(Json("x").find("x") == nullptr);
}

TEST_CASE("bytes that are no UTF-8 become the replacement character") {
  CHECK(Json("a\xff").text() == "\"a\xEF\xBF\xBD\"");
}

TEST_CASE("no control character is in the text, and each is read back") {
  struct Case {
    const char* value;
    const char* text;
  };
  const Case cases[] = {{"\x7f", "\"\\u007f\""},
                        {"\xc2\x80", "\"\\u0080\""},
                        {"a\xc2\x9b"
                         "2J",
                         "\"a\\u009b2J\""},
                        {"\xe2\x80\xae", "\"\\u202e\""},
                        {"\xe2\x81\xa9", "\"\\u2069\""},
                        {"\x1b", "\"\\u001b\""},
                        {"\n", "\"\\n\""},
                        {"\x9b", "\"\xef\xbf\xbd\""},
                        {"\xc2\xa0 ä € \xf0\x9f\x9a\x80", "\"\xc2\xa0 ä € \xf0\x9f\x9a\x80\""}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(Json(c.value).text() == c.text);
    CHECK((Json::parse(c.text).value() == Json(c.value)) == (std::string_view(c.value) != "\x9b"));
  }
  CHECK(Json(Json::Object{{"a\x7f", 1}}).text(2) == "{\n  \"a\\u007f\": 1\n}");
}

TEST_CASE("a whole number that int64_t cannot hold is read as a double") {
  const auto read = Json::parse("18446744073709551615");
  REQUIRE(read);
  REQUIRE(read->as<double>() != nullptr);
  CHECK(*read->as<double>() == std::ldexp(1.0, 64));
}

TEST_CASE("what is not JSON is refused with a readable reason") {
  for (const char* bad : {"", "{", "[1,]", "nul", "{\"a\":1} x", "\"\xff\"", "1e999"}) {
    CAPTURE(bad);
    const auto read = Json::parse(bad);
    REQUIRE(!read);
    CHECK(read.error().code == Errc::input);
    CHECK(read.error().message.starts_with("not JSON: "));
  }
}

TEST_CASE("64 levels are read, and a bomb of brackets is refused") {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(Json::parse(nested(64)));
  CHECK(!Json::parse(nested(66)));
  CHECK(!Json::parse(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace dt

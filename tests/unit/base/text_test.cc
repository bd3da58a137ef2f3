#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("parse_duration reads units up to days, sums of them, and h:mm:ss") {
  struct Case {
    const char* text;
    int64_t ms;  // -1: refused
  };
  const Case cases[] = {{"10", 10'000},
                        {"10s", 10'000},
                        {"500ms", 500},
                        {"2m", 120'000},
                        {"1h", 3'600'000},
                        {"1.5", 1'500},
                        {"0", 0},
                        {"", -1},
                        {"-1", -1},
                        {"s", -1},
                        {"10 s", -1},
                        {"1e3", -1},
                        {"inf", -1},
                        {"nan", -1},
                        {"999999999999", -1},
                        {"10x", -1},
                        {"1h30m", 5'400'000},
                        {"1d", 86'400'000},
                        {"1m1.5s", 61'500},
                        {"1s500ms", 1'500},
                        {"30m1h", -1},
                        {"1h30", -1},
                        {"1m1m", -1},
                        {"00:05:00", 300'000},
                        {"100:00:01", 360'001'000},
                        {"5:00", -1},
                        {"0:60:00", -1},
                        {"0:5:00", -1},
                        {"::", -1},
                        {"-1:00:00", -1},
                        {"1:+1:00", -1}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<Duration> read = parse_duration(c.text);
    CHECK(read.has_value() == (c.ms >= 0));
    if (read) CHECK(duration_cast<milliseconds>(*read).count() == c.ms);
  }
}

TEST_CASE("duration_text is read back as the same duration") {
  for (const int64_t ms : {0, 1, 999, 1000, 1500, 60'000, 90'000, 3'600'000}) {
    const Duration duration = milliseconds(ms);
    CHECK(parse_duration(duration_text(duration)).value() == duration);
  }
}

TEST_CASE("parse_integer takes whole decimal numbers only") {
  CHECK(parse_integer("42") == 42);
  CHECK(parse_integer("-7") == -7);
  for (const char* bad : {"", " 4", "4 ", "4x", "1.5", "+4", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(!parse_integer(bad));
  }
}

TEST_CASE("a size has units of 1024") {
  struct Case {
    std::string_view text;
    std::optional<uint64_t> bytes;
  };
  const Case cases[] = {{"0", 0},
                        {"8", 8},
                        {"3k", 3072},
                        {"64K", 65536},
                        {"256M", uint64_t{256} << 20},
                        {"2G", uint64_t{2} << 30},
                        {"", std::nullopt},
                        {"K", std::nullopt},
                        {"-1", std::nullopt},
                        {"1.5M", std::nullopt},
                        {"1T", std::nullopt},
                        {"1MB", std::nullopt},
                        {"9999999999G", std::nullopt},
                        {"99999999999999999999", std::nullopt}};
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CHECK(parse_size(one.text) == one.bytes);
  }
}

TEST_CASE("printable shows control bytes and broken UTF-8 as hex") {
  CHECK(printable("plain ä €") == "plain ä €");
  CHECK(printable("a\x1b[31m\n") == "a\\x1B[31m\\x0A");
  CHECK(printable("\xff\xc3") == "\\xFF\\xC3");
  CHECK(printable("\xc2\x9b") == "\\xC2\\x9B");
  CHECK(printable("\xe2\x80\xae") == "\\xE2\\x80\\xAE");
  CHECK(printable("\xe2\x81\xa6") == "\\xE2\\x81\\xA6");
  CHECK(printable("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa").size() == 12);
  CHECK(printable("\xc0\xaf") == "\\xC0\\xAF");
  CHECK(printable("\xe0\x80\xaf") == "\\xE0\\x80\\xAF");
  CHECK(printable("\xed\xa0\x80") == "\\xED\\xA0\\x80");
  CHECK(printable("\xf4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(printable("\xf0\x9f\x9a\x80") == "\xf0\x9f\x9a\x80");
  CHECK(printable("abcdef", 3) == "abc…");
}

TEST_CASE("unfinished_character counts the bytes of a character that has no end") {
  for (const std::string_view character : {"é", "漢", "😀"}) {
    const std::string text = "a" + std::string(character);
    for (size_t cut = 0; cut <= character.size(); ++cut)
      CHECK(unfinished_character(text.substr(0, 1 + cut)) == (cut == character.size() ? 0 : cut));
  }
  for (const std::string_view text : {"", "a", "\x80", "\xFF", "\xC3\xA9\xA9", "\xC0"})
    CHECK(unfinished_character(text) == 0);
}

TEST_CASE("split keeps empty pieces, split_words has none") {
  using Pieces = std::vector<std::string_view>;
  CHECK(split("a,,b,", ',') == Pieces{"a", "", "b", ""});
  CHECK(split("", ',') == Pieces{""});
  CHECK(split_words(" a\t b ") == Pieces{"a", "b"});
  CHECK(split_words(" \t").empty());
}

TEST_CASE("trim takes blanks and line ends from both sides") {
  CHECK(trim(" \ta b\r\n") == "a b");
  CHECK(trim("\n").empty());
}

TEST_CASE("join puts the separator between the parts only") {
  const std::vector<std::string> parts = {"a", "", "b"};
  CHECK(join(parts, ", ") == "a, , b");
  CHECK(join({}, ", ").empty());
}

TEST_CASE("shell_quote quotes only what needs it") {
  CHECK(shell_quote("a/b-c.py") == "a/b-c.py");
  CHECK(shell_quote("a b") == "'a b'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("") == "''");
}

TEST_CASE("nearest finds the word that was meant") {
  const std::vector<std::string> words = {"np", "hostfile", "timeout", "start-timeout"};
  CHECK(nearest("hostfiel", words) == "hostfile");
  CHECK(nearest("timeou", words) == "timeout");
  CHECK(!nearest("zzz", words));
  CHECK(!nearest("x", words));
}

}  // namespace
}  // namespace dt

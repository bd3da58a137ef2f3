#include "launcher/console/line_tagger.h"

#include "base/text.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {
namespace {

std::string tagged(const std::vector<std::string>& chunks) {
  LineTagger tagger("[0]<stdout>:");
  std::string out;
  for (const std::string& chunk : chunks)
    tagger.add(chunk, out);
  tagger.end(out);
  return out;
}

TEST_CASE("LineTagger: whole lines, each with the tag, however the bytes were cut") {
  struct Case {
    std::vector<std::string> chunks;
    std::string shown;
  };
  const std::string t = "[0]<stdout>:";
  const Case cases[] = {
      {{}, ""},
      {{"a\n"}, t + "a\n"},
      {{"a", "b", "\n"}, t + "ab\n"},
      {{"a\nb\n"}, t + "a\n" + t + "b\n"},
      {{"no end"}, t + "no end\n"},
      {{"\n\n"}, t + "\n" + t + "\n"},
      {{"10%\r20%\r"}, t + "10%\r" + t + "20%\r"},
      {{"dos\r\nline\r", "\n"}, t + "dos\r\n" + t + "line\r\n"},
      {{"a\r", "b\n"}, t + "a\r" + t + "b\n"},
      {{std::string("a\0b\n", 4)}, t + std::string("a\0b\n", 4)},
      {{"\xff\xfe\n"}, t + "\xff\xfe\n"},
  };
  for (const Case& c : cases)
    CHECK(tagged(c.chunks) == c.shown);
}

TEST_CASE("LineTagger finds the end of a line of any length, and the first of two ends") {
  for (const size_t length : {0, 1, 511, 512, 513, 1023, 1024, 5000}) {
    for (const std::string end : {"\n", "\r", "\r\n"}) {
      CAPTURE(length);
      const std::string line = std::string(length, 'x') + end;
      LineTagger tagger("T:");
      std::string out;
      tagger.add(line + "y\r" + std::string(600, 'z') + "\n", out);
      CHECK(out == "T:" + line + "T:y\rT:" + std::string(600, 'z') + "\n");
    }
  }
}

TEST_CASE("LineTagger cuts a line over 64 KiB into marked pieces") {
  const std::string most(LineTagger::line_bytes_max, 'x');
  CHECK(tagged({most + "\n"}) == "[0]<stdout>:" + most + "\n");
  CHECK(tagged({most, "yz\n"}) == "[0]<stdout>:" + most + " …\n[0]<stdout>:yz\n");
}

TEST_CASE("LineTagger cuts no UTF-8 character, neither by length nor for a prompt") {
  const std::string characters[] = {"é", "漢", "😀"};
  for (const std::string& character : characters) {
    for (size_t before = 1; before < character.size(); ++before) {
      CAPTURE(before);
      const std::string most(LineTagger::line_bytes_max - before, 'x');
      CHECK(tagged({most + character + "\n"}) ==
            "[0]<stdout>:" + most + " …\n[0]<stdout>:" + character + "\n");
      LineTagger tagger("T:");
      std::string out;
      tagger.add("a" + character.substr(0, before), out);
      tagger.flush(out);
      CHECK(out == "T:a");
      tagger.add(character.substr(before) + "\n", out);
      CHECK(out == "T:a" + character + "\n");
    }
  }
  LineTagger binary("");
  std::string out;
  binary.add("\xC3", out);
  binary.flush(out);
  CHECK(out == "\xC3");
}

TEST_CASE("LineTagger without a tag passes bytes as they are, in pieces") {
  const std::string most(LineTagger::line_bytes_max, 'x');
  LineTagger tagger("");
  std::string out;
  tagger.add(most + "yz", out);
  CHECK(out == most);
  CHECK(tagger.in_line());
  tagger.add("\nend", out);
  CHECK(out == most + "yz\n");
  tagger.end(out);
  CHECK(out == most + "yz\nend");
}

TEST_CASE("LineTagger: a line that is shown in part continues, or begins anew with its tag") {
  LineTagger tagger("T:");
  std::string out;
  tagger.add("one\n(Pdb) ", out);
  CHECK(tagger.waits());
  tagger.flush(out);
  CHECK(out == "T:one\nT:(Pdb) ");
  CHECK_FALSE(tagger.waits());
  tagger.flush(out);
  CHECK(out == "T:one\nT:(Pdb) ");
  tagger.add("go", out);
  tagger.flush(out);
  tagger.add("\n10%", out);
  CHECK(out == "T:one\nT:(Pdb) go\n");
  tagger.flush(out);
  tagger.interrupted();
  tagger.add("\r20%\n", out);
  CHECK(out == "T:one\nT:(Pdb) go\nT:10%T:\rT:20%\n");
  tagger.add("last", out);
  tagger.flush(out);
  out.clear();
  tagger.end(out);
  CHECK(out == "\n");
  tagger.end(out);
  CHECK(out == "\n");
}

TEST_CASE("LineTagger: each line has the time at which it was whole") {
  LineTagger tagger("[0]<stdout>:");
  std::string out;
  tagger.add("a\nb", out, "1");
  tagger.add("c\nd", out, "2");
  tagger.end(out, "3");
  CHECK(out == "1[0]<stdout>:a\n2[0]<stdout>:bc\n3[0]<stdout>:d\n");
}

TEST_CASE("LineTagger: no bytes of a worker can start a line without its tag") {
  std::mt19937 random(7);
  std::string bytes;
  for (int i = 0; i < 200'000; ++i)
    bytes += static_cast<char>(random() % 64);
  LineTagger tagger("[12]<stderr>:");
  std::string out;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t n = std::min<size_t>(rest.size(), random() % 999);
    tagger.add(rest.substr(0, n), out);
    rest.remove_prefix(n);
  }
  tagger.end(out);
  for (size_t at = 0; at < out.size();) {
    REQUIRE(out.compare(at, 13, "[12]<stderr>:") == 0);
    size_t end = out.find_first_of("\r\n", at);
    REQUIRE(end != std::string::npos);
    if (out[end] == '\r' && end + 1 < out.size() && out[end + 1] == '\n') ++end;
    at = end + 1;
  }
}

TEST_CASE("neutralise_escapes passes colours and shows the rest") {
  CHECK(neutralise_escapes("\x1b[1;31mred\x1b[0m\t|\r\n") == "\x1b[1;31mred\x1b[0m\t|\r\n");
  CHECK(neutralise_escapes("\x1b]0;title\x07") == "\\x1B]0;title\\x07");
  CHECK(neutralise_escapes("\x1b[2J") == "\\x1B[2J");
  CHECK(neutralise_escapes("\xc2\x9b"
                           "2J") == "\\xC2\\x9B2J");
  CHECK(neutralise_escapes("\x9b"
                           "2J\xff") == "\\x9B2J\\xFF");
  CHECK(neutralise_escapes("grün €") == "grün €");
  CHECK(neutralise_escapes("a\b\x7f") == "a\\x08\\x7F");
  CHECK(neutralise_escapes("\xe2\x80\xae"
                           "drow") ==
        "\\xE2\\x80\\xAE"
        "drow");
}

TEST_CASE("terminal_line moves back no further than to the line's own first character") {
  struct Case {
    std::string line;
    std::string shown;
  };
  const Case cases[] = {
      {"plain", "plain"},
      {std::string(12, '\b') + "[3]<stdout>:forged", "[3]<stdout>:forged"},
      {"ab" + std::string(99, '\b') + "[3]", "[3]"},
      {"wait |\b/\b-\bdone", "wait done"},
      {"1/10 [==>  ]" + std::string(12, '\b'), "1/10 [==>  ]"},
      {"abc\b\bx", "axc"},
      {"gr\xc3\xbc\bun", "grun"},
      {"\x1b[31mA\bB\x1b[0m", "\x1b[31mB\x1b[0m"},
      {"\x1b\b[2J", "[2J"},
      {"\x1b]0;t\x07\b", "\\x1B]0;t\\x07"},
      {"\b", ""},
      {"", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.shown);
    CHECK(terminal_line(c.line) == c.shown);
  }
}

TEST_CASE("terminal_line ends colours that a worker has left open") {
  CHECK(terminal_line("\x1b[8mhidden") == "\x1b[8mhidden\x1b[0m");
  CHECK(terminal_line("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m");
  CHECK(terminal_line("\x1b[31mred\x1b[m, plain") == "\x1b[31mred\x1b[m, plain");
  CHECK(terminal_line("\x1b[0;7m") == "\x1b[0;7m\x1b[0m");
  CHECK(terminal_line("x\b\x1b[7m") == "x\x1b[7m\x1b[0m");
}

TEST_CASE("LineTagger for a terminal: each line by itself, and the ends as they are") {
  LineTagger tagger("[0]<stdout>:", true);
  std::string out;
  tagger.add("\x1b[32mten\b\r\x1b[2Jtwo", out);
  tagger.add("\b\b\b\b\b\r", out);
  tagger.add("\nlast\x1b[1m", out);
  tagger.end(out);
  CHECK(out ==
        "[0]<stdout>:\x1b[32mten\x1b[0m\r[0]<stdout>:\\x1B[2Jtwo\r\n"
        "[0]<stdout>:last\x1b[1m\x1b[0m\n");
}

TEST_CASE("LineTagger for a terminal: a piece of a long line ends its colours, too") {
  LineTagger tagger("T:", true);
  std::string out;
  const std::string line = "\x1b[1m" + std::string(LineTagger::line_bytes_max, 'x');
  tagger.add(line + "\n", out);
  CHECK(out == "T:" + line.substr(0, LineTagger::line_bytes_max) + "\x1b[0m …\nT:xxxx\n");
}

}  // namespace
}  // namespace dt

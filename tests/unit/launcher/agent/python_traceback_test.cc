#include "launcher/agent/python_traceback.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

constexpr const char* plain = R"(starting
Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    main()
  File "/home/me/train.py", line 6, in main
    raise ValueError("no such batch")
ValueError: no such batch
)";

std::optional<TaskError> error_of(std::string_view text) {
  PythonTraceback traceback;
  traceback.add(text, 7);
  return traceback.error();
}

TEST_CASE("a traceback gives its message, the frame that raised it, and its time") {
  CHECK(error_of(plain) == TaskError{"ValueError: no such batch", "/home/me/train.py:6", 7});
}

TEST_CASE("a traceback may come in any pieces, and its time is that of its first line") {
  const std::string text = plain;
  for (size_t size = 1; size < text.size(); ++size) {
    CAPTURE(size);
    PythonTraceback traceback;
    for (size_t at = 0; at < text.size(); at += size)
      traceback.add(std::string_view(text).substr(at, size), static_cast<int64_t>(at + size));
    REQUIRE(traceback.error());
    CHECK(traceback.error()->message == "ValueError: no such batch");
    CHECK(traceback.error()->frame == "/home/me/train.py:6");
    const size_t header_end = text.find(":\n") + 2;
    CHECK(traceback.error()->when_ns ==
          static_cast<int64_t>((header_end + size - 1) / size * size));
  }
}

TEST_CASE("the last of several tracebacks counts") {
  struct Case {
    const char* text;
    std::optional<TaskError> expected;
  };
  const Case cases[] = {
      {"", std::nullopt},
      {"nothing of the kind\n", std::nullopt},
      {"Traceback (most recent call last):\n", std::nullopt},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n", std::nullopt},
      // PyTorch adds the rank to each line.
      {"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 1, in f\n"
       "[rank1]:     g()\n[rank1]: E: x\n",
       TaskError{"E: x", "a.py:1", 7}},
      {"[rank]: Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nE: x\n",
       std::nullopt},
      // The exception was raised while another was handled.
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 1\n\n"
       "During handling of the above exception, another exception occurred:\n\n"
       "Traceback (most recent call last):\n  File \"b.py\", line 2, in g\nValueError: 2\n",
       TaskError{"ValueError: 2", "b.py:2", 7}},
      // A failure while the interpreter ends is not the cause of its end.
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nE: x\n"
       "Exception ignored in: <function P.__del__ at 0x7f>\n"
       "Traceback (most recent call last):\n  File \"p.py\", line 9, in __del__\nAttributeError: "
       "y\n",
       TaskError{"E: x", "a.py:1", 7}},
      // The traceback follows a progress bar that has not ended its line.
      {"\r 10%|#  | 1/10\r 20%|## | 2/10Traceback (most recent call last):\n  File \"a.py\", line "
       "1, "
       "in f\nE: x\n",
       TaskError{"E: x", "a.py:1", 7}},
      {"Traceback (most recent call last):\r\n  File \"a.py\", line 1, in f\r\nE: x\r\n",
       TaskError{"E: x", "a.py:1", 7}},
      // A log puts its level before each line.
      {"ERROR Traceback (most recent call last):\nERROR   File \"a.py\", line 1, in f\nERROR E: "
       "x\n",
       std::nullopt},
      // Further lines of a message are ignored.
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nE: x\nmore\n",
       TaskError{"E: x", "a.py:1", 7}},
      {"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n\n", std::nullopt},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(error_of(text) == expected);
  }
}

TEST_CASE("a traceback is last until a line follows it") {
  PythonTraceback traceback;
  CHECK_FALSE(traceback.is_last());
  traceback.add(plain, 7);
  CHECK(traceback.is_last());
  traceback.add("epoch 2\n", 8);
  CHECK_FALSE(traceback.is_last());
  CHECK(traceback.error());
}

TEST_CASE("a progress bar of any length does not hide the text behind it") {
  PythonTraceback traceback;
  for (int i = 0; i < 10'000; ++i)
    traceback.add("\r 10%|###      | 1/10", 1);
  traceback.add(plain, 7);
  CHECK(traceback.error() == TaskError{"ValueError: no such batch", "/home/me/train.py:6", 7});
}

TEST_CASE("lines without an end use no memory") {
  PythonTraceback traceback;
  const std::string much(size_t{1} << 20, 'x');
  for (int i = 0; i < 64; ++i)
    traceback.add(much, 1);
  traceback.add("\n", 1);
  traceback.add(plain, 7);
  CHECK(traceback.error() == TaskError{"ValueError: no such batch", "/home/me/train.py:6", 7});
  traceback.add("Traceback (most recent call last):\n  f\nE: " + much + "\n", 8);
  REQUIRE(traceback.error());
  CHECK(traceback.error()->message.size() <= 4096);
}

}  // namespace
}  // namespace dt

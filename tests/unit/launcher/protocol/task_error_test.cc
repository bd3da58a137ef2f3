#include "launcher/protocol/task_error.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr int64_t second = 1'000'000'000;

TEST_CASE("parse_task_error reads all shapes in which PyTorch writes an error") {
  struct Case {
    const char* json;
    TaskError error;
  };
  const Case cases[] = {
      // @record, of one process
      {R"({"message": {"message": "ValueError: no such batch", "extraInfo": {
            "py_callstack": "Traceback (most recent call last):\n  File \"/t/run.py\", line 9, in main\n    f()\n  File \"/t/train.py\", line 12, in f\n    raise ValueError\nValueError: no such batch\n",
            "timestamp": "1700000000"}}})",
       {"ValueError: no such batch", "/t/train.py:12", 1'700'000'000 * second}},
      // and with the status that torchrun writes into it
      {R"({"message": {"message": "E: x", "errorCode": 1, "extraInfo": {"timestamp": 1700000000}}})",
       {"E: x", "", 1'700'000'000 * second}},
      // the other format
      {R"({"message": "E: x", "timestamp": 1700000001})", {"E: x", "", 1'700'000'001 * second}},
      {R"({"message": "E: x"})", {"E: x", "", 0}},
      // one within another
      {R"({"message": {"message": {"message": "E: x", "extraInfo": {"timestamp": "5"}}}})",
       {"E: x", "", 5 * second}},
      {R"({"message": {"message": "E: x", "extraInfo": {"py_callstack": 7, "timestamp": "soon"}}})",
       {"E: x", "", 0}},
      {R"({"message": {"message": " E: x\n", "extraInfo": []}})", {"E: x", "", 0}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.json);
    const auto error = parse_task_error(c.json);
    REQUIRE(error);
    CHECK(*error == c.error);
  }
}

TEST_CASE("parse_task_error returns none for any other text") {
  for (const char* text :
       {"", "{", "[]", "7", "{}", R"({"message": ""})", R"({"message": " \n"})",
        R"({"message": 7})", R"({"message": {}})", R"({"message": {"message": null}})", "\xff\xfe"})
    CHECK_FALSE(parse_task_error(text));
}

TEST_CASE("the frame of an error is the last one of its callstack that is whole") {
  struct Case {
    const char* stack;
    const char* frame;
  };
  const Case cases[] = {
      {R"(  File \"a b.py\", line 3)", "a b.py:3"},
      {R"(  File \"a.py\", line 3, in f\n  File \"<string>\", line 1, in <module>)", "<string>:1"},
      {R"(  File \"a.py\")", ""},
      {R"(  File \"a.py\", line x)", ""},
      {"", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.stack);
    const std::string json =
        std::string(R"({"message": {"message": "E", "extraInfo": {"py_callstack": ")") + c.stack +
        "\"}}}";
    const auto error = parse_task_error(json);
    REQUIRE(error);
    CHECK(error->frame == c.frame);
  }
}

TEST_CASE("an error's time is the file's modification time, unless the file is a copy") {
  const char* const json = R"({"message": "E", "timestamp": 100})";
  CHECK(parse_task_error(json, 100 * second + 5)->when_ns == 100 * second + 5);
  CHECK(parse_task_error(json, 99 * second)->when_ns == 100 * second);
  CHECK(parse_task_error(json, 160 * second)->when_ns == 100 * second);
}

TEST_CASE("a task's error is shown in one printable line") {
  CHECK(TaskError{"E: x\ny", "a.py:3"}.text() == "E: x (a.py:3)");
  CHECK(TaskError{"E: \x1b[31m", ""}.text() == "E: \\x1B[31m");
  CHECK(TaskError{std::string(5000, 'x'), "a.py:3"}.text().size() < 400);
}

}  // namespace
}  // namespace dt

#include "launcher/config/allocation/grid_engine.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::string read(const std::string& text) {
  const Files files = {{"/pe", text}};
  const Environment environment = {{"JOB_ID", "4"}, {"PE_HOSTFILE", "/pe"}};
  return shown(read_grid_engine({environment, reader_of(files)}));
}

TEST_CASE("read_grid_engine: a line has host, slots, queue and processors") {
  CHECK(read("n1 3 main.q@n1 UNDEFINED\nn2 1 main.q@n2 UNDEFINED\n") ==
        "Grid Engine job 4: n1:3 n2:1");
  // A host of two queues, and a line that repeats another one.
  CHECK(read("n1 3 main.q@n1 UNDEFINED\r\n\nn1 1 gpu.q@n1 0,1\nn1 3 main.q@n1 UNDEFINED\n") ==
        "Grid Engine job 4: n1:4");
}

TEST_CASE("read_grid_engine: wrong files are refused by name and place") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"\n", "PE_HOSTFILE=/pe: this file is empty, but should name the job's hosts"},
      {"n1 3\n", "PE_HOSTFILE=/pe:1:1: expected host, slots, queue and processors, got 2 words"},
      {"n1 3 q u\nn2\n",
       "PE_HOSTFILE=/pe:2:1: expected host, slots, queue and processors, got 1 word"},
      {"n1 three q u\n", "PE_HOSTFILE=/pe:1:4: host \"n1\": slots must be 1..4096, got \"three\""},
      {"n1 3 q u\nn1 2 q u\n", "PE_HOSTFILE=/pe:2:1: host \"n1\" is given with 3 slots and with 2"},
      {"n1 4000 a u\nn1 97 b u\n",
       "PE_HOSTFILE=/pe:2:1: host \"n1\": slots must be 1..4096, got 4097 in all"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(read(c.text) == c.message);
  }
  const Environment missing = {{"JOB_ID", "4"}, {"PE_HOSTFILE", "/none"}};
  CHECK(shown(read_grid_engine({missing, reader_of({})})) ==
        "PE_HOSTFILE=/none: cannot read this file: No such file or directory");
}

}  // namespace
}  // namespace dt

#include "cmd/command_advice.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("command_advice: a command with one meaning gets the words to write") {
  const TemporaryFolder folder;
  folder.write("ddp.py", "import torch\n");
  folder.write("script", "#!/usr/bin/env python3\n");
  folder.write("good.py", "#!/usr/bin/python3\n", 0700);
  folder.write("bare.py", "import torch\n", 0700);
  folder.write("a program", "#!/bin/sh\n", 0700);
  folder.write("data", "1 2 3\n");
  folder.write("bin/python", "#!/bin/sh\n", 0700);
  struct Case {
    std::vector<std::string> command;
    const char* advice;  ///< null: none
  };
  const Case cases[] = {
      {{"ddp.py", "--lr", "0.1"},
       "ddp.py is a Python file; write: dtrain run -np 2 python ddp.py --lr 0.1"},
      {{"./ddp.py"}, "./ddp.py is a Python file; write: dtrain run -np 2 python ./ddp.py"},
      {{"./bare.py"}, "./bare.py is a Python file; write: dtrain run -np 2 python ./bare.py"},
      {{"./script"}, "./script is a Python file; write: dtrain run -np 2 python ./script"},
      {{"./good.py"}, nullptr},
      {{"missing.py"}, nullptr},
      {{"./data"}, nullptr},
      {{"python ddp.py"},
       "'python ddp.py' is one word; leave out the quotes, or use sh -c: dtrain run -np 2 sh -c "
       "'python ddp.py'"},
      {{"./a program"}, nullptr},
      {{"no such thing"}, nullptr},
      {{"A=1", "B=x y", "python", "ddp.py"},
       "A=1 is no command; to set a variable: dtrain run -np 2 -x A=1 -x 'B=x y' python ddp.py"},
      {{"python", "A=1"}, nullptr},
      {{"node2:1", "ls"}, nullptr},
  };
  const std::vector<std::string> front = {"run", "-np", "2", "--"};
  for (const Case& c : cases) {
    CAPTURE(c.command.front());
    const auto advice = command_advice({.front = front,
                                        .command = c.command,
                                        .path = folder.path() + "/bin",
                                        .cwd = folder.path()});
    CHECK(advice.value_or("none") == (c.advice == nullptr ? "none" : c.advice));
  }
  const std::vector<std::string> hosts = {"run", "-H", "node1:1"};
  const std::vector<std::string> host = {"node2:1", "ls"};
  CHECK(command_advice({.front = hosts, .command = host, .path = "/bin", .cwd = "/"}) ==
        "node2:1 is no command; hosts are separated by commas: -H node1:1,node2:1");
}

}  // namespace
}  // namespace dt

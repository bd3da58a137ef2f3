#include "launcher/sync/server/room_advice.h"

#include "base/result.h"

#include <doctest/doctest.h>

#include <cerrno>

namespace dt {
namespace {

TEST_CASE("a host without room for files is named in the command that makes room") {
  const HostOrder there = {.id = 1, .name = "gpu-a"};
  const HostOrder here = {.id = 2, .name = "node", .here = true};
  const std::string full = "cannot store x on this host: /s: " + errno_text(ENOSPC);
  const std::string quota = "cannot store x on this host: /s: " + errno_text(EDQUOT);
  CHECK(room_advice(there, full) ==
        "; remove files there, for example by 'dtrain cache clear -H gpu-a', and run again");
  CHECK(room_advice(here, full) ==
        "; remove files there, for example by 'dtrain cache clear', and run again");
  CHECK(room_advice(there, quota) ==
        "; remove files there, for example by 'dtrain cache clear -H "
        "gpu-a', or ask for a larger quota, and run again");
}

TEST_CASE("other failures, and lines of a setup command, get no advice about room") {
  const HostOrder host = {.id = 1, .name = "gpu-a"};
  CHECK(room_advice(host, "cannot store x on this host: /s: " + errno_text(EACCES)).empty());
  CHECK(room_advice(host, "--setup 'pip': exit status 1; its last lines:\n  " + errno_text(ENOSPC))
            .empty());
}

}  // namespace
}  // namespace dt

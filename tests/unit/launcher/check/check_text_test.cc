#include "base/text.h"
#include "launcher/check/check_report.h"
#include "launcher/check/units.h"
#include "tests/unit/launcher/check/sample.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the report has a table for each host, one for pairs, and the counts") {
  CHECK(check_text(check_sample(), {}) == R"(node1
  ssh            ok       the OpenSSH client
  cores          ok       8

node2
  ssh            ok       the OpenSSH client
  shared memory  warning  64.0 MiB free of 64.0 MiB in /dev/shm
                          → NCCL and data loaders want 1 GiB: docker run
                          --shm-size=1g or --ipc=host

node3
  ssh            failure  it said this instead:
                          go away

pairs of hosts
  node1 → node2  ok        0.052 ms  1.34 GB/s  10.0.0.2
  node2 → node1  failure  node2 cannot reach node1 at 10.0.0.1
                          → a firewall must let TCP connections from node2 to
                          node1, to any port or to those of --port-range

3 hosts, 2 pairs: 2 failures, 1 warning
)");
}

TEST_CASE("texts of a host bring no control sequences into the table") {
  CheckReport report = check_sample();
  report.hosts[0].findings[0].text = "\x1b]0;title\x07";
  report.hosts[0].findings[1].remedy = "\x1b[8m";
  const std::string text = check_text(report, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\\x1B]0;title\\x07\n") != std::string::npos);
  CHECK(text.find("→ \\x1B[8m\n") != std::string::npos);
}

TEST_CASE("in brief only warnings and failures have lines of their own") {
  CHECK(check_text(check_sample(), {.brief = true}) == R"(node1            ok
node2
  shared memory  warning  64.0 MiB free of 64.0 MiB in /dev/shm
                          → NCCL and data loaders want 1 GiB: docker run
                          --shm-size=1g or --ipc=host
node3
  ssh            failure  it said this instead:
                          go away
pairs of hosts
  node2 → node1  failure  node2 cannot reach node1 at 10.0.0.1
                          → a firewall must let TCP connections from node2 to
                          node1, to any port or to those of --port-range
  1 more         ok

3 hosts, 2 pairs: 2 failures, 1 warning
)");
}

TEST_CASE("lines fit the terminal, and only grades are coloured") {
  for (const size_t columns : {40U, 60U, 80U}) {
    const std::string text = check_text(check_sample(), {.columns = columns});
    size_t longest = 0;
    for (const std::string_view line : split(text, '\n')) {
      size_t width = 0;
      for (const char c : line)
        width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
      if (line.find(" GB/s") == std::string_view::npos) longest = std::max(longest, width);
    }
    CHECK(longest <= columns);
  }
  const std::string colored = check_text(check_sample(), {.colored = true});
  CHECK(colored.find("\x1b[0;31mfailure \x1b[0m it said") != std::string::npos);
  CHECK(colored.find("\x1b[0;33mwarning \x1b[0m 64.0") != std::string::npos);
  CHECK(colored.find("\x1b[0;32mok      \x1b[0m 8\n") != std::string::npos);
}

TEST_CASE("a report without findings has a line for that; the worst finding is its grade") {
  CheckReport report = check_sample();
  CHECK(report.grade() == Grade::failure);
  report.hosts.pop_back();
  report.pairs.clear();
  CHECK(report.grade() == Grade::warning);
  report.hosts.pop_back();
  CHECK(report.grade() == Grade::ok);
  CHECK(check_text(report, {}).ends_with("\n\n1 host: all is well\n"));
}

TEST_CASE("numbers have three significant digits, and their unit") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(int64_t{100} << 30) == "100 GiB");
  CHECK(size_text(INT64_MAX) == "8.0 EiB");
  CHECK(time_text(microseconds(52)) == "0.052 ms");
  CHECK(time_text(microseconds(1234)) == "1.23 ms");
  CHECK(time_text(milliseconds(999)) == "999 ms");
  CHECK(time_text(milliseconds(1234)) == "1.23 s");
  CHECK(time_text(seconds(86400)) == "86400 s");
  CHECK(rate_text(117e6) == "117 MB/s");
  CHECK(rate_text(9.34e9) == "9.34 GB/s");
}

}  // namespace
}  // namespace dt

#include "launcher/config/allocation/node_list.h"

#include "base/format.h"
#include "base/text.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

struct Case {
  std::string text;
  std::string shown;  ///< the names or numbers, or the error
};

TEST_CASE("expand_node_list: a list of Slurm stands for the names that scontrol shows") {
  const Case cases[] = {
      {"n[1-2,4]", "n1 n2 n4"},
      {"n1", "n1"},
      {"a,b,c", "a b c"},
      {"gpu-[01-03]-ib[0-1],x",
       "gpu-01-ib0 gpu-01-ib1 gpu-02-ib0 gpu-02-ib1 gpu-03-ib0 gpu-03-ib1 x"},
      {"a[008-011]", "a008 a009 a010 a011"},
      {"rack[1-2]n[01-02]", "rack1n01 rack1n02 rack2n01 rack2n02"},
      {"n[099-101]", "n099 n100 n101"},
      {"n[1,3-4],m5", "n1 n3 n4 m5"},
      {"n[9-11]", "n9 n10 n11"},
      {"n0[1-2]x[3]", "n01x3 n02x3"},
      {"a-b.c.d", "a-b.c.d"},
      {"n[1-2],n[1-2]", "n1 n2 n1 n2"},
      {"x[1-2]y[3,5-6]", "x1y3 x1y5 x1y6 x2y3 x2y5 x2y6"},
      {"node[0-2,10,100-101]", "node0 node1 node2 node10 node100 node101"},
      {"c1-[0001-0003]", "c1-0001 c1-0002 c1-0003"},
      // scontrol, too, leaves out empty entries.
      {",a", "a"},
      {"a,,b", "a b"},
      // scontrol refuses text behind the last bracket, which Slurm never writes.
      {"tux[1-3]-suffix", "tux1-suffix tux2-suffix tux3-suffix"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto names = expand_node_list({"N", c.text});
    CHECK((names ? join(*names, " ") : names.error().message) == c.shown);
  }
}

TEST_CASE("expand_node_list: errors have the variable, its value and the wrong part") {
  const std::string expected = "expected numbers in brackets, such as [01-16] or [1-3,7], got ";
  const Case cases[] = {
      {"n[3-1]", "N=n[3-1]: " + expected + "\"3-1\""},
      {"n[a-c]", "N=n[a-c]: " + expected + "\"a-c\""},
      {"n[]", "N=n[]: " + expected + "\"\""},
      {"n[1-3/2]", "N=n[1-3/2]: " + expected + "\"1-3/2\""},
      {"n[1-5:2]", "N=n[1-5:2]: " + expected + "\"1-5:2\""},
      {"n[1", "N=n[1: missing \"]\" in \"n[1\" (column 2)"},
      {"n]1", "N=n]1: invalid character \"]\" (0x5D) in host name (in \"n]1\")"},
      {"[1-2]", "N=[1-2]: \"1\" is neither a host name nor an IPv4 address (in \"[1-2]\")"},
      {"-n", "N=-n: host name may not start with \"-\" (in \"-n\")"},
      {",", "N=,: names no host"},
      {"n[1-65537]", "N=n[1-65537]: \"n[1-65537]\" stands for more than 65536 hosts"},
      {"n[1-40000],m[1-40000]", "N=n[1-40000],m[1-40000]: more than 65536 hosts"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto names = expand_node_list({"N", c.text});
    REQUIRE_FALSE(names.has_value());
    CHECK(names.error().message == c.shown);
  }
}

TEST_CASE("parse_node_counts: a number may stand for several nodes") {
  const auto refused = [](const std::string& text, const std::string& part) {
    return format("T={}: expected numbers of 1..4096 such as 4(x2),1, got \"{}\"", text, part);
  };
  const Case cases[] = {{"4", "4"},
                        {"4,2,1", "4 2 1"},
                        {"3(x3)", "3 3 3"},
                        {"4(x2),1", "4 4 1"},
                        {"", refused("", "")},
                        {"4,", refused("4,", "")},
                        {"0", refused("0", "0")},
                        {"-1", refused("-1", "-1")},
                        {"4097", refused("4097", "4097")},
                        {"4(x0)", refused("4(x0)", "4(x0)")},
                        {"4(2)", refused("4(2)", "4(2)")},
                        {"4(x2", refused("4(x2", "4(x2")},
                        {"4(x)", refused("4(x)", "4(x)")},
                        {"4 2", refused("4 2", "4 2")},
                        {"1(x65537)", refused("1(x65537)", "1(x65537)")},
                        {"1(x65536),1", refused("1(x65536),1", "1")}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto numbers = parse_node_counts({"T", c.text});
    if (!numbers) {
      CHECK(numbers.error().message == c.shown);
      continue;
    }
    std::string all;
    for (const int number : *numbers)
      all += format("{}{}", all.empty() ? "" : " ", number);
    CHECK(all == c.shown);
  }
  CHECK(parse_node_counts({"T", "1(x65536)"}).value().size() == 65536);
}

}  // namespace
}  // namespace dt

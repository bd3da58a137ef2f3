#include "launcher/agent/local_host.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace dt {
namespace {

/// Sets a variable of this process for a while.
class OwnVariable {
 public:
  OwnVariable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  OwnVariable(const OwnVariable&) = delete;
  OwnVariable& operator=(const OwnVariable&) = delete;
  ~OwnVariable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST_CASE("own_host_facts: a node's tasks have all variables of the node but those of its job") {
  const OwnVariable plain("UNIT_TEST_OF_NODES", "its own");
  const OwnVariable hidden("UNIT_TEST_SECRET", "hidden");
  const OwnVariable token("DTRAIN_NODES_TOKEN", "secret");
  const OwnVariable nodes("PET_NNODES", "2");
  const Environment host = own_host_facts({}).own;
  CHECK_FALSE(host.contains("UNIT_TEST_OF_NODES"));
  const Environment own = own_host_facts({"*SECRET"}, true).own;
  REQUIRE(own.contains("UNIT_TEST_OF_NODES"));
  CHECK(own.at("UNIT_TEST_OF_NODES") == "its own");
  for (const char* name : {"UNIT_TEST_SECRET", "DTRAIN_NODES_TOKEN", "PET_NNODES"}) {
    CAPTURE(name);
    CHECK_FALSE(own.contains(name));
  }
  for (const auto& [name, value] : host)
    CHECK(own.contains(name));
}

}  // namespace
}  // namespace dt

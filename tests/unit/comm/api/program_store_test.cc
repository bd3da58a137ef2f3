#include "comm/api/program_store.h"

#include "comm/api/context.h"
#include "comm/api/init_options.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a program's keys never meet those of dtrain") {
  TaskTable table = table_of_workers(1);
  table.tasks.push_back({.id = {"ps", 0}, .host = "node0"});
  const RendezvousFixture server(std::move(table));
  const auto observer = server.join({"ps", 0});
  const auto context =
      must(Context::join({.claim = server.claim({"worker", 0}), .rendezvous = server.address()}));
  ProgramStore program(context->driver(), seconds(30));

  const std::string endpoint = "listen/worker/0";
  const Bytes address = to_bytes("an address");
  REQUIRE(observer->set(endpoint, address, soon()));
  CHECK(program.get(endpoint).value() == std::nullopt);
  CHECK(program.set(endpoint, as_bytes("not an address")));
  CHECK(observer->get(endpoint, soon()).value() == address);
  CHECK(observer->get("store/" + endpoint, soon()).value() == to_bytes("not an address"));
  CHECK(program.erase(endpoint).value());
  CHECK(observer->get(endpoint, soon()).value() == address);
}

}  // namespace
}  // namespace dt

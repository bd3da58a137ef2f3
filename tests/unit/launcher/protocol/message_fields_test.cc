#include "launcher/protocol/message_fields.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("fields are read back as they were written, one after the other") {
  const Environment environment = {{"A", "1"}, {"B", ""}};
  const ClusterSpec cluster = {{{"ps", {{0, "a:1"}}}, {"worker", {{1, "b:2"}, {7, "c:3"}}}}};
  const std::optional<JobMacros> macros = JobMacros{.variables = {{"ps", {"A", "B"}}},
                                                    .world_size = 2,
                                                    .master_address = "m",
                                                    .master_port = 3,
                                                    .job_id = "j"};
  const std::vector<Address> addresses = {{"10.0.0.1", 9}, {"::1", 65535}};
  const std::vector<ProbeTarget> targets = {{.number = 4, .addresses = addresses}, {.number = 5}};
  Writer writer;
  put(writer, environment);
  put(writer, cluster);
  put(writer, macros);
  put(writer, std::optional<JobMacros>());
  put(writer, addresses);
  put(writer, targets);
  put(writer, std::optional<PortRange>({.first = 20, .last = 30}));
  put(writer, std::optional<PortRange>());
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  CHECK(get_environment(reader) == environment);
  CHECK(get_cluster(reader) == cluster);
  CHECK(get_macros(reader) == macros);
  CHECK_FALSE(get_macros(reader));
  CHECK(get_addresses(reader) == addresses);
  CHECK(get_targets(reader) == targets);
  CHECK(get_port_range(reader) == PortRange{.first = 20, .last = 30});
  CHECK_FALSE(get_port_range(reader));
  CHECK(reader.finish("fields"));
}

TEST_CASE("a count of more than there is makes the reader bad") {
  Writer writer;
  writer.number(uint32_t{1'000'000'000});
  const Bytes bytes = writer.take();
  const auto spoils = [&bytes](const auto& get) {
    Reader reader(bytes);
    static_cast<void>(get(reader));
    return !reader.finish("fields");
  };
  CHECK(spoils(get_environment));
  CHECK(spoils(get_cluster));
  CHECK(spoils(get_addresses));
  CHECK(spoils(get_targets));
}

TEST_CASE("a range of ports that ends before it begins is none") {
  Writer writer;
  writer.number(uint16_t{30}).number(uint16_t{20});
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  CHECK_FALSE(get_port_range(reader));
}

}  // namespace
}  // namespace dt

#include "launcher/protocol/host_diagnostics.h"

#include "launcher/protocol/diagnose_messages.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

HostDiagnostics full_host() {
  return {.dtrain = "1.0",
          .executable = "/x/dtrain",
          .hostname = "node1",
          .architecture = "x86_64",
          .kernel = "6.1",
          .glibc = "2.36",
          .addresses = {"10.0.0.1", "::1"},
          .cpus_allowed = 4,
          .cpus_online = 8,
          .memory_bytes = int64_t{1} << 40,
          .memory_free_bytes = 5,
          .open_files = {.soft = 1024, .hard = {}},
          .locked_memory = {.soft = {}, .hard = {}},
          .shared_memory = {"/dev/shm", 64 << 20, 1},
          .home = {"/root", {}, {}},
          .temporary = {"/tmp", 2, 1},
          .python_path = "/usr/bin/python3",
          .python_version = "3.11.2",
          .path_missing = {"/opt/bin"},
          .command_path = "/work/train",
          .command_failure = "no",
          .command_sha256 = "ab",
          .modules = {{"torch", "2.1", ""}, {"x", "", "ImportError: x"}},
          .folder = "/work",
          .folder_failure = "none",
          .files_missing = {"train.py"},
          .home_failure = "Read-only file system",
          .name_addresses = {"127.0.1.1"},
          .name_failure = "unknown",
          .gpus = {.gpus = {{.index = 1,
                             .uuid = "GPU-1",
                             .parent = "GPU-0",
                             .name = "H100",
                             .bus_id = "0000:3b:00.0",
                             .numa_node = 1,
                             .memory_bytes = uint64_t{80} << 30,
                             .memory_free_bytes = 7,
                             .visible_as = "MIG-1",
                             .compute_mode = "default"}},
                   .driver_version = "535",
                   .cuda_version = "12.2",
                   .pairs = {{"GPU-0", "GPU-1", "PIX", "why not"}},
                   .warnings = {"one is lost"}},
          .gpu_failure = "why",
          .gpus_on_bus = 2,
          .rdma_devices = 3};
}

TEST_CASE("facts are read back as they were written") {
  CHECK(read_facts(facts_json(full_host())).value() == full_host());
  CHECK(read_facts(facts_json({})).value() == HostDiagnostics());
  CHECK(read_facts(Json::parse(facts_json(full_host()).text(2)).value()).value() == full_host());
}

TEST_CASE("facts with a member that is missing or of another type are refused by its name") {
  const auto document = *facts_json(full_host()).as<Json::Object>();
  for (size_t at = 0; at < document.size(); ++at) {
    CAPTURE(document[at].first);
    Json::Object missing = document;
    missing.erase(missing.begin() + static_cast<ptrdiff_t>(at));
    Json::Object wrong = document;
    wrong[at].second = true;
    for (const Json& json : {Json(missing), Json(wrong)}) {
      const auto read = read_facts(json);
      REQUIRE_FALSE(read);
      CHECK(read.error().message.find(document[at].first) != std::string::npos);
    }
  }
  CHECK_FALSE(read_facts(Json()));
}

template <class Message>
void check_round_trip(const Message& message) {
  const Bytes bytes = encode(message);
  CHECK(decode<Message>(bytes).value() == message);
  for (size_t n = 0; n < bytes.size(); ++n)
    CHECK_FALSE(decode<Message>(ByteSpan(bytes).first(n)).has_value());
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode<Message>(longer).has_value());
}

TEST_CASE("the messages of a check are read back as they were written") {
  check_round_trip(DiagnoseRequest{.token = "t",
                                   .number = 3,
                                   .path = "/bin",
                                   .cwd = "/work",
                                   .forwarded = {{"A", "1"}},
                                   .command = "./train",
                                   .imports = {"torch", "numpy"},
                                   .import_patience = seconds(7),
                                   .networks = {"eth0", "10.0.0.0/8"},
                                   .port_range = PortRange{5000, 5009},
                                   .heartbeat = seconds(2),
                                   .dead_after = seconds(9)});
  check_round_trip(DiagnoseReply{.facts = full_host(),
                                 .received_ns = 1,
                                 .sent_ns = INT64_MAX,
                                 .listen_failure = "why",
                                 .probe_addresses = {{"10.0.0.1", 1}},
                                 .bandwidth_addresses = {{"::1", 65535}}});
  check_round_trip(Measure{.number = 7, .address = {"::1", 9}, .patience = seconds(3)});
  check_round_trip(Measured{.speed = {milliseconds(1), UINT64_MAX, seconds(2)}, .failure = "no"});
  CHECK_FALSE(decode<DiagnoseReply>(encode(DiagnoseReply{.received_ns = -1})));
}

}  // namespace
}  // namespace dt

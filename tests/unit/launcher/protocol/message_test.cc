#include "launcher/protocol/message.h"

#include "launcher/protocol/host_resources.h"

#include <doctest/doctest.h>

#include <csignal>
#include <random>

namespace dt {
namespace {

template <class Message>
void check_round_trip(const Message& message) {
  const Bytes bytes = encode(message);
  CHECK(decode<Message>(bytes).value() == message);
  // A payload that is cut anywhere, or has a byte too many, is an error, never a wrong message.
  for (size_t n = 0; n < bytes.size(); ++n) {
    CHECK_FALSE(decode<Message>(ByteSpan(bytes).first(n)).has_value());
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode<Message>(longer).has_value());
}

TEST_CASE("a host's resources are read back as they were written") {
  HostResources resources;
  resources.topology.cores = {{{0, 4}, 0}, {{1, 5}, 1}};
  resources.gpus = {.gpus = {{.index = 1,
                              .uuid = "MIG-1",
                              .parent = "GPU-0",
                              .name = "H100",
                              .bus_id = "0000:a1:00.0",
                              .numa_node = 1,
                              .memory_bytes = 3,
                              .memory_free_bytes = 2,
                              .visible_as = "MIG-1",
                              .compute_mode = "prohibited"}},
                    .driver_version = "535",
                    .cuda_version = "12.2",
                    .pairs = {{"GPU-0", "GPU-1", "NVLink", ""}, {"GPU-0", "GPU-2", "", "why"}},
                    .warnings = {"GPU 0 is lost"}};
  resources.visible.cuda = "";
  resources.gpu_failure = "why";
  resources.has_driver = false;
  check_round_trip(resources);
}

TEST_CASE("the mounts of an order are read back as they were written") {
  check_round_trip(
      Prepare{.token = "t",
              .mounts = {{"/srv/x", "/x", true, ""}, {"s3:b", "/b", false, "m {target}"}},
              .mount_patience = seconds(20)});
}

TEST_CASE("messages are read back as they were written") {
  check_round_trip(Hello{.build = "0.1.0",
                         .hostname = "node1",
                         .addresses = {{"eth0", "10.0.0.1"}, {"lo", "::1"}},
                         .machine = {"b-o-o-t", 4026531840}});
  check_round_trip(ResourcesWanted{.gpus = false, .patience = milliseconds(1500)});
  check_round_trip(Prepare{.token = "t",
                           .job = "j",
                           .generation = 3,
                           .command = {"python", "", "a b"},
                           .role_commands = {{"ps", {"x", "y z"}, "/sbin"}, {"e", {"x"}, ""}},
                           .cwd = "/x y",
                           .home_instead = true,
                           .path = "/bin",
                           .tasks = 2,
                           .ports = 4,
                           .addresses = {"a:1", "[::1]:2"},
                           .port_range = PortRange{5000, 5009},
                           .probe = true,
                           .networks = {"eth0", "10.0.0.0/8"},
                           .number = 7,
                           .heartbeat = milliseconds(100),
                           .dead_after = milliseconds(500),
                           .environment_bytes = uint64_t{1} << 40});
  check_round_trip(Prepared{
      {1, 65535}, {{{"10.0.0.1", 9}, "eth0"}, {{"::1", 65535}, "lo"}}, "/root", "cannot", 127});
  check_round_trip(
      Probe{{{3, {{"10.0.0.1", 9}}}, {launcher_number, {}}}, milliseconds(7), milliseconds(3)});
  check_round_trip(Reached{{{3, {{"10.0.0.1", 9}}}}});
  check_round_trip(Restart{{"worker", 1}, 7, {{"A", "1"}}});
  check_round_trip(SignalAll{SIGTERM});
  check_round_trip(SignalAll{.number = SIGQUIT, .only_caught = true});
  check_round_trip(Started{{"ps", 0}, 4711});
  check_round_trip(StartFailed{{"worker", 2}, 126, "why"});
  check_round_trip(Exited{{"worker", 0},
                          {.code = 0, .signal = 9, .out_of_memory = true},
                          {.user = seconds(1),
                           .system = milliseconds(2),
                           .max_rss_bytes = int64_t{1} << 40,
                           .major_faults = 3,
                           .voluntary_switches = 4,
                           .involuntary_switches = 5}});
  check_round_trip(Exited{.task = {"ps", 1},
                          .status = {.code = 1},
                          .error = TaskError{"ValueError: x\ny", "/a/b.py:12", 77},
                          .sent_ns = 78,
                          .own_name = "node2 is 127.0.1.1"});
  check_round_trip(Finish{.patience = seconds(7), .stays = true});
  check_round_trip(Finished{2, "sweep", {"python (pid 7)"}});
}

TEST_CASE("a launch is read back as it was written") {
  check_round_trip(Launch{.forwarded = {{"A", "1"}, {"B", ""}},
                          .common = {{"C", "3"}},
                          .cluster = {{{"ps", {{0, "a:1"}}}, {"worker", {{1, "b:2"}}}}},
                          .tf_config = true,
                          .cluster_filter = ClusterFilter::ps,
                          .macros = JobMacros{.variables = {{"ps", {"A"}}},
                                              .world_size = 2,
                                              .master_address = "b",
                                              .master_port = 3,
                                              .job_id = "j"},
                          .tasks = {{{"worker", 1}, 1, 0, {{"RANK", "1"}}, true, {0, 9}}},
                          .role_environments = {{"ps", {{"A", "2"}}}, {"worker", {}}},
                          .error_files = true,
                          .pass_local_rank = true,
                          .merge_stderr = true,
                          .line_buffer = true,
                          .results = true,
                          .excluded = {"C*"},
                          .own_variables = true,
                          .interface = "eth0",
                          .relay = true});
}

TEST_CASE("random bytes never crash a decoder") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(random() % 64);
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(random() % 8);
    CHECK_NOTHROW(static_cast<void>(decode<Launch>(bytes)));
    CHECK_NOTHROW(static_cast<void>(decode<Prepare>(bytes)));
    CHECK_NOTHROW(static_cast<void>(decode<Hello>(bytes)));
  }
}

TEST_CASE("a message too long for a frame is sent in parts") {
  Launch launch;
  launch.forwarded["BIG"] = std::string(3 * frame_payload_bytes_max + 17, 'x');
  Bytes wire;
  append_message(wire, MessageType::launch, {.generation = 1}, encode(launch));
  MessageAssembler assembler;
  std::optional<Launch> got;
  int frames = 0;
  for (ByteSpan rest = wire; !rest.empty(); ++frames) {
    REQUIRE_FALSE(got.has_value());
    const auto frame = front_frame(rest).value();
    REQUIRE(frame.has_value());
    rest = rest.subspan(frame_header_bytes + frame->header.length);
    if (const auto whole = assembler.add(*frame).value()) {
      CHECK(whole->header.type == static_cast<uint8_t>(MessageType::launch));
      got = decode<Launch>(whole->payload).value();
    }
  }
  CHECK(frames == 4);
  CHECK(got == launch);
}

TEST_CASE("MessageAssembler refuses a message without end") {
  MessageAssembler assembler;
  const Bytes payload(frame_payload_bytes_max);
  const FrameView part = {{.type = static_cast<uint8_t>(MessageType::part)}, payload};
  Result<std::optional<FrameView>> last = std::optional<FrameView>();
  for (size_t i = 0; i <= MessageAssembler::message_bytes_max / payload.size() && last; ++i) {
    last = assembler.add(part);
  }
  REQUIRE_FALSE(last.has_value());
  CHECK(last.error().code == Errc::protocol);
}

TEST_CASE("stream numbers name task and stream, and 0 is the link's own") {
  CHECK_FALSE(StreamId::parse(0));
  for (uint32_t number = 1; number < 100; ++number) {
    CHECK(StreamId::parse(number)->number() == number);
  }
  CHECK(StreamId::parse(1) == StreamId{0, TaskStream::input});
  CHECK(StreamId::parse(8) == StreamId{1, TaskStream::result});
}

TEST_CASE("an agent's count of MPI programs is read back as it was written") {
  check_round_trip(MpiAlone{.tasks = 7});
  check_round_trip(Signalled{.number = SIGTERM});
}

TEST_CASE("PortTaken is read back as it was written, and names the known process") {
  const PortTaken seen = {.port = 5000, .uid = 7, .process = "nc (pid 9)"};
  check_round_trip(seen);
  CHECK(seen.text().starts_with("uid 7, nc (pid 9), listens on port 5000, "));
  CHECK(PortTaken{.port = 5000, .uid = 7}.text().starts_with("uid 7 listens on port 5000, "));
  CHECK(PortTaken{.process = "\033[2J"}.text().find('\033') == std::string::npos);
}

}  // namespace
}  // namespace dt

#include "comm/collective/descriptor.h"
#include "comm/collective/messages.h"
#include "comm/engine/engine.h"
#include "comm/group/agreement.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

OperationRequest barrier() {
  return {.kind = OperationKind::barrier};
}

OperationRequest message(OperationKind kind, int peer, std::vector<float>& values) {
  return {.kind = kind,
          .peer = peer,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

TEST_CASE("a death fails all that is pending and all that comes, with rank and cause") {
  EngineGroup group(4);
  std::vector<float> values = {1};
  OperationRequest request = barrier();
  request.name = "grad";
  request.in_sequence = true;
  const auto collective = group.submit(0, request);
  const auto queued = group.submit(0, barrier());
  const auto receive = group.submit(0, message(OperationKind::receive, 1, values));
  const auto send = group.submit(0, message(OperationKind::send, 2, values));
  group.settle();
  group.end(3);
  group.notify(0, Notice::Kind::dead, 3, "killed by SIGKILL");
  const std::string died = "rank 3 (host n3) died: killed by SIGKILL";
  CHECK(failure(collective) == "barrier #1 \"grad\": " + died);
  CHECK(failure(queued) == "barrier #2: " + died);
  CHECK(failure(receive) == "receive from rank 1: " + died);
  CHECK(failure(send) == "send to rank 2: " + died);
  CHECK(collective->blamed_rank == 3);
  CHECK(failure_code(collective) == Errc::peer_lost);
  CHECK(failure(group.submit(0, barrier())) == "barrier #3: " + died);
  CHECK(failure(group.submit(0, barrier())) == "barrier #4: " + died);
  CHECK(failure(group.submit(0, message(OperationKind::send, 2, values))) ==
        "send to rank 2: " + died);
  group.settle();
  CHECK(group[0].next_deadline() == Time::max());
}

TEST_CASE("the death of a task without rank has no effect") {
  EngineGroup group(2);
  group[0].notice({Notice::Kind::dead, {"ps", 0}, "exit status 1"}, group.now);
  const auto operations = group.submit_all(barrier());
  group.settle();
  CHECK(succeeded(operations[0]));
}

TEST_CASE("a rank that left fails only what needs it") {
  EngineGroup group(3);
  std::vector<float> sent = {5};
  std::vector<float> received = {0};
  std::vector<float> never = {0};
  const auto needs_it = group.submit(0, message(OperationKind::receive, 2, never));
  const auto collective = group.submit(0, barrier());
  const auto other = group.submit(1, barrier());
  group.settle();
  group.end(2);
  group.notify(0, Notice::Kind::left, 2);
  group.notify(1, Notice::Kind::left, 2);
  group.settle();
  CHECK(failure(needs_it) == "receive from rank 2: rank 2 (host n2) has left the job");
  CHECK(failure(collective) == "barrier #1: rank 2 (host n2) has left the job");
  CHECK(failure(other) == failure(collective));
  CHECK(other->blamed_rank == 2);
  const auto send = group.submit(0, message(OperationKind::send, 1, sent));
  const auto receive = group.submit(1, message(OperationKind::receive, 0, received));
  group.settle();
  CHECK(succeeded(send));
  CHECK(succeeded(receive));
  CHECK(received == sent);
  const auto later = group.submit(1, barrier());
  group.settle();
  CHECK(failure(later) == "barrier #2: rank 2 (host n2) has left the job");
}

TEST_CASE("what a rank sent before it left is still taken") {
  EngineGroup group(2);
  const auto there = group.submit(1, barrier());
  const auto here = group.submit(0, barrier());
  while (!succeeded(there)) {  // rank 1 is done first, its last bytes under way
    group[0].step(group.now);
    if (succeeded(here)) break;
    group[1].step(group.now);
  }
  group.end(1);
  group.notify(0, Notice::Kind::left, 1);
  group.settle();
  CHECK(failure(here) == "ok");
}

TEST_CASE("a silent link counts as drained half a second after its peer left") {
  EngineGroup group(2);
  const auto operation = group.submit(0, barrier());
  group.settle();
  group.stopped[1] = true;  // as shared memory: nothing closes
  group.notify(0, Notice::Kind::left, 1);
  group.settle();
  group.pass(milliseconds(499));
  CHECK(pending(operation));
  group.pass(milliseconds(1));
  CHECK(failure(operation) == "barrier #1: rank 1 (host n1) has left the job");
}

TEST_CASE("a broken link waits for the notice, and blames the peer when none comes") {
  EngineGroup group(3, seconds(2));
  const auto here = group.submit(0, barrier());
  const auto other = group.submit(2, barrier());
  group.settle();
  group.pipe(0, 1).closed = true;
  group.pipe(1, 0).closed = true;
  group.settle();
  group.pass(milliseconds(1999));
  CHECK(pending(here));
  group.pass(milliseconds(1));
  CHECK(failure(here) == "barrier #1: connection to rank 1 (host n1) lost");
  CHECK(failure(other) == failure(here));
  CHECK(here->blamed_rank == 1);
}

TEST_CASE("a notice in time gives the cause of a broken link") {
  EngineGroup group(2, seconds(2));
  const auto operation = group.submit(0, barrier());
  group.settle();
  group.end(1);
  group.settle();
  group.pass(seconds(1));
  group.notify(0, Notice::Kind::dead, 1, "exit status 3");
  CHECK(failure(operation) == "barrier #1: rank 1 (host n1) died: exit status 3");
}

TEST_CASE("a peer that breaks the protocol loses its link, and the reason is kept") {
  EngineGroup group(2, seconds(2));
  const auto operation = group.submit(0, barrier());
  group.settle();
  Bytes bytes;
  append_header(bytes, {.length = 5000, .type = 1, .generation = 3});
  for (const std::byte byte : bytes)
    group.pipe(1, 0).bytes.push_back(byte);
  group.stopped[1] = true;
  group.settle();
  group.pass(seconds(2));
  CHECK(failure(operation) ==
        "barrier #1: connection to rank 1 (host n1) lost: control message of 5000 bytes > 4096");
}

TEST_CASE("messages out of turn are protocol errors, not crashes") {
  struct Case {
    uint8_t type;
    uint32_t stream;
    const char* payload;
    const char* why;
  };
  const Case cases[] = {
      {1, 1, "short", "descriptor is cut short"},
      {2, 1, "", "verdict is cut short"},
      {3, 0, "", "stop is cut short"},
      {4, 0, "", "announcement of an abort is cut short"},
      {5, 1, "x", "offer is cut short"},
      {99, 1, "", "a message of unknown type 99"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.why);
    EngineGroup group(2, seconds(2));
    group.stopped[1] = true;
    Bytes bytes;
    append_frame(bytes, {.type = c.type, .generation = 3, .stream = c.stream}, as_bytes(c.payload));
    for (const std::byte byte : bytes)
      group.pipe(1, 0).bytes.push_back(byte);
    group.settle();
    const auto operation = group.submit(0, barrier());
    group.pass(seconds(3));
    CHECK(failure(operation) ==
          std::string("barrier #1: connection to rank 1 (host n1) lost: ") + c.why);
  }
}

TEST_CASE("data that nobody asked for is a protocol error") {
  for (const uint8_t type : {uint8_t{0x80}, uint8_t{0x81}, uint8_t{0x90}}) {
    EngineGroup group(2, seconds(1));
    group.stopped[1] = true;
    Bytes bytes;
    append_frame(bytes, {.type = type, .generation = 3, .stream = 5}, as_bytes("data"));
    for (const std::byte byte : bytes)
      group.pipe(1, 0).bytes.push_back(byte);
    group.settle();
    const auto operation = group.submit(0, barrier());
    group.pass(seconds(3));
    CHECK(failure(operation).find("lost: data of ") != std::string::npos);
  }
}

TEST_CASE("a rank that is late reads a stop that lies behind data of a later step") {
  EngineGroup group(3);
  std::vector<std::vector<float>> values(3, std::vector<float>(100));
  std::vector<std::shared_ptr<Operation>> operations(3);
  for (size_t rank = 0; rank < 3; ++rank) {
    operations[rank] = group.submit(
        static_cast<int>(rank), {.kind = OperationKind::all_reduce,
                                 .count = 100,
                                 .input = values[rank].data(),
                                 .output = values[rank].data(),
                                 .timeout = rank == 2 ? Duration(seconds(1)) : Duration::zero()});
  }
  group.stopped[1] = true;  // rank 0 takes rank 1's data before rank 2's
  group.settle();
  group.pass(seconds(1));
  const char* text = "all_reduce #1: timed out after 1s: rank 1 (host n1) has not answered";
  CHECK(failure(operations[2]) == text);
  CHECK(failure(operations[0]) == text);
  group.stopped[1] = false;
  group.settle();
  CHECK(failure(operations[1]) == text);
}

TEST_CASE("a call of a collective that was stopped meanwhile breaks no link") {
  EngineGroup group(2);
  std::vector<float> values = {1};
  const OperationRequest first = {.kind = OperationKind::broadcast,
                                  .peer = 1,
                                  .count = 1,
                                  .input = values.data(),
                                  .output = values.data()};
  OperationRequest second = barrier();
  second.timeout = seconds(1);
  const auto sent = group.submit(1, first);
  group.settle();
  const auto received = group.submit(0, first);
  const auto late = group.submit(0, second);
  group[0].step(group.now);
  group.stopped[0] = true;
  group.settle();
  CHECK(failure(sent) == "ok");
  // Rank 0 stops the second collective, and gets rank 1's call of it after the first has ended.
  group.pipe(0, 1).piece_max = 0;
  group.pipe(1, 0).piece_max = 0;
  group[0].step(group.now += seconds(2));
  CHECK(failure_code(late) == Errc::timeout);
  group.stopped[0] = false;
  group.pipe(1, 0).piece_max = 1 << 20;
  group.settle();
  CHECK(failure(received) == "ok");
  const auto called = group.submit(1, barrier());
  group.settle();
  CHECK(pending(called));
  group.pipe(0, 1).piece_max = 1 << 20;
  group.settle();
  CHECK(failure_code(called) == Errc::timeout);
  const auto after = group.submit(0, message(OperationKind::send, 1, values));
  const auto arrived = group.submit(1, message(OperationKind::receive, 0, values));
  group.settle();
  CHECK(failure(after) == "ok");
  CHECK(failure(arrived) == "ok");
}

TEST_CASE("without its launcher an engine aborts, and announces it to the others") {
  EngineGroup group(3);
  const auto operations = group.submit_all(barrier());
  group[1].launcher_lost(group.now);
  CHECK(failure(operations[1]) == "barrier #1: launcher lost");
  CHECK(failure(group.submit(1, barrier())) == "barrier #2: launcher lost");
  group.settle();
  CHECK(failure(operations[0]) == "barrier #1: rank 1 (host n1) has lost the launcher");
  CHECK(failure(operations[2]) == failure(operations[0]));
  CHECK(operations[0]->blamed_rank == 1);
}

TEST_CASE("an engine is not idle while its last message waits to be sent") {
  EngineGroup group(2);
  std::vector<float> values;
  group.pipe(0, 1).capacity = 3;
  const auto send = group.submit(1, message(OperationKind::send, 0, values));
  const auto receive = group.submit(0, message(OperationKind::receive, 1, values));
  group.stopped[1] = true;
  group[1].step(group.now);
  group.settle();
  CHECK(succeeded(receive));
  CHECK(!group[0].idle());
  group.stopped[1] = false;
  group.settle();
  CHECK(group[0].idle());
  CHECK(succeeded(send));
}

TEST_CASE("a rank whose bytes are invalid to another learns that its connection is closed") {
  EngineGroup group(2);
  const auto waiting = group.submit(1, barrier());
  group.settle();
  group.pipe(1, 0).bytes.assign(100, std::byte{0x55});
  group.settle();
  CHECK(pending(waiting));
  group.pass(seconds(5));
  CHECK(failure(waiting) == "barrier #1: connection to rank 0 (host n0) lost");
}

TEST_CASE("a rank that does not read for too long learns that its connection is closed") {
  EngineGroup group(2);
  group.pipe(0, 1).capacity = 0;
  std::vector<float> values = {1};
  OperationRequest hurried = message(OperationKind::send, 1, values);
  hurried.timeout = seconds(1);
  for (size_t i = 0; i <= queued_messages_max; ++i) {
    group.submit(0, hurried);
    group[0].step(group.now);
    group[0].step(group.now += seconds(1));
  }
  const auto waiting = group.submit(1, message(OperationKind::receive, 0, values));
  group.settle();
  group.pass(seconds(5));
  group.pass(seconds(5));
  CHECK(failure(waiting) == "receive from rank 0: connection to rank 0 (host n0) lost");
}

TEST_CASE("data of a rank that has left counts, however late it is wanted") {
  EngineGroup group(3);
  const std::vector<float> inputs[3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}};
  std::vector<float> outputs[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  std::vector<std::shared_ptr<Operation>> operations;
  for (int rank = 0; rank < 3; ++rank)
    operations.push_back(group.submit(rank, {.kind = OperationKind::all_to_all,
                                             .count = 1,
                                             .input = inputs[rank].data(),
                                             .output = outputs[rank].data()}));
  // Rank 1 wants the part of rank 0 first, which is under way for long.
  group.stopped[1] = true;
  group.settle();
  const auto part = std::exchange(group.pipe(0, 1).bytes, {});
  group.stopped[1] = false;
  group.settle();
  REQUIRE(succeeded(operations[2]));
  REQUIRE(pending(operations[1]));
  group.notify(1, Notice::Kind::left, 2);
  group.end(2);
  group.pass(seconds(2));
  auto& arriving = group.pipe(0, 1).bytes;
  arriving.insert(arriving.begin(), part.begin(), part.end());
  group.settle();
  CHECK(failure(operations[1]) == "ok");
  CHECK(outputs[1] == std::vector<float>{1, 4, 7});
}

/// Puts a control message into the link from rank 1 to rank 0.
void forge(EngineGroup& group, EngineMessageType type, uint32_t stream, const Writer& payload) {
  Bytes frame;
  append_frame(frame, {.type = static_cast<uint8_t>(type), .generation = 3, .stream = stream},
               payload.view());
  auto& bytes = group.pipe(1, 0).bytes;
  bytes.insert(bytes.end(), frame.begin(), frame.end());
}

TEST_CASE("an offer with a name beyond the limit breaks the protocol, of it or of its elements") {
  for (const bool of_elements : {false, true}) {
    EngineGroup group(2);
    std::vector<float> values = {0};
    const auto receiving = group.submit(0, message(OperationKind::receive, 1, values));
    Writer offer;
    offer.number(ElementType::float32).number(uint64_t{1}).number(uint32_t{0}).number(uint64_t{0});
    offer.text(std::string(of_elements ? 0 : name_bytes_max + 1, 'n')).number(uint32_t{0});
    offer.text(std::string(of_elements ? 33 : 0, 'e'));
    forge(group, EngineMessageType::offer, 1, offer);
    group.settle();
    group.pass(seconds(5));
    CHECK(failure(receiving).find("an offer of no known form, or one too many") !=
          std::string::npos);
  }
}

TEST_CASE("two offers with one number break the protocol") {
  EngineGroup group(2);
  std::vector<float> values = {0};
  std::vector<float> more = {0};
  group.submit(0, message(OperationKind::receive, 1, values));
  const auto second = group.submit(0, message(OperationKind::receive, 1, more));
  Writer offer;
  offer.number(ElementType::float32).number(uint64_t{1}).number(uint32_t{0});
  offer.number(hash_of_name("")).text("").number(uint32_t{0}).text("");
  forge(group, EngineMessageType::offer, 1, offer);
  forge(group, EngineMessageType::offer, 1, offer);
  group.settle();
  group.pass(seconds(5));
  CHECK(failure(second) ==
        "receive from rank 1: connection to rank 1 (host n1) lost: a second offer 1");
}

TEST_CASE("a stop of a kind that there is not breaks the protocol") {
  for (const int code : {-1, 1000}) {
    CAPTURE(code);
    EngineGroup group(2);
    const auto waiting = group.submit(0, barrier());
    Writer stop;
    stop.number(uint64_t{1}).number(int32_t{code}).number(int32_t{-1}).text("why").text("later");
    forge(group, EngineMessageType::stop, 0, stop);
    group.settle();
    CHECK(pending(waiting));
    group.pass(seconds(5));
    CHECK(failure(waiting) ==
          "barrier #1: connection to rank 1 (host n1) lost: stop of no known kind");
  }
}

TEST_CASE("blame for a rank that there is not breaks the protocol") {
  const auto blame = [](EngineMessageType type, int32_t rank) {
    Writer payload;
    if (type == EngineMessageType::stop) payload.number(uint64_t{1}).number(Errc::timeout);
    payload.number(rank).text("why");
    if (type == EngineMessageType::stop) payload.text("later");
    return payload;
  };
  for (const auto type : {EngineMessageType::stop, EngineMessageType::aborted}) {
    for (const int32_t rank : {-2, 2, INT32_MAX, INT32_MIN}) {
      CAPTURE(static_cast<int>(type));
      CAPTURE(rank);
      EngineGroup group(2);
      const auto waiting = group.submit(0, barrier());
      forge(group, type, 0, blame(type, rank));
      group.settle();
      CHECK(pending(waiting));
      group.pass(seconds(5));
      CHECK(
          failure(waiting) ==
          format("barrier #1: connection to rank 1 (host n1) lost: blame for rank {} of 2", rank));
    }
    EngineGroup group(2);
    const auto waiting = group.submit(0, barrier());
    forge(group, type, 0, blame(type, -1));
    group.settle();
    CHECK(failure(waiting) == "barrier #1: why");
    CHECK(waiting->blamed_rank == -1);
  }
}

TEST_CASE("a verdict on a rank that there is not breaks the protocol") {
  for (const int32_t blamed : {-2, -1, 0, 2, INT32_MAX, INT32_MIN}) {
    CAPTURE(blamed);
    EngineGroup group(2);
    group.stopped[0] = true;
    const auto waiting = group.submit(1, barrier());
    group.settle();
    Bytes frame;
    const Bytes verdict = encode(Verdict{.blamed_rank = blamed, .mismatch = "why"});
    append_frame(frame,
                 {.length = static_cast<uint32_t>(verdict.size()),
                  .type = static_cast<uint8_t>(EngineMessageType::verdict),
                  .generation = 3,
                  .stream = 1},
                 verdict);
    auto& bytes = group.pipe(0, 1).bytes;
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    group.settle();
    group.pass(seconds(5));
    const bool known = blamed == -1 || blamed == 0;
    const std::string broken =
        format("barrier #1: connection to rank 0 (host n0) lost: blame for rank {} of 2", blamed);
    CHECK(failure(waiting) == (known ? "why" : broken));
    CHECK(waiting->blamed_rank == (known ? blamed : 0));
  }
}

TEST_CASE("a closed engine ends what is pending, and its queued messages still leave") {
  EngineGroup group(2);
  int32_t input = 1;
  int32_t output = 0;
  const auto send = group.submit(0, {.kind = OperationKind::send,
                                     .type = ElementType::int32,
                                     .peer = 1,
                                     .count = 1,
                                     .input = &input});
  group.pipe(1, 0).capacity = 0;
  const auto receive = group.submit(1, {.kind = OperationKind::receive,
                                        .type = ElementType::uint32,
                                        .peer = 0,
                                        .count = 1,
                                        .output = &output});
  const auto pending_barrier = group.submit(1, {.kind = OperationKind::barrier});
  group.settle();
  CHECK(failure_code(receive) == Errc::mismatch);
  CHECK(pending(send));
  group[1].close();
  CHECK(failure_code(pending_barrier) == Errc::closed);
  CHECK(!group[1].idle());
  group.pipe(1, 0).capacity = 1 << 20;
  group.settle();
  CHECK(group[1].idle());
  CHECK(failure_code(send) == Errc::mismatch);
}

}  // namespace
}  // namespace dt

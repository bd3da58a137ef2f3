// The frames between the engines of ranks. The first byte of the input chooses the run. After 'd',
// the rest is a descriptor. After 's', the rest arrives on a link whose frames have MACs, from a
// sender without the key. After any other byte, rank 2 of three ranks has proved itself, and sends
// what the input commands. The other two make calls meanwhile. After its death, each call must
// have ended.

#include "comm/collective/descriptor.h"
#include "comm/collective/messages.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <array>

namespace dt {
namespace {

constexpr int attacker = 2;

void read_descriptor(ByteSpan bytes) {
  const Result<Arrival> arrival = decode_arrival(bytes);
  if (!arrival) return check_message(arrival.error());
  const Bytes again = encode(*arrival);
  assert(std::ranges::equal(again, bytes));
}

/// Counts the frames that reach it.
class CountingReceiver final : public MessageReceiver {
 public:
  Result<> control(const Message&, ByteSpan) override { return count(); }
  Result<PayloadTarget> place(const Message&) override {
    TRY(count());
    return PayloadTarget{};
  }
  Result<> arrived(const Message&) override { return count(); }

  size_t frames = 0;

 private:
  Result<> count() {
    ++frames;
    return {};
  }
};

void receive_without_key(ByteSpan bytes) {
  const auto out = std::make_shared<MemoryPipe>();
  const auto in = std::make_shared<MemoryPipe>();
  in->bytes.assign(bytes.begin(), bytes.end());
  MemoryLink link(out, in);
  Digest key = {};
  key.fill(std::byte{0x5A});
  Session session(key, key);
  MessageLink messages({.link = &link, .session = &session, .peer = 1, .generation = 3});
  CountingReceiver receiver;
  const Result<bool> received = messages.receive(receiver);
  if (!received) check_message(received.error());
  assert(receiver.frames == 0);
}

/// A call of both honest ranks, and sometimes of the attacker.
struct FuzzedCall {
  std::array<std::shared_ptr<Operation>, 3> operations;
  std::array<std::vector<float>, 3> inputs;
  std::array<std::vector<float>, 3> outputs;
};

class Attack {
 public:
  explicit Attack(Reader& input) : input_(input), group_(3) { group_.stopped[attacker] = true; }

  void run() {
    while (!input_.rest().empty())
      obey();
    group_.end(attacker);
    group_.notify(0, Notice::Kind::dead, attacker, "killed by SIGKILL");
    group_.notify(1, Notice::Kind::dead, attacker, "killed by SIGKILL");
    group_.pass(seconds(30));
    for (const auto& call : calls_)
      for (const int rank : {0, 1})
        check(*call->operations[static_cast<size_t>(rank)]);
  }

 private:
  static constexpr size_t calls_max = 24;
  static constexpr uint8_t kinds = static_cast<uint8_t>(OperationKind::receive) + 1;

  void obey() {
    switch (input_.number<uint8_t>() % 6) {
      case 0:
        return send(bytes());
      case 1:
        return send_frame();
      case 2:
        return group_.pass(milliseconds(input_.number<uint8_t>() * 20));
      case 3:
        return submit(false);
      case 4:
        return submit(true);
      default:
        return group_.settle();
    }
  }

  ByteSpan bytes() {
    const size_t wanted = input_.number<uint8_t>();
    return input_.raw(std::min(wanted, input_.rest().size()));
  }

  void send(ByteSpan bytes) {
    MemoryPipe& pipe = group_.pipe(attacker, victim_);
    victim_ = 1 - victim_;
    pipe.bytes.insert(pipe.bytes.end(), bytes.begin(), bytes.end());
  }

  void send_frame() {
    const auto type = input_.number<uint8_t>();
    const auto stream = input_.number<uint32_t>();
    const ByteSpan payload = bytes();
    Bytes frame;
    append_frame(frame,
                 {.length = static_cast<uint32_t>(payload.size()),
                  .type = type,
                  .generation = 3,
                  .stream = stream},
                 payload);
    send(frame);
  }

  /// With `all`, the attacker makes the call, too, and behaves well until nothing moves.
  void submit(bool all) {
    auto kind = static_cast<OperationKind>(input_.number<uint8_t>() % kinds);
    // A peer chooses how much memory these need; the driver handles the failure to allocate it.
    if (has_own_counts(kind)) kind = OperationKind::barrier;
    const size_t count = input_.number<uint8_t>();
    if (calls_.size() == calls_max) return;
    calls_.push_back(std::make_unique<FuzzedCall>());
    FuzzedCall& call = *calls_.back();
    for (int rank = 0; rank < (all ? 3 : 2); ++rank) {
      const auto index = static_cast<size_t>(rank);
      call.inputs[index].assign(3 * count + 1, 1.0F);
      call.outputs[index].assign(3 * count + 1, 0.0F);
      OperationRequest request{.kind = kind,
                               .peer = attacker,
                               .count = count,
                               .input = call.inputs[index].data(),
                               .output = call.outputs[index].data()};
      if (!is_collective(kind) && rank == attacker) request.peer = 0;
      call.operations[index] = group_.submit(rank, std::move(request));
    }
    group_.stopped[attacker] = !all;
    group_.settle();
    group_.stopped[attacker] = true;
  }

  static void check(const Operation& operation) {
    assert(operation.outcome.has_value());
    if (!*operation.outcome) check_message(operation.outcome->error());
  }

  Reader& input_;
  std::vector<std::unique_ptr<FuzzedCall>> calls_;  ///< outlives the engines, which use the memory
  EngineGroup group_;
  int victim_ = 0;
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  switch (input.number<uint8_t>()) {
    case 'd':
      return read_descriptor(input.rest());
    case 's':
      return receive_without_key(input.rest());
    default:
      return Attack(input).run();
  }
}

}  // namespace dt

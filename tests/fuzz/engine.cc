// The frames between the engines of ranks. The first byte of the input chooses the run. After 'd',
// the rest is a descriptor. After 'a', it is announcements of named calls, and after 'n', a
// decision about some. After 's', the rest arrives on a link whose frames have MACs, from a sender
// without the key. After any other byte, rank 2 of three ranks has proved itself, and sends what
// the input commands. The other two make calls meanwhile. After its death, each call must have
// ended.

#include "comm/collective/descriptor.h"
#include "comm/collective/messages.h"
#include "comm/named/name_messages.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr int attacker = 2;
constexpr uint32_t groups_max = 8;

void read_descriptor(ByteSpan bytes) {
  const Result<Arrival> arrival = decode_arrival(bytes);
  if (!arrival) return check_message(arrival.error());
  const Bytes again = encode(*arrival);
  assert(std::ranges::equal(again, bytes));
}

void read_arrivals(ByteSpan bytes) {
  const Result<std::vector<NameArrival>> arrivals = decode_arrivals(bytes);
  if (!arrivals) return check_message(arrivals.error());
  Bytes again;
  for (size_t from = 0; from < arrivals->size();) {
    const Bytes message = encode_arrivals(*arrivals, from);
    assert(!message.empty() && message.size() <= control_bytes_max);
    again.insert(again.end(), message.begin(), message.end());
  }
  assert(std::ranges::equal(again, bytes));
}

void read_decision(ByteSpan bytes) {
  const Result<NameDecision> decision = decode_name_decision(bytes);
  if (!decision) return check_message(decision.error());
  assert(!decision->names.empty() && decision->names.size() <= names_per_decision_max);
  const Bytes again = encode(*decision);
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
        if (const auto& operation = call->operations[static_cast<size_t>(rank)]) check(*operation);
  }

 private:
  static constexpr size_t calls_max = 24;
  static constexpr uint8_t kinds = static_cast<uint8_t>(OperationKind::receive) + 1;

  void obey() {
    switch (input_.number<uint8_t>() % 12) {
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
      case 5:
        return group_.settle();
      case 6:
        return submit(false, name());
      case 7:
        return submit(true, name());
      case 8:
        return join();
      case 9:
        return submit_list(false);
      case 10:
        return submit_list(true);
      default:
        return make_group();
    }
  }

  /// One of few, so that calls meet, and are pending when the next of that name comes.
  std::string name() { return format("n{}", input_.number<uint8_t>() % 4); }

  ByteSpan bytes() {
    const size_t wanted = input_.number<uint8_t>();
    return input_.raw(std::min(wanted, input_.rest().size()));
  }

  void send(ByteSpan bytes) {
    if (mute_) return;
    attacked_ = true;
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
  void submit(bool all, const std::string& name = "") {
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
                               .output = call.outputs[index].data(),
                               .name = name};
      if (!is_collective(kind) && rank == attacker) request.peer = 0;
      call.operations[index] = group_.submit(rank, std::move(request));
    }
    settle(all);
  }

  /// A list of two tensors: an ordinary one, or one with a quorum.
  void submit_list(bool all) {
    const std::string list = name();
    const size_t count = input_.number<uint8_t>();
    const uint8_t form = input_.number<uint8_t>();
    if (calls_.size() == calls_max) return;
    calls_.push_back(std::make_unique<FuzzedCall>());
    FuzzedCall& call = *calls_.back();
    for (int rank = 0; rank < (all ? 3 : 2); ++rank) {
      const auto index = static_cast<size_t>(rank);
      std::vector<float>& values = call.inputs[index];
      values.assign(count + 1, 1.0F);
      OperationRequest request{.kind = OperationKind::all_reduce, .name = list};
      request.tensors = {{.count = 1, .input = values.data(), .output = values.data()},
                         {.count = count, .input = &values[1], .output = &values[1]}};
      if (form % 4 == 1) request.priority = form;
      if (form % 4 == 2) request.terms = OperationTerms{.prescale = 0.5, .postscale = 2};
      if (form % 4 == 3)
        request.terms =
            OperationTerms{.quorum = {.ranks = 2, .deadline_ms = form, .behind_max = 1}};
      call.operations[index] = group_.submit(rank, std::move(request));
    }
    settle(all);
  }

  /// The honest ranks make a group, with the attacker or without.
  void make_group() {
    const bool with_attacker = input_.number<uint8_t>() % 2 == 1;
    const uint32_t number = group_[0].groups().next_number();
    if (number > groups_max) return;
    group_.create(number, with_attacker ? std::vector{0, 1, attacker} : std::vector{0, 1});
    settle(false);
  }

  /// One honest rank joins, or all three ranks do. A peer of ranks that have all joined would
  /// choose how much memory they need. So no second one joins alone, and all join only with an
  /// attacker that has behaved well. It may send again when all joins have ended.
  void join() {
    const uint8_t joining = input_.number<uint8_t>() % 3;
    const bool all = joining == attacker;
    if (calls_.size() == calls_max || (all ? attacked_ : any_joined())) return;
    calls_.push_back(std::make_unique<FuzzedCall>());
    for (int rank = all ? 0 : joining; rank <= joining; ++rank) {
      joins_[rank] = group_.submit(
          rank, {.kind = OperationKind::join, .result = std::make_shared<OperationResult>()});
      calls_.back()->operations[static_cast<size_t>(rank)] = joins_[rank];
    }
    settle(all);
    mute_ = mute_ || (all && any_joined());
  }

  bool any_joined() const {
    return std::ranges::any_of(joins_, [](const auto& join) { return pending(join.second); });
  }

  void settle(bool with_attacker) {
    group_.stopped[attacker] = !with_attacker;
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
  std::map<int, std::shared_ptr<Operation>> joins_;  ///< the last of each rank
  bool attacked_ = false;                            ///< the attacker has sent something
  bool mute_ = false;
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  switch (input.number<uint8_t>()) {
    case 'd':
      return read_descriptor(input.rest());
    case 'a':
      return read_arrivals(input.rest());
    case 'n':
      return read_decision(input.rest());
    case 's':
      return receive_without_key(input.rest());
    default:
      return Attack(input).run();
  }
}

}  // namespace dt

#include "comm/device/connected_call.h"

#include "comm/collective/descriptor.h"
#include "comm/driver/device_copies.h"
#include "tests/unit/comm/device/connected_ranks.h"

#include <optional>
#include <string>
#include <utility>

namespace dt {
namespace {

struct SumOptions {
  std::optional<DeviceRoute> agreed = {};  ///< by the ranks, before the call; none: not yet
  std::shared_ptr<DeviceStream> stream = {};
  Duration timeout = {};
  double postscale = 1;
  bool by_name = false;
};

/// A sum of rank 0, over its numbers in place.
struct Sum {
  Sum(const ConnectedRanks& world, const SumOptions& options)
      : results(world.devices[0]->expect_results()) {
    std::byte* const at = world.memory[0].at();
    const CallingRank self = {.rank = 0, .size = static_cast<int>(world.ranks.size())};
    executed->request = {.kind = OperationKind::all_reduce, .count = 3, .input = at, .output = at};
    executed->request.name = "loss";
    executed->request.in_sequence = !options.by_name;
    executed->request.timeout = options.timeout;
    executed->request.terms =
        OperationTerms{.postscale = options.postscale, .memory = MemoryKind::device};
    std::shared_ptr<DeviceEvent> ready;
    if (options.stream) {
      ready = world.devices[0]->device().make_event().value();
      CHECK(options.stream->record(*ready));
    }
    if (options.agreed) world.ranks[0]->agree(*options.agreed);
    copies = ConnectedCall::start({.connection = world.ranks[0],
                                   .self = self,
                                   .device = world.devices[0],
                                   .ready = ready,
                                   .results = results,
                                   .ranges = ranges_of(executed->request, self),
                                   .executed = executed})
                 .value();
  }
  std::shared_ptr<Operation> executed = std::make_shared<Operation>();
  std::shared_ptr<QueuedResults> results;
  std::unique_ptr<DeviceCopies> copies;
};

/// Ends a vote for a route.
void end(const std::shared_ptr<Operation>& vote, DeviceRoute route) {
  REQUIRE(vote != nullptr);
  *static_cast<int32_t*>(vote->request.output) = static_cast<int32_t>(route);
  vote->outcome.emplace();
}

/// Returns the step that follows when no copy is under way.
Result<DeviceStep> awaited_step(DeviceCopies& copies) {
  auto step = copies.next();
  while (step && step->kind == DeviceStep::Kind::waits) {
    std::this_thread::yield();
    step = copies.next();
  }
  return step;
}

Result<DeviceStep> step_after_vote(DeviceCopies& copies, DeviceRoute route) {
  end(copies.next()->executed, route);
  return awaited_step(copies);
}

/// Begins NCCL's part, which the ranks have voted for before. Returns the vote beside it.
std::shared_ptr<Operation> begin_nccl(const Sum& sum) {
  const auto step = sum.copies->next();
  CHECK(step->kind == DeviceStep::Kind::results);
  CHECK(sum.copies->start_results());
  REQUIRE(step->executed != nullptr);
  return step->executed;
}

TEST_CASE("where NCCL runs the calls, the ranks compare the call by their vote") {
  const ConnectedRanks world(2);
  world.decided(0);
  const Sum sum(world, {.agreed = DeviceRoute::nccl});
  const auto step = sum.copies->next();
  const OperationRequest& request = step->executed->request;
  CHECK(*static_cast<const int32_t*>(request.input) == 2);
  CHECK(request.in_sequence);
  REQUIRE(request.announced != nullptr);
  const Descriptor descriptor = Descriptor::of(request);
  CHECK(descriptor.kind == OperationKind::all_reduce);
  CHECK(descriptor.count == 3);
  CHECK(descriptor.terms.memory == MemoryKind::connected_device);
  CHECK(call_hash(request, 1) == call_hash(*request.announced, 1));
  CHECK(call_hash(request, 1) != call_hash(sum.executed->request, 1));
  CHECK_FALSE(sum.copies->others_wait());
}

TEST_CASE("where the ranks have voted for NCCL, it sums while they vote again") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum sum(world, {.agreed = DeviceRoute::nccl});
  const auto vote = begin_nccl(sum);
  CHECK(sum.copies->others_wait());
  while (!sum.copies->results_copied().value())
    std::this_thread::yield();
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{1, 1, 1});
  CHECK_FALSE(vote->outcome.has_value());
  CHECK(world.ranks[0]->order().begun_without_slot() == 1);
}

TEST_CASE("a stream waits for the results of NCCL only if the caller wants it") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  const Sum sum(world, {.agreed = DeviceRoute::nccl, .stream = stream});
  const auto before = world.cpu.device(0).make_event().value();
  CHECK(world.cpu.stream(0).record(*before));
  CHECK(before->synchronize(much_later()));
  begin_nccl(sum);
  CHECK(sum.results->let_wait(&world.cpu.stream(0), Time::max()).value());
  CHECK(world.cpu.stream(0).synchronize(much_later()));
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{1, 1, 1});
  while (!sum.copies->results_copied().value())
    std::this_thread::yield();
}

TEST_CASE("a call that the ranks stage is staged, when the stream has its input") {
  const ConnectedRanks world(1);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  Gate gate;
  std::vector<float> late = {7, 8, 9};
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  CHECK(world.cpu.stream(0).copy({world.memory[0].at(), bytes_at(late), 12}));
  const Sum sum(world, {.agreed = DeviceRoute::undecided, .stream = stream});
  end(sum.copies->next()->executed, DeviceRoute::staged);
  CHECK(sum.copies->next()->kind == DeviceStep::Kind::waits);
  gate.open();
  const auto step = awaited_step(*sum.copies);
  CHECK(step->passes);
  const OperationRequest& request = step->executed->request;
  CHECK(request.kind == OperationKind::all_reduce);
  CHECK(request.input != world.memory[0].at());
  CHECK(static_cast<const float*>(request.input)[2] == 9);
  static_cast<float*>(request.output)[0] = 5;
  CHECK(sum.copies->start_results());
  CHECK_FALSE(sum.copies->others_wait());
  while (!sum.copies->results_copied().value())
    std::this_thread::yield();
  sum.copies->release();
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{5, 8, 9});
}

TEST_CASE("a range that exceeds its memory is refused before anything is sent") {
  const ConnectedRanks world(1);
  auto executed = std::make_shared<Operation>();
  std::byte* const at = world.memory[0].at();
  executed->request = {
      .kind = OperationKind::all_reduce, .count = size_t{1} << 20, .input = at, .output = at};
  const auto call = ConnectedCall::start({.connection = world.ranks[0],
                                          .device = world.devices[0],
                                          .ranges = ranges_of(executed->request, {}),
                                          .executed = executed});
  REQUIRE_FALSE(call.has_value());
  CHECK(call.error().message == "the input exceeds its memory of cpu:0");
}

TEST_CASE("a device that fails while the others run the call staged concerns them") {
  const ConnectedRanks world(1);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  const Sum sum(world, {.agreed = DeviceRoute::undecided, .stream = stream});
  CHECK_FALSE(sum.copies->others_wait());
  world.breaks = true;
  CHECK_FALSE(step_after_vote(*sum.copies, DeviceRoute::staged).has_value());
  CHECK(sum.copies->others_wait());
}

TEST_CASE("a call waits for its vote, whose route holds for all later ones") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum first(world, {});
  const auto vote = first.copies->next();
  CHECK_FALSE(vote->passes);
  CHECK(*static_cast<const int32_t*>(vote->executed->request.input) == 2);
  end(vote->executed, DeviceRoute::undecided);
  CHECK(awaited_step(*first.copies)->executed->request.kind == OperationKind::all_reduce);
  CHECK(world.ranks[0]->agreed() == DeviceRoute::undecided);
  const Sum second(world, {});
  CHECK(step_after_vote(*second.copies, DeviceRoute::nccl)->kind == DeviceStep::Kind::results);
  CHECK(world.ranks[0]->agreed() == DeviceRoute::nccl);
  world.ranks[0]->stop({Errc::os, "broken"});
  const Sum third(world, {});
  const auto last = third.copies->next();
  CHECK(last->kind == DeviceStep::Kind::results);
  CHECK(*static_cast<const int32_t*>(last->executed->request.input) == 2);
}

/// The sum of a call by name.
Sum sum_by_name(const ConnectedRanks& world, std::shared_ptr<DeviceStream> stream = {}) {
  return Sum(world, {.stream = std::move(stream), .by_name = true});
}

/// Waits until NCCL has ended the sum of one rank, whose copies have begun.
void await_results(DeviceCopies& copies) {
  CHECK(copies.start_results());
  while (!copies.results_copied().value())
    std::this_thread::yield();
}

TEST_CASE("the ranks agree on a call by name before NCCL runs it in its slot") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum sum = sum_by_name(world);
  const auto step = sum.copies->next();
  // A join behind it waits until it is known whether the engine gets it again.
  CHECK_FALSE(step->passes);
  const OperationRequest& request = step->executed->request;
  CHECK(request.name == "loss");
  CHECK(matches_by_name(request));
  CHECK(request.terms->memory == MemoryKind::connected_device);
  REQUIRE(request.agreement != nullptr);
  CHECK(request.agreement->wish == DeviceRoute::nccl);
  CHECK_FALSE(world.ranks[0]->runs_by_name());
  request.agreement->route = DeviceRoute::nccl;
  request.agreement->slots = {{.bucket = 0}};
  CHECK(sum.copies->next()->kind == DeviceStep::Kind::results);
  CHECK(world.ranks[0]->runs_by_name());
  CHECK(world.ranks[0]->agreed() == DeviceRoute::undecided);
  await_results(*sum.copies);
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{1, 1, 1});
}

TEST_CASE("a call by name that a rank cannot run by NCCL is staged by its name") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum sum = sum_by_name(world);
  sum.copies->next()->executed->request.agreement->route = DeviceRoute::undecided;
  const auto step = awaited_step(*sum.copies);
  CHECK(step->passes);
  CHECK(step->executed == sum.executed);
  CHECK(step->executed->request.agreement == nullptr);
  CHECK(step->executed->request.name == "loss");
  CHECK(step->executed->request.terms->memory == MemoryKind::device);
  CHECK(step->executed->request.input != world.memory[0].at());
}

TEST_CASE("a call gets a slot when its input is there") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  Gate gate;
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  const Sum sum = sum_by_name(world, stream);
  CHECK(sum.copies->next()->kind == DeviceStep::Kind::waits);
  gate.open();
  CHECK(awaited_step(*sum.copies)->executed->request.agreement != nullptr);
}

TEST_CASE("a call whose stream does not reach it in time fails, and the others learn of it") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  Gate gate;
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  const Sum sum(world, {.stream = stream, .timeout = milliseconds(1), .by_name = true});
  const auto step = awaited_step(*sum.copies);
  CHECK(step.error().code == Errc::timeout);
  CHECK(step.error().message == "all_reduce \"loss\": its stream has not reached it in time");
  CHECK(sum.copies->others_wait());
  gate.open();
}

/// Returns what a call by name that is made now agrees on.
CallAgreement next_agreement(const ConnectedRanks& world) {
  return *sum_by_name(world).copies->next()->executed->request.agreement;
}

TEST_CASE("a call by name tells how many calls have begun without a slot") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum first(world, {.agreed = DeviceRoute::nccl});
  begin_nccl(first);
  const CallAgreement agreement = next_agreement(world);
  CHECK(agreement.wish == DeviceRoute::nccl);
  CHECK(agreement.before == 1);
}

TEST_CASE("calls by name wait for those without a slot that have not begun") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum first(world, {});
  const auto vote = first.copies->next()->executed;
  CHECK(next_agreement(world).wish == DeviceRoute::undecided);
  end(vote, DeviceRoute::nccl);
  CHECK(first.copies->next()->kind == DeviceStep::Kind::results);
  CHECK(next_agreement(world).wish == DeviceRoute::undecided);
  CHECK(first.copies->start_results());
  CHECK(next_agreement(world).wish == DeviceRoute::nccl);
}

TEST_CASE("calls by name are staged while one without a slot waits for its input") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  Gate gate;
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  const Sum first(world, {.agreed = DeviceRoute::nccl, .stream = stream});
  begin_nccl(first);
  CHECK_FALSE(first.copies->results_copied().value());
  CHECK(next_agreement(world).wish == DeviceRoute::undecided);
  gate.open();
  while (!first.copies->results_copied().value())
    std::this_thread::yield();
  CHECK(next_agreement(world).wish == DeviceRoute::nccl);
}

/// A call without a name, of a rank that makes calls by name.
struct SumBehindNames {
  SumBehindNames() : sum(world, {.agreed = DeviceRoute::nccl}) {
    world.decided(0);
    next_agreement(world);
    const auto step = sum.copies->next();
    CHECK(step->kind == DeviceStep::Kind::runs);
    CHECK(step->passes);
    vote = step->executed;
    CHECK(vote_for_slot() == 1);
  }
  int32_t& vote_for_slot() const { return static_cast<int32_t*>(vote->request.output)[1]; }
  ConnectedRanks world = ConnectedRanks(1);
  Sum sum;
  std::shared_ptr<Operation> vote;
};

TEST_CASE("where all ranks make calls by name, one without a name gets a slot, too") {
  const SumBehindNames last;
  end(last.vote, DeviceRoute::nccl);
  const auto slot = last.sum.copies->next();
  CHECK(slot->passes);
  CHECK(slot->executed->request.name == "loss, NCCL call 1");
  CHECK(matches_by_name(slot->executed->request));
  slot->executed->request.agreement->route = DeviceRoute::nccl;
  slot->executed->request.agreement->slots = {{.bucket = 0}};
  CHECK(last.sum.copies->next()->kind == DeviceStep::Kind::results);
  await_results(*last.sum.copies);
  CHECK(last.world.ranks[0]->order().begun_without_slot() == 0);
}

TEST_CASE("a call that another rank may have begun gets no slot") {
  const SumBehindNames last;
  last.vote_for_slot() = 0;
  end(last.vote, DeviceRoute::nccl);
  CHECK(last.sum.copies->next()->kind == DeviceStep::Kind::results);
  await_results(*last.sum.copies);
  CHECK(next_agreement(last.world).before == 1);
}

TEST_CASE("a list has a task and a slot for each tensor") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto executed = std::make_shared<Operation>();
  auto* const at = reinterpret_cast<float*>(world.memory[0].at());
  executed->request = {.kind = OperationKind::all_reduce};
  executed->request.tensors = {{.count = 1, .input = at, .output = at},
                               {.count = 2, .input = at + 1, .output = at + 1}};
  executed->request.terms = OperationTerms{.prescale = 5, .memory = MemoryKind::device};
  const auto copies = ConnectedCall::start({.connection = world.ranks[0],
                                            .device = world.devices[0],
                                            .ranges = ranges_of(executed->request, {}),
                                            .executed = executed})
                          .value();
  const auto agreed = copies->next()->executed;
  CHECK(agreed->request.name.empty());
  agreed->request.name = "#4";  // by the engine
  CallAgreement& agreement = *agreed->request.agreement;
  agreement.route = DeviceRoute::nccl;
  agreement.slots = {{.bucket = 1}, {.bucket = 0}};
  CHECK(copies->next()->kind == DeviceStep::Kind::results);
  CHECK(copies->has_slot());
  // The ranks give it that name if they stage it.
  CHECK(executed->request.name == "#4");
  await_results(*copies);
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{5, 5, 5});
}

TEST_CASE("a device that fails before a call by name is announced concerns the others") {
  const ConnectedRanks world(1);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  Gate gate;
  std::vector<float> late = {7, 8, 9};
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  CHECK(world.cpu.stream(0).copy({world.memory[0].at(), bytes_at(late), 12}));
  const Sum sum = sum_by_name(world, stream);
  CHECK_FALSE(sum.copies->others_wait());
  CHECK(sum.copies->next()->kind == DeviceStep::Kind::waits);
  CHECK(sum.copies->others_wait());
  world.breaks = true;
  gate.open();
  CHECK_FALSE(awaited_step(*sum.copies).has_value());
  CHECK(sum.copies->others_wait());
}

TEST_CASE("a call behind the vote for staging needs none") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum sum(world, {.agreed = DeviceRoute::staged});
  const auto step = awaited_step(*sum.copies);
  CHECK(step->executed == sum.executed);
  CHECK(step->passes);
}

TEST_CASE("where a required NCCL is missing, the call fails") {
  const ConnectedRanks world(1, "no_driver", true);
  world.decided(0);
  const Sum sum(world, {.agreed = DeviceRoute::failed});
  std::string text = step_after_vote(*sum.copies, DeviceRoute::failed).error().message;
  CHECK_MESSAGE(text.starts_with("all_reduce \"loss\": DTRAIN_DEVICE_COLLECTIVES is nccl, but "),
                text);
  CHECK_FALSE(sum.copies->others_wait());
  const ConnectedRanks well(1);
  well.decided(0);
  const Sum other(well, {.agreed = DeviceRoute::failed});
  text = step_after_vote(*other.copies, DeviceRoute::failed).error().message;
  CHECK_MESSAGE(text.ends_with("NCCL cannot connect the devices of other ranks"), text);
}

TEST_CASE("other ranks that will not end the call are its reason") {
  const ConnectedRanks world(2);
  world.decided(0);
  const auto stream = world.devices[0]->device().stream_at(&world.cpu.stream(0)).value();
  const Sum sum(world, {.agreed = DeviceRoute::nccl, .stream = stream});
  sum.copies->stop({Errc::peer_lost, "too early: the engine waits"});
  begin_nccl(sum);
  sum.copies->stop({Errc::peer_lost, "rank 1 died"});
  Result<bool> ended = false;
  while (ended && !*ended)
    ended = sum.copies->results_copied();
  CHECK(ended.error().message == "all_reduce \"loss\": rank 1 died");
  CHECK_FALSE(sum.copies->others_wait());
  // No stream of the caller is held by what other ranks will not end.
  sum.copies->release();
  CHECK(sum.results->let_wait(&world.cpu.stream(0), Time::max()).has_value());
  CHECK(world.cpu.stream(0).synchronize(much_later()));
}

TEST_CASE("a device that fails behind NCCL ends the call") {
  const ConnectedRanks world(1);
  world.decided(0);
  const Sum sum(world, {.agreed = DeviceRoute::nccl, .postscale = 2});
  world.breaks = true;  // in the copies of the result
  begin_nccl(sum);
  Result<bool> ended = false;
  while (ended && !*ended)
    ended = sum.copies->results_copied();
  CHECK_FALSE(ended.has_value());
  CHECK(sum.copies->others_wait());
}

TEST_CASE("a call that other ranks do not join ends by its time, by a stop, or by the end") {
  const ConnectedRanks world(2);
  world.decided(0);
  {
    const Sum sum(world, {.agreed = DeviceRoute::nccl, .timeout = milliseconds(1)});
    begin_nccl(sum);
    Result<bool> ended = false;
    while (ended && !*ended)
      ended = sum.copies->results_copied();
    CHECK(ended.error().code == Errc::timeout);
    CHECK(ended.error().message == "all_reduce \"loss\": NCCL has not ended it in time");
  }
  const ConnectedRanks others(2);
  others.decided(0);
  Sum sum(others, {.agreed = DeviceRoute::nccl});
  begin_nccl(sum);
  sum.copies->release();
  sum.copies->finish();
  CHECK(sum.copies->results_copied().error().code == Errc::closed);
}

}  // namespace
}  // namespace dt

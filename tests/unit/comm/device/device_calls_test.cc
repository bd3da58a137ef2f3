#include "comm/device/device_calls.h"

#include "comm/driver/device_copies.h"
#include "gpu/cuda/loaded_driver.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// An all_reduce of three numbers.
OperationRequest reduction(const void* input, void* output) {
  return {.kind = OperationKind::all_reduce,
          .type = ElementType::int32,
          .count = 3,
          .input = input,
          .output = output};
}

/// Returns what the engine gets first of a call.
OperationRequest executed_of(const Operation& staged) {
  auto step = staged.staged->next();
  while (step && step->kind == DeviceStep::Kind::waits)
    step = staged.staged->next();
  return step->executed->request;
}

std::string refusal(const OperationRequest& call) {
  const auto staged = DeviceCalls().stage(call, {.rank = 0, .size = 2});
  REQUIRE_FALSE(staged.has_value());
  CHECK(staged.error().code == Errc::input);
  return staged.error().message;
}

TEST_CASE("a call on memory of a device is staged, and the ranks compare where it lies") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer memory = on_device(cpu.stream(1), std::vector<int>{1, 2, 3});
  DeviceCalls calls;
  const auto staged = calls.stage(reduction(memory.at(), memory.at()), {.size = 2}).value();
  REQUIRE(staged != nullptr);
  CHECK(staged->request.input == memory.at());
  const OperationRequest executed = executed_of(*staged);
  CHECK(executed.input != memory.at());
  CHECK(executed.input == executed.output);
  REQUIRE(executed.terms.has_value());
  CHECK(executed.terms->memory == MemoryKind::device);
}

TEST_CASE("calls behind a stream use the events of earlier ones") {
  int made = 0;  // by this thread alone
  const CpuDevices cpu({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.call == DeviceCall::make_event) ++made;
    return {};
  }});
  const DeviceBuffer memory = on_device(cpu.stream(0), std::vector<int>(3 * 64, 1));
  OperationRequest list = {.kind = OperationKind::all_reduce, .stream = cpu.streams[0].get()};
  for (size_t i = 0; i < 64; ++i) {
    std::byte* const at = memory.at() + i * 3 * sizeof(int);
    list.tensors.push_back({.type = ElementType::int32, .count = 3, .input = at, .output = at});
  }
  DeviceCalls calls;
  const auto call = [&] { executed_of(*calls.stage(list, {.size = 2}).value()); };
  call();
  const int first = made;
  CHECK(first > 0);
  for (int i = 0; i < 10; ++i)
    call();
  CHECK(made == first);
}

TEST_CASE("memory of the host, pinned memory and unused pointers are not staged") {
  const CpuDevices cpu({});
  const DeviceBuffer pinned = cpu.device(0).allocate_pinned(12).value();
  const DeviceBuffer memory = cpu.device(0).allocate(12).value();
  DeviceCalls calls;
  std::vector<int> values(3);
  CHECK(calls.stage(reduction(values.data(), values.data()), {}).value() == nullptr);
  CHECK(calls.stage(reduction(pinned.at(), pinned.at()), {}).value() == nullptr);
  CHECK(calls.stage({.kind = OperationKind::barrier}, {}).value() == nullptr);
  // Rank 0 is not the root, so its input is not read.
  OperationRequest broadcast = reduction(memory.at(), values.data());
  broadcast.kind = OperationKind::broadcast;
  broadcast.peer = 1;
  CHECK(calls.stage(broadcast, {.rank = 0, .size = 2}).value() == nullptr);
  OperationRequest empty = reduction(memory.at(), memory.at());
  empty.count = 0;
  CHECK(calls.stage(empty, {}).value() == nullptr);
  // Nothing is copied, so it needs no stream.
  empty.stream = cpu.streams[0].get();
  CHECK(calls.stage(empty, {}).value() == nullptr);
  // The engine refuses it with the reason.
  CHECK(calls.stage(reduction(memory.at() + 1, memory.at()), {}).value() == nullptr);
}

TEST_CASE("buffers in two places are refused") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer first = cpu.device(0).allocate(12).value();
  const DeviceBuffer second = cpu.device(1).allocate(12).value();
  std::vector<int> values(3);
  CHECK(refusal(reduction(first.at(), values.data())) ==
        "the input lies in memory of cpu:0, and the output in memory of the host; all buffers of "
        "an operation must lie in one place");
  CHECK(refusal(reduction(first.at(), second.at())) ==
        "the input lies in memory of cpu:0, and the output in memory of cpu:1; all buffers of an "
        "operation must lie in one place");
  const std::vector<TensorOfList> tensors = {
      {.count = 3, .input = values.data(), .output = values.data()},
      {.count = 3, .input = second.at(), .output = second.at()}};
  CHECK(refusal({.kind = OperationKind::all_reduce, .tensors = tensors}) ==
        "the input of tensor 1 lies in memory of the host, and the input of tensor 2 in memory of "
        "cpu:1; all buffers of an operation must lie in one place");
}

TEST_CASE("a tensor of a list that exceeds its memory is refused") {
  const CpuDevices cpu({});
  const DeviceBuffer memory = cpu.device(0).allocate(256).value();
  std::vector<TensorOfList> tensors(20, {.count = 3, .input = memory.at(), .output = memory.at()});
  tensors.back().count = size_t{1} << 20;
  CHECK(refusal({.kind = OperationKind::all_reduce, .tensors = tensors}) ==
        "the input of tensor 20 exceeds its memory of cpu:0");
}

/// Loads the fake driver. Returns how often calls on a list of tensors in place ask it: with memory
/// of the host, and with memory of a GPU but for the last tensor.
std::pair<int, int> questions_of_lists(size_t count) {
  void* const driver = dlopen(FAKE_DRIVER, RTLD_NOW);
  if (driver == nullptr) return {};
  int& questions = *static_cast<int*>(dlsym(driver, "fake_questions"));
  std::vector<int> values(count);
  std::vector<TensorOfList> tensors;
  for (int& value : values)
    tensors.push_back({.count = 1, .input = &value, .output = &value});
  const OperationRequest call = {.kind = OperationKind::all_reduce, .tensors = tensors};
  if (!DeviceCalls().stage(call, {.size = 2})) return {};
  const int of_host = std::exchange(questions, 0);
  *static_cast<const int**>(dlsym(driver, "fake_begin")) = values.data();
  *static_cast<size_t*>(dlsym(driver, "fake_bytes")) = (count - 1) * sizeof(int);
  if (DeviceCalls().stage(call, {.size = 2})) return {};
  return {of_host, questions};
}

TEST_CASE("a call asks the driver once about each buffer") {
  if (loaded_driver() != nullptr) return;  // a test with GPUs came first
  // A child, because a driver is never unloaded.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(questions_of_lists(64) == std::pair(64, 64) ? 0 : 1);
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a stream needs buffers on its device") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer memory = cpu.device(0).allocate(12).value();
  std::vector<int> values(3);
  OperationRequest call = reduction(values.data(), values.data());
  call.stream = cpu.streams[0].get();
  const std::string no_buffer =
      "dtrain_op_options.stream is given, but the operation has no buffer in memory of a device";
  CHECK(refusal(call) == no_buffer);
  CHECK(refusal({.kind = OperationKind::barrier, .stream = cpu.streams[0].get()}) == no_buffer);
  call = reduction(memory.at(), memory.at());
  call.stream = cpu.streams[1].get();
  const std::string text = refusal(call);
  CHECK(text.starts_with("dtrain_op_options.stream: cpu:0 has no stream at 0x"));
  CHECK(text.ends_with("; the buffers lie in memory of cpu:0"));
}

TEST_CASE("rows of a matrix and other memory of the library must lie on the host") {
  const CpuDevices cpu({});
  const DeviceBuffer memory = cpu.device(0).allocate(8).value();
  const int mine = 0;
  CHECK(check_on_host(&mine, "it lies").has_value());
  CHECK(check_on_host(nullptr, "it lies").has_value());
  CHECK(check_on_host(memory.at(), "it lies").error().message ==
        "it lies in memory of cpu:0; give memory of the host");
}

TEST_CASE(
    "calls that NCCL can execute are prepared by a vote, until the ranks stage them for good") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer memory = on_device(cpu.stream(0), std::vector<int>{1, 2, 3});
  const DeviceBuffer other = on_device(cpu.stream(1), std::vector<int>{1, 2, 3});
  const OperationRequest call = reduction(memory.at(), memory.at());
  DeviceCalls calls;
  int32_t route = 1;  // undecided
  const auto votes = [&](const OperationRequest& made, CallingRank self) {
    const auto staged = calls.stage(made, self).value();
    REQUIRE(staged != nullptr);
    const OperationRequest first = executed_of(*staged);
    if (!first.announced) return false;
    *static_cast<int32_t*>(first.output) = route;
    CHECK_FALSE(executed_of(*staged).announced);
    return true;
  };
  CHECK_FALSE(votes(call, {.size = 2}));
  const DeviceCalls::NcclTerms terms = {
      .store = {.set = [](const auto&, const auto&) { return Result<>(); },
                .wait = [](const auto&, Duration) -> Result<Bytes> {
                  return fail(Errc::closed, "closed");
                }}};
  calls.allow_nccl(0, terms);
  OperationRequest named = call;
  named.name = "gradient";
  OperationRequest of_group = call;
  of_group.group = 3;
  CHECK_FALSE(votes(named, {.size = 2}));
  CHECK_FALSE(votes(of_group, {.size = 2}));
  CHECK_FALSE(votes(call, {.size = 1}));
  CHECK(votes(call, {.size = 2}));
  // The first call connects its device.
  CHECK_FALSE(votes(reduction(other.at(), other.at()), {.size = 2}));
  route = 0;  // All ranks stage them from now on.
  CHECK(votes(call, {.size = 2}));
  CHECK_FALSE(votes(call, {.size = 2}));
  CHECK_FALSE(calls.uses_nccl(0));
  // Each group has a connection of its own, and votes of its own.
  calls.allow_nccl(3, terms);
  CHECK(votes(of_group, {.size = 2}));
  of_group.group = 4;
  CHECK_FALSE(votes(of_group, {.size = 2}));
  CHECK_FALSE(calls.uses_nccl(3));
  calls.disconnect();
}

}  // namespace
}  // namespace dt

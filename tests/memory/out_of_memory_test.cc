#include "comm/driver/driver.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {

struct Memory {
  long left = -1;  ///< so many allocations still succeed; negative: all
  bool refused = false;
};

Memory& memory() {
  thread_local Memory memory;
  return memory;
}

void* allocate(size_t bytes) {
  Memory& limit = memory();
  limit.refused = limit.refused || limit.left == 0;
  if (limit.left == 0) throw std::bad_alloc();
  if (limit.left > 0) --limit.left;
  void* memory = std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes);
}
void* operator new[](size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  release(memory);
}

namespace dt {
namespace {

/// Runs `body` with so many allocations. Returns true when none was refused.
template <class Body>
bool with_allocations(long number, const Body& body) {
  memory() = {.left = number};
  body();
  const bool refused = memory().refused;
  memory() = {};
  return !refused;
}

std::unique_ptr<Engine> one_of_two(int rank, std::unique_ptr<Link> link) {
  std::vector<Engine::Peer> peers(2);
  for (int i = 0; i < 2; ++i)
    peers[static_cast<size_t>(i)].task = {.id = {"worker", i}, .rank = i};
  peers[static_cast<size_t>(1 - rank)].link = std::move(link);
  return std::make_unique<Engine>(Engine::Options{.rank = rank}, std::move(peers));
}

/// Rank 0 behind a driver, and rank 1, in the middle of a large all_reduce.
class Pair {
 public:
  Pair() {
    there_->capacity = 100'000;
    back_->capacity = 100'000;
    works_.reserve(10);
    submit(OperationKind::all_reduce);
    for (int i = 0; i < 4; ++i) {
      step();
      other_->step(Clock::now());
    }
  }

  void submit(OperationKind kind) {
    const char* name = kind == OperationKind::barrier
                           ? "a name that no short string can hold"
                           : "another name that no short string can hold";
    works_.push_back(poor_.start({.kind = kind,
                                  .count = mine_.size(),
                                  .input = mine_.data(),
                                  .output = mine_.data(),
                                  .name = name}));
    their_works_.push_back(other_->submit({.kind = kind,
                                           .count = theirs_.size(),
                                           .input = theirs_.data(),
                                           .output = theirs_.data(),
                                           .name = name},
                                          Clock::now()));
    other_->step(Clock::now());  // which makes room for more
  }
  /// Waits with a time limit of zero, which steps the engine.
  void step() { poor_.wait(works_.back(), Time::min()); }
  Driver& poor() { return poor_; }
  const std::vector<Driver::Work>& works() const { return works_; }

  /// Returns the outcomes of the other rank, whose time limit for broken links passes.
  std::vector<Errc> their_errors() {
    for (int i = 0; i < 100; ++i) {
      poor_.wait(works_.back(), Time::min());
      other_->step(Clock::now());
    }
    other_->step(Clock::now() + seconds(60));
    other_->step(Clock::now() + seconds(120));
    std::vector<Errc> errors;
    for (const auto& work : their_works_)
      errors.push_back(work->outcome && !*work->outcome ? work->outcome->error().code : Errc());
    return errors;
  }

 private:
  std::vector<float> mine_ = std::vector<float>(200'000, 1.0F);
  std::vector<float> theirs_ = std::vector<float>(200'000, 1.0F);
  std::shared_ptr<MemoryPipe> there_ = std::make_shared<MemoryPipe>();
  std::shared_ptr<MemoryPipe> back_ = std::make_shared<MemoryPipe>();
  Driver poor_{{.engine = one_of_two(0, std::make_unique<MemoryLink>(there_, back_))}};
  std::unique_ptr<Engine> other_ = one_of_two(1, std::make_unique<MemoryLink>(back_, there_));
  std::vector<Driver::Work> works_;
  std::vector<std::shared_ptr<Operation>> their_works_;
};

TEST_CASE(
    "without any memory left, all operations fail on all ranks, and nothing ends the program") {
  for (long allocations = 0;; ++allocations) {
    REQUIRE(allocations < 1000);
    CAPTURE(allocations);
    Pair pair;
    pair.submit(OperationKind::barrier);
    REQUIRE(!pair.poor().done(pair.works().front()));
    const bool enough = with_allocations(allocations, [&] {
      for (int i = 0; i < 3; ++i)
        pair.step();
    });
    REQUIRE((allocations > 0 || !enough));
    if (enough) break;
    for (const Driver::Work& work : pair.works()) {
      const auto outcome = pair.poor().wait(work, Time::min());
      REQUIRE(outcome);
      REQUIRE(!*outcome);
      CHECK(outcome->error().code == Errc::os);
    }
    for (const Errc error : pair.their_errors())
      CHECK(error == Errc::peer_lost);
  }
}

TEST_CASE("a call to the store fails when no memory is left") {
  std::vector<Engine::Peer> peers(1);
  Driver driver({.engine = std::make_unique<Engine>(Engine::Options(), std::move(peers))});
  const Request request = SetRequest{std::string(100, 'k'), Bytes(100)};
  for (long allocations = 0;; ++allocations) {
    REQUIRE(allocations < 1000);
    std::optional<Result<Reply>> answer;
    const bool enough =
        with_allocations(allocations, [&] { answer.emplace(driver.ask(request, Time::max())); });
    REQUIRE((allocations > 0 || !enough));
    if (enough) break;
    CHECK(answer->error().code == Errc::os);
  }
}

}  // namespace
}  // namespace dt

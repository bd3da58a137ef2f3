#include "comm/driver/operation_pool.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an operation comes back without an outcome, and with the memory of its name") {
  OperationPool pool;
  std::shared_ptr<Operation> operation = pool.take();
  const Operation* first = operation.get();
  operation->request.name.assign(100, 'n');
  const char* memory = operation->request.name.data();
  operation->sequence = 7;
  operation->blamed_rank = 3;
  operation->outcome.emplace();
  pool.put(std::move(operation));
  operation = pool.take();
  CHECK(operation.get() == first);
  CHECK(operation->sequence == 0);
  CHECK(operation->blamed_rank == -1);
  CHECK(!operation->outcome);
  operation->request = OperationRequest();
  operation->request.name.assign(100, 'm');
  CHECK(operation->request.name.data() == memory);
}

TEST_CASE("an operation that still has another owner is not taken again") {
  OperationPool pool;
  const std::shared_ptr<Operation> owner = pool.take();
  pool.put(owner);
  for (size_t i = 0; i < 2 * OperationPool::kept_max; ++i)
    CHECK(pool.take() != owner);
}

TEST_CASE("more operations than are kept can be taken and put") {
  OperationPool pool;
  std::vector<std::shared_ptr<Operation>> taken;
  for (size_t i = 0; i < 2 * OperationPool::kept_max; ++i)
    taken.push_back(pool.take());
  for (auto& operation : taken)
    pool.put(std::move(operation));
  CHECK(pool.take() != nullptr);
}

}  // namespace
}  // namespace dt

#include "comm/engine/tensor_list.h"

#include "comm/collective/operation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::shared_ptr<Operation> list_of_three() {
  auto list = std::make_shared<Operation>();
  list->submitted = Time(seconds(3));
  list->request = {.kind = OperationKind::all_reduce,
                   .reduce = ReduceOp::max,
                   .group = 4,
                   .timeout = seconds(1),
                   .terms = OperationTerms{.prescale = 2}};
  list->request.tensors.resize(3);
  list->request.tensors[1] = {
      .type = ElementType::int8, .count = 6, .has_shape = true, .shape = {2, 3}};
  return list;
}

TEST_CASE("the parts of a list are named calls with its terms, and their own shapes") {
  const auto list = list_of_three();
  const auto parts = parts_of(list, "grad");
  REQUIRE(parts.size() == 3);
  CHECK(list->parts_left == 3);
  const OperationRequest& second = parts[1]->request;
  CHECK(second.name == "grad[2/3]");
  CHECK(second.type == ElementType::int8);
  CHECK(second.count == 6);
  CHECK(second.reduce == ReduceOp::max);
  CHECK(second.group == 4);
  CHECK(second.timeout == seconds(1));
  CHECK(parts[1]->submitted == Time(seconds(3)));
  CHECK(*second.terms == OperationTerms{.prescale = 2, .has_shape = true, .shape = {2, 3}});
  CHECK(*parts[0]->request.terms == OperationTerms{.prescale = 2});
}

TEST_CASE("a tensor with its own name keeps it") {
  const auto list = list_of_three();
  list->request.tensors[2].name = "bias";
  const auto parts = parts_of(list, "grad");
  CHECK(parts[1]->request.name == "grad[2/3]");
  CHECK(parts[2]->request.name == "bias");
}

TEST_CASE("a list ends with its last part, with the first error") {
  const auto list = list_of_three();
  const auto parts = parts_of(list, "grad");
  succeed(*parts[2]);
  end(*parts[0], {Errc::timeout, 5, "too late"});
  CHECK(!list->outcome);
  end(*parts[1], {Errc::peer_lost, 6, "lost"});
  REQUIRE(list->outcome);
  CHECK(list->outcome->error().message == "all_reduce \"grad[1/3]\": too late");
  CHECK(list->outcome->error().code == Errc::timeout);
  CHECK(list->blamed_rank == 5);
  CHECK(list.use_count() == 1);
}

}  // namespace
}  // namespace dt

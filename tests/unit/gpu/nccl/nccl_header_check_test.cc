#include "gpu/nccl/nccl_header_check.h"

#include <doctest/doctest.h>

#include <cstddef>

namespace dt {
namespace {

enum Number { zero };
struct Id {
  char bytes[128];
};
struct TheirId {
  char text[128];
};
struct Opaque;

constexpr Number (*theirs)(Opaque*, size_t, TheirId, const int*) = nullptr;

struct Table {
  int (*same)(void*, size_t, Id, int*);
  int (*fewer)(void*, size_t, Id);
  int (*narrower)(void*, int, Id, int*);
  int (*pointer_for_number)(void*, void*, Id, int*);
  int (*pointer_for_class)(void*, size_t, Id*, int*);
  double (*result)(void*, size_t, Id, int*);
};

TEST_CASE("same_function accepts other names of types, and no other way to pass them") {
  CHECK(same_function(&Table::same, theirs));
  CHECK_FALSE(same_function(&Table::fewer, theirs));
  CHECK_FALSE(same_function(&Table::narrower, theirs));
  CHECK_FALSE(same_function(&Table::pointer_for_number, theirs));
  CHECK_FALSE(same_function(&Table::pointer_for_class, theirs));
  CHECK_FALSE(same_function(&Table::result, theirs));
}

}  // namespace
}  // namespace dt

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

using Theirs = Number (*)(Opaque*, size_t, TheirId, const int*);

struct Table {
  int (*same)(void*, size_t, Id, int*);
  int (*fewer)(void*, size_t, Id);
  int (*narrower)(void*, int, Id, int*);
  int (*pointer_for_number)(void*, void*, Id, int*);
  int (*pointer_for_class)(void*, size_t, Id*, int*);
  double (*result)(void*, size_t, Id, int*);
};

TEST_CASE("same_function accepts other names of types, and no other way to pass them") {
  CHECK(same_function(&Table::same, Theirs{}));
  CHECK_FALSE(same_function(&Table::fewer, Theirs{}));
  CHECK_FALSE(same_function(&Table::narrower, Theirs{}));
  CHECK_FALSE(same_function(&Table::pointer_for_number, Theirs{}));
  CHECK_FALSE(same_function(&Table::pointer_for_class, Theirs{}));
  CHECK_FALSE(same_function(&Table::result, Theirs{}));
}

}  // namespace
}  // namespace dt

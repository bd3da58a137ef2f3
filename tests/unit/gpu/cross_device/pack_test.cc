#include "gpu/cross_device/pack.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("without packs, each tensor is one of its own, also an empty one") {
  const std::vector<Pack> packs = make_packs({3, 0, 5}, 0);
  CHECK(packs == std::vector<Pack>{{{.tensor = 0, .count = 3}},
                                   {{.tensor = 1, .count = 0}},
                                   {{.tensor = 2, .count = 5}}});
  CHECK(make_packs({}, 0).empty());
}

TEST_CASE("one pack has all tensors, one behind the other, without empty ones") {
  CHECK(make_packs({3, 0, 5}, 1) ==
        std::vector<Pack>{{{.tensor = 0, .count = 3}, {.tensor = 2, .count = 5}}});
  CHECK(make_packs({}, 1) == std::vector<Pack>{{}});
}

TEST_CASE("packs are equal to one element, and cut tensors where they must") {
  CHECK(make_packs({3, 5}, 3) == std::vector<Pack>{{{.tensor = 0, .count = 3}},
                                                   {{.tensor = 1, .count = 3}},
                                                   {{.tensor = 1, .begin = 3, .count = 2}}});
  CHECK(make_packs({4, 4}, 3) ==
        std::vector<Pack>{{{.tensor = 0, .count = 3}},
                          {{.tensor = 0, .begin = 3, .count = 1}, {.tensor = 1, .count = 2}},
                          {{.tensor = 1, .begin = 2, .count = 2}}});
  CHECK(make_packs({1, 1}, 4) ==
        std::vector<Pack>{{{.tensor = 0, .count = 1}}, {{.tensor = 1, .count = 1}}, {}, {}});
}

TEST_CASE("a slice has the pieces of its range") {
  const Pack pack = {{.tensor = 0, .begin = 10, .count = 4}, {.tensor = 3, .count = 2}};
  CHECK(element_count(pack) == 6);
  CHECK(slice(pack, {0, 6}) == pack);
  CHECK(slice(pack, {1, 3}) == Pack{{.tensor = 0, .begin = 11, .count = 2}});
  CHECK(slice(pack, {3, 5}) ==
        Pack{{.tensor = 0, .begin = 13, .count = 1}, {.tensor = 3, .count = 1}});
  CHECK(slice(pack, {5, 6}) == Pack{{.tensor = 3, .begin = 1, .count = 1}});
  CHECK(slice(pack, {2, 2}).empty());
}

}  // namespace
}  // namespace dt

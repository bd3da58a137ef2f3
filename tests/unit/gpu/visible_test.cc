#include "gpu/visible.h"

#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Variable = std::optional<std::string>;

/// Four GPUs, the third in MIG mode with two instances.
std::vector<Gpu> host() {
  return {{.index = 0, .uuid = "GPU-aa00", .visible_as = "0"},
          {.index = 1, .uuid = "GPU-ab11", .visible_as = "1"},
          {.index = 2, .uuid = "MIG-c0", .parent = "GPU-c222", .visible_as = "MIG-c0"},
          {.index = 2, .uuid = "MIG-c1", .parent = "GPU-c222", .visible_as = "MIG-c1"},
          {.index = 3, .uuid = "GPU-dd33", .visible_as = "3"}};
}

/// "UUID as NAME" of each.
std::string seen(const Variable& cuda, const Variable& nvidia = {}) {
  std::vector<std::string> words;
  for (const Gpu& gpu : visible_gpus(host(), {.cuda = cuda, .nvidia = nvidia}))
    words.push_back(gpu.uuid + " as " + gpu.visible_as);
  return join(words, ", ");
}

TEST_CASE("visible_gpus reads CUDA_VISIBLE_DEVICES as CUDA does") {
  struct Case {
    Variable variable;
    const char* expected;
  };
  const Case cases[] = {
      {{}, "GPU-aa00 as 0, GPU-ab11 as 1, MIG-c0 as MIG-c0, MIG-c1 as MIG-c1, GPU-dd33 as 3"},
      {"", ""},
      {"-1", ""},
      {"NoDevFiles", ""},
      {"3,0", "GPU-dd33 as 3, GPU-aa00 as 0"},
      {" 1 , 0 ", "GPU-ab11 as 1, GPU-aa00 as 0"},
      {"0,7,1", "GPU-aa00 as 0"},
      {"0,,1", "GPU-aa00 as 0"},
      {"0,0,1", "GPU-aa00 as 0"},
      {"0x1", ""},
      {"GPU-dd33", "GPU-dd33 as GPU-dd33"},
      {"GPU-ab,GPU-d", "GPU-ab11 as GPU-ab, GPU-dd33 as GPU-d"},
      {"GPU-a,1", ""},  // the beginning of two
      {"MIG-c1,1", "MIG-c1 as MIG-c1, GPU-ab11 as 1"},
      {"2", "MIG-c0 as 2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.variable.value_or("(not set)"));
    CHECK(seen(c.variable) == c.expected);
  }
}

TEST_CASE("visible_gpus reads NVIDIA_VISIBLE_DEVICES as far as it holds inside a container") {
  const std::string all = seen({});
  CHECK(seen({}, "all") == all);
  CHECK(seen({}, "2,3") == all);  // indices outside: the runtime has left out the others
  CHECK(seen({}, "") == "");
  CHECK(seen({}, "none") == "");
  CHECK(seen({}, "void") == "");
  CHECK(seen({}, "GPU-dd33,GPU-aa00") == "GPU-aa00 as 0, GPU-dd33 as 3");
  CHECK(seen({}, "GPU-c222") == "MIG-c0 as MIG-c0, MIG-c1 as MIG-c1");
  CHECK(seen("3,1", "GPU-dd33") == "GPU-dd33 as 3");
}

}  // namespace
}  // namespace dt

// A worker that calls exit(3) with sums under way over TCP. The engine's thread works on for a
// moment after OpenSSL's function of atexit(3) has cleaned up.
#include <unistd.h>

#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <vector>

namespace {

constexpr size_t count = size_t{4} << 20;
constexpr int sums = 5;

void exit_slowly() {
  usleep(20'000);
}

}  // namespace

int main() {
  // Registered before OpenSSL's function, so that it runs after that one.
  std::atexit(exit_slowly);
  dtrain_init_options options = {};
  options.struct_size = sizeof options;
  options.transport = DTRAIN_TRANSPORT_TCP;
  dtrain_context* context = dtrain_init(&options, nullptr);
  if (context == nullptr) return 5;
  // Never freed: the engine uses it until the end of the process.
  auto* values = new std::vector<float>(count * sums);
  for (size_t i = 0; i < sums; ++i) {
    float* part = values->data() + i * count;
    const dtrain_buffers buffers = {part, part, count, DTRAIN_FLOAT32};
    if (dtrain_all_reduce_async(context, buffers, DTRAIN_SUM, nullptr, nullptr) == nullptr)
      return 6;
  }
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): that is the test
}

#include "rendezvous/secure/handshake.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace dt {
namespace {

const Digest one_key = {std::byte{1}};
const Digest other_key = {std::byte{2}};

/// Seals the header of a data frame at one end and opens it at the other.
void header_of_data(benchmark::State& state) {
  Session sender(one_key, other_key);
  Session receiver(other_key, one_key);
  for (auto _ : state) {
    size_t used = 0;
    const SealedHeader sealed = sender.seal_header({.length = 4096, .type = 0x80, .stream = 7});
    if (!receiver.open_header(sealed, &used)) std::abort();
  }
}
BENCHMARK(header_of_data);

/// The same for a control message with a payload of range(0) bytes.
void control_message(benchmark::State& state) {
  Session sender(one_key, other_key);
  Session receiver(other_key, one_key);
  const Bytes payload(static_cast<size_t>(state.range(0)));
  Bytes sealed;
  for (auto _ : state) {
    size_t used = 0;
    sealed.clear();
    sender.seal(sealed, {.type = 1, .stream = 7}, payload);
    if (!receiver.open(sealed, &used)) std::abort();
  }
}
BENCHMARK(control_message)->Arg(32)->Arg(256);

}  // namespace
}  // namespace dt

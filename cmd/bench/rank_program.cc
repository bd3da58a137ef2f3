#include "cmd/bench/rank_program.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "cmd/bench/bench_device.h"
#include "cmd/bench/bench_options.h"
#include "cmd/bench/bench_rank.h"
#include "cmd/bench/bench_report.h"
#include "cmd/bench/comparison.h"
#include "cmd/bench/dtrain_world.h"
#include "cmd/bench/explain.h"
#include "cmd/bench/measure.h"
#include "cmd/bench/mpi_world.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// Prints on rank 0, and nothing on the others.
class RankOutput {
 public:
  RankOutput(bool prints, bool progress) : prints_(prints), progress_(progress) {}

  Result<> print(std::string_view text) const {
    if (!prints_ || text.empty()) return {};
    return write_all(STDOUT_FILENO, as_bytes(text));
  }
  Result<> progress(std::string_view text) const {
    if (!prints_ || !progress_) return {};
    return write_all(STDERR_FILENO, as_bytes(text));
  }

 private:
  bool prints_;
  bool progress_;
};

Result<std::vector<SizeResult>> measure_all(Measurement& measurement, const BenchSubject& subject,
                                            const RankOutput& output) {
  const BenchReport report(subject);
  const std::vector<CallShape> shapes = TRY(measurement.shapes());
  std::vector<SizeResult> results;
  TRY(output.print(report.begin()));
  for (const CallShape& shape : shapes) {
    TRY(output.progress(progress_text(subject, shape.bytes, results.size() + 1, shapes.size())));
    const SizeResult result = TRY(measurement.measure(shape));
    results.push_back(result);
    TRY(output.progress(progress_end()));
    TRY(output.print(report.size(results.back())));
  }
  TRY(output.print(report.end(results)));
  return results;
}

/// Appends a line for each size, for the comparison.
Result<> append_results(const BenchSubject& subject, const std::vector<SizeResult>& results) {
  const std::string& path = subject.options.results;
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file) return fail_errno(path);
  BenchSubject in_lines = subject;
  in_lines.options.format = BenchFormat::peers;
  const BenchReport report(std::move(in_lines));
  std::string text;
  for (const SizeResult& result : results)
    text += report.size(result);
  return write_all(file.get(), as_bytes(text));
}

/// The device of this rank; null: its buffers lie in memory of the host.
using OwnDevice = std::unique_ptr<BenchDevice>;

BenchRank own_rank(const CollectiveWorld& world, const Result<OwnDevice>& device) {
  BenchRank own = {.pid = ::getpid(), .host = world.host()};
  if (!device) own.failure = device.error().message;
  if (!device || *device == nullptr) return own;
  own.device = (*device)->name();
  own.uuid = (*device)->uuid();
  own.model = (*device)->model();
  return own;
}

/// Measures when all ranks have the device that they need. A failure of theirs reaches rank 0, so
/// that the job prints one message.
Result<> measure_world(CollectiveWorld& world, const BenchOptions& options,
                       const Result<OwnDevice>& device) {
  BenchSubject subject = {.options = options,
                          .label = options.library == "mpi" ? mpi_label : dtrain_label};
  subject.ranks = TRY(exchange_ranks(world, own_rank(world, device)));
  const bool first = world.rank() == 0;
  if (auto failure = first_failure(subject.ranks)) {
    if (!first) return {};
    return tl::unexpected(*std::move(failure));
  }
  Measurement measurement(world, options, device->get());
  const RankOutput output(first, options.progress);
  const std::vector<SizeResult> results = TRY(measure_all(measurement, subject, output));
  if (!first) return {};
  if (!options.results.empty()) TRY(append_results(subject, results));
  // The others have the same count, and one message is enough.
  const uint64_t wrong = wrong_in(results);
  if (wrong == 0) return {};
  return fail(Errc::mismatch, format("bench: {} elements of results were wrong", wrong));
}

/// Prints the algorithms on rank 0.
Result<> explain_world(const DtrainWorld& world) {
  const RankOutput output(world.rank() == 0, false);
  return output.print(
      explain_text(world.algorithms(), {.ranks = world.size(), .hosts = world.hosts()}));
}

Result<> measure_library(std::span<const std::string> words, const Environment& environment) {
  const BenchOptions options = TRY(parse_rank_words(words));
  if (options.library == "mpi") {
    const auto world = TRY(MpiWorld::join());
    return measure_world(*world, options, OwnDevice());
  }
  const auto world = TRY(DtrainWorld::join(options.transport));
  if (options.explain) return explain_world(*world);
  if (!options.on_gpu()) return measure_world(*world, options, OwnDevice());
  return measure_world(*world, options, BenchDevice::open(world->local_rank(), environment));
}

}  // namespace

int run_bench_rank(std::span<const std::string> words, const Environment& environment) {
  const auto measured = measure_library(words, environment);
  if (measured) return 0;
  const std::string text = format("dtrain: {}\n", measured.error().message);
  static_cast<void>(write_all(STDERR_FILENO, as_bytes(text)));
  return 1;
}

}  // namespace dt

#include "cmd/bench/bench_report.h"

#include "base/format.h"
#include "base/json.h"
#include "base/version.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dt {
namespace {

constexpr size_t time_width = 7;
constexpr size_t bandwidth_width = 6;
constexpr size_t progress_columns = 78;

/// The column is as wide as in nccl-tests, unless the only type that stands there is longer.
size_t width_of_type(const BenchOptions& options) {
  return std::max<size_t>(options.type.size(), 8);
}

std::string_view mode_name(bool in_place) {
  return in_place ? "in-place" : "out-of-place";
}

/// The two modes of a size, out of place first.
std::vector<std::pair<bool, Timing>> timings_of(const SizeResult& result) {
  std::vector<std::pair<bool, Timing>> timings;
  if (result.out_of_place) timings.emplace_back(false, *result.out_of_place);
  if (result.in_place) timings.emplace_back(true, *result.in_place);
  return timings;
}

/// The four columns of nccl-tests for one mode.
std::string columns_of(const std::optional<Timing>& timing, const Bandwidth& bandwidth) {
  if (!timing) return format("  {:>7} {:>6} {:>6} {:>6}", "N/A", "N/A", "N/A", "N/A");
  return format("  {:>7} {:>6} {:>6} {:>6}", fitted(timing->mean_us, time_width),
                fitted(bandwidth.algorithm, bandwidth_width),
                fitted(bandwidth.bus, bandwidth_width), timing->wrong);
}

/// The table of single calls. Its lines begin with #, so that readers of nccl-tests' table pass
/// them over.
std::string percentiles_of(const std::vector<SizeResult>& results) {
  std::string text = "#\n# Single calls (us)    out-of-place          in-place\n";
  text += format("# {:>10}  {:>9} {:>9} {:>9} {:>9}\n", "size", "p50", "p99", "p50", "p99");
  for (const SizeResult& result : results) {
    text += format("# {:>10} ", result.shape.bytes);
    for (const auto* timing : {&result.out_of_place, &result.in_place}) {
      const bool measured = timing->has_value();
      text += format(" {:>9} {:>9}", measured ? fitted((*timing)->p50_us, time_width) : "N/A",
                     measured ? fitted((*timing)->p99_us, time_width) : "N/A");
    }
    text += "\n";
  }
  return text + "#\n";
}

std::string fusion_text(const BenchOptions& options) {
  if (options.operation != BenchOperation::fusion) return "";
  return format(", tensors {}, fused {}", options.tensors_or_default(),
                options.fused.value_or(true) ? "on" : "off");
}

std::string rank_line(size_t number, const BenchRank& rank) {
  std::string text = format("#  Rank {:>2} Pid {:>6} on {:>10}", number, rank.pid, rank.host);
  if (!rank.device.empty()) text += " device " + rank.device;
  if (!rank.uuid.empty()) text += " " + rank.uuid;
  if (!rank.model.empty()) text += " " + rank.model;
  return text + "\n";
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json rank_json(const BenchRank& rank) {
  return Json::Object{{"host", rank.host},
                      {"pid", rank.pid},
                      {"device", text_or_null(rank.device)},
                      {"uuid", text_or_null(rank.uuid)},
                      {"model", text_or_null(rank.model)}};
}

}  // namespace

std::string fitted(double number, size_t width) {
  for (const int decimals : {2, 1}) {
    std::string text = format("{:.{}f}", number, decimals);
    if (text.size() <= width) return text;
  }
  return format("{:.0f}", number);
}

BenchReport::BenchReport(BenchSubject subject)
    : subject_(std::move(subject)), row_(row_of(subject_.options.operation)) {
}

std::string BenchReport::begin() const {
  switch (subject_.options.format) {
    case BenchFormat::table:
      return table_begin();
    case BenchFormat::csv:
      return "label,operation,ranks,bytes,count,type,redop,mode,iterations,min_us,p50_us,p99_us,"
             "mean_us,algbw,busbw,wrong,device\n";
    case BenchFormat::json:
    case BenchFormat::peers:
      break;
  }
  return "";
}

std::string BenchReport::size(const SizeResult& result) const {
  switch (subject_.options.format) {
    case BenchFormat::table:
      return table_row(result);
    case BenchFormat::csv:
      return csv_rows(result);
    case BenchFormat::peers:
      return peers_line(result);
    case BenchFormat::json:
      break;
  }
  return "";
}

std::string BenchReport::end(const std::vector<SizeResult>& results) const {
  if (subject_.options.format == BenchFormat::json) return document(results);
  if (subject_.options.format != BenchFormat::table) return "";
  const uint64_t wrong = wrong_in(results);
  return format("{}# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n",
                percentiles_of(results), wrong, wrong == 0 ? "OK" : "FAILED",
                average_bus(row_, results, subject_.size()));
}

std::string BenchReport::table_begin() const {
  const BenchOptions& options = subject_.options;
  std::string text = format("# {} bench {}: {}, transport {}, buffers {}{}{}\n", subject_.label,
                            build_version, row_.name, options.transport, options.buffers,
                            fusion_text(options), options.on_gpu() ? ", device gpu" : "");
  text += format("# minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} ",
                 options.bytes_min, options.bytes_max, options.factor, options.warmups,
                 options.ms_per_size ? format("{} ms", *options.ms_per_size)
                                     : format("{}", options.calls_max()));
  text += "validation: 1\n#\n# Using ranks\n";
  for (size_t rank = 0; rank < subject_.ranks.size(); ++rank)
    text += rank_line(rank, subject_.ranks[rank]);
  for (const std::string& sentence : shared_devices(subject_.ranks))
    text += format("# {}\n", sentence);
  // Below it stand the columns of nccl-tests.
  const size_t type_width = width_of_type(options);
  text += format("#\n#{:>{}}{:^30}{:^30}\n", "", type_width + 41, "out-of-place", "in-place");
  text += format("# {:>10}  {:>12}  {:>{}}  {:>6}  {:>4}", "size", "count", "type", type_width,
                 "redop", "root");
  for (int mode = 0; mode < 2; ++mode)
    text += format("  {:>7} {:>6} {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
  text += format("\n# {:>10}  {:>12}  {:>{}}  {:>6}  {:>4}", "(B)", "(elements)", "", type_width,
                 "", "");
  for (int mode = 0; mode < 2; ++mode)
    text += format("  {:>7} {:>6} {:>6} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + "\n";
}

std::string BenchReport::table_row(const SizeResult& result) const {
  std::string text =
      format("{:>12}  {:>12}  {:>{}}  {:>6}  {:>4}", result.shape.bytes, result.shape.count,
             subject_.options.type, width_of_type(subject_.options),
             row_.reduces ? subject_.options.reduction : "none", row_.rooted ? 0 : -1);
  for (const auto* timing : {&result.out_of_place, &result.in_place}) {
    const double us = *timing ? (*timing)->mean_us : 0;
    text += columns_of(*timing, bandwidth_of(row_, result.shape.bytes, us, subject_.size()));
  }
  return text + "\n";
}

std::string BenchReport::csv_rows(const SizeResult& result) const {
  std::string text;
  for (const auto& [in_place, timing] : timings_of(result)) {
    const Bandwidth bandwidth =
        bandwidth_of(row_, result.shape.bytes, timing.mean_us, subject_.size());
    text += format("{},{},{},{},{},{},{},{},", subject_.label, row_.name, subject_.size(),
                   result.shape.bytes, result.shape.count, subject_.options.type,
                   row_.reduces ? subject_.options.reduction : "none", mode_name(in_place));
    text += format("{},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f},{},{}\n", timing.iterations,
                   timing.min_us, timing.p50_us, timing.p99_us, timing.mean_us, bandwidth.algorithm,
                   bandwidth.bus, timing.wrong, subject_.options.device);
  }
  return text;
}

std::string BenchReport::peers_line(const SizeResult& result) const {
  const std::optional<Timing>& timing = result.in_place ? result.in_place : result.out_of_place;
  if (!timing) return "";
  const Bandwidth bandwidth =
      bandwidth_of(row_, result.shape.bytes, timing->p50_us, subject_.size());
  return format("{}\t{}\t{}\t{}\t{}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.3f}\t{:.3f}\t{}\n",
                subject_.label, row_.peers_name, subject_.size(), result.shape.bytes,
                timing->iterations, timing->min_us, timing->p50_us, timing->p99_us, timing->mean_us,
                bandwidth.algorithm, bandwidth.bus, timing->wrong);
}

std::string BenchReport::document(const std::vector<SizeResult>& results) const {
  Json::Array ranks;
  for (const BenchRank& rank : subject_.ranks)
    ranks.push_back(rank_json(rank));
  Json::Array sizes;
  for (const SizeResult& result : results) {
    for (const auto& [in_place, timing] : timings_of(result)) {
      const Bandwidth bandwidth =
          bandwidth_of(row_, result.shape.bytes, timing.mean_us, subject_.size());
      sizes.emplace_back(Json::Object{{"bytes", static_cast<int64_t>(result.shape.bytes)},
                                      {"count", static_cast<int64_t>(result.shape.count)},
                                      {"in_place", in_place},
                                      {"iterations", timing.iterations},
                                      {"min_us", timing.min_us},
                                      {"p50_us", timing.p50_us},
                                      {"p99_us", timing.p99_us},
                                      {"mean_us", timing.mean_us},
                                      {"algbw", bandwidth.algorithm},
                                      {"busbw", bandwidth.bus},
                                      {"wrong", static_cast<int64_t>(timing.wrong)}});
    }
  }
  const BenchOptions& options = subject_.options;
  const bool fusion = options.operation == BenchOperation::fusion;
  const Json all(Json::Object{{"bench_version", 1},
                              {"version", build_version},
                              {"label", subject_.label},
                              {"operation", row_.name},
                              {"type", subject_.options.type},
                              {"redop", row_.reduces ? Json(subject_.options.reduction) : Json()},
                              {"transport", subject_.options.transport},
                              {"buffers", subject_.options.buffers},
                              {"device", subject_.options.device},
                              {"tensors", fusion ? Json(options.tensors_or_default()) : Json()},
                              {"fused", fusion ? Json(options.fused.value_or(true)) : Json()},
                              {"ranks", std::move(ranks)},
                              {"avg_busbw", average_bus(row_, results, subject_.size())},
                              {"wrong", static_cast<int64_t>(wrong_in(results))},
                              {"results", std::move(sizes)}});
  return all.text(2) + "\n";
}

std::string progress_text(const BenchSubject& subject, size_t bytes, size_t at, size_t count) {
  const std::string text = format("{} bench: {} of {} bytes, size {} of {}…", subject.label,
                                  row_of(subject.options.operation).name, bytes, at, count);
  return format("{:<{}}\r", text, progress_columns);
}

std::string progress_end() {
  return std::string(progress_columns, ' ') + "\r";
}

}  // namespace dt

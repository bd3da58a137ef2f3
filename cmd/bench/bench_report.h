#pragma once

#include "cmd/bench/bench_options.h"
#include "cmd/bench/bench_rank.h"
#include "cmd/bench/timing.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The measured job, for all formats.
struct BenchSubject {
  BenchOptions options;
  std::string_view label = "dtrain";
  std::vector<BenchRank> ranks = {};
  int size() const { return static_cast<int>(ranks.size()); }
};

/// Pure: turns results into the text of the chosen format. Texts end with a newline, or are empty.
class BenchReport {
 public:
  explicit BenchReport(BenchSubject subject);

  /// Returns the text before the first size.
  std::string begin() const;
  /// Returns the text of one size, which is printed as soon as it is measured.
  std::string size(const SizeResult& result) const;
  std::string end(const std::vector<SizeResult>& results) const;

 private:
  std::string table_begin() const;
  std::string table_row(const SizeResult& result) const;
  std::string csv_rows(const SizeResult& result) const;
  std::string peers_line(const SizeResult& result) const;
  std::string document(const std::vector<SizeResult>& results) const;

  BenchSubject subject_;
  const OperationRow& row_;
};

/// Returns the number with two decimals, or with fewer where they would exceed the width.
std::string fitted(double number, size_t width);

/// Returns the text of "dtrain bench: …" for a terminal while a size is measured. It ends with a
/// carriage return; the next text covers it.
std::string progress_text(const BenchSubject& subject, size_t bytes, size_t at, size_t count);
/// Returns the text that covers a progress text.
std::string progress_end();

}  // namespace dt

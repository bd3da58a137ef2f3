#pragma once

#include <string>
#include <string_view>

namespace dt {

/// The ranks of a job and their hosts.
struct ExplainedJob {
  int ranks = 1;
  int hosts = 1;
};

/// Returns the table of `dtrain bench --explain`: a line for each operation and range of sizes.
/// `algorithms` is the text of dtrain_algorithms().
std::string explain_text(std::string_view algorithms, ExplainedJob job);

}  // namespace dt

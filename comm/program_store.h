#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/engine/driver.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The job's store as its program sees it, for one call: keys get a prefix, so that they never meet
/// dtrain's own. See dtrain.h for what the requests do and how they fail.
class ProgramStore {
 public:
  /// A timeout of zero is none.
  ProgramStore(Driver& driver, Duration timeout);

  struct Exchange {
    bool done = false;
    std::optional<Bytes> held = {};  ///< instead of what was expected
  };

  Result<> set(std::string_view key, ByteSpan value);
  Result<std::optional<Bytes>> get(std::string_view key);
  Result<Bytes> wait(std::string_view key);
  Result<int64_t> add(std::string_view key, int64_t amount);
  Result<Exchange> compare_and_set(std::string_view key, std::optional<ByteSpan> expected,
                                   ByteSpan desired);
  Result<bool> erase(std::string_view key);

  /// The rank that the last error is due to, or -1.
  int blamed_rank() const { return blamed_rank_; }

 private:
  Result<Reply> ask(const Request& request, std::string_view what, Time deadline);

  Driver& driver_;
  Time deadline_;  ///< in the driver's lived time
  int blamed_rank_ = -1;
};

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/driver/driver.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The job's store for one call of a program. The program's keys get a prefix, which separates them
/// from dtrain's own. dtrain.h documents the requests and their errors.
class ProgramStore {
 public:
  /// A timeout of zero means no limit.
  ProgramStore(Driver& driver, Duration timeout);

  struct Exchange {
    bool done = false;
    std::optional<Bytes> held = {};  ///< if not done: the key's value; none: there is no such key
  };

  Result<> set(std::string_view key, ByteSpan value);
  Result<std::optional<Bytes>> get(std::string_view key);
  Result<Bytes> wait(std::string_view key);
  Result<int64_t> add(std::string_view key, int64_t amount);
  Result<Exchange> compare_and_set(std::string_view key, std::optional<ByteSpan> expected,
                                   ByteSpan desired);
  Result<bool> erase(std::string_view key);

  /// The rank to blame for the last error, or -1.
  int blamed_rank() const { return blamed_rank_; }

 private:
  Result<Reply> ask(const Request& request, std::string_view what, Time deadline);

  Driver& driver_;
  Time deadline_;  ///< of the driver's running_time()
  int blamed_rank_ = -1;
};

}  // namespace dt

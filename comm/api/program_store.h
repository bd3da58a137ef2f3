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

/// The job's store for one call. All keys get a prefix, which separates those of a program from
/// dtrain's own. dtrain.h documents the requests and their errors.
class ProgramStore {
 public:
  /// A timeout of zero means no limit.
  ProgramStore(Driver& driver, Duration timeout, std::string_view prefix = program_key_prefix);

  struct Exchange {
    bool done = false;
    std::optional<Bytes> held = {};  ///< if not done: the key's value; none: there is no such key
  };

  Result<> set(std::string_view key, ByteSpan value, Lifetime lifetime = Lifetime::job);
  Result<std::optional<Bytes>> get(std::string_view key);
  Result<Bytes> wait(std::string_view key);
  Result<int64_t> add(std::string_view key, int64_t amount);
  Result<Exchange> compare_and_set(std::string_view key, std::optional<ByteSpan> expected,
                                   ByteSpan desired);
  Result<bool> erase(std::string_view key);

 private:
  Result<Reply> ask(const Request& request, std::string_view what, Time deadline);
  Result<std::string> stored_key(std::string_view key) const;

  Driver& driver_;
  std::string_view prefix_;
  Time deadline_;  ///< of the driver's running_time()
};

}  // namespace dt

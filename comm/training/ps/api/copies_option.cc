#include "comm/training/ps/api/copies_option.h"

#include "base/format.h"
#include "base/text.h"

#include <string>

namespace dt {

Result<uint32_t> ps_copies(const char* field, int given, const char* variable) {
  if (given == 1 || given == 2) return static_cast<uint32_t>(given);
  if (given != 0) return fail(Errc::input, format("{} is {}; expected 1 or 2", field, given));
  const std::string text = variable == nullptr ? "" : variable;
  if (text.empty() || text == "1") return 1U;
  if (text == "2") return 2U;
  return fail(Errc::input,
              format("DTRAIN_PS_REPLICAS is \"{}\"; expected 1 or 2", printable(text)));
}

}  // namespace dt

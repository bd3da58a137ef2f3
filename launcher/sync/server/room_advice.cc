#include "launcher/sync/server/room_advice.h"

#include "base/format.h"
#include "base/result.h"
#include "base/text.h"

#include <cerrno>

namespace dt {

std::string room_advice(const HostOrder& host, std::string_view why) {
  // Several lines are those of a setup command, or have an advice of their own.
  if (why.find('\n') != std::string_view::npos) return {};
  const bool is_quota = why.find(errno_text(EDQUOT)) != std::string_view::npos;
  if (!is_quota && why.find(errno_text(ENOSPC)) == std::string_view::npos) return {};
  const std::string on_host = host.here ? "" : format(" -H {}", printable(host.name));
  return format("; remove files there, for example by 'dtrain cache clear{}'{}, and run again",
                on_host, is_quota ? ", or ask for a larger quota" : "");
}

}  // namespace dt

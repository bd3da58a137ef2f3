#include "launcher/console/tail.h"

#include "base/text.h"

namespace dt {

void Tail::add(std::string_view bytes) {
  const bool cut = kept_.size() + bytes.size() > bytes_max;
  if (bytes.size() > bytes_max) bytes.remove_prefix(bytes.size() - bytes_max);
  const size_t all = kept_.size() + bytes.size();
  if (all > bytes_max) kept_.erase(0, all - bytes_max);
  kept_ += bytes;
  // A cut within a character leaves up to 3 bytes of it.
  for (int i = 0; cut && i < 3 && (static_cast<unsigned char>(kept_[0]) & 0xC0) == 0x80; ++i)
    kept_.erase(0, 1);
}

std::vector<std::string> Tail::lines() const {
  std::vector<std::string> all;
  for (const std::string_view part : split(kept_, '\n')) {
    // A progress bar ends its states in \r: only the last state counts.
    std::string_view line = part.ends_with('\r') ? part.substr(0, part.size() - 1) : part;
    line = line.substr(line.rfind('\r') == std::string_view::npos ? 0 : line.rfind('\r') + 1);
    if (!trim(line).empty()) all.push_back(printable(line, 200));
  }
  if (all.size() > lines_max) all.erase(all.begin(), all.end() - lines_max);
  return all;
}

}  // namespace dt

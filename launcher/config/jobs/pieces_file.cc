#include "launcher/config/jobs/pieces_file.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/config/files/found_file.h"
#include "launcher/config/files/load_config.h"

#include <utility>

namespace dt {
namespace {

constexpr std::string_view advice = "write it, or name another file by --pieces FILE";

Result<PiecesText> read_named(const std::string& named, const Environment& environment) {
  auto text = read_text_file(named, config_bytes_max);
  if (!text) {
    return fail(Errc::input,
                format("--pieces: cannot read \"{}\": {}", printable(named), text.error().message));
  }
  const bool absolute = named.starts_with('/');
  return PiecesText{.path = absolute ? named : format("{}/{}", current_folder(environment), named),
                    .text = *std::move(text)};
}

}  // namespace

Result<PiecesText> read_pieces_file(const std::string& named, const Environment& environment) {
  if (!named.empty()) return read_named(named, environment);
  const auto path = user_config_file(environment, "pieces.toml");
  if (!path)
    return fail(Errc::input, "HOME is not set, so there are no pieces; give --pieces FILE");
  auto found = read_found_file(*path, config_bytes_max);
  if (!found) {
    return fail(Errc::input, format("cannot read {}: {}", printable(*path), found.error().message));
  }
  switch (found->state) {
    case FoundFile::State::read:
      return PiecesText{.path = *path, .text = std::move(found->text)};
    case FoundFile::State::absent:
      return fail(Errc::input, format("there is no {}; {}", printable(*path), advice));
    case FoundFile::State::unreadable:
    case FoundFile::State::distrusted:
      break;
  }
  return fail(Errc::input, format("{} is not used: {}", printable(*path), found->why));
}

}  // namespace dt

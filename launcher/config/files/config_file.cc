#include "base/format.h"
#include "base/text.h"
#include "launcher/config/files/toml_option.h"

namespace dt {

Result<OptionSource> read_toml_options(std::string_view text, std::string_view path) {
  const TomlDocument document = TRY(TomlDocument::parse(text, path));
  OptionSource options;
  for (const TomlEntry& entry : document.entries()) {
    const std::string key = printable(entry.key);
    if (entry.value.kind == TomlValue::Kind::inline_table) {
      return document.refuse(entry,
                             format("{0}: expected no table; write: {0} = [\"NAME=VALUE\"]", key));
    }
    if (entry.value.kind == TomlValue::Kind::table || entry.value.kind == TomlValue::Kind::tables) {
      return document.refuse(
          entry, format("[{}]: dtrain.toml has no tables; write each option as a line of its own, "
                        "such as: np = 4",
                        key));
    }
    const Option* option = TRY(toml_option(document, entry, entry.key));
    TRY(add_toml_option(document, entry, *option, options));
  }
  return options;
}

}  // namespace dt

#include "launcher/config/files/toml_option.h"

#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("an entry of TOML becomes an option with its place, or an error at its line") {
  const TomlDocument document =
      TomlDocument::parse("grace = 1.5\nhelp = true\nhostz = \"a\"\nquiet = \"yes\"\n", "c.toml")
          .value();
  OptionSource options;
  std::string errors;
  for (const TomlEntry& entry : document.entries()) {
    const auto option = toml_option(document, entry, entry.key);
    if (!option) {
      errors += option.error().message + "\n";
      continue;
    }
    const auto added = add_toml_option(document, entry, **option, options);
    if (!added) errors += added.error().message + "\n";
  }
  CHECK(options.values == OptionValues{{"grace", {"1.5"}}});
  CHECK(options.origins.at("grace") == "c.toml:1:1: grace");
  CHECK(errors ==
        "c.toml:2:1: help: this option cannot stand in a file\n  help = true\n  ^\n"
        "c.toml:3:1: unknown option \"hostz\"; did you mean hosts?\n  hostz = \"a\"\n  ^\n"
        "c.toml:4:1: quiet: expected true or false, got a string\n  quiet = \"yes\"\n  ^\n");
}

}  // namespace
}  // namespace dt

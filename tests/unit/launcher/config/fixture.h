#pragma once

#include "launcher/config/config.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// Returns a source like the command line's; origins are the usual spellings.
inline OptionSource flags(OptionValues values) {
  OptionSource source{std::move(values), {}};
  for (const auto& [name, unused] : source.values) {
    source.origins[name] = std::string(spellings_of(*find_option(name)).front());
  }
  return source;
}

/// Reads the files that these tests name.
inline Result<std::string> few_files(const std::string& path) {
  if (path == "hosts") return std::string("a slots=2\n# idle\nb slots=2\n");
  if (path == "empty") return std::string();
  if (path == "a.env") return std::string("A=file\nB=\"x\"\n");
  if (path == "bad.env") return std::string("A=1\nexport B=2\n");
  return fail(Errc::os, "No such file or directory");
}

inline Result<RunConfig> decide(const OptionSources& sources) {
  return make_run_config(sources, {"true"}, few_files);
}

inline std::string error_of(const Result<RunConfig>& config) {
  return config ? "accepted" : config.error().message;
}

struct Refusal {
  OptionValues values;
  std::string message;
};

inline void expect_refused(std::span<const Refusal> cases) {
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    CHECK(error_of(decide({flags(values)})) == message);
  }
}

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/config/files/toml_document.h"
#include "launcher/config/option_source.h"

#include <span>
#include <string>
#include <string_view>

namespace dt {

/// Returns the key as options are spelled: with - for _.
std::string spelled_key(std::string_view key);

/// Returns the error for a key that is none of `known` in the table that `where` names: it guesses
/// the nearest one.
tl::unexpected<Error> refuse_unknown_key(const TomlDocument& document, const TomlEntry& entry,
                                         std::span<const char* const> known,
                                         std::string_view where);

/// A value of an option, as written on a command line.
struct JobValue {
  std::string_view option;
  std::string value;
};

/// Adds a value to its option, whose place is that of its first value.
void add_job_value(const TomlDocument& document, const TomlEntry& entry, JobValue added,
                   OptionSource& options);

}  // namespace dt

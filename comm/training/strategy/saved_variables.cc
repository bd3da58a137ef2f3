#include "comm/training/strategy/saved_variables.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/descriptor.h"
#include "comm/training/strategy/checkpoint.h"

#include <algorithm>
#include <optional>

namespace dt {
namespace {

using EntryPointers = std::vector<const CheckpointEntry*>;

/// Returns the entries of the strategy's variables, in their order. Fails when the file has others.
Result<EntryPointers> matching_entries(const Strategy& strategy, const CheckpointFile& file,
                                       const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::input,
                format("{} does not fit to this program: {}", shell_quote(printable(path)), why));
  };
  EntryPointers matching;
  for (const auto& [name, variable] : strategy.variables()) {
    const auto found = std::ranges::find(file.entries(), name, &CheckpointEntry::name);
    if (found == file.entries().end())
      return refuse(format("it has no variable \"{}\"", printable(name)));
    const VariableTerms& terms = variable->terms();
    if (found->type != terms.type || found->count != terms.count) {
      return refuse(format("its variable \"{}\" is {}, not {}", printable(name),
                           shape_text(found->type, found->count),
                           shape_text(terms.type, terms.count)));
    }
    matching.push_back(&*found);
  }
  for (const CheckpointEntry& entry : file.entries()) {
    if (!strategy.variables().contains(entry.name))
      return refuse(format("it has a variable \"{}\" more", printable(entry.name)));
  }
  return matching;
}

}  // namespace

Result<> save_variables(Strategy& strategy, const std::string& path) {
  TRY(strategy.await_workers());
  std::optional<CheckpointWriter> writer;
  Result<> outcome;
  if (strategy.is_chief()) {
    auto created = CheckpointWriter::create(path);
    if (created)
      writer.emplace(*std::move(created));
    else
      outcome = tl::unexpected(created.error());
  }
  TRY(strategy.workers().share(outcome));
  for (const auto& [name, variable] : strategy.variables()) {
    const VariableTerms& terms = variable->terms();
    std::vector<std::byte> value(terms.bytes());
    TRY(strategy.read(*variable, value.data()));
    if (writer && outcome) outcome = writer->add({name, terms.type, terms.count, value});
  }
  if (writer && outcome) outcome = writer->finish();
  TRY(strategy.workers().share(outcome));
  return strategy.await_workers();
}

Result<> restore_variables(Strategy& strategy, const std::string& path) {
  std::optional<CheckpointFile> file;
  EntryPointers entries;
  const auto open = [&]() -> Result<> {
    file = TRY(CheckpointFile::open(path));
    entries = TRY(matching_entries(strategy, *file, path));
    return {};
  };
  // Workers of parameter servers are no group: each of them reads the file.
  TRY(strategy.workers().share(strategy.workers().rank() == 0 ? open() : Result<>()));
  size_t next = 0;
  for (const auto& [name, variable] : strategy.variables()) {
    const std::vector<std::byte> unread(file ? 0 : variable->terms().bytes());
    TRY(strategy.write(*variable, file ? entries[next++]->value.data() : unread.data()));
  }
  return {};
}

}  // namespace dt

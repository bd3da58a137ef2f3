#include "launcher/sync/source/source_tree.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/source/check_out.h"

#include <unistd.h>

#include <iterator>
#include <utility>

namespace dt {

namespace {

/// The file of this process. It may lie in memory, so that only the kernel has a path of it.
std::string own_program() {
  return format("/proc/{}/exe", getpid());
}

Result<SourceTree> find_repository(const SyncOptions& options, const UserPlace& user,
                                   const CheckoutPlace& place) {
  const Checkout checkout = TRY(check_out(*options.repository, place.folder,
                                          {.environment = user.environment,
                                           .token = options.token,
                                           .answering_program = own_program(),
                                           .joins_group = place.joins_group}));
  SyncOptions local = options;
  local.from = place.folder;
  // The current folder has no place in it.
  FoundTree found =
      TRY(find_tree(local, {.folder = place.folder, .environment = user.environment}));
  found.commit = checkout.commit;
  // Files that filters of git have written may differ from the commit.
  found.dirty = false;
  found.warnings.insert(found.warnings.begin(), checkout.warnings.begin(), checkout.warnings.end());
  SourceTree tree{.found = std::move(found), .name = name_of_repository(*options.repository)};
  if (options.repository->ref.empty())
    tree.notes.push_back(format("--sync-from {}: no REF given: branch {}, commit {}",
                                printable(tree.name), printable(checkout.ref), checkout.commit));
  return tree;
}

}  // namespace

Result<SourceTree> find_source_tree(const SyncOptions& options, const UserPlace& user,
                                    const CheckoutPlace& place) {
  if (options.repository) return find_repository(options, user, place);
  FoundTree found = TRY(find_tree(options, user));
  std::string name = found.root;
  return SourceTree{.found = std::move(found), .name = std::move(name)};
}

}  // namespace dt

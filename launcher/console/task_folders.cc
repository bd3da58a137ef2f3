#include "launcher/console/task_folders.h"

#include "base/format.h"
#include "launcher/plan/some_of.h"

#include <set>
#include <vector>

namespace dt {

namespace {

/// Names the option in an error.
tl::unexpected<Error> at_option(std::string_view option, Error error) {
  return tl::unexpected(std::move(error).during(option));
}

}  // namespace

std::string task_folder_name(const TaskId& task, int rank, int rank_digits) {
  if (rank < 0) return format("{}.{}", task.role, task.index);
  return format("rank.{:0{}}", rank, rank_digits);
}

Result<TaskFolders> TaskFolders::open(std::string_view option, const std::string& path,
                                      const Plan& plan, Log& log) {
  auto folder = OutputFolder::open(path);
  if (!folder) return at_option(option, std::move(folder.error()));
  TaskFolders folders(option, *std::move(folder), plan.rank_digits());
  if (auto put = folders.put_aside_earlier(plan, log); !put)
    return at_option(option, std::move(put.error()));
  return folders;
}

/// The folder of an earlier job with more tasks must not seem to have that many in this one.
Result<> TaskFolders::put_aside_earlier(const Plan& plan, Log& log) const {
  std::set<std::string> ours;
  for (const Task& task : plan.tasks)
    ours.insert(name_of(task));
  const std::vector<std::string> others = TRY(folder_.put_aside_others(ours));
  if (others.empty()) return {};
  log.warn("{} has the output of an earlier job; renamed: {} (to {}.old{})", folder_.path(),
           some_of(others), others.front(), others.size() == 1 ? "" : ", …");
  return {};
}

Result<TaskFolders::File> TaskFolders::make_file(const Task& task, const std::string& name) const {
  const auto own = folder_.task_folder(name_of(task));
  if (!own) return at_option(option_, own.error());
  auto file = own->make_file(name);
  if (!file) return at_option(option_, std::move(file.error()));
  return File{*std::move(file), own->path_of(name)};
}

}  // namespace dt

#pragma once

#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/result.h"
#include "launcher/console/output_folder.h"
#include "launcher/plan/plan.h"

#include <string>
#include <string_view>
#include <utility>

namespace dt {

/// Returns the name of a task's folder in that of --output-dir: rank.NN, or ROLE.INDEX for a task
/// without a rank. NN has `rank_digits` digits or more.
std::string task_folder_name(const TaskId& task, int rank, int rank_digits);

/// The folders of a job's tasks within that of --output-dir or --result-dir: rank.NN for a task
/// with a rank, else ROLE.INDEX. NN has as many digits as the first plan needs, and more only where
/// a later plan has more ranks: no folder is renamed.
class TaskFolders {
 public:
  /// Makes the folder of the option. Renames the folders of an earlier job that this plan has no
  /// task for, with a warning. Errors name the option.
  static Result<TaskFolders> open(std::string_view option, const std::string& path,
                                  const Plan& plan, Log& log);

  struct File {
    Fd fd;
    std::string path;
  };
  /// Makes the task's folder and a file in it, or empties the file of an earlier job. Errors name
  /// the option.
  Result<File> make_file(const Task& task, const std::string& name) const;

 private:
  TaskFolders(std::string_view option, OutputFolder folder, int rank_digits)
      : option_(option), folder_(std::move(folder)), rank_digits_(rank_digits) {}
  Result<> put_aside_earlier(const Plan& plan, Log& log) const;
  std::string name_of(const Task& task) const {
    return task_folder_name(task.id, task.rank, rank_digits_);
  }

  std::string option_;
  OutputFolder folder_;
  int rank_digits_;
};

}  // namespace dt

#pragma once

#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/result.h"
#include "launcher/console/output.h"
#include "launcher/console/output_folder.h"
#include "launcher/console/sink.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Where the output of tasks goes: whole tagged lines to the console, bytes as they are to files,
/// and the last lines of stderr to memory, for the report.
class TaskOutput {
 public:
  struct Options {
    std::optional<std::string> folder;  ///< --output-dir
    bool tags = true;
    bool quiet = false;       ///< nothing to the console
    bool merged = false;      ///< tasks have one stream, which counts as their stdout
    bool timestamps = false;  ///< before each line on the console
    bool colored_out = false;
    bool colored_err = false;
  };
  /// Makes the files, if any, before anything starts.
  static Result<std::unique_ptr<TaskOutput>> open(const Plan& plan, Options options, Sink& out,
                                                  Sink& err, Log& log);

  /// Takes a chunk of `task`'s stream; `on_done` is called when it is where it belongs.
  void add(size_t task, TaskStream stream, ByteSpan bytes, std::function<void()> on_done);
  void end(size_t task, TaskStream stream);
  bool ended(size_t task, TaskStream stream) const;
  /// What came of each task so far.
  std::vector<OutputCount> counts() const;
  /// The last lines that the task wrote to stderr (or to the one stream that it has).
  std::vector<std::string> last_errors(size_t task) const;

 private:
  struct Channel {
    LineTagger tagger{""};
    Fd file;
    std::string path;
    uint64_t lost = 0;  ///< bytes that the file should have, too
    bool ended = false;
  };
  struct TaskChannels {
    Channel output;
    Channel error;
    Tail tail;
    OutputCount count;
  };
  TaskOutput(Options options, Sink& out, Sink& err, Log& log)
      : options_(std::move(options)), out_(out), err_(err), log_(log) {}
  Result<> make_files(const OutputFolder& folder, TaskChannels& channels) const;
  std::string lead(const Task& task, TaskStream stream) const;
  std::string time() const;
  Channel& channel(size_t task, TaskStream stream);
  size_t write_file(Channel& channel, ByteSpan bytes);
  void tell_losses() const;
  void show(TaskStream stream, std::string text, std::function<void()> on_done);
  Sink& sink(TaskStream stream) { return stream == TaskStream::output ? out_ : err_; }

  Options options_;
  Sink& out_;
  Sink& err_;
  Log& log_;
  std::vector<TaskChannels> tasks_;
  size_t open_ = 0;  ///< streams that have not ended
  bool warned_ = false;
};

/// The SGR colour of a task's tags: of ranks that follow each other never the same.
std::string_view tag_color(const Task& task);
/// "[3]<stdout>:" for rank 3, "[ps:0]<stderr>:" for a task without rank: exactly horovodrun's form.
std::string output_tag(const Task& task, TaskStream stream);

}  // namespace dt

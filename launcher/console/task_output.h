#pragma once

#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/output/local_streams.h"
#include "launcher/console/file_front.h"
#include "launcher/console/line_tagger.h"
#include "launcher/console/runtime.h"
#include "launcher/console/sink.h"
#include "launcher/console/tail.h"
#include "launcher/console/task_folders.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Counts the bytes of a task's output that reached the launcher. `lost_bytes` did not reach
/// console and file: either a disk was full, or a reader has gone.
struct OutputCount {
  uint64_t stdout_bytes = 0;
  uint64_t stderr_bytes = 0;
  uint64_t lost_bytes = 0;
  uint64_t dropped_bytes = 0;  ///< of the files' fronts, by TaskOutput::Options::kept_bytes
  bool operator==(const OutputCount&) const = default;
};

/// Writes the output of tasks: whole tagged lines to the console, and bytes as they are to files.
/// A line that has no end yet, such as a prompt, is written after 100 ms of silence where it may be
/// answered, and after 10 s elsewhere. Keeps the last lines of stderr for the report. Results go to
/// files only.
///
/// A task's index is that in the plan of the current generation. Its files, tags and counts belong
/// to its rank, or to role and index for a task without rank. They continue in each generation that
/// has such a task. Between these, they stay as they are.
class TaskOutput {
 public:
  struct Options {
    std::optional<std::string> folder;        ///< --output-dir
    std::optional<std::string> results;       ///< --result-dir; none: tasks have no result
    std::vector<int> shown_local_ranks = {};  ///< the console has these only; empty: all
    LocalStreams redirected = {};             ///< which the console lacks
    bool tags = true;
    bool quiet = false;       ///< writes nothing to the console
    bool merged = false;      ///< tasks have one stream, which counts as their stdout
    bool timestamps = false;  ///< a time before each line on the console
    bool colored_out = false;
    bool colored_err = false;
    Loop* loop = nullptr;     ///< for the times of silence; null: only whole lines are written
    bool restarts = false;    ///< the streams of all tasks may continue after their end
    uint64_t kept_bytes = 0;  ///< of a task's files, which lose their oldest bytes; 0: all
    bool answered = false;    ///< tasks read dtrain's input, where prompts are answered
  };
  /// Makes the files, if any, so that a bad folder fails before any task starts.
  static Result<std::unique_ptr<TaskOutput>> open(const Plan& plan, Options options, Sink& out,
                                                  Sink& err, Log& log);

  /// Writes a chunk of a task's stream. `on_done` is called when the chunk is written or dropped.
  void add(size_t task, TaskStream stream, ByteSpan bytes, std::function<void()> on_done);
  void end(size_t task, TaskStream stream);
  /// The task was restarted: its streams continue, and its files grow. Its result begins anew.
  void restarted(size_t task);
  /// The tasks of this plan start: those that have run before as by restarted(), others with new
  /// files. `line` separates the generations in the files of all of them. Streams of other tasks
  /// end. A failure to make a file changes nothing.
  Result<> begin_generation(const Plan& plan, const std::string& line);
  /// The user has typed a line, which the terminal shows behind a prompt: later bytes begin a new
  /// line.
  void line_typed();
  bool ended(size_t task, TaskStream stream) const;
  bool all_ended(size_t task) const;
  /// Returns the bytes of each task of the current plan, those of earlier generations included.
  std::vector<OutputCount> counts() const;
  /// Why files lack output, if they do.
  const std::optional<Error>& lost() const { return lost_; }
  /// Returns the last lines of the task's stderr, or of its only stream.
  std::vector<std::string> last_errors(size_t task) const;
  /// True if these lines are among the last that standard error has shown, with their tag.
  bool shows_last_errors(size_t task) const;

 private:
  struct Channel {
    LineTagger tagger{""};
    Fd file;
    std::string path;
    FileFront front = {};
    uint64_t lost = 0;  ///< bytes that the file lacks
    bool ended = false;
    bool in_line = false;          ///< the file ends within a line
    bool shown = true;             ///< on the console
    std::optional<Time> flush_at;  ///< when the bytes that wait for their line's end are written
  };
  struct TaskChannels {
    PerWrittenStream<Channel> streams;
    Tail tail;
    OutputCount count;
    bool restarts = false;  ///< its streams may continue after their end
  };
  /// By rank or role and index. Each stays in its place until the end of the job: callbacks, the
  /// sinks and lists below point to it, whatever the current plan is.
  using Known = std::map<std::string, std::unique_ptr<TaskChannels>>;
  /// A stream of a task.
  struct Stream {
    TaskChannels* task = nullptr;
    TaskStream stream = TaskStream::output;
    Channel& channel() const { return task->streams[stream]; }
  };
  TaskOutput(Options options, Sink& out, Sink& err, Log& log)
      : options_(std::move(options)), out_(out), err_(err), log_(log) {}
  Result<> open_folders(const Plan& plan);
  Result<> use(const Plan& plan);
  Result<std::unique_ptr<TaskChannels>> make_channels(const Task& task) const;
  /// False for the stderr of merged streams, and for results that nobody wants.
  bool exists(TaskStream stream) const;
  StreamChoice shown_of(const Task& task) const;
  std::string lead(const Task& task, TaskStream stream) const;
  std::string time() const;
  void restart(TaskChannels& task);
  void end_stream(Stream which);
  size_t write_file(Channel& channel, ByteSpan bytes);
  void drop_oldest(TaskChannels& task) const;
  void empty_file(Channel& channel);
  void note_loss(Channel& channel);
  void log_losses() const;
  void note_lines(const Channel& channel, TaskStream stream, std::string_view text);
  void show(Channel& channel, TaskStream stream, std::string text, std::function<void()> on_done);
  void join_line(Channel& channel, TaskStream stream);
  Duration silence(TaskStream stream);
  void flush_later(Stream which);
  void put_off_flush(Channel& channel, TaskStream stream);
  void flush_silent();
  Sink& sink(TaskStream stream) { return stream == TaskStream::output ? out_ : err_; }

  Options options_;
  Sink& out_;
  Sink& err_;
  Log& log_;
  std::optional<TaskFolders> folders_;  ///< of --output-dir
  std::optional<TaskFolders> results_;  ///< of --result-dir
  Known known_;                         ///< tasks of this generation and of earlier ones
  std::vector<TaskChannels*> tasks_;    ///< by the index in the current plan
  size_t open_ = 0;                     ///< streams that have not ended
  std::optional<Error> lost_;
  std::deque<const Channel*> recent_;  ///< the channels of the last lines on standard error
  std::vector<Stream> waiting_;        ///< streams with a flush_at
  Timer flush_timer_;
};

/// Returns the options of the output that the user wants.
TaskOutput::Options output_options(const RunConfig& config, Runtime& runtime);
/// Returns the SGR colour of a task's tags; successive ranks have different ones.
std::string_view tag_color(const Task& task);
/// Returns "[3]<stdout>:" for rank 3, "[ps:0]<stderr>:" for a task without rank: horovodrun's form.
std::string output_tag(const Task& task, TaskStream stream);

}  // namespace dt

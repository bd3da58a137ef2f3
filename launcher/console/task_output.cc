#include "launcher/console/task_output.h"

#include "base/color.h"
#include "base/format.h"
#include "base/text.h"
#include "base/wall_time.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <set>
#include <utility>

namespace dt {

namespace {

/// When a stream has been silent for so long, its unfinished line is shown. A busy machine can stop
/// a task, its agent or dtrain for 100 ms within a line. Text of another task would then cut that
/// line, so it waits longer where nobody answers a prompt.
constexpr Duration silence_at_prompt = milliseconds(100);
constexpr Duration silence_elsewhere = seconds(10);
/// A file over its limit loses such a part of it at once.
constexpr uint64_t dropped_share = 8;

/// Returns the name of a stream, and of its file.
std::string_view file_name(TaskStream stream) {
  constexpr std::array<std::string_view, 4> names = {"stdin", "stdout", "stderr", "result"};
  return names.at(static_cast<size_t>(stream));
}

/// The task in all generations: "3" for rank 3, else "ps:0".
std::string identity(const Task& task) {
  return task.rank >= 0 ? format("{}", task.rank) : task.id.text();
}

}  // namespace

std::string output_tag(const Task& task, TaskStream stream) {
  return format("[{}]<{}>:", identity(task), file_name(stream));
}

TaskOutput::Options output_options(const RunConfig& config, Runtime& runtime) {
  return {.folder = config.output_dir,
          .results = config.result_dir,
          .shown_local_ranks = config.shown_local_ranks,
          .redirected = config.redirected,
          .tags = !config.no_tag,
          .quiet = config.quiet,
          .merged = config.merge_stderr,
          .timestamps = config.timestamp,
          .colored_out = runtime.colored_out(),
          .colored_err = runtime.colored_err(),
          .loop = &runtime.loop(),
          .restarts = config.restarts.max > 0,
          .kept_bytes = config.keep_output.value_or(0),
          .answered = config.stdin_target.is_read()};
}

std::string_view tag_color(const Task& task) {
  // No red, which is for errors, and no colour that is invisible on black or white.
  constexpr std::array<std::string_view, 10> colors = {"36", "33", "32", "35", "34",
                                                       "96", "93", "92", "95", "94"};
  return colors.at(static_cast<size_t>(task.rank >= 0 ? task.rank : task.id.index) % colors.size());
}

/// Returns the text between the time and a line of the stream.
std::string TaskOutput::lead(const Task& task, TaskStream stream) const {
  // Nothing separates a time and a tag: this is horovodrun's form.
  if (!options_.tags) return options_.timestamps ? " " : "";
  const bool colored = stream == TaskStream::output ? options_.colored_out : options_.colored_err;
  const std::string tag = output_tag(task, stream);
  return colored ? painted(tag, tag_color(task)) : tag;
}

std::string TaskOutput::time() const {
  return options_.timestamps ? local_time_text(WallClock::now()) : "";
}

Result<std::unique_ptr<TaskOutput>> TaskOutput::open(const Plan& plan, Options options, Sink& out,
                                                     Sink& err, Log& log) {
  std::unique_ptr<TaskOutput> all(new TaskOutput(std::move(options), out, err, log));
  TRY(all->open_folders(plan));
  TRY(all->use(plan));
  return all;
}

Result<> TaskOutput::open_folders(const Plan& plan) {
  if (options_.folder)
    folders_ = TRY(TaskFolders::open("--output-dir", *options_.folder, plan, log_));
  if (options_.results)
    results_ = TRY(TaskFolders::open("--result-dir", *options_.results, plan, log_));
  return {};
}

/// Makes `plan` the current one, and the files of its new tasks. A failure changes nothing.
Result<> TaskOutput::use(const Plan& plan) {
  Known fresh;
  std::vector<TaskChannels*> tasks;
  for (const Task& task : plan.tasks) {
    const std::string name = identity(task);
    const auto known = known_.find(name);
    if (known != known_.end()) {
      tasks.push_back(known->second.get());
      continue;
    }
    auto made = TRY(make_channels(task));
    tasks.push_back(made.get());
    const bool is_new = fresh.emplace(name, std::move(made)).second;
    assert(is_new);  // no two tasks of a plan have one identity
  }
  open_ +=
      fresh.size() * static_cast<size_t>(std::ranges::count_if(
                         written_streams, [this](TaskStream stream) { return exists(stream); }));
  known_.merge(fresh);
  tasks_ = std::move(tasks);
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Role* const role = find_role(plan.roles, plan.tasks[i].id.role);
    tasks_[i]->restarts = options_.restarts || (role != nullptr && role->restarts > 0);
    const StreamChoice shown = shown_of(plan.tasks[i]);
    tasks_[i]->streams[TaskStream::output].shown = shown.output;
    tasks_[i]->streams[TaskStream::error].shown = shown.error;
  }
  return {};
}

Result<std::unique_ptr<TaskOutput::TaskChannels>> TaskOutput::make_channels(
    const Task& task) const {
  auto channels = std::make_unique<TaskChannels>();
  channels->streams[TaskStream::output].tagger =
      LineTagger(lead(task, TaskStream::output), out_.terminal());
  channels->streams[TaskStream::error].tagger =
      LineTagger(lead(task, TaskStream::error), err_.terminal());
  for (const TaskStream stream : written_streams) {
    const std::optional<TaskFolders>& folders = stream == TaskStream::result ? results_ : folders_;
    if (!folders || !exists(stream)) continue;
    auto made = TRY(folders->make_file(task, std::string(file_name(stream))));
    Channel& channel = channels->streams[stream];
    channel.file = std::move(made.fd);
    channel.path = std::move(made.path);
  }
  return channels;
}

StreamChoice TaskOutput::shown_of(const Task& task) const {
  const std::vector<int>& ranks = options_.shown_local_ranks;
  const bool is_chosen = ranks.empty() || std::ranges::count(ranks, task.local_rank) > 0;
  if (options_.quiet || !is_chosen) return {};
  const StreamChoice redirected = options_.redirected.of(task.local_rank);
  return {.output = !redirected.output, .error = !redirected.error};
}

bool TaskOutput::exists(TaskStream stream) const {
  if (stream == TaskStream::error) return !options_.merged;
  return stream == TaskStream::output || options_.results;
}

void TaskOutput::add(size_t task, TaskStream stream, ByteSpan bytes,
                     std::function<void()> on_done) {
  TaskChannels& its = *tasks_[task];
  Channel& to = its.streams[stream];
  if (stream == TaskStream::result) {
    its.count.lost_bytes += write_file(to, bytes);
    return on_done();
  }
  if (stream == TaskStream::error || options_.merged) its.tail.add(as_text(bytes));
  (stream == TaskStream::output ? its.count.stdout_bytes : its.count.stderr_bytes) += bytes.size();
  const size_t lost = write_file(to, bytes);
  its.count.lost_bytes += lost;
  drop_oldest(its);
  std::string lines;
  if (to.shown) {
    join_line(to, stream);
    to.tagger.add(as_text(bytes), lines, time());
    flush_later({&its, stream});
  }
  // The task may have another index, or none, in the generation that writes the chunk.
  show(to, stream, std::move(lines),
       [this, &its, stream, shown = to.shown, rest = bytes.size() - lost,
        on_done = std::move(on_done)] {
         const bool dropped = shown && sink(stream).is_broken();
         if (dropped) its.count.lost_bytes += rest;
         put_off_flush(its.streams[stream], stream);
         on_done();
       });
}

void TaskOutput::end(size_t task, TaskStream stream) {
  end_stream({tasks_[task], stream});
}

void TaskOutput::end_stream(Stream which) {
  Channel& to = which.channel();
  const TaskStream stream = which.stream;
  if (to.ended) return;
  to.ended = true;
  if (!which.task->restarts) to.file.reset();
  if (exists(stream) && --open_ == 0) log_losses();
  if (stream == TaskStream::result) return;
  std::string lines;
  join_line(to, stream);
  to.tagger.end(lines, time());
  show(to, stream, std::move(lines), {});
}

void TaskOutput::restarted(size_t task) {
  restart(*tasks_[task]);
}

void TaskOutput::restart(TaskChannels& task) {
  task.tail = Tail();
  for (const TaskStream stream : written_streams) {
    const bool had_ended = std::exchange(task.streams[stream].ended, false);
    if (had_ended && exists(stream)) ++open_;
  }
  empty_file(task.streams[TaskStream::result]);
}

Result<> TaskOutput::begin_generation(const Plan& plan, const std::string& line) {
  const std::vector<TaskChannels*> earlier = tasks_;
  TRY(use(plan));
  for (TaskChannels* const task : tasks_) {
    restart(*task);
    for (const TaskStream stream : {TaskStream::output, TaskStream::error}) {
      Channel& to = task->streams[stream];
      write_file(to, as_bytes((to.in_line ? "\n" : "") + line + "\n"));
    }
  }
  const std::set<const TaskChannels*> current(tasks_.begin(), tasks_.end());
  for (TaskChannels* const task : earlier) {
    if (current.contains(task)) continue;
    for (const TaskStream stream : written_streams)
      end_stream({task, stream});
  }
  return {};
}

void TaskOutput::line_typed() {
  for (Sink* sink : {&out_, &err_}) {
    if (sink->terminal()) sink->line_ended();
  }
}

void TaskOutput::note_lines(const Channel& channel, TaskStream stream, std::string_view text) {
  constexpr size_t recent_max = 3 * Tail::lines_max;
  if (&sink(stream) != &err_) return;
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  recent_.insert(recent_.end(), std::min(lines, recent_max), &channel);
  while (recent_.size() > recent_max)
    recent_.pop_front();
}

void TaskOutput::show(Channel& channel, TaskStream stream, std::string text,
                      std::function<void()> on_done) {
  note_lines(channel, stream, text);
  sink(stream).write_part(std::move(text), std::move(on_done),
                          {.writer = &channel, .unfinished = channel.tagger.in_line()});
}

/// A line that is shown in part continues only where no other text came between.
void TaskOutput::join_line(Channel& channel, TaskStream stream) {
  if (sink(stream).line_writer() != &channel) channel.tagger.interrupted();
}

Duration TaskOutput::silence(TaskStream stream) {
  return options_.answered || sink(stream).terminal() ? silence_at_prompt : silence_elsewhere;
}

void TaskOutput::flush_later(Stream which) {
  Channel& channel = which.channel();
  if (options_.loop == nullptr || !channel.tagger.waits()) return;
  const bool listed = channel.flush_at.has_value();
  channel.flush_at = options_.loop->now() + silence(which.stream);
  if (listed) return;
  waiting_.push_back(which);
  if (waiting_.size() == 1)
    flush_timer_ = options_.loop->after(silence_at_prompt, [this] { flush_silent(); });
}

/// A task may have waited for its last bytes to be written: its silence begins now.
void TaskOutput::put_off_flush(Channel& channel, TaskStream stream) {
  if (channel.flush_at) channel.flush_at = options_.loop->now() + silence(stream);
}

/// Writes the unfinished lines of the streams that are silent. While the console is slow they wait,
/// so that the queue stays small.
void TaskOutput::flush_silent() {
  const Time now = options_.loop->now();
  std::erase_if(waiting_, [&](const Stream& which) {
    Channel& to = which.channel();
    const bool due = *to.flush_at <= now && sink(which.stream).drained();
    if (to.tagger.waits() && !due) return false;
    to.flush_at.reset();
    std::string text;
    join_line(to, which.stream);
    to.tagger.flush(text, time());
    show(to, which.stream, std::move(text), {});
    return true;
  });
  if (!waiting_.empty())
    flush_timer_ = options_.loop->after(silence_at_prompt, [this] { flush_silent(); });
}

std::vector<OutputCount> TaskOutput::counts() const {
  std::vector<OutputCount> all;
  for (const TaskChannels* const task : tasks_)
    all.push_back(task->count);
  return all;
}

bool TaskOutput::ended(size_t task, TaskStream stream) const {
  const bool merged = stream == TaskStream::error && options_.merged;
  if (!merged && !exists(stream)) return true;
  return tasks_[task]->streams[merged ? TaskStream::output : stream].ended;
}

bool TaskOutput::all_ended(size_t task) const {
  return std::ranges::all_of(written_streams,
                             [&](TaskStream stream) { return ended(task, stream); });
}

std::vector<std::string> TaskOutput::last_errors(size_t task) const {
  return tasks_[task]->tail.lines();
}

bool TaskOutput::shows_last_errors(size_t task) const {
  const TaskStream stream = options_.merged ? TaskStream::output : TaskStream::error;
  const Channel& channel = tasks_[task]->streams[stream];
  const auto lines = static_cast<size_t>(std::ranges::count(recent_, &channel));
  return options_.tags && !err_.is_broken() && lines >= last_errors(task).size();
}

/// Returns how many of the bytes did not reach the file.
size_t TaskOutput::write_file(Channel& channel, ByteSpan bytes) {
  const bool wanted = !channel.path.empty();
  if (!wanted) return 0;
  if (!bytes.empty()) channel.in_line = bytes.back() != std::byte{'\n'};
  while (channel.file && !bytes.empty()) {
    const ssize_t n = ::write(channel.file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
      channel.front.written += static_cast<uint64_t>(n);
      continue;
    }
    note_loss(channel);
  }
  channel.lost += bytes.size();
  return bytes.size();
}

/// Both streams share the limit: the larger file loses its oldest bytes.
void TaskOutput::drop_oldest(TaskChannels& task) const {
  if (options_.kept_bytes == 0) return;
  Channel& output = task.streams[TaskStream::output];
  Channel& error = task.streams[TaskStream::error];
  while (output.front.kept() + error.front.kept() > options_.kept_bytes) {
    Channel& larger = output.front.kept() >= error.front.kept() ? output : error;
    if (!larger.file) return;
    task.count.dropped_bytes +=
        drop_front(larger.file.get(), larger.front, options_.kept_bytes / dropped_share + 1);
  }
}

void TaskOutput::empty_file(Channel& channel) {
  channel.front = {};
  if (!channel.file) return;
  const int file = channel.file.get();
  if (::ftruncate(file, 0) < 0 || ::lseek(file, 0, SEEK_SET) < 0) note_loss(channel);
}

/// Notes errno as the reason why the file lacks output.
void TaskOutput::note_loss(Channel& channel) {
  // One warning for all files: they share a disk.
  if (!lost_) {
    lost_ = Error{Errc::os, format("cannot write {}: {}", channel.path, errno_text(errno))};
    log_.warn("{}; the job goes on without what does not fit", lost_->message);
  }
  // No later chunk is written: the file keeps the front of the output, without holes.
  channel.file.reset();
}

void TaskOutput::log_losses() const {
  uint64_t bytes = 0;
  size_t files = 0;
  for (const auto& [name, task] : known_) {
    for (const Channel& channel : task->streams.values) {
      bytes += channel.lost;
      files += channel.lost > 0 ? 1 : 0;
    }
  }
  if (files > 0) log_.warn("{} bytes of output were lost, in {} file(s)", bytes, files);
}

}  // namespace dt

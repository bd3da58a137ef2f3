#include "launcher/sync/setup/setup_run.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "launcher/sync/setup/kept_setups.h"
#include "launcher/sync/setup/named_files.h"
#include "launcher/sync/setup/setup_command.h"
#include "launcher/sync/setup/setup_lock.h"
#include "launcher/sync/setup/setup_place.h"
#include "launcher/sync/setup/setup_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

namespace dt {
namespace {

Result<HeldSetup> lock_setup(const SetupOrder& order, const SetupPaths& paths,
                             const SetupEvents& events) {
  const auto on_wait = [&](const std::string& job) {
    if (!events.note) return;
    // A job with --setup-once shares the setup of another, which may have ended since.
    const std::string others =
        job.empty() ? "another job" : format("job {} or one that shares its setup", printable(job));
    events.note(format("setup waits for {}, for at most {} (--setup-timeout){}", others,
                       duration_text(order.timeout),
                       order.once ? "" : "; --setup-once does not wait"));
  };
  auto held = take_setup_lock(
      paths.lock, {.or_shared = order.once, .timeout = order.timeout, .on_wait = on_wait});
  if (held) held->lock.note_use();
  if (held || held.error().code != Errc::timeout) return held;
  return fail(Errc::timeout,
              format("--setup: {}, which is as long as --setup-timeout allows; --setup-once does "
                     "not wait for jobs that run there",
                     held.error().message));
}

/// Makes the folder. A record of a folder that is gone means nothing.
Result<> make_place(const SetupPaths& paths) {
  constexpr mode_t ours_alone = 0700;
  if (::mkdir(paths.folder.c_str(), ours_alone) == 0) {
    if (::unlink(paths.record.c_str()) == 0 || errno == ENOENT) return {};
    return fail_errno(format("cannot remove {}", paths.record));
  }
  const int cause = errno;
  struct stat there = {};
  if (cause == EEXIST && ::stat(paths.folder.c_str(), &there) == 0 && S_ISDIR(there.st_mode))
    return {};
  return fail_errno(format("cannot make the folder {}", paths.folder), cause);
}

/// The commands of a setup that has its folder for itself.
class Commands {
 public:
  Commands(const SetupOrder& order, const SetupPaths& paths, const SetupEvents& events)
      : order_(order),
        paths_(paths),
        events_(events),
        record_(SetupRecord::read(paths.record)),
        deadline_(Clock::now() + order.timeout) {}

  Result<> run(SetupDone& done) {
    for (size_t i = 0; i < order_.commands.size(); ++i) {
      const auto files = named_contents(order_.commands[i], order_);
      if (order_.once && files && record_.has(i, *files)) {
        ++done.commands_skipped;
        continue;
      }
      TRY(run_one(i));
      ++done.commands_run;
      if (files) TRY(record_.add(i, *files));
    }
    return {};
  }

 private:
  Result<> run_one(size_t i) {
    // A command that fails may leave the folder in any state.
    TRY(record_.remove(i));
    SetupCommand command{.line = order_.commands[i],
                         .environment = order_.environment,
                         .folder = order_.folder,
                         .deadline = deadline_,
                         .timeout = order_.timeout};
    add_setup_variables(setup_place(paths_.folder), command.environment);
    command.connection = events_.connection;
    return run_setup_command(command, events_.output);
  }

  const SetupOrder& order_;
  const SetupPaths& paths_;
  const SetupEvents& events_;
  SetupRecord record_;
  Time deadline_;
};

}  // namespace

Result<SetupDone> run_setup(const SetupOrder& order, const SetupEvents& events) {
  const SetupPaths paths = setup_paths(order.store, setup_name(order));
  TRY(make_folders(setups_folder(order.store)));
  HeldSetup held = TRY(lock_setup(order, paths, events));
  SetupDone done;
  if (held.kind == SetupLock::Kind::shared) {
    done.commands_skipped = order.commands.size();
    if (events.note)
      events.note(format("setup is left out: another job runs in {}", printable(paths.folder)));
  } else {
    TRY(held.lock.write_job(order.job));
    TRY(make_place(paths));
    TRY(Commands(order, paths, events).run(done));
    TRY(held.lock.share());
  }
  done.place = setup_place(paths.folder);
  done.lock = held.lock.release();
  prune_setups(order.store, WallClock::now());
  return done;
}

Result<SetupDone> join_setup(const SetupOrder& order, const SetupEvents& events) {
  const SetupPaths paths = setup_paths(order.store, setup_name(order));
  SetupOrder shared = order;
  shared.once = true;
  HeldSetup held = TRY(lock_setup(shared, paths, events));
  if (held.kind != SetupLock::Kind::shared) TRY(held.lock.share());
  SetupDone done = {.place = setup_place(paths.folder), .commands_skipped = order.commands.size()};
  done.lock = held.lock.release();
  return done;
}

}  // namespace dt

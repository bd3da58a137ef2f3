#include "comm/training/ps/served_part.h"

#include "base/format.h"
#include "base/text.h"

#include <utility>

namespace dt {

namespace {
constexpr size_t checkpoints_kept = 3;
}  // namespace

ServedPart::ServedPart(PartCopy copy, Files files)
    : copy_(std::move(copy)), files_(std::move(files)) {
}

Result<std::string> ServedPart::restore(uint64_t step) {
  std::string file = checkpoint_name(files_.checkpoint, step, file_part());
  const SavedBytes content = TRY(read_checkpoint(file, copy_.state().bytes_max()));
  if (Result<> loaded = copy_.restore(content); !loaded)
    return tl::unexpected(
        std::move(loaded).error().during(format("cannot restore {}", printable(file))));
  saved_step_ = step;
  TRY(put_later_aside());
  return file;
}

void ServedPart::serve_files() {
  if (!is_head()) return;
  for (const PsFileRequest& request : copy_.take_file_requests()) {
    PsFileAnswer answer{.worker = request.worker, .request = request.request};
    const Result<SavedBytes> served = serve_file(request, answer);
    if (!served) answer.error = served.error();
    if (!served || request.save || request.check_only) {
      copy_.take(answer);
      continue;
    }
    copy_.load(answer, *served);
    // The values are not those of an own file, whichever step that has.
    saved_step_ = 0;
    const Result<> aside = put_later_aside();
    if (!aside && files_.report) files_.report(aside.error().message);
  }
}

/// Files of later steps than now are of a training that was abandoned.
Result<> ServedPart::put_later_aside() {
  if (!keeps_files()) return {};
  const uint64_t step = copy_.state().step();
  const size_t count = TRY(dt::put_later_aside(files_.checkpoint, file_part(), step));
  if (count > 0 && files_.report) {
    files_.report(
        format("continues from step {}; {} checkpoint(s) of later steps have the names "
               "{}-*.put-aside now",
               step, count, printable(files_.checkpoint)));
  }
  return {};
}

/// Writes the file, or opens and checks it.
Result<SavedBytes> ServedPart::serve_file(const PsFileRequest& request,
                                          PsFileAnswer& answer) const {
  const std::string file = checkpoint_name(request.path, file_part());
  if (request.save) {
    TRY(write_checkpoint(file, copy_.state().save()));
    return SavedBytes();
  }
  SavedBytes content = TRY(read_checkpoint(file, copy_.state().bytes_max()));
  const Result<uint64_t> step = copy_.state().check(content);
  if (!step) {
    Error why = step.error();
    return tl::unexpected(std::move(why).during(format("checkpoint {}", printable(file))));
  }
  if (request.check_only) answer.step = *step;
  return content;
}

Result<> ServedPart::keep_checkpoint() {
  const uint64_t step = copy_.state().step();
  if (files_.checkpoint_every == 0 || step == saved_step_) return {};
  return step % files_.checkpoint_every == 0 ? save_step() : Result<>();
}

Result<> ServedPart::end() {
  if (!keeps_files() || copy_.state().step() == saved_step_) return {};
  return save_step();
}

Result<> ServedPart::save_step() {
  const uint64_t step = copy_.state().step();
  TRY(write_checkpoint(checkpoint_name(files_.checkpoint, step, file_part()),
                       copy_.state().save()));
  saved_step_ = step;
  // A server that has taken over may find files that the dead one left.
  TRY(put_later_aside());
  const std::optional<uint64_t> common =
      files_.newest_common
          ? files_.newest_common(file_part(), checkpoint_steps(files_.checkpoint, file_part()))
          : step;
  if (common) remove_old_checkpoints(files_.checkpoint, file_part(), checkpoints_kept, *common);
  return {};
}

}  // namespace dt

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
  const Bytes content = TRY(read_checkpoint(file));
  if (Result<> loaded = copy_.restore(content); !loaded)
    return tl::unexpected(
        std::move(loaded).error().during(format("cannot restore {}", printable(file))));
  saved_step_ = step;
  return file;
}

void ServedPart::serve_files() {
  if (!is_head()) return;
  for (const PsFileRequest& request : copy_.take_file_requests()) {
    Bytes content;
    PsFileAnswer answer{.worker = request.worker, .request = request.request};
    const Result<> served = serve_file(request, answer, content);
    if (!served) answer.error = served.error();
    copy_.take(answer);
  }
}

/// Writes the file, or reads it to `content`.
Result<> ServedPart::serve_file(const PsFileRequest& request, PsFileAnswer& answer,
                                Bytes& content) const {
  const std::string file = checkpoint_name(request.path, file_part());
  if (request.save) return write_checkpoint(file, copy_.state().save());
  content = TRY(read_checkpoint(file));
  const Result<uint64_t> step = copy_.state().check(content);
  if (!step) {
    Error why = step.error();
    return tl::unexpected(std::move(why).during(format("checkpoint {}", printable(file))));
  }
  if (request.check_only) {
    answer.step = *step;
  } else {
    answer.content = content;
  }
  return {};
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
  remove_old_checkpoints(files_.checkpoint, file_part(), checkpoints_kept);
  return {};
}

}  // namespace dt

#include "base/format.h"
#include "base/kernels/kernel_choice.h"
#include "base/version.h"
#include "comm/api/api_support.h"
#include "comm/api/context.h"
#include "comm/api/init_options.h"
#include "comm/driver/driver.h"
#include "comm/driver/stack_dump.h"
#include "comm/include/dtrain/dtrain.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

namespace {

dtrain_status status_of(Errc code) {
  switch (code) {
    case Errc::input:
    case Errc::not_found:
      return DTRAIN_ERROR_INPUT;
    case Errc::os:
    case Errc::unsupported:
    case Errc::not_runnable:
    case Errc::out_of_memory:
      return DTRAIN_ERROR_SYSTEM;
    case Errc::unreachable:
      return DTRAIN_ERROR_UNREACHABLE;
    case Errc::refused:
      return DTRAIN_ERROR_REFUSED;
    case Errc::closed:
    case Errc::interrupted:
      return DTRAIN_ERROR_CLOSED;
    case Errc::timeout:
      return DTRAIN_ERROR_TIMEOUT;
    case Errc::protocol:
      return DTRAIN_ERROR_PROTOCOL;
    case Errc::mismatch:
      return DTRAIN_ERROR_MISMATCH;
    case Errc::peer_lost:
      return DTRAIN_ERROR_PEER_LOST;
  }
  return DTRAIN_ERROR_SYSTEM;
}

/// Returns the longest beginning of `text` that fits and does not cut a UTF-8 sequence.
std::string_view cut(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end);
}

/// The size of dtrain_error in the first version of the library. It never changes.
constexpr size_t error_bytes_first = offsetof(dtrain_error, text) + 512;

void fill(dtrain_error* into, int code, int rank, std::string_view text) {
  constexpr size_t text_at = offsetof(dtrain_error, text);
  if (into == nullptr) return;
  // A caller's {0} has no size; it has at least the fields of the first version.
  const size_t size = into->struct_size == 0 ? error_bytes_first : into->struct_size;
  if (size <= text_at) return;
  const size_t room = std::min(size, sizeof(dtrain_error)) - text_at;
  into->code = code;
  into->rank = rank;
  text = cut(text, room - 1);
  std::memcpy(into->text, text.data(), text.size());
  into->text[text.size()] = '\0';
}

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : text;
}

Result<Duration> duration_of(const char* field, int ms, Duration when_zero) {
  if (ms < 0) return fail(Errc::input, format("dtrain_init_options.{} is negative: {}", field, ms));
  return ms == 0 ? when_zero : Duration(milliseconds(ms));
}

Result<Transport> transport_of(int number) {
  switch (number) {
    case DTRAIN_TRANSPORT_AUTO:
      return Transport::automatic;
    case DTRAIN_TRANSPORT_SHM:
      return Transport::shm;
    case DTRAIN_TRANSPORT_TCP:
      return Transport::tcp;
    default:
      return fail(Errc::input,
                  format("dtrain_init_options.transport is {}, no dtrain_transport", number));
  }
}

Result<std::optional<InitOptions>> init_options_of(const dtrain_init_options& options) {
  std::optional<InitOptions> known;
  if (options.role == nullptr) {
    known = TRY(init_options_from(environment_variable));
  } else {
    known = TRY(init_options_from(Identity{.role = options.role,
                                           .task_index = options.task_index,
                                           .rendezvous = text_of(options.rendezvous),
                                           .token = text_of(options.token),
                                           .job = text_of(options.job),
                                           .generation = options.generation},
                                  environment_variable));
  }
  // Also checked for a rank that is alone, so that errors show before a job has many ranks.
  const Transport transport = TRY(transport_of(options.transport));
  const Duration timeout = TRY(duration_of("timeout_ms", options.timeout_ms, join_timeout_default));
  const Duration dead_after =
      TRY(duration_of("dead_after_ms", options.dead_after_ms, Duration::zero()));
  if (!known) return known;
  known->transport = transport;
  known->timeout = timeout;
  if (dead_after != Duration::zero()) known->dead_after = dead_after;
  return known;
}

/// DTRAIN_KERNELS shows that results do not depend on the CPU, and excludes its vector units where
/// they are suspected.
Result<> use_wanted_kernels() {
  const std::string wanted = text_of(environment_variable("DTRAIN_KERNELS"));
  if (wanted.empty()) return {};
  const Result<> used = use_kernels(wanted);
  return used ? used : fail(Errc::input, "DTRAIN_KERNELS: " + used.error().message);
}

Result<OwnContext> init(const dtrain_init_options* given) {
  install_wanted_stack_dump();
  TRY(use_wanted_kernels());
  const std::optional<InitOptions> known = TRY(read_init_options(given));
  if (!known) return new_context(Context::alone());
  auto context = TRY(Context::join(*known));
  return new_context(std::move(context));
}

const RankLayout* layout_of(const dtrain_context* context) {
  return context == nullptr ? nullptr : &context->context->layout();
}

}  // namespace

OwnContext new_context(std::shared_ptr<Context> context) {
  return OwnContext(std::make_unique<dtrain_context>(dtrain_context{std::move(context)}).release());
}

void install_wanted_stack_dump() {
  if (text_of(environment_variable("DTRAIN_DUMP_STACKS")) == "1") install_stack_dump();
}

const char* environment_variable(const char* name) {
  // getenv is unsafe while another thread calls setenv; no library can avoid that.
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

Result<std::optional<InitOptions>> read_init_options(const dtrain_init_options* given) {
  const dtrain_init_options options = TRY(read_struct(given, "dtrain_init_options"));
  return init_options_of(options);
}

Errc errc_of(int status) {
  int code = static_cast<int>(Errc::input);
  while (code < static_cast<int>(Errc::out_of_memory) && status_of(Errc{code}) != status)
    ++code;
  return status_of(Errc{code}) == status ? Errc{code} : Errc::os;
}

int report(dtrain_error* into, const Error& error) {
  const int status = status_of(error.code);
  fill(into, status, error.blamed_rank, error.message);
  return status;
}

int report_success(dtrain_error* into) {
  fill(into, DTRAIN_OK, -1, "");
  return DTRAIN_OK;
}

Result<> check_result_size(const char* type, size_t struct_size) {
  if (struct_size >= sizeof(size_t)) return {};
  return fail(Errc::input,
              format("{}.struct_size is {}; set it to sizeof({})", type, struct_size, type));
}

namespace {

Result<> check_element(const dtrain_op_options& options) {
  constexpr size_t name_max = OperationTerms::element_name_bytes_max;
  constexpr size_t bytes_max = OperationTerms::element_bytes_max;
  const size_t name = options.element == nullptr ? 0 : ::strnlen(options.element, name_max + 1);
  if (name == 0 || name > name_max) {
    return fail(Errc::input, format("dtrain_op_options.element must have 1 to {} bytes", name_max));
  }
  if (options.element_bytes > 0 && options.element_bytes <= bytes_max) return {};
  return fail(Errc::input, format("dtrain_op_options.element_bytes is {}; give 1 to {}",
                                  options.element_bytes, bytes_max));
}

}  // namespace

Result<dtrain_op_options> read_op_options(const dtrain_op_options* given) {
  const dtrain_op_options options = TRY(read_struct(given, "dtrain_op_options"));
  if (options.timeout_ms < 0) {
    return fail(Errc::input,
                format("dtrain_op_options.timeout_ms is negative: {}", options.timeout_ms));
  }
  if (options.average_over != DTRAIN_ALL_RANKS && options.average_over != DTRAIN_ACTIVE_RANKS) {
    return fail(Errc::input, format("dtrain_op_options.average_over is {}, no dtrain_average_over",
                                    options.average_over));
  }
  if (options.compression < DTRAIN_NO_COMPRESSION ||
      options.compression > DTRAIN_COMPRESSION_BFLOAT16) {
    return fail(Errc::input, format("dtrain_op_options.compression is {}, no dtrain_compression",
                                    options.compression));
  }
  if (options.element != nullptr || options.element_bytes != 0) TRY(check_element(options));
  if (options.dims >= 0 && (options.dims == 0 || options.shape != nullptr)) return options;
  return fail(Errc::input, format("dtrain_op_options.dims is {}, but {}", options.dims,
                                  options.dims < 0 ? "it is a number of dimensions"
                                                   : "dtrain_op_options.shape is NULL"));
}

Result<CallOptions> read_call_options(const dtrain_op_options* given) {
  const dtrain_op_options options = TRY(read_op_options(given));
  if (!terms_of(options) && options.priority == 0 && options.stream == nullptr) {
    return CallOptions{.name = std::string(name_of(options)),
                       .timeout = milliseconds(options.timeout_ms)};
  }
  return fail(Errc::input,
              "dtrain_op_options: only operations have prescale, postscale, shape, average_over, "
              "compression, element, priority and stream");
}

std::optional<OperationTerms> terms_of(const dtrain_op_options& options) {
  const bool over_active = options.average_over == DTRAIN_ACTIVE_RANKS;
  const bool scales = options.prescale != 0 || options.postscale != 0;
  const bool compresses = options.compression != DTRAIN_NO_COMPRESSION;
  const bool opaque = options.element_bytes != 0;
  if (options.shape == nullptr && !scales && !over_active && !compresses && !opaque) return {};
  OperationTerms terms = {.prescale = options.prescale == 0 ? 1 : options.prescale,
                          .postscale = options.postscale == 0 ? 1 : options.postscale,
                          .average_active = over_active,
                          .compression = static_cast<Compression>(options.compression),
                          .element_bytes = static_cast<uint32_t>(options.element_bytes)};
  if (opaque) terms.element = options.element;
  terms.has_shape = options.shape != nullptr;
  if (terms.has_shape) terms.shape.assign(options.shape, options.shape + options.dims);
  return terms;
}

namespace {

template <class Handle>
Result<std::shared_ptr<Context>> usable_context(const Handle* handle, const char* when_null) {
  if (handle == nullptr) return fail(Errc::input, when_null);
  if (handle->context->forked()) {
    return fail(Errc::input,
                "this process is a fork of the one that called dtrain_init and cannot "
                "use its handles; call dtrain_init after fork, or only exec");
  }
  return handle->context;
}

}  // namespace

Result<std::shared_ptr<Context>> usable(const dtrain_context* handle) {
  return usable_context(
      handle, "the context is NULL: it was finalized or moved from, or dtrain_init has failed");
}

Result<std::shared_ptr<Context>> usable(const dtrain_work* handle) {
  return usable_context(handle,
                        "the work is NULL: it was moved from, or the call to start it has failed");
}

}  // namespace dt

const char* dtrain_version(void) {
  return dt::build_version.data();
}

dtrain_context* dtrain_init(const dtrain_init_options* options, dtrain_error* error) {
  return dt::make_handle(error, [&] { return dt::init(options); });
}

void dtrain_finalize(dtrain_context* context) {
  // The copy in a fork is not closed; it ends with its process.
  if (context == nullptr || context->context->forked()) return;
  const std::unique_ptr<dtrain_context> owned(context);
  [[maybe_unused]] const auto finished = dt::guarded([&] {
    owned->context->finalize();
    return dt::Result<>();
  });
}

int dtrain_rank(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->rank;
}

int dtrain_size(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->size;
}

int dtrain_local_rank(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->local_rank;
}

int dtrain_local_size(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->local_size;
}

int dtrain_cross_rank(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->cross_rank;
}

int dtrain_cross_size(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? -1 : layout->cross_size;
}

const char* dtrain_host(const dtrain_context* context) {
  const dt::RankLayout* layout = dt::layout_of(context);
  return layout == nullptr ? nullptr : layout->host.c_str();
}

size_t dtrain_algorithms(dtrain_context* context, char* text, size_t size) {
  const auto known = dt::guarded([&]() -> dt::Result<std::string> {
    const auto used = TRY(dt::usable(context));
    return used->driver().with_engine([&](const dt::Engine& engine) {
      return dt::Result<std::string>(engine.algorithms_text(used->group()));
    });
  });
  const std::string all = known.value_or("");
  if (size == 0) return all.size();
  const std::string_view fits = dt::cut(all, size - 1);
  std::memcpy(text, fits.data(), fits.size());
  text[fits.size()] = '\0';
  return all.size();
}

#include "gpu/nccl/nccl_library.h"

#include "base/format.h"
#include "base/text.h"

#include <dlfcn.h>
#include <glob.h>

#include <array>
#include <mutex>

namespace dt {

namespace {

constexpr const char* soname = "libnccl.so.2";

std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)  // NOLINT(concurrency-mt-unsafe): no GLOB_ALT
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

/// Returns the text of the loader for the last failure of this thread.
std::string loader_text() {
  const char* const text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
  return text == nullptr ? "" : printable(text, 300);
}

/// Finds functions, and remembers the first one that is missing.
class SymbolFinder {
 public:
  explicit SymbolFinder(void* library) : library_(library) {}
  template <class Function>
  void need(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_ = {};
};

/// Returns the name of a function that is missing, or "".
std::string find_functions(void* library, NcclFunctions& functions) {
  SymbolFinder finder(library);
  finder.need("ncclGetVersion", functions.get_version);
  finder.need("ncclGetUniqueId", functions.get_unique_id);
  finder.need("ncclGetErrorString", functions.error_string);
  finder.need("ncclGetLastError", functions.last_error);
  finder.need("ncclCommInitRankConfig", functions.comm_init);
  finder.need("ncclCommDestroy", functions.comm_destroy);
  finder.need("ncclCommAbort", functions.comm_abort);
  finder.need("ncclCommGetAsyncError", functions.comm_async_error);
  finder.need("ncclGroupStart", functions.group_start);
  finder.need("ncclGroupEnd", functions.group_end);
  finder.need("ncclAllReduce", functions.all_reduce);
  finder.need("ncclReduce", functions.reduce);
  finder.need("ncclBroadcast", functions.broadcast);
  finder.need("ncclAllGather", functions.all_gather);
  finder.need("ncclReduceScatter", functions.reduce_scatter);
  finder.need("ncclSend", functions.send);
  finder.need("ncclRecv", functions.receive);
  return finder.missing();
}

/// Returns the file of a loaded function.
template <class Function>
std::string file_of(Function function) {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(function), &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

Result<void*> load_first(const std::vector<NcclCandidate>& candidates) {
  for (const NcclCandidate& candidate : candidates) {
    // Its threads and its handlers for the end of the process need its code to the end.
    const int flags =
        RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (candidate.only_loaded ? RTLD_NOLOAD : 0);
    void* const library = dlopen(candidate.library.c_str(), flags);
    if (library != nullptr) return library;
    if (candidate.only_loaded) continue;
    const std::string why = loader_text();
    const bool absent =
        why.starts_with(candidate.library) && why.find("No such file") != std::string::npos;
    if (candidate.required)
      return fail(Errc::os, format("cannot load NCCL by DTRAIN_NCCL_LIB: {}", why));
    if (!absent) return fail(Errc::os, format("cannot load NCCL: {}", why));
  }
  return fail(Errc::not_found,
              "cannot load NCCL: there is no libnccl.so.2 (Debian, Ubuntu: libnccl2; PyPI: "
              "nvidia-nccl-cu13); DTRAIN_NCCL_LIB may name its file");
}

}  // namespace

std::vector<NcclCandidate> nccl_candidates(const Environment& environment) {
  const auto value_of = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (const std::string chosen = value_of("DTRAIN_NCCL_LIB"); !chosen.empty())
    return {{.library = chosen, .required = true}};
  std::vector<NcclCandidate> candidates = {{.library = soname, .only_loaded = true},
                                           {.library = soname}};
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = value_of(name);
    if (prefix.empty()) continue;
    for (std::string& file :
         files_like(prefix + "/lib/python3*/site-packages/nvidia/nccl/lib/" + soname))
      candidates.push_back({.library = std::move(file)});
  }
  if (const std::string home = value_of("CUDA_HOME"); !home.empty())
    candidates.push_back({.library = format("{}/lib64/{}", home, soname)});
  candidates.push_back({.library = format("/usr/local/cuda/lib64/{}", soname)});
  return candidates;
}

Result<NcclLibrary> NcclLibrary::open(const std::vector<NcclCandidate>& candidates) {
  // dladdr(3) returns a name that another thread's dlopen(3) may have written, under a lock that
  // only the loader knows.
  static std::mutex loading;
  const std::lock_guard lock(loading);
  void* const library = TRY(load_first(candidates));
  auto functions = std::make_shared<NcclFunctions>();
  const std::string missing = find_functions(library, *functions);
  NcclLibrary nccl;
  const bool has_version = functions->get_version != nullptr &&
                           functions->get_version(&nccl.version_) == NcclStatus::success;
  nccl.path_ = has_version ? file_of(functions->get_version) : candidates.front().library;
  if (has_version && nccl.version_ < version_min) {
    return fail(Errc::unsupported,
                format("NCCL {} ({}) is too old: dtrain needs {} or newer",
                       nccl_version_text(nccl.version_), printable(nccl.path_, 300),
                       nccl_version_text(version_min)));
  }
  if (!missing.empty()) {
    return fail(Errc::os,
                format("cannot use {} as NCCL: it has no {}", printable(nccl.path_, 300), missing));
  }
  if (!has_version)
    return fail(Errc::os, format("NCCL ({}) has no version", printable(nccl.path_, 300)));
  nccl.functions_ = std::move(functions);
  return nccl;
}

Error NcclLibrary::failure(std::string_view call, NcclStatus status, NcclComm comm) const {
  std::string text = format("{}: {}", call, functions_->error_string(status));
  const char* const last = functions_->last_error(comm);
  if (last != nullptr && *last != '\0') text += format(" ({})", printable(trim(last), 300));
  const bool remote = status == NcclStatus::remote_error;
  return {remote ? Errc::peer_lost : Errc::os, std::move(text)};
}

Result<NcclLibrary> open_nccl_for(const Device& device, const Environment& environment) {
  const bool stand_ins =
      environment.contains("DTRAIN_CPU_DEVICES") && environment.contains("DTRAIN_NCCL_LIB");
  if (device.host_can_access() && !stand_ins)
    return fail(Errc::input, format("NCCL needs GPUs, and this is {}", device.name()));
  return NcclLibrary::open(nccl_candidates(environment));
}

std::string nccl_version_text(int version) {
  // Until 2.8 there were three digits after the first.
  const int major_unit = version < 10000 ? 1000 : 10000;
  return format("{}.{}.{}", version / major_unit, version % major_unit / 100, version % 100);
}

}  // namespace dt

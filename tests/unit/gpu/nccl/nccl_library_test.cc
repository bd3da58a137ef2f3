#include "gpu/nccl/nccl_library.h"

#include "gpu/nccl/nccl_communicator.h"
#include "tests/unit/gpu/nccl/fake_nccl_world.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dt {
namespace {

Result<NcclLibrary> open_chosen(const std::string& file) {
  return NcclLibrary::open(nccl_candidates({{"DTRAIN_NCCL_LIB", file}}));
}

TEST_CASE("DTRAIN_NCCL_LIB is the only candidate where it is set") {
  CHECK(nccl_candidates({{"DTRAIN_NCCL_LIB", "/x/libnccl.so.2"}, {"CUDA_HOME", "/cuda"}}) ==
        std::vector<NcclCandidate>{{.library = "/x/libnccl.so.2", .required = true}});
}

TEST_CASE("else the copy of this process comes first, then the loader's, packages, the toolkit") {
  const TemporaryFolder prefix;
  const std::string folder = prefix.path() + "/lib/python3.12/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/libnccl.so.2") << "x";
  const std::vector<NcclCandidate> expected = {
      {.library = "libnccl.so.2", .only_loaded = true},
      {.library = "libnccl.so.2"},
      {.library = folder + "/libnccl.so.2"},
      {.library = "/cuda/lib64/libnccl.so.2"},
      {.library = "/usr/local/cuda/lib64/libnccl.so.2"},
  };
  CHECK(nccl_candidates({{"VIRTUAL_ENV", prefix.path()},
                         {"CONDA_PREFIX", "/no/such/folder"},
                         {"CUDA_HOME", "/cuda"},
                         {"DTRAIN_NCCL_LIB", ""}}) == expected);
}

TEST_CASE("open loads the library, and knows its version and its file") {
  const NcclLibrary nccl = open_chosen(FAKE_NCCL).value();
  CHECK(nccl.version() == 22809);
  CHECK(nccl.path() == FAKE_NCCL);
  // It is in this process now, so it is found without a folder.
  CHECK(NcclLibrary::open({{.library = FAKE_NCCL, .only_loaded = true}}).value().path() ==
        FAKE_NCCL);
}

TEST_CASE("the oldest NCCL is 2.14.3") {
  const FakeNcclWorld fake("version=21403");
  CHECK(open_chosen(FAKE_NCCL).value().version() == 21403);
}

TEST_CASE("open fails with the file and the reason") {
  struct Case {
    const char* words;
    const char* library;
    Errc code;
    std::string message;
  };
  const Case cases[] = {
      {"version=21402", FAKE_NCCL, Errc::unsupported,
       "NCCL 2.14.2 (" FAKE_NCCL ") is too old: dtrain needs 2.14.3 or newer"},
      {"version=2708", FAKE_NCCL, Errc::unsupported,
       "NCCL 2.7.8 (" FAKE_NCCL ") is too old: dtrain needs 2.14.3 or newer"},
      {"", FAKE_NCCL_BROKEN, Errc::os,
       "cannot use " FAKE_NCCL_BROKEN " as NCCL: it has no ncclSend"},
      {"", "/no/such/libnccl.so.2", Errc::os,
       "cannot load NCCL by DTRAIN_NCCL_LIB: /no/such/libnccl.so.2: cannot open shared object "
       "file: No such file or directory"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    const FakeNcclWorld fake(c.words);
    const auto nccl = open_chosen(c.library);
    REQUIRE_FALSE(nccl.has_value());
    CHECK(nccl.error() == Error{c.code, c.message});
  }
}

TEST_CASE("without a library, open names the packages and the variable") {
  const auto nccl = NcclLibrary::open({{.library = "libno-such-nccl.so.2", .only_loaded = true},
                                       {.library = "libno-such-nccl.so.2"}});
  REQUIRE_FALSE(nccl.has_value());
  CHECK(nccl.error() ==
        Error{Errc::not_found,
              "cannot load NCCL: there is no libnccl.so.2 (Debian, Ubuntu: libnccl2; PyPI: "
              "nvidia-nccl-cu13); DTRAIN_NCCL_LIB may name its file"});
}

TEST_CASE("a file that is no library is an error, and no other place is tried") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/libnccl.so.2";
  std::ofstream(file) << "this is no library";
  const auto nccl = NcclLibrary::open({{.library = file}, {.library = FAKE_NCCL}});
  REQUIRE_FALSE(nccl.has_value());
  CHECK(nccl.error() == Error{Errc::os, "cannot load NCCL: " + file + ": file too short"});
}

TEST_CASE("nccl_version_text knows both forms of NCCL's numbers") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21403) == "2.14.3");
  CHECK(nccl_version_text(2708) == "2.7.8");
}

TEST_CASE("the real NCCL, where it is installed: version, id, and its error without a GPU" *
          doctest::skip(std::string(REAL_NCCL).empty())) {
  const NcclLibrary nccl = open_chosen(REAL_NCCL).value();
  CHECK(nccl.version() >= NcclLibrary::version_min);
  const NcclUniqueId id = make_nccl_id(nccl).value();
  CHECK(std::string(id.bytes, sizeof id.bytes) != std::string(sizeof id.bytes, '\0'));
  if (std::filesystem::exists("/dev/nvidiactl")) return;
  const auto joined =
      NcclCommunicator::join(nccl, {.id = id}, {.deadline = Clock::now() + seconds(60)});
  REQUIRE_FALSE(joined.has_value());
  CHECK(joined.error().code == Errc::os);
  CHECK(joined.error().message.starts_with("ncclCommInitRankConfig: unhandled cuda error"));
  CHECK(joined.error().message.find("driver") != std::string::npos);
}

}  // namespace
}  // namespace dt

#include "launcher/agent/mpi_program.h"

#include "base/io/fd.h"
#include "launcher/process/child.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace dt {
namespace {

TEST_CASE("a process with an MPI library is known by the files that it maps") {
  struct Case {
    const char* file;
    bool mpi;
  };
  const Case cases[] = {
      {"/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4", true},              // Open MPI
      {"/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4", true},  // Debian's
      {"/opt/mpich/lib/libmpi.so.12", true},                              // MPICH, Intel MPI
      {"/usr/lib/x86_64-linux-gnu/libmpich.so.12.2.1", true},             // Debian's MPICH
      {"/opt/cray/pe/lib64/libmpi_cray.so.12", true},                     //
      {"/venv/lib/libmpi_abi.so.1", true},                                // MPI 5
      {"/venv/mpi4py.libs/libmpi-3c1a8e9f.so.12.3.1", true},              // a wheel's own
      {"/usr/lib/libmpi.so", true},                                       //
      {"/home/me/old/libmpi.so.40 (deleted)", true},                      //
      {"/home/me/with spaces/libmpi.so.40", true},                        //
      {"/usr/lib/libmpir.so.23", false},                                  // numbers
      {"/usr/lib/libmpi.software", false},                                //
      {"/usr/lib/libmpi.so.40/other.so", false},                          // a folder
      {"/usr/lib/libopen-rte.so.40", false},                              // mpirun's
      {"/venv/lib/python3.11/site-packages/mpi4py/MPI.abi3.so", false},   //
      {"/usr/lib/libmpichx.so", false},                                   //
      {"[heap]", false},                                                  //
      {"", false},                                                        //
  };
  for (const Case& c : cases) {
    CAPTURE(c.file);
    const std::string line = "7f00-7f01 r--p 00000000 08:01 77    ";
    CHECK(maps_mpi(line + "/usr/bin/python3.11\n" + line + c.file + "\n" + line +
                   "/lib/libc.so.6\n") == c.mpi);
    CHECK(maps_mpi(line + c.file) == c.mpi);
  }
  CHECK_FALSE(maps_mpi(""));
}

TEST_CASE("a process that an MPI launcher has started is known by its environment") {
  struct Case {
    std::string_view entry;
    bool by_mpi;
  };
  const Case cases[] = {
      {"PMI_RANK=3", true},
      {"PMI_FD=7", true},
      {"PMIX_NAMESPACE=prterun-1", true},
      {"PMIX_RANK=0", true},
      {"PMIX_MCA_gds=hash", false},       // a setting
      {"OMPI_MCA_btl=^openib", false},    // another
      {"OMPI_COMM_WORLD_RANK=1", false},  // ours too
      {"OMPI_MCA_orte_hnp_uri=1;tcp://", true},
      {"MY_PMI_RANK=1", false},
      {"PMI_RANK", false},
  };
  using namespace std::string_view_literals;
  for (const Case& c : cases) {
    CAPTURE(c.entry);
    CHECK(started_by_mpi(c.entry) == c.by_mpi);
    std::string environment("HOME=/\0"sv);
    environment.append(c.entry).append("\0PATH=/bin\0"sv);
    CHECK(started_by_mpi(environment) == c.by_mpi);
  }
  CHECK_FALSE(started_by_mpi(""));
}

/// A process that maps the file until it is killed, itself or in a child.
class Mapper {
 public:
  enum class By { itself, child };
  Mapper(const std::string& file, std::vector<std::string> environment, By by = By::itself) {
    Pipe pipe = make_pipe().value();
    const std::string program =
        "python3 -c 'import mmap, sys, time\n"
        "file = open(sys.argv[1])\n"
        "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        "print(flush=True)\n"
        "time.sleep(60)' \"$0\"";
    const std::string script = by == By::itself ? "exec " + program : program + "; true";
    environment.emplace_back("PATH=/usr/bin:/bin");
    child_ = Child::start({.path = "/bin/sh",
                           .arguments = {"sh", "-c", script, file},
                           .environment = std::move(environment),
                           .cwd = "/",
                           .output = pipe.write.get()});
    REQUIRE(child_);
    pipe.write.reset();
    char ready = 0;
    CHECK(::read(pipe.read.get(), &ready, 1) == 1);
  }
  ~Mapper() {
    child_->signal_group(SIGKILL);
    CHECK(child_->reap());
  }
  Mapper(const Mapper&) = delete;
  Mapper& operator=(const Mapper&) = delete;
  pid_t pid() const { return child_->pid(); }

 private:
  Result<Child> child_ = fail(Errc::os, "not started");
};

TEST_CASE("MPI programs that run alone are counted among real processes") {
  const TemporaryFolder folder;
  const std::string library = folder.path() + "/libmpi.so.40";
  const std::string other = folder.path() + "/libm.so.6";
  for (const std::string& file : {library, other})
    std::ofstream(file) << "a library";
  const Mapper alone(library, {});
  const Mapper by_mpi(library, {"PMI_RANK=0"});
  const Mapper no_mpi(other, {});
  const Mapper wrapped(library, {}, Mapper::By::child);
  CHECK(count_alone({alone.pid(), by_mpi.pid(), no_mpi.pid()}) == 1);
  CHECK(count_alone({wrapped.pid()}) == 1);
  CHECK(count_alone({alone.pid(), alone.pid()}) == 2);
  CHECK(count_alone({}) == 0);
  const pid_t no_process = 0x7ffffffe;
  CHECK(count_alone({no_process}) == 0);
}

}  // namespace
}  // namespace dt

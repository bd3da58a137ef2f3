#include "launcher/config/allocation/mpi_job.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Files files = {
    {"/open_mpi", "job-worker-0.job.ns.svc slots=4\njob-worker-1.job.ns.svc slots=4\n"},
    {"/mpich", "job-worker-0.job.ns.svc:2\n"},
    {"/empty", "\n"},
    {"/wrong", "a slots=x\n"}};

TEST_CASE("read_mpi_job: the operator's hostfile is that of Open MPI, Intel MPI or MPICH") {
  const AllocationCase cases[] = {
      {{{"OMPI_MCA_orte_default_hostfile", "/open_mpi"}, {"HYDRA_HOST_FILE", "/mpich"}},
       "MPIJob: job-worker-0.job.ns.svc:4 job-worker-1.job.ns.svc:4"},
      {{{"I_MPI_HYDRA_HOST_FILE", "/mpich"}}, "MPIJob: job-worker-0.job.ns.svc:2"},
      {{{"HYDRA_HOST_FILE", "/mpich"}}, "MPIJob: job-worker-0.job.ns.svc:2"},
      {{}, "OMPI_MCA_orte_default_hostfile, I_MPI_HYDRA_HOST_FILE or HYDRA_HOST_FILE is not set"},
      {{{"HYDRA_HOST_FILE", "/none"}},
       "HYDRA_HOST_FILE=/none: cannot read this file: No such file or directory"},
      {{{"HYDRA_HOST_FILE", "/empty"}},
       "HYDRA_HOST_FILE=/empty: this file is empty, but should name the job's hosts"},
      {{{"HYDRA_HOST_FILE", "/wrong"}},
       "HYDRA_HOST_FILE=/wrong:1:9: host \"a\": slots must be 1..4096, got \"x\""},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(shown(read_mpi_job({c.environment, reader_of(files)})) == c.shown);
  }
}

TEST_CASE("is_pod: Kubernetes or the operator has started the launcher") {
  CHECK(is_pod({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}));
  CHECK(is_pod({{"K_MPI_JOB_ROLE", "launcher"}}));
  CHECK_FALSE(is_pod({{"HYDRA_HOST_FILE", "/mpich"}}));
}

}  // namespace
}  // namespace dt

#include "examples/in_graph/line.h"
#include "tests/unit/comm/training/ps/worker_identity.h"

namespace in_graph {
namespace {

TEST_CASE("a batch has the same points in every process, near the line") {
  const std::vector<Point> points = make_batch(3);
  REQUIRE(points.size() == batch_size);
  const std::vector<Point> again = make_batch(3);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].y == again[i].y);
    CHECK(points[i].y == doctest::Approx(2 * points[i].x + 10).epsilon(0.1));
  }
  CHECK(make_batch(4)[0].x != points[0].x);
}

TEST_CASE("steps on parameter servers approach the line, and the loss falls") {
  dt::PsJob job({.workers = 1});
  const dt::WorkerIdentity identity(job, 0);
  dtrain::ParameterServers ps({.identity = identity.get()});
  ServedLine line(ps);
  const std::vector<Point> points = make_batch(0);
  line.pull();
  const double before = line.loss(points);
  for (int step = 0; step < 400; ++step) {
    line.pull();
    line.step(points);
  }
  line.pull();
  CHECK(line.loss(points) < 0.02 * before);
  CHECK(line.w() == doctest::Approx(2).epsilon(0.1));
  CHECK(line.b() == doctest::Approx(10).epsilon(0.02));
}

}  // namespace
}  // namespace in_graph

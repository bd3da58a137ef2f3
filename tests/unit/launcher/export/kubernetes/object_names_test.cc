#include "launcher/export/kubernetes/object_names.h"

#include "tests/unit/launcher/export/fixture.h"

namespace dt {
namespace {

TEST_CASE("objects have the job's name, and their Secret one of its own") {
  ExportJob job = exported_job("command = 'x'\nnp = 1\n");
  CHECK(kubernetes_name(job) == "mnist");
  CHECK(secret_name(job, {}) == "mnist-dtrain");
  CHECK(secret_name(job, {.secret = "s"}) == "s");
  job.config.name.clear();
  CHECK(kubernetes_name(job) == "dtrain");
}

TEST_CASE("keys have letters, digits, dashes, underscores and dots") {
  for (const char good : std::string_view("azAZ09-_."))
    CHECK(is_of_key(good));
  for (const char bad : std::string_view("/ :@[`{$\xc3"))
    CHECK(!is_of_key(bad));
}

TEST_CASE("a label has small letters, digits and dashes, and begins with a letter") {
  for (const char* const good : {"a", "a-0", "mnist"})
    CHECK(check_label(good, "--name"));
  for (const std::string& bad :
       {std::string(), std::string("0a"), std::string("A"), std::string("a_b"), std::string("a-"),
        std::string("-a"), std::string("a.b"), std::string(64, 'a'), std::string("ä")}) {
    CAPTURE(bad);
    CHECK(!check_label(bad, "--name"));
  }
  CHECK(check_label(std::string(63, 'a'), "--name"));
  CHECK(check_label("My_Job", "--name").error().message ==
        "--name \"My_Job\": Kubernetes takes 1 to 63 lower-case letters, digits and - between "
        "them, and a letter first");
}

TEST_CASE("the name of an object may have dots and begin with a digit") {
  CHECK(check_object_name("0.token-a", "--secret"));
  for (const std::string& bad :
       {std::string(), std::string("a..b"), std::string("A"), std::string(".a")}) {
    CAPTURE(bad);
    CHECK(!check_object_name(bad, "--secret"));
  }
}

TEST_CASE("the name of a pod fits into that of a host") {
  CHECK(check_pod_name(std::string(63, 'a'), "--name"));
  CHECK(!check_pod_name(std::string(64, 'a'), "--name"));
}

}  // namespace
}  // namespace dt

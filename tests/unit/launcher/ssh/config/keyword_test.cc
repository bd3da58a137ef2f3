#include "launcher/ssh/config/keyword.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("keywords are found by their names, old ones too") {
  REQUIRE(find_ssh_keyword("addkeystoagent") != nullptr);
  REQUIRE(find_ssh_keyword("xauthlocation") != nullptr);
  CHECK(find_ssh_keyword("identityfile2") == find_ssh_keyword("identityfile"));
  CHECK(find_ssh_keyword("smartcarddevice")->name == "pkcs11provider");
  CHECK(find_ssh_keyword("") == nullptr);
  CHECK(find_ssh_keyword("zzz") == nullptr);
  CHECK(find_ssh_keyword("Port") == nullptr);
}

TEST_CASE("a value that changes nothing differs from one that does") {
  const SshKeyword& keyword = *find_ssh_keyword("hostbasedauthentication");
  CHECK(keyword.is_harmless({"no"}));
  CHECK(keyword.is_harmless({"FALSE"}));
  CHECK_FALSE(keyword.is_harmless({"yes"}));
  CHECK_FALSE(keyword.is_harmless({"no", "no"}));
  CHECK_FALSE(find_ssh_keyword("ciphers")->is_harmless({""}));
}

TEST_CASE("times are whole numbers with units, added up") {
  CHECK(ssh_time_seconds("0") == 0);
  CHECK(ssh_time_seconds("90") == 90);
  CHECK(ssh_time_seconds("1h2M3s") == 3723);
  CHECK(ssh_time_seconds("1w1d") == 691200);
  CHECK(ssh_time_seconds("2147483647") == 2147483647);
  for (const char* bad :
       {"", "none", "s", "5x", "-1", "1.5", "2147483648", "2147483647s1", "4000w"}) {
    CAPTURE(bad);
    CHECK(ssh_time_seconds(bad) == std::nullopt);
  }
}

}  // namespace
}  // namespace dt

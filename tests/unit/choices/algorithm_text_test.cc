#include "choices/algorithm_text.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

using Rules = AlgorithmRules;

TEST_CASE("a table has algorithms with limits between them, for all_reduce or a named operation") {
  struct Case {
    const char* text;
    ChosenAlgorithms chosen;
  };
  const Rules ring = {{Algorithm::ring}};
  const Rules ordered = {{Algorithm::rank_order}};
  const Case cases[] = {
      {"", {}},
      {"ring", {{OperationKind::all_reduce, ring}}},
      {"all_reduce=ring", {{OperationKind::all_reduce, ring}}},
      {"tree:1000:ring",
       {{OperationKind::all_reduce, {{Algorithm::tree, 1000}, {Algorithm::ring}}}}},
      {"recursive_doubling:4K:tree:2m:hierarchical",
       {{OperationKind::all_reduce,
         {{Algorithm::recursive_doubling, 4096},
          {Algorithm::tree, size_t{2} << 20},
          {Algorithm::hierarchical}}}}},
      {"@my_own:1k:ring",
       {{OperationKind::all_reduce,
         {{.bytes_max = 1024, .registered = "my_own"}, {Algorithm::ring}}}}},
      {"all_gather=bruck:1g:ring,broadcast=tree,ring",
       {{OperationKind::all_gather, {{Algorithm::bruck, size_t{1} << 30}, {Algorithm::ring}}},
        {OperationKind::broadcast, {{Algorithm::tree}}},
        {OperationKind::all_reduce, ring}}},
      {"deterministic",
       {{OperationKind::all_reduce, ordered},
        {OperationKind::reduce, ordered},
        {OperationKind::reduce_scatter, ordered}}},
      {"deterministic,broadcast=tree",
       {{OperationKind::all_reduce, ordered},
        {OperationKind::broadcast, {{Algorithm::tree}}},
        {OperationKind::reduce, ordered},
        {OperationKind::reduce_scatter, ordered}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto chosen = parse_algorithms(c.text);
    REQUIRE(chosen);
    CHECK(*chosen == c.chosen);
  }
}

TEST_CASE("a wrong table is refused with the column of its first fault") {
  struct Case {
    const char* text;
    const char* message;
  };
  const char* const all_reduce =
      "an algorithm of all_reduce, one of ring, tree, recursive_doubling, halving_doubling, "
      "hierarchical, rank_order";
  const Case cases[] = {
      {"rin", "column 1: expected {}, got \"rin\"; did you mean ring?"},
      {":", "column 1: expected {}, got \"\""},
      {"tree:64k:", "column 10: expected {}, got \"\""},
      {"tree:64k:bruck", "column 10: expected {}, got \"bruck\""},
      {"shm:64k:ring", "column 1: expected {}, got \"shm\""},
      {"tree:x:ring", "column 6: expected a number of bytes such as 64k, got \"x\""},
      {"tree:0:ring", "column 6: expected a number of bytes such as 64k, got \"0\""},
      {"tree::ring", "column 6: expected a number of bytes such as 64k, got \"\""},
      {"tree:8589934592G:ring",
       "column 6: expected a number of bytes such as 64k, got \"8589934592G\""},
      {"@", "column 2: the name of an algorithm has 1 to 63 letters, digits and underscores"},
      {"barrier=@x", "column 9: expected an algorithm of barrier, one of dissemination, got \"\""},
      {"tree:64k", "column 9: expected ':' and the algorithm above this limit"},
      {"tree:64k:ring:64k:tree", "column 15: a limit must be above the one before it"},
      {"ring;tree", "column 5: expected ':' or ',', got \";\""},
      {"ring,all_reduce=tree", "column 6: all_reduce is given twice"},
      {"deterministic,ring", "column 15: all_reduce has its algorithm by \"deterministic\""},
      {"deterministic,", "column 15: expected {}, got \"\""},
      {"deterministic:", "column 14: expected ':' or ',', got \":\""},
      {"ring,deterministic", "column 6: expected {}, got \"deterministic\""},
      {"broadcast=ring",
       "column 11: expected an algorithm of broadcast, one of tree, hierarchical, got \"ring\""},
      {"ring,broadcas=tree",
       "column 6: expected an operation, one of all_reduce, broadcast, all_gather, "
       "reduce_scatter, reduce, gather, scatter, all_to_all, barrier, got \"broadcas\"; did you "
       "mean broadcast?"},
      {"all_to_all_v=pairwise",
       "column 1: expected an operation, one of all_reduce, broadcast, all_gather, "
       "reduce_scatter, reduce, gather, scatter, all_to_all, barrier, got \"all_to_all_v\"; "
       "did you mean all_to_all?"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    std::string message = c.message;
    if (const size_t at = message.find("{}"); at != std::string::npos)
      message.replace(at, 2, all_reduce);
    const auto chosen = parse_algorithms(c.text);
    REQUIRE(!chosen);
    CHECK(chosen.error().code == Errc::input);
    CHECK(chosen.error().message == message);
  }
}

TEST_CASE("the text of rules is read back as the same rules") {
  for (const char* text :
       {"ring", "tree:64k:ring", "tree:1023:ring:1025:tree:1g:hierarchical", "@a:1k:@b"}) {
    const auto chosen = parse_algorithms(text);
    REQUIRE(chosen);
    CHECK(rules_text(chosen->at(OperationKind::all_reduce)) == text);
  }
}

}  // namespace
}  // namespace dt

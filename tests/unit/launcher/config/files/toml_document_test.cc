#include "launcher/config/files/toml_document.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace dt {
namespace {

TEST_CASE("TomlDocument has the values of a text with their kinds and places") {
  const TomlDocument document =
      TomlDocument::parse(
          "text = \"a\"\ninteger = 4\nreal = 0.5\nflag = true\n"
          "time = 1979-05-27\narray = [\"x\", 1]\ninline = {b = 2}\n"
          "[table]\n  key = \"v\"\n[[tables]]\nn = 1\n[[tables]]\nn = 2\n",
          "a.toml")
          .value();
  using Kind = TomlValue::Kind;
  const auto find = [&](std::string_view key) -> const TomlEntry& {
    for (const TomlEntry& entry : document.entries()) {
      if (entry.key == key) return entry;
    }
    throw std::runtime_error("no such key");
  };
  CHECK(find("text").value.text == "a");
  CHECK(find("integer").value.integer == 4);
  CHECK(find("real").value.real == 0.5);
  CHECK(find("flag").value.flag);
  CHECK(find("time").value.kind == Kind::time);
  CHECK(find("array").value.elements.size() == 2);
  CHECK(find("array").value.elements[1].kind == Kind::integer);
  CHECK(find("inline").value.kind == Kind::inline_table);
  CHECK(find("table").value.kind == Kind::table);
  CHECK(find("table").value.is_table());
  const TomlEntry& key = find("table").value.entries.at(0);
  CHECK(document.place(key) == "a.toml:9:3");
  CHECK(find("tables").value.kind == Kind::tables);
  CHECK(find("tables").value.elements[1].entries[0].value.integer == 2);
  CHECK(document.refuse(key, "no").value().message == "a.toml:9:3: no\n    key = \"v\"\n    ^");
}

TEST_CASE("TomlDocument names the line of a text that is no TOML") {
  const auto document = TomlDocument::parse("a = 1\na = 2\n", "b.toml");
  REQUIRE_FALSE(document);
  CHECK(document.error().message ==
        "b.toml:2:5: \"a\" is defined again; the first is in line 1\n  a = 2\n      ^");
}

}  // namespace
}  // namespace dt

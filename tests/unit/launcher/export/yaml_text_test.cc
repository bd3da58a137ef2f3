#include "launcher/export/yaml_text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a text has quotes where a reader of YAML 1.1 or 1.2 would take it for something else") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"python", "python"},
      {"/root/train.py", "/root/train.py"},
      {"--job=ps", "\"--job=ps\""},
      {"a-b_c.d=e@f%g+h", "a-b_c.d=e@f%g+h"},
      {"", "\"\""},
      {"no", "\"no\""},
      {"Yes", "\"Yes\""},
      {"on", "\"on\""},
      {"OFF", "\"OFF\""},
      {"y", "\"y\""},
      {"true", "\"true\""},
      {"null", "\"null\""},
      {"~", "\"~\""},
      {"1e3", "\"1e3\""},
      {"007", "\"007\""},
      {"0x1", "\"0x1\""},
      {"1_000", "\"1_000\""},
      {"12:30:00", "\"12:30:00\""},
      {"2026-01-01", "\"2026-01-01\""},
      {".inf", "\".inf\""},
      {"=", "\"=\""},
      {"<<", "\"<<\""},
      {"a: b", "\"a: b\""},
      {"a:b", "\"a:b\""},
      {"a # b", "\"a # b\""},
      {"#", "\"#\""},
      {"- a", "\"- a\""},
      {"[a, b]", "\"[a, b]\""},
      {" a ", "\" a \""},
      {"it's", "\"it's\""},
      {"say \"it\"", "'say \"it\"'"},
      {R"(C:\x)", R"('C:\x')"},
      {R"(a'b\c)", R"('a''b\c')"},
      {"two\nlines \\ \"", R"("two\nlines \\ \"")"},
      {"\t\r", "\"\\t\\r\""},
      {std::string_view("\0\x7f", 2), "\"\\x00\\x7f\""},
      {"\xc3\xa4", "\"\xc3\xa4\""},
      {"\xc2\x85\xe2\x80\xa8", "\"\\x85\\u2028\""},
      {"\xef\xbb\xbf", "\"\\ufeff\""},
      {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
  };
  for (const auto& [text, quoted] : cases) {
    CAPTURE(text);
    CHECK(yaml_scalar(text) == quoted);
  }
}

TEST_CASE("a document has blocks, with short lists on a line") {
  YamlValue inner = YamlValue::map();
  inner.set("on", YamlValue::flag(true));
  inner.set("empty", YamlValue::list());
  inner.set("none", YamlValue());
  inner.set("nothing", YamlValue::map());
  YamlValue list = YamlValue::list();
  list.add(inner);
  list.add(YamlValue::list({"a", "1"}));
  list.add(YamlValue::number(-7));
  YamlValue nested = YamlValue::list();
  nested.add(list);
  YamlValue document = YamlValue::map();
  document.set("list", list);
  document.set("nested", nested);
  document.set("long", YamlValue::list({std::string(60, 'a'), std::string(60, 'b')}));
  document.set(std::string(600, 'k'), inner);
  CHECK(yaml_text(document).value() == R"(list:
  - "on": true
    empty: []
    none: null
    nothing: {}
  - [a, "1"]
  - -7
nested:
  - - "on": true
      empty: []
      none: null
      nothing: {}
    - [a, "1"]
    - -7
long:
  - )" + std::string(60, 'a') + "\n  - " + std::string(60, 'b') +
                                           "\n? " + std::string(600, 'k') +
                                           R"(
:
  "on": true
  empty: []
  none: null
  nothing: {}
)");
  CHECK(yaml_text(YamlValue::text("no")).value() == "\"no\"\n");
}

TEST_CASE("lines stand in a block, except behind white space, which would be indentation") {
  const auto text_of = [](std::string_view text) {
    YamlValue document = YamlValue::map();
    document.set("a", YamlValue::text(std::string(text)));
    return yaml_text(document).value();
  };
  CHECK(text_of("x\n\ty\n") == "a: |\n  x\n  \ty\n");
  CHECK(text_of("\tx\ny") == "a: \"\\tx\\ny\"\n");
  CHECK(text_of(" x\ny") == "a: \" x\\ny\"\n");
  CHECK(text_of("\nx\ny") == "a: \"\\nx\\ny\"\n");
}

TEST_CASE("bytes that are no UTF-8 are an error, in keys, too") {
  for (const std::string_view text :
       {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\x80",
        "\xc3(", "\xf8\x88\x80\x80\x80"}) {
    CAPTURE(text);
    CHECK(!yaml_text(YamlValue::list({std::string(text)})));
    YamlValue map = YamlValue::map();
    map.set(std::string(text), YamlValue());
    const auto refused = yaml_text(map);
    REQUIRE(!refused);
    CHECK(
        refused.error().message.ends_with("YAML holds UTF-8 only, and this text has other bytes"));
  }
}

}  // namespace
}  // namespace dt

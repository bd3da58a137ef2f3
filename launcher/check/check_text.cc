#include "base/color.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/check/check_report.h"
#include "launcher/check/units.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace dt {

namespace {

constexpr size_t topic_columns = 14;
constexpr size_t grade_columns = 8;
constexpr size_t text_at = 2 + topic_columns + 1 + grade_columns + 1;

std::string_view color_of(Grade grade) {
  return grade == Grade::ok ? "32" : grade == Grade::warning ? "33" : "31";
}

std::string grade_text(Grade grade, bool colored) {
  const std::string padded = format("{:<{}}", name_of(grade), grade_columns);
  return colored ? painted(padded, color_of(grade)) : padded;
}

/// The columns of a UTF-8 text whose characters take one column each.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// Breaks `text` at blanks, so that no line is longer than `columns`. Indents all lines but the
/// first by `indent` blanks. Line ends of the text stay.
std::string wrapped(std::string_view text, size_t indent, size_t columns) {
  std::string all;
  for (const std::string_view line : split(text, '\n')) {
    size_t at = indent;
    if (!all.empty()) all += "\n" + std::string(indent, ' ');
    for (const std::string_view part : split_words(line)) {
      const std::string word = printable(part, 4 * part.size());
      const bool first = at == indent;
      if (!first && at + 1 + columns_of(word) > columns) {
        all += "\n" + std::string(indent, ' ');
        at = indent;
      } else if (!first) {
        all += ' ';
        ++at;
      }
      all += word;
      at += columns_of(word);
    }
  }
  return all;
}

std::string finding_lines(const Finding& finding, const TableStyle& style) {
  std::string topic = finding.topic;
  std::ranges::replace(topic, '_', ' ');
  std::string text = wrapped(finding.text, text_at, style.columns);
  if (!finding.remedy.empty()) {
    text +=
        "\n" + std::string(text_at, ' ') + wrapped("→ " + finding.remedy, text_at, style.columns);
  }
  return format("  {:<{}} {} {}\n", topic, topic_columns, grade_text(finding.grade, style.colored),
                text);
}

std::string host_lines(const HostReport& host, const TableStyle& style) {
  const Grade grade = host.grade();
  const std::string name = printable(host.name);
  if (style.brief && grade == Grade::ok) {
    return format("{:<{}} {}\n", name, text_at - grade_columns - 2, name_of(grade));
  }
  std::string lines = name + "\n";
  for (const Finding& finding : host.findings) {
    if (!style.brief || finding.grade != Grade::ok) lines += finding_lines(finding, style);
  }
  return lines;
}

std::string speed_text(const PairReport& pair) {
  if (!pair.speed) return "";
  const double elapsed_s = std::chrono::duration<double>(pair.speed->elapsed).count();
  return format("{:>9}  {:>9}  ", time_text(pair.speed->round_trip),
                rate_text(static_cast<double>(pair.speed->bytes) / elapsed_s));
}

std::string pair_lines(const PairReport& pair, size_t name_columns, const TableStyle& style) {
  const std::string names = format("{} → {}", printable(pair.from), printable(pair.to));
  const size_t indent = 2 + name_columns + 1 + grade_columns + 1;
  std::string text = speed_text(pair) + pair.address;
  for (const std::string& more : {pair.text, pair.remedy.empty() ? "" : "→ " + pair.remedy}) {
    if (more.empty()) continue;
    text += (text.empty() ? "" : "\n" + std::string(indent, ' ')) +
            wrapped(more, indent, style.columns);
  }
  return format("  {:<{}} {} {}\n", names, name_columns, grade_text(pair.grade, style.colored),
                text);
}

std::string pairs_table(const std::vector<PairReport>& pairs, const TableStyle& style) {
  if (pairs.empty()) return "";
  size_t name_columns = topic_columns;
  for (const PairReport& pair : pairs)
    name_columns = std::max(name_columns, pair.from.size() + pair.to.size() + 3);
  std::string lines = "pairs of hosts\n";
  size_t left_out = 0;
  for (const PairReport& pair : pairs) {
    const bool shown = !style.brief || pair.grade != Grade::ok;
    left_out += shown ? 0 : 1;
    if (shown) lines += pair_lines(pair, name_columns, style);
  }
  if (left_out > 0) {
    lines += format("  {:<{}} {}\n", format("{} more", left_out), name_columns, name_of(Grade::ok));
  }
  return lines;
}

std::string counted(size_t count, std::string_view what) {
  return format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "3 hosts, 3 pairs: 1 failure, 2 warnings"
std::string sum_line(const CheckReport& report) {
  std::array<size_t, 3> counts = {};
  for (const HostReport& host : report.hosts) {
    for (const Finding& finding : host.findings)
      ++counts.at(static_cast<size_t>(finding.grade));
  }
  for (const PairReport& pair : report.pairs)
    ++counts.at(static_cast<size_t>(pair.grade));
  const size_t warnings = counts.at(static_cast<size_t>(Grade::warning));
  const size_t failures = counts.at(static_cast<size_t>(Grade::failure));
  std::string line = counted(report.hosts.size(), "host");
  if (!report.pairs.empty()) line += ", " + counted(report.pairs.size(), "pair");
  line += failures + warnings == 0 ? ": all is well" : ": ";
  if (failures > 0) line += counted(failures, "failure");
  if (failures > 0 && warnings > 0) line += ", ";
  if (warnings > 0) line += counted(warnings, "warning");
  return line + "\n";
}

}  // namespace

Grade CheckReport::grade() const {
  Grade worst = Grade::ok;
  for (const HostReport& host : hosts)
    worst = std::max(worst, host.grade());
  for (const PairReport& pair : pairs)
    worst = std::max(worst, pair.grade);
  return worst;
}

std::string check_text(const CheckReport& report, const TableStyle& style) {
  std::string text;
  for (const HostReport& host : report.hosts)
    text += host_lines(host, style) + (style.brief ? "" : "\n");
  const std::string pairs = pairs_table(report.pairs, style);
  if (!pairs.empty()) text += pairs + "\n";
  return text + sum_line(report);
}

}  // namespace dt

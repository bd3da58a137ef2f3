#include "base/version.h"
#include "launcher/check/check_report.h"
#include "launcher/report/json_values.h"

#include <chrono>

namespace dt {

namespace {

Json::Array findings_json(const std::vector<Finding>& findings) {
  Json::Array array;
  for (const Finding& finding : findings) {
    array.emplace_back(Json::Object{{"topic", finding.topic},
                                    {"status", name_of(finding.grade)},
                                    {"text", finding.text},
                                    {"remedy", text_or_null(finding.remedy)}});
  }
  return array;
}

Json host_json(const HostReport& host, const HostSeen& seen) {
  const auto& diagnosis = seen.diagnosis;
  return Json::Object{
      {"name", host.name},
      {"status", name_of(host.grade())},
      {"findings", findings_json(host.findings)},
      {"connected_s", seen.unreachable.empty() ? Json(in_seconds(seen.connection.took)) : Json()},
      {"clock_ahead_s", diagnosis ? Json(in_seconds(diagnosis->clock.ahead)) : Json()},
      {"clock_error_s", diagnosis ? Json(in_seconds(diagnosis->clock.error)) : Json()},
      {"facts", diagnosis ? facts_json(diagnosis->found.facts) : Json()}};
}

Json pair_json(const PairReport& pair) {
  const auto& speed = pair.speed;
  const double rate = speed ? static_cast<double>(speed->bytes) / in_seconds(speed->elapsed) : 0;
  return Json::Object{{"from", pair.from},
                      {"to", pair.to},
                      {"status", name_of(pair.grade)},
                      {"address", text_or_null(pair.address)},
                      {"round_trip_s", speed ? Json(in_seconds(speed->round_trip)) : Json()},
                      {"bytes_per_s", speed ? Json(rate) : Json()},
                      {"text", text_or_null(pair.text)},
                      {"remedy", text_or_null(pair.remedy)}};
}

}  // namespace

Json check_document(const CheckReport& report) {
  Json::Array hosts;
  for (size_t at = 0; at < report.hosts.size(); ++at)
    hosts.push_back(host_json(report.hosts[at], report.seen[at]));
  Json::Array pairs;
  for (const PairReport& pair : report.pairs)
    pairs.push_back(pair_json(pair));
  return Json::Object{{"check_version", 1},
                      {"version", build_version},
                      {"start", utc_text(report.began_at)},
                      {"duration_s", in_seconds(report.took)},
                      {"status", name_of(report.grade())},
                      {"hosts", std::move(hosts)},
                      {"pairs", std::move(pairs)}};
}

}  // namespace dt

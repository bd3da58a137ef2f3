#include "launcher/protocol/task_error.h"

#include "base/format.h"
#include "base/json.h"
#include "base/text.h"

namespace dt {

namespace {

/// A message to the launcher contains at most this much; the task's own output has the rest.
constexpr size_t message_bytes_max = 4096;
constexpr size_t frame_bytes_max = 512;

/// Reads whole seconds from a number or a string; 0: none, or implausible.
int64_t seconds_of(const Json* value) {
  if (value == nullptr) return 0;
  std::optional<int64_t> found;
  if (const auto* number = value->as<int64_t>()) found = *number;
  if (const auto* text = value->as<std::string>()) found = parse_integer(*text);
  constexpr int64_t year_2200 = 7'258'118'400;
  return found && *found > 0 && *found < year_2200 ? *found : 0;
}

/// Returns the file's time when it is at most two seconds after the stated one.
int64_t more_exact(int64_t stated_s, int64_t written_ns) {
  constexpr int64_t second = 1'000'000'000;
  const int64_t stated_ns = stated_s * second;
  const bool same = written_ns >= stated_ns && written_ns - stated_ns < 2 * second;
  return same ? written_ns : stated_ns;
}

}  // namespace

std::string python_frame(std::string_view callstack) {
  constexpr std::string_view opening = "File \"";
  constexpr std::string_view middle = "\", line ";
  const size_t at = callstack.rfind(opening);
  if (at == std::string_view::npos) return {};
  std::string_view rest = callstack.substr(at + opening.size());
  rest = rest.substr(0, rest.find('\n'));
  const size_t end = rest.find(middle);
  if (end == std::string_view::npos) return {};
  const std::string_view number = rest.substr(end + middle.size());
  const std::string_view digits = number.substr(0, number.find_first_not_of("0123456789"));
  if (digits.empty()) return {};
  return format("{}:{}", rest.substr(0, end), digits).substr(0, frame_bytes_max);
}

std::string TaskError::text() const {
  const std::string_view line = std::string_view(message).substr(0, message.find('\n'));
  constexpr size_t line_bytes_max = 300;
  return frame.empty() ? printable(line, line_bytes_max)
                       : format("{} ({})", printable(line, line_bytes_max), printable(frame, 200));
}

std::optional<TaskError> parse_task_error(std::string_view json, int64_t written_ns) {
  const auto document = Json::parse(json);
  if (!document) return std::nullopt;
  TaskError error;
  int64_t stated_s = 0;
  // {"message": "…", "timestamp": 1} or {"message": {"message": "…", "extraInfo": {…}}}. Each
  // launcher within a launcher adds one more level.
  const Json* level = &*document;
  const std::string* message = nullptr;
  while (level != nullptr && message == nullptr) {
    const Json* extra = level->find("extraInfo");
    for (const Json* object : {level, extra}) {
      if (object == nullptr) continue;
      if (const int64_t found = seconds_of(object->find("timestamp"))) stated_s = found;
      const Json* stack = object->find("py_callstack");
      const auto* text = stack != nullptr ? stack->as<std::string>() : nullptr;
      if (text != nullptr) error.frame = python_frame(*text);
    }
    level = level->find("message");
    if (level != nullptr) message = level->as<std::string>();
  }
  if (message == nullptr || trim(*message).empty()) return std::nullopt;
  error.message = std::string(trim(*message)).substr(0, message_bytes_max);
  error.when_ns = more_exact(stated_s, written_ns);
  return error;
}

}  // namespace dt

#include "launcher/check/program_findings.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/some_of.h"

#include <algorithm>

namespace dt {

namespace {

constexpr size_t names_max = 3;  ///< hosts in a message
constexpr size_t digest_shown = 12;

/// "3.11" of "3.11.2": packages and pickles depend on these two numbers.
std::string minor_version(const std::string& version) {
  const size_t first = version.find('.');
  return version.substr(0, first == std::string::npos ? first : version.find('.', first + 1));
}

/// Counts values by the hosts that have them.
class Counter {
 public:
  void add(const std::string& host, const std::string& value) {
    if (value.empty()) return;
    const auto found = std::ranges::find(values_, value, &CommonValue::value);
    if (found == values_.end()) {
      values_.push_back({value, {host}});
    } else {
      found->hosts.push_back(host);
    }
  }
  CommonValue most_common() const {
    const auto best = std::ranges::max_element(
        values_, {}, [](const CommonValue& value) { return value.hosts.size(); });
    return best == values_.end() ? CommonValue() : *best;
  }

 private:
  std::vector<CommonValue> values_;
};

std::string have(const std::vector<std::string>& hosts) {
  return format("{} {}", some_of(hosts, names_max), hosts.size() == 1 ? "has" : "have");
}

void warn(Finding& finding, std::string remedy) {
  finding.grade = Grade::warning;
  finding.remedy = std::move(remedy);
}

Finding path_finding(const HostDiagnostics& host, const CommonPrograms& common) {
  if (host.path_missing.empty()) return {"path", Grade::ok, "all folders exist"};
  const size_t missing = host.path_missing.size();
  const std::string first = printable(host.path_missing.front(), 200);
  Finding finding = {"path", Grade::ok,
                     missing == 1
                         ? format("missing here: {}", first)
                         : format("{} folders are missing here, such as {}", missing, first)};
  for (const std::string& folder : host.path_missing) {
    const auto others = common.folders.find(folder);
    if (others == common.folders.end() || others->second.empty()) continue;
    warn(finding, format("{} {}: a job finds other programs there, or none here",
                         have(others->second), printable(folder, 200)));
    break;
  }
  return finding;
}

Finding command_finding(const HostDiagnostics& host, const CommonPrograms& common) {
  if (!host.command_failure.empty()) {
    return {"command", Grade::failure, printable(host.command_failure, 400),
            "copy it there, or give its path on the hosts"};
  }
  Finding finding = {"command", Grade::ok, printable(host.command_path, 200)};
  if (host.command_path != common.command_path.value) {
    warn(finding, format("{} {}", common.command_path.hosts_have(),
                         printable(common.command_path.value, 200)));
    return finding;
  }
  // The versions of Python are compared, and its file differs between builds of one version.
  const bool comparable = !host.command_sha256.empty() && host.command_path != host.python_path;
  if (comparable && host.command_sha256 != common.command_sha256.value) {
    const auto shown = [](const std::string& digest) { return digest.substr(0, digest_shown); };
    finding.text += format(", SHA-256 {}…", shown(host.command_sha256));
    warn(finding, format("{} another file there, SHA-256 {}…; copy one to all hosts",
                         common.command_sha256.hosts_have(), shown(common.command_sha256.value)));
  }
  return finding;
}

/// The folder of the job, and the files of its command. Without --sync, dtrain copies only itself.
Finding folder_finding(const HostDiagnostics& host) {
  const std::string folder = printable(host.folder, 200);
  if (!host.files_missing.empty()) {
    std::vector<std::string> files;
    for (const std::string& file : host.files_missing)
      files.push_back(printable(file));
    return {"folder", Grade::failure,
            host.folder_failure.empty()
                ? format("{} is not in {}", some_of(files, names_max), folder)
                : format("{} and {} are not there", folder, some_of(files, names_max)),
            "start the job with --sync, or copy it to the same path there"};
  }
  if (host.folder_failure.empty()) return {"folder", Grade::ok, folder};
  return {"folder", Grade::warning,
          format("{} cannot be entered: {}", folder, printable(host.folder_failure)),
          "a job starts in the home folder there; copy the folder, or give --chdir"};
}

Finding python_finding(const HostDiagnostics& host, const CommonPrograms& common) {
  if (host.python_path.empty()) {
    return {"python", Grade::warning, "neither python3 nor python is in the PATH of the job",
            "a job gets the PATH of this shell: activate the environment first, or give Python's "
            "whole path"};
  }
  const std::string path = printable(host.python_path, 200);
  if (host.python_version.empty()) {
    return {"python", Grade::warning, path + " prints no version",
            format("try there: {} --version", shell_quote(path))};
  }
  Finding finding = {"python", Grade::ok, format("{} at {}", host.python_version, path)};
  if (minor_version(host.python_version) != common.python.value) {
    warn(finding, format("{} Python {}: packages and pickles may not fit",
                         common.python.hosts_have(), printable(common.python.value)));
  } else if (host.python_path != common.python_path.value) {
    warn(finding, format("{} {}: its packages may differ", common.python_path.hosts_have(),
                         printable(common.python_path.value, 200)));
  }
  return finding;
}

std::string module_text(const PythonModule& module) {
  const std::string name = printable(module.name);
  if (!module.failure.empty()) return format("{}: {}", name, printable(module.failure, 300));
  return module.version.empty() ? name : format("{} {}", name, printable(module.version));
}

Finding modules_finding(const HostDiagnostics& host, const CommonPrograms& common) {
  Finding finding = {"modules", Grade::ok, ""};
  std::vector<std::string> texts;
  std::vector<std::string> others;
  bool failed = false;
  for (const PythonModule& module : host.modules) {
    texts.push_back(module_text(module));
    failed = failed || !module.failure.empty();
    const auto usual = common.modules.find(module.name);
    if (usual == common.modules.end() || usual->second.value == module.version) continue;
    others.push_back(format("{} {} {}", usual->second.hosts_have(), printable(module.name),
                            printable(usual->second.value)));
  }
  finding.text = join(texts, ", ");
  if (!others.empty()) warn(finding, join(others, "; "));
  if (failed) {
    finding.grade = Grade::failure;
    if (finding.remedy.empty())
      finding.remedy = "install what is missing for this Python, or activate its environment";
  }
  return finding;
}

/// Returns the hosts that have this folder.
std::vector<std::string> hosts_with(const std::string& folder, const FactsOfHosts& hosts) {
  std::vector<std::string> names;
  for (const auto& [name, facts] : hosts) {
    if (std::ranges::count(facts->path_missing, folder) == 0) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string CommonValue::hosts_have() const {
  return have(hosts);
}

CommonPrograms common_programs(const FactsOfHosts& hosts) {
  Counter python;
  Counter python_path;
  Counter command_path;
  Counter command_sha256;
  std::map<std::string, Counter> modules;
  CommonPrograms common;
  for (const auto& [name, facts] : hosts) {
    python.add(name, minor_version(facts->python_version));
    python_path.add(name, facts->python_path);
    command_path.add(name, facts->command_path);
    command_sha256.add(name, facts->command_sha256);
    for (const PythonModule& module : facts->modules)
      modules[module.name].add(name, module.version);
    for (const std::string& folder : facts->path_missing)
      common.folders.emplace(folder, hosts_with(folder, hosts));
  }
  common.python = python.most_common();
  common.python_path = python_path.most_common();
  common.command_path = command_path.most_common();
  common.command_sha256 = command_sha256.most_common();
  for (const auto& [module, versions] : modules) {
    if (!versions.most_common().value.empty()) common.modules[module] = versions.most_common();
  }
  return common;
}

std::vector<Finding> program_findings(const HostDiagnostics& host, const CommonPrograms& common) {
  std::vector<Finding> findings = {path_finding(host, common)};
  if (!host.command_path.empty() || !host.command_failure.empty())
    findings.push_back(command_finding(host, common));
  if (!host.folder.empty()) findings.push_back(folder_finding(host));
  findings.push_back(python_finding(host, common));
  if (!host.modules.empty()) findings.push_back(modules_finding(host, common));
  return findings;
}

}  // namespace dt

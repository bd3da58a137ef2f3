"""The rooms of the code: which folder may include which, and the one home of each library (architecture.py)."""

# Which folders and files a folder may include; itself always. tests/ may include all. A longer path wins.
ARROWS = {
    "base": set(),
    "choices": {"base"},
    "gpu": {"base", "choices"},
    "rendezvous": {"base"},
    "comm": {"base", "choices", "gpu", "rendezvous"},
    "launcher": {"base", "choices", "gpu", "rendezvous"},
    "cmd": {"base", "choices", "gpu", "rendezvous", "comm", "launcher"},
    "cmd/bench": {"base", "comm/include/dtrain/dtrain.h", "comm/include/dtrain/dtrain_memory.h", "gpu/device.h",
                  "gpu/devices/open_devices.h"},
    "man": {"base", "launcher", "cmd"},
    "examples": set(),
    "python": {"comm/include/dtrain/dtrain.h", "comm/include/dtrain/dtrain_device.h",
               "comm/include/dtrain/dtrain_work.h"},
}
# The headers that programs outside include, as <dtrain/…>. They include each other without a folder.
PUBLIC = "comm/include/dtrain/"
# The floors of a folder, low to high: each includes itself and those before it. "" is what stands in the
# folder itself; where it is not named, no source may.
FLOORS = {
    "base": ("", "io", "kernels"),
    "gpu": ("", "kernels", "cpu", "nccl", "cuda", "peers", "devices", "cross_device"), "cmd": ("bench", "cache", ""),
    "rendezvous": ("cluster", "secure", "horovod", "store"),
    "comm": ("include", "memory", "transport", "peer", "schedule", "shared", "collective", "group", "named", "engine",
             "driver", "device", "api", "training"),
    "comm/training": ("ps", "strategy", "coordinator"),
    "comm/training/ps": ("state", "", "api"),
    "launcher": ("ssh", "config", "process", "protocol", "plan", "environment", "network", "sync", "mounts", "agent",
                 "export", "connect", "slurm", "console", "discovery", "report", "nodes", "kept", "job", "check"),
    "launcher/ssh": ("config", "keys", ""), "launcher/export": ("", "kubernetes"),
    "launcher/job": ("start", "generations", "supervision", "sync", ""),
    "launcher/config": ("words", "hosts", "allocation", "restarts", "resources", "tables", "sync", "mounts", "nodes",
                        "output", "", "files", "jobs"),
    "launcher/sync": ("", "source", "store", "setup", "fetch", "host", "server"),
}

# The one place of each third-party library: a pattern of paths, and how many files may match it.
HOMES = {
    "CLI": r"cmd/options\.cc",
    "toml++": r"launcher/config/files/toml_document\.cc",
    "openssl": r"base/crypto\.cc",
    "libssh2": r"launcher/ssh/libssh2\.cc",
    "nlohmann": r"base/json\.cc",
    "fmt": r"base/format\.(h|cc)",
    "tl": r"base/result\.h",
    "hwloc": r"launcher/process/topology\.cc",
    "doctest": r"tests/.*",
    "benchmark": r"tests/.*",
    "dtrain": r"(examples|tests)/.*",
    "python": r"python/core/core\.h",
    "cuda": r"gpu/(cuda|kernels)/.*|examples/.*\.cu|tests/cuda/.*",
    "nccl": r"gpu/nccl/nccl_header_check\.cc",
}
# Third-party headers that have no folder of their own.
FLAT_HEADERS = {"hwloc.h": "hwloc", "libssh2.h": "libssh2", "Python.h": "python", "nccl.h": "nccl",
                "cuda_runtime_api.h": "cuda", "cuda.h": "cuda", "cuda_runtime.h": "cuda", "cuda_fp16.h": "cuda", "cuda_bf16.h": "cuda", "cuda_fp8.h": "cuda"}
MANY_FILES = {"cuda", "fmt", "doctest", "benchmark", "dtrain"}
SYSTEM_FOLDERS = {"arpa", "linux", "net", "netinet", "sys"}

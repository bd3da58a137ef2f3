#!/usr/bin/env bash
# Jobs written for Kubernetes: dtrain export kubernetes. In kubernetes/, kubernetes_pods.py reads the manifests as a
# cluster would, and kubernetes_schema.py has the schemas of their kinds.
. "$(dirname "$0")/lib.sh"
tests=$(realpath "$(dirname "$0")")
examples=$(realpath "$tests/../../examples/kubernetes")
export PYTHONPATH=$tests/kubernetes:$tests PYTHONDONTWRITEBYTECODE=1

needs_yaml() { python3 -c 'import yaml' 2>/dev/null || skip 'no python3-yaml here, which reads the manifests'; }
kinds=(indexed-job jobset trainjob mpijob)

# Writes job.toml with each part that a manifest has in a form of its own.
write_whole_job() {
  cat >job.toml <<'END_OF_JOB'
schema = 1
name = "whole"
image = "reg/train:v1"
command = ["python", "train.py"]
nnodes = "3"
nproc_per_node = "2"
max_restarts = 2
timeout = "1h"
grace = "1500ms"
env = { NOTE = "a", PORT = "4" }
[code]
path = "code"
[[mounts]]
source = "nfs://store/data"
target = "/data"
read_only = true
[[mounts]]
source = "/srv"
target = "/srv/host"
[roles.worker]
replicas = 6
resources = { cpus = 2, gpus = 1, memory = "1G" }
END_OF_JOB
  mkdir -p code/pkg
  printf 'import pkg.a\n\nprint("ä")\n' >code/train.py
  echo 'a = 1' >code/pkg/a.py
  printf '\377\0\1' >code/net.bin
  printf '#!/bin/sh\n' >code/start.sh
  chmod 755 code/start.sh
}

# Writes roles.toml, a job of parameter servers.
write_role_job() {
  printf '%s\n' 'schema = 1' 'image = "tf:v1"' 'command = ["python", "train.py", "--task={index}"]' 'env_set = ["tf"]' \
    '[roles.ps]' 'replicas = 2' 'restart = "on-failure:3"' '[roles.worker]' 'replicas = 12' '[roles.chief]' \
    'replicas = 1' 'resources = { gpus = 2 }' >roles.toml
}

export_all_kinds() {
  local kind
  for kind in "${kinds[@]}"; do
    run_dtrain export kubernetes job.toml --kind "$kind" -o "$kind.yaml" "$@"
    expect_status 0
  done
}

test_every_kind_with_every_option_fits_its_schema() {
  needs_yaml
  write_whole_job
  write_role_job
  local options count=0
  # shellcheck disable=SC2086 # one word an option
  for options in '' '--queue team' '--claim disk:/out --claim read:/in:ro' '--secret shared.token' --with-secret \
    --without-dtrain '--queue team --claim disk:/out --with-secret' '--queue team --claim disk:/out --without-dtrain'; do
    export_all_kinds $options
    mkdir $((++count))
    mv ./*.yaml $count
  done
  for options in '' '--queue team' --without-dtrain; do
    # shellcheck disable=SC2086
    run_dtrain export kubernetes job.toml --kind trainjob --runtime torch-distributed $options -o $((++count)).yaml
    expect_status 0
    # shellcheck disable=SC2086
    run_dtrain export kubernetes roles.toml --kind jobset $options -o roles$count.yaml
    expect_status 0
  done
  expect python3 "$tests/kubernetes/kubernetes_schema.py" ./*.yaml ./*/*.yaml
}

test_an_inserted_typo_is_caught() {
  needs_yaml
  write_whole_job
  export_all_kinds --queue team
  cat >typos.py <<'END_OF_PYTHON'
import copy, sys
from kubernetes_pods import load
from kubernetes_schema import document_faults

OPEN = {"labels", "selector", "limits", "data", "binaryData"}

def maps(value, path=()):
    """The paths of all maps whose members have given names."""
    if isinstance(value, dict):
        if path[-1:] and path[-1] in OPEN:
            return
        yield path
        for name, member in value.items():
            yield from maps(member, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from maps(item, (*path, at))

checked = 0
for file in sys.argv[1:]:
    for document in load(file):
        assert not list(document_faults(document, file)), file
        if document["kind"] in ("Service", "ConfigMap"):
            continue
        for path in list(maps(document)):
            broken = copy.deepcopy(document)
            place = broken
            for part in path:
                place = place[part]
            # JobSet's network and the like may be empty maps, whose members the schema names, too.
            place["replicaz"] = 1
            assert list(document_faults(broken, file)), f"{file}: {path} takes any member"
            checked += 1
assert checked > 100, checked
END_OF_PYTHON
  expect python3 typos.py ./*.yaml
}

test_pods_of_every_kind_get_the_words_variables_and_files_of_the_job() {
  needs_yaml
  cat >texts.py <<'END_OF_PYTHON'
import json, os, random, shutil, sys
random.seed(int(sys.argv[1]))
signs = "ab1 0.-_~:#'\"\\$$$$(((X))@`%&*!|>?{}[],=<\n\t\r\x1b\x7f\x85\xa0ä€\u2028\ufeff\U0001f600/yesnoNULL"
odd = ["$(X)", "$$(X)", "$", "$$", "$(", "$ä", "$$$€", "$(A0)", "no", "1e3", "", " ", "a\nb\n", "a\n\nb", "\n", " a\nb\n", "---"]
texts = odd + ["".join(random.choice(signs) for _ in range(random.randrange(1, 14))) for _ in range(100)]
quote = lambda text: json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
lines = ["schema = 1", 'image = "i"', 'nnodes = "2"', 'nproc_per_node = "1"', "no_macros = true"]
lines += ["command = [" + ",\n".join(['"x"', *map(quote, texts)]) + "]", "[code]", 'path = "code"', "[env]"]
lines += [f"A{at} = {quote(text)}" for at, text in enumerate(texts)]
shutil.rmtree("code", ignore_errors=True)
for at, text in enumerate(texts):
    folder = f"code/{at}{text.replace('/', '')}"
    os.makedirs(folder)
    open(f"{folder}/{text.replace('/', '').lstrip('.')}a", "w", newline="").write(text)
open("job.toml", "w").write("\n".join(lines) + "\n")
json.dump(texts, open("texts.json", "w"))
END_OF_PYTHON
  cat >judge.py <<'END_OF_PYTHON'
import base64, json, os, sys
from kubernetes_pods import load, read_pods
texts = json.load(open("texts.json"))
files = {f"/{folder}/{name}": open(f"{folder}/{name}", "rb").read() for folder, _, names in os.walk("code") for name in names}
assert len(files) == len(texts), files
for file in sys.argv[1:]:
    pods = [pod for pod in read_pods(load(file), "t") if pod["role"] != "worker" or "x" in pod["command"]]
    assert pods, file
    for pod in pods:
        words = pod["command"][pod["command"].index("x") + 1:]
        assert words == texts, [pair for pair in zip(words, texts) if pair[0] != pair[1]][:5]
        values = [pod["environment"][f"A{at}"] for at in range(len(texts))]
        assert values == texts, [pair for pair in zip(values, texts) if pair[0] != pair[1]][:5]
        found = {path: base64.b64decode(text) for path, (text, _) in pod["files"].items() if path.startswith("/code/")}
        assert found == files, list(set(found.items()) ^ set(files.items()))[:5]
END_OF_PYTHON
  local round
  for round in 1 2 3; do
    expect python3 texts.py $RANDOM
    export_all_kinds
    run_dtrain export kubernetes job.toml --kind jobset --without-dtrain -o plain.yaml
    expect_status 0
    expect python3 judge.py ./*.yaml
    rm ./*.yaml
  done
}

test_nodes_have_different_ranks_and_one_first_node() {
  needs_yaml
  write_whole_job
  export_all_kinds
  cat >judge.py <<'END_OF_PYTHON'
from kubernetes_pods import load, read_pods

def option(words, name):
    return words[words.index(name) + 1]

for kind in ("indexed-job", "jobset"):
    pods = read_pods(load(kind + ".yaml"), "t" * 64)
    ranks = {}
    for pod in pods:
        words = pod["command"]
        assert words[:2] == ["dtrain", "run"] and words[words.index("--") + 1:] == ["python", "train.py"], words
        place, _, variable = option(words, "--node-rank").partition(":")
        assert place == "env", words
        ranks[pod["environment"][variable]] = f"{pod['host']}.{pod['domain']}"
        assert option(words, "--nnodes") == "3" and option(words, "--nproc-per-node") == "2", words
        assert pod["environment"]["DTRAIN_NODES_TOKEN"] == "t" * 64, pod
        assert "--max-restarts" not in words and option(words, "--timeout") == "1h", words
        assert pod["folder"] == "/code" and pod["grace"] == 12 and pod["restart"] == "Never", pod
    assert sorted(ranks) == ["0", "1", "2"], ranks
    assert {option(pod["command"], "--master-addr") for pod in pods} == {ranks["0"]}, ranks
pods = read_pods(load("trainjob.yaml"), "t" * 64)
assert [pod["environment"]["PET_NODE_RANK"] for pod in pods] == ["0", "1", "2"]
for pod in pods:
    assert pod["command"][:2] == ["dtrain", "run"] and "--nnodes" not in pod["command"], pod["command"]
    assert pod["environment"]["PET_NPROC_PER_NODE"] == "2" and pod["environment"]["DTRAIN_NODES_TOKEN"] == "t" * 64
launcher, *workers = read_pods(load("mpijob.yaml"), "t" * 64)
assert launcher["command"][:2] == ["dtrain", "run"] and "--nnodes" not in launcher["command"], launcher
assert "DTRAIN_NODES_TOKEN" not in launcher["environment"] and len(workers) == 3, launcher
END_OF_PYTHON
  expect python3 judge.py
}

test_pods_find_the_files_of_the_code() {
  needs_yaml
  write_whole_job
  export_all_kinds
  cat >judge.py <<'END_OF_PYTHON'
import base64, os
from kubernetes_pods import load, read_pods
wanted = {}
for folder, _, names in os.walk("code"):
    for name in names:
        path = os.path.join(folder, name)
        mode = 0o555 if os.stat(path).st_mode & 0o100 else 0o644
        wanted["/" + path] = (open(path, "rb").read(), mode)
assert len(wanted) == 4, wanted
for kind in ("indexed-job", "jobset", "trainjob", "mpijob"):
    for pod in read_pods(load(kind + ".yaml"), "t"):
        files = {path: (base64.b64decode(text), mode) for path, (text, mode) in pod["files"].items()}
        files.pop("/etc/mpi/hostfile", None)
        assert files == wanted, (kind, files)
END_OF_PYTHON
  expect python3 judge.py
  head -c 200000 /dev/zero >code/large
  run_dtrain export kubernetes job.toml --kind jobset
  expect_status 0
  expect_stderr_contains 'the code of 200'
  expect_stderr_contains 'since a ConfigMap has at most 184320; the image must have it at /code'
  expect_stdout_lacks 'kind: ConfigMap'
}

test_roles_are_pods_with_tf_config_as_for_compose() {
  needs_yaml
  write_role_job
  run_dtrain export kubernetes roles.toml --kind jobset -o pods.yaml
  expect_status 0
  run_dtrain export compose roles.toml -o compose.yaml
  expect_status 0
  cat >judge.py <<'END_OF_PYTHON'
import json, yaml
from kubernetes_pods import load, read_pods
services = yaml.safe_load(open("compose.yaml"))["services"]
pods = read_pods(load("pods.yaml"), "t")
assert len(pods) == len(services) == 15
names = {}
for pod in pods:
    task = json.loads(pod["environment"]["TF_CONFIG"])["task"]
    assert task["type"] == pod["role"], task
    names[f"{task['type']}-{task['index']}"] = pod
assert set(names) == set(services), names.keys()
for name, pod in names.items():
    service = services[name]
    wanted = json.dumps(service["environment"])
    for other in sorted(names, key=len, reverse=True):
        wanted = wanted.replace(f'"{other}"', f'"{names[other]["host"]}.roles"')
        wanted = wanted.replace(f'{other}:', f'{names[other]["host"]}.roles:')
    found = {key: value for key, value in pod["environment"].items() if key != "JOB_COMPLETION_INDEX"}
    assert found == json.loads(wanted), (name, found, wanted)
    assert pod["command"] == service["command"], (name, pod["command"])
    assert pod["restart"] == ("OnFailure" if pod["role"] == "ps" else "Never"), pod
(job_set,) = load("pods.yaml")
assert job_set["spec"]["successPolicy"]["targetReplicatedJobs"] == ["chief"], job_set
END_OF_PYTHON
  expect python3 judge.py
}

test_only_with_secret_writes_a_token_for_this_user_alone() {
  local file
  run_dtrain export kubernetes --nnodes 2 --kind jobset --image i -- true
  expect_status 0
  expect_stdout_contains "#   kubectl create secret generic dtrain-dtrain --from-literal=token=\$(dtrain token)"
  expect_stdout_lacks 'kind: Secret'
  for file in one two; do
    run_dtrain export kubernetes --nnodes 2 --kind jobset --image i --with-secret -o $file.yaml -- true
    expect_status 0
    expect_stdout ''
    expect test "$(stat -c %a $file.yaml)" = 600
    sed -n 's/^  token: "\?\([0-9a-f]*\)"\?$/\1/p' $file.yaml >$file
    expect grep -qxE '[0-9a-f]{64}' $file
  done
  expect_not cmp -s one two
  run_dtrain export kubernetes --nnodes 2 --kind jobset --image i --with-secret -- true
  expect_status 2
  expect_stdout ''
  expect_stderr_contains '--with-secret: the terminal would show the token; write the text to a file: -o FILE'
}

test_faults_are_named_before_anything_is_written() {
  head -c 1000000 /dev/zero | tr '\0' x >value
  printf '%s\n' 'schema = 1' 'image = "i"' 'command = ["x"]' 'nnodes = "2"' >job.toml
  printf '%s\n' 'schema = 1' 'image = "i"' 'command = ["x"]' '[roles.ps]' 'replicas = 1' '[roles.worker]' \
    'replicas = 2' >roles.toml
  printf '%s\n' 'schema = 1' 'image = "i"' 'command = ["x"]' "env = { BIG = \"$(cat value)\" }" 'np = 2' >big.toml
  refused() {
    run_dtrain export kubernetes "${@:2}" -o out.yaml
    expect_status 2
    expect_stdout ''
    expect_stderr_contains "$1"
    expect_not test -e out.yaml
  }
  refused '--name, or the file'"'"'s own, "My_Job": Kubernetes takes' job.toml --kind jobset --name My_Job
  refused 'the name of a pod would be' job.toml --kind jobset --name "$(printf 'a%.0s' {1..60})"
  refused 'takes 1000004 bytes; a variable can have 131071' big.toml --kind indexed-job
  refused '0.5 of a GPU for each process; Kubernetes gives pods whole ones' job.toml --kind jobset \
    --role worker=2 --role-gpus worker=0.5
  refused 'the roles ps=1, worker=2: the pods of indexed-job are equal; write: --kind jobset' roles.toml \
    --kind indexed-job
  refused 'the pods of trainjob are equal' roles.toml --kind trainjob
  refused 'the pods of mpijob are equal' roles.toml --kind mpijob
  refused '--nnodes: expected a number of nodes' job.toml --kind jobset --nnodes many
  refused '4 processes on 3 nodes' job.toml --kind jobset --nnodes 3 -np 4
  refused 'role worker: a pod needs an image' --kind jobset --nnodes 2 -- x
  refused '--kind: "job-set" is none of its kinds; did you mean jobset?' job.toml --kind job-set
  refused 'the mount at /a:b: Kubernetes takes no :' job.toml --kind jobset --mount /srv:/a:b
  refused '--success chief: this job has no such task; its roles: worker' job.toml --kind trainjob --success chief
  refused '--strategy mirrored: it trains in one process, and the job has 2 workers' job.toml --kind indexed-job \
    --strategy mirrored
  refused 'two mounts have the target /data' job.toml --kind jobset --claim a:/data --mount /srv:/data
  refused '--claim "A": Kubernetes takes' job.toml --kind jobset --claim A:/data
  run_dtrain export kubernetes job.toml --kind jobset --setup 'pip install .'
  expect_status 0
  expect_stderr_contains 'not expressed: the option setup'
  expect_stdout_lacks 'pip install'
  run_dtrain export kubernetes job.toml --kind jobset --mount /srv:/data
  expect_status 0
  expect_stderr_contains 'the mount of /srv is a folder of each node, by hostPath'
}

# Objects beside the job have longer names than its label may have.
test_names_of_any_length_are_refused_here_or_by_no_cluster() {
  needs_yaml
  write_whole_job
  local kind bytes refused accepted=0
  for kind in "${kinds[@]}"; do
    refused=0
    for bytes in 40 43 46 49 52 55 58 61 63 64; do
      run_dtrain export kubernetes job.toml --kind "$kind" --with-secret --name "$(printf 'a%.0s' $(seq $bytes))" \
        -o "$kind$bytes.yaml"
      if [[ -e $kind$bytes.yaml ]]; then expect_status 0 && accepted=$((accepted + 1)); else expect_status 2 && refused=1; fi
    done
    expect test $refused = 1
  done
  expect test $accepted -ge 15
  expect python3 "$tests/kubernetes/kubernetes_schema.py" ./*.yaml
}

test_nodes_may_come_from_hosts_and_from_variables() {
  printf '%s\n' 'schema = 1' 'image = "i"' 'command = ["x"]' 'hosts = ["a:4", "b:4"]' >job.toml
  run_dtrain export kubernetes job.toml --kind jobset
  expect_status 0
  expect_stdout_contains 'replicas: 2'
  expect_stderr 'dtrain: warning: not expressed: the names of the hosts, since Kubernetes chooses the nodes'
  run env DTRAIN_OPT_NNODES=5 "$DTRAIN" export kubernetes --kind jobset --image i -- x
  expect_status 0
  expect_stdout_contains 'replicas: 5'
}

# The words that write the manifests of examples/, in that folder.
write_example() {
  case $1 in
    parameter_servers) run_dtrain export kubernetes parameter_servers.toml --kind jobset ;;
    *) run_dtrain export kubernetes train.toml --kind "$1" ;;
  esac
}

test_the_examples_are_as_the_export_writes_them() {
  local example
  cd "$examples" || exit
  for example in "${kinds[@]}" parameter_servers; do
    write_example "$example"
    expect_status 0
    expect cmp "$out/stdout" "$example.yaml"
  done
}

test_the_examples_fit_their_schemas() {
  needs_yaml
  expect python3 "$tests/kubernetes/kubernetes_schema.py" "$examples"/*.yaml
}

test_no_example_contains_a_token() {
  run grep -rnE '(^|[^0-9a-f])[0-9a-f]{64}([^0-9a-f]|$)|kind: Secret' "$examples/.."
  expect_status 1
  expect_stdout ''
}

run_tests "$@"

#!/usr/bin/env bash
# Jobs written for other launchers: dtrain export compose and slurm.
. "$(dirname "$0")/lib.sh"

needs_yaml() { python3 -c 'import yaml' 2>/dev/null || skip 'no python3-yaml here, which judges the YAML'; }

# Writes job.toml, whose command and variables have all characters that a shell, YAML or compose reads; the words of the
# command in `words`, each with a NUL behind it; the variables in env.json.
write_hard_job() {
  python3 - <<'END'
import json
words = ["python", "$HOME", "$$", "${X}", "\\", "\\\\", "'", '"', "$ \\ ' \" \\\\ \n.", "a\nb\n", "\n", "", " ", "no", "1e3",
         "on", "~", "007", "0x1", "2026-01-01", "12:30:00", "a: b", "- a", "#", "a #b", "*", "&a", "!x", "%a", "@a", "`a`",
         "{x", "[", "ä€😀", "\t", "-np", "--", "--image=x", "a%sb", "|", ">", "?", "=", "<<", "null", "*.py", "~root", "(a)"]
env = {"NOTE": "a $HOME ${X:-y} $$ 'q' \"d\" \\ \\\\ #\n", "on": "no"}
with open("words", "wb") as file:
    file.write(b"".join(word.encode() + b"\0" for word in words))
with open("env.json", "w") as file:
    json.dump(env, file)
text = lambda value: json.dumps(value, ensure_ascii=False)
with open("job.toml", "w") as file:
    print(f"""schema = 1
image = "reg/train:v1"
no-tag = true
command = {text(words)}
[env]
NOTE = {text(env["NOTE"])}
on = "no"
[roles.worker]
replicas = 1""", file=file)
END
}

# Compares the words and variables of a service in the YAML file $1 with those of job.toml.
same_as_job() {
  python3 - "$1" <<'END'
import json, sys, yaml
service = yaml.safe_load(open(sys.argv[1]))["services"]["worker-0"]
words = [word.replace("$$", "$") for word in service["command"]]
wanted = open("words", "rb").read().decode().split("\0")[:-1]
assert words == wanted, [pair for pair in zip(words, wanted) if pair[0] != pair[1]]
for name, value in json.load(open("env.json")).items():
    assert service["environment"][name].replace("$$", "$") == value, service["environment"][name]
assert service["stop_grace_period"] == "20s", service
assert service["init"] is True and service["restart"] in ("no", False), service
END
}

test_the_words_of_a_command_reach_compose_as_they_are() {
  needs_yaml
  write_hard_job
  run_dtrain export compose job.toml -o compose.yaml
  expect_status 0
  expect_stdout ''
  expect same_as_job compose.yaml
}

test_docker_compose_takes_the_file_and_its_words() {
  command -v docker-compose >/dev/null || skip 'no docker-compose here: tools/setup.sh ci installs it'
  needs_yaml
  write_hard_job
  printf '%s\n' '[roles.ps]' 'replicas = 2' 'restart = "on-failure:3"' '[code]' 'path = "."' 'target = "/root/code"' \
    >>job.toml
  run_dtrain export compose job.toml --gpu-bind rank -o compose.yaml
  expect_status 0
  run docker-compose -f compose.yaml config -q
  expect_status 0
  expect_stderr ''
  run docker-compose -f compose.yaml config
  expect_status 0
  cp "$out/stdout" read.yaml
  expect same_as_job read.yaml
}

test_pyyaml_reads_the_texts_that_were_written() {
  needs_yaml
  cat >texts.py <<'END'
import json, random, sys
random.seed(int(sys.argv[1]))
signs = "ab1 0.-_~:#'\"\\$@`%&*!|>?{}[],=<\n\t\r\x1b\x7f\x85\xa0ä€\u2028\ufeff\ufffd\U0001f600/yesnoNULL"
words = ["yes", "No", "1e3", "0o7", ".5", "-.inf", "null", "2026-01-01 1:2:3", "0b1", "+1", "1_0", "---", "...", "<<"]
texts = [random.choice(words) if random.random() < 0.1 else
         "".join(random.choice(signs) for _ in range(random.randrange(1, 14))) for _ in range(10000)]
quoted = [json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f") for text in texts]
lines = ["schema = 1", 'image = "i"', "np = 1", "no-macros = true", "command = [" + ",\n".join(['"x"'] + quoted) + "]"]
lines += ["[env]"] + [f"A{i} = {text}" for i, text in enumerate(quoted[:500])]
names = {text.replace("=", ""): 1 for text in texts[:500]}
lines += [json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f") + ' = "1"' for name in names
          if name and name not in ("PYTHONUNBUFFERED", "TF_CONFIG")]
open("job.toml", "w").write("\n".join(lines) + "\n")
json.dump([texts, [name for name in names if name]], open("texts.json", "w"))
END
  cat >judge.py <<'END'
import json, yaml
texts, names = json.load(open("texts.json"))
text = open("compose.yaml", newline="").read()
service = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["services"]["worker-0"]
read = [word.replace("$$", "$") for word in service["command"][1:]]
bad = [pair for pair in zip(read, texts) if pair[0] != pair[1]]
assert len(read) == len(texts) and not bad, bad[:5]
for i, value in enumerate(texts[:500]):
    assert service["environment"][f"A{i}"].replace("$$", "$") == value, value
assert all(name in service["environment"] for name in names), "a name"
# The reader in Python differs from that in C, and is slow.
lines = [line[8:] for line in text.split("\n") if line.startswith("      - ")][:1500]
read = [yaml.safe_load(line).replace("$$", "$") for line in lines]
assert read == (["x"] + texts)[:1500], [pair for pair in zip(read, ["x"] + texts) if pair[0] != pair[1]][:5]
END
  expect python3 texts.py $RANDOM
  run_dtrain export compose job.toml -o compose.yaml
  expect_status 0
  expect python3 judge.py
}

test_the_words_of_a_command_reach_dtrain_from_the_script_for_slurm() {
  write_hard_job
  sed -i 's/^\[env\]/timeout = "1h"\nsetup = ["echo $A; echo b"]\n&/' job.toml
  echo 'env = { Q = "it is $Q" }' >>job.toml
  run_dtrain export slurm job.toml -o job.sh
  expect_status 0
  mkdir bin
  # shellcheck disable=SC2016 # for the stub
  printf '#!/bin/sh\nprintf "%%s\\0" "$@" >>said\n' >bin/dtrain
  chmod +x bin/dtrain
  run env PATH="$PWD/bin:$PATH" sh job.sh
  expect_status 0
  python3 - <<'END' || fail 'the words differ'
said = open("said", "rb").read().split(b"\0")[:-1]
words = open("words", "rb").read().split(b"\0")[:-1]
# The command has -- as a word, too.
at = said.index(b"--")
assert said[at + 1:] == words, (said[at + 1:], words)
options = said[:at]
assert options[0] == b"run", options
for name, value in {b"--timeout": b"1h", b"--setup": b"echo $A; echo b", b"--role": b"worker=1",
                    b"--role-env": b"worker=Q=it is $Q"}.items():
    assert options[options.index(name) + 1] == value, options
END
  for line in --job-name=job --nodes=1 --ntasks-per-node=1 --time=01:00:50 --signal=B:TERM@20; do
    expect grep -qxF "#SBATCH $line" job.sh
  done
  expect sh -n job.sh
}

test_a_script_for_slurm_starts_the_same_job() {
  printf '%s\n' 'schema = 1' 'np = 2' 'no_tag = true' 'env = { A = "from file" }' \
    'command = ["sh", "-c", "echo $A $WORLD_SIZE"]' >job.toml
  run_dtrain export slurm job.toml -o job.sh
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  run env PATH="$PWD/bin:$PATH" sh job.sh
  expect_status 0
  expect_stdout_lines 'from file 2' 'from file 2'
}

test_one_line_names_what_the_target_lacks() {
  printf '%s\n' 'schema = 1' 'np = 1' 'command = ["x"]' 'image = "i"' 'hosts = ["nowhere.invalid:1"]' \
    'max_restarts = 2' >job.toml
  run_dtrain export compose job.toml
  expect_status 0
  expect_stderr 'dtrain: warning: not expressed: the hosts, since compose starts all containers on one machine; the option max-restarts'
  expect_stdout_contains '# - the option max-restarts'
  run_dtrain export slurm job.toml
  expect_status 0
  expect_stderr 'dtrain: warning: not expressed: the names of the hosts, since Slurm chooses the nodes; the images'
  expect_stdout_contains '  --max-restarts 2 '
}

test_wrong_exports_are_errors_with_the_next_step() {
  printf '%s\n' 'schema = 1' 'np = 1' 'command = ["x"]' >job.toml
  refused() {
    run_dtrain export "${@:2}"
    expect_status 2
    expect_stdout ''
    expect_stderr_contains "$1"
  }
  refused 'add image = "NAME:TAG" to the file' compose job.toml
  mkdir folder
  refused '"folder" is a folder; name a file in it' slurm job.toml -o folder
  refused 'exists; write to another file' slurm job.toml -o job.toml
  refused 'No such file or directory' slurm job.toml -o no/where
  refused 'cannot read "absent.toml"' slurm absent.toml
  refused 'did you mean dtrain export compose?' compos job.toml
  refused 'which file?' compose
  printf '%s\n' 'schema = 1' 'command = ["x"]' 'hosts = ["a", "b"]' >open.toml
  refused 'add np = 4' compose open.toml --image i
  printf '%s\n' 'schema = 1' 'command = ["x"]' '[roles.worker]' >role.toml
  refused 'add: replicas = 1' compose role.toml --image i
}

test_an_image_is_for_exports_only() {
  printf '%s\n' 'schema = 1' 'command = ["echo", "ran"]' 'no-tag = true' '[roles.worker]' 'replicas = 1' \
    'image = "reg/train:v1"' >job.toml
  for line in 'job run job.toml' 'job check job.toml' 'run -np 1 --image reg/train:v1 true'; do
    # shellcheck disable=SC2086 # words
    run_dtrain $line
    expect_status 2
    expect_stderr_contains 'image "reg/train:v1" is only for dtrain export; --no-image runs the job on its hosts'
  done
  run_dtrain job run job.toml --no-image
  expect_status 0
  expect_stdout ran
}

run_tests "$@"

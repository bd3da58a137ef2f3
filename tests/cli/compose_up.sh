#!/usr/bin/env bash
# Containers of a file that dtrain export writes, in a Docker of their own: for `make test-long`, as root.
. "$(dirname "$0")/lib.sh"

net=dtrain-docker-$$

# Starts a dockerd whose network, mounts and files are its own. It ends with the test.
docker_up() {
  local program
  for program in dockerd docker-compose docker busybox iptables; do
    command -v "$program" >/dev/null || skip "no $program here: tools/setup.sh docker installs it"
  done
  if [[ $(id -u) -ne 0 ]]; then skip 'dockerd needs root'; fi
  if ! ip netns add "$net" 2>/dev/null; then skip 'no network namespaces here'; fi
  # A short name: it is part of the names of sockets.
  docker=$(mktemp -d /tmp/dtrain-docker.XXXXXX)
  trap 'docker_down; end_marked_processes' EXIT
  ip -n "$net" link set lo up
  echo '{}' >"$docker/config.json"
  export DOCKER_HOST=unix://$docker/sock
  # It is no process of the job under test.
  nsenter --net="/run/netns/$net" unshare --mount env -u TEST_MARKER dockerd --host "$DOCKER_HOST" --data-root \
    "$docker/data" --exec-root "$docker/exec" --pidfile "$docker/pid" --storage-driver vfs --config-file \
    "$docker/config.json" >"$docker/log" 2>&1 &
  dockerd=$!
  wait_for docker_answers
  docker info >/dev/null 2>&1 || skip "dockerd does not start here: $(tail -n 1 "$docker/log")"
}
docker_answers() { docker info >/dev/null 2>&1 || ! kill -0 "$dockerd" 2>/dev/null; }

docker_down() {
  kill "$dockerd" 2>/dev/null && wait "$dockerd"
  ip netns del "$net"
  rm -rf "${docker:?}"
}

# Makes the image tiny:1, a shell and its programs.
make_image() {
  local program
  mkdir -p image/bin
  cp "$(command -v busybox)" image/bin/busybox
  for program in sh sleep nc hostname printf; do ln -s busybox "image/bin/$program"; done
  tar -C image -c . | docker import - tiny:1 >imported || fail 'no image'
}

test_the_job_ends_with_its_chief_and_words_are_exact() {
  docker_up
  make_image
  mkdir -p job/.git
  echo 'ref: refs/heads/main' >job/.git/HEAD
  cd job || exit
  cat >job.toml <<'END'
schema = 1
image = "tiny:1"
outputs = "out"
[code]
path = "."
target = "/root/code"
[roles.chief]
replicas = 1
command = [
  "sh", "-c", "until nc ps-0 2222 </dev/null >answer; do sleep 0.2; done; printf '%s\n' \"$1\" \"$TF_CONFIG\" $(hostname) $RANK >out; exit 7",
  "sh", "$ \\ ' \" \\\\ \nword"]
[roles.ps]
replicas = 1
restart = "always"
command = "trap 'echo ended >ended; exit 3' TERM; echo from $(hostname) | nc -l -p 2222 & while :; do sleep 0.1; done"
END
  run_dtrain export compose job.toml -o compose.yaml
  expect_status 0
  expect grep -qF 'docker compose -f compose.yaml up --exit-code-from chief-0' compose.yaml
  run nsenter --net="/run/netns/$net" docker-compose -p job up --exit-code-from chief-0
  expect_status 7
  expect_file answer 'from ps-0'
  # shellcheck disable=SC1003 # these are the bytes
  expect_file out '$ \ '"'"' " \\ 
word
{"cluster":{"chief":["chief-0:2222"],"ps":["ps-0:2222"]},"task":{"type":"chief","index":0}}
chief-0
0'
  # The server never ends by itself: it had the signal, and time to handle it.
  expect_file ended ended
}

run_tests "$@"

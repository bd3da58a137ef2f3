#!/usr/bin/env bash
# Horovod's rendezvous: the variables of its workers, and the answers to their requests. tests/frameworks has
# real workers.
. "$(dirname "$0")/lib.sh"
horovod_get=$(realpath "$(dirname "$0")")/horovod_get.py
steady_worker=$(dirname "$DTRAIN")/tests/programs/steady_worker

# Makes the requests of a worker, each on its own connection, until all peers have joined.
cat_worker() {
  cat >worker.py <<'END'
import http.client, os, time

def ask(method, path, body=b""):
    link = http.client.HTTPConnection(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
                                      int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]), timeout=30)
    link.request(method, path, body)
    answer = link.getresponse()
    return answer.status, answer.read()

def wait_for(path):
    while True:
        status, value = ask("GET", path)
        if status == 200:
            return value.decode()
        assert status == 404, status
        time.sleep(0.01)

rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
assert ask("PUT", f"/global/{rank}", f"address {rank}".encode()) == (200, b"")
peers = [wait_for(f"/global/{i}") for i in range(size)]
assert peers == [f"address {i}" for i in range(size)], peers
# A scope is deleted once all ranks have asked for it, which each does after it has all addresses.
assert ask("DELETE", f"/global/{rank}") == (200, b"")
while ask("GET", f"/global/{rank}")[0] != 404:
    time.sleep(0.01)
print("met", size)
END
}

test_workers_meet_at_the_rendezvous_and_leave_nothing() {
  cat_worker
  run_dtrain run -np 4 --report report.json --no-tag python3 worker.py
  expect_status 0
  expect_stdout_lines 'met 4' 'met 4' 'met 4' 'met 4'
  expect_stderr ''
  expect grep -qE '"horovod_requests": [1-9]' report.json
  expect grep -q '"rejected": 0' report.json
}

test_workers_get_their_place() {
  run_dtrain run -np 1 --no-tag sh -c 'env | grep ^HOROVOD_ | grep -v PORT | sort'
  expect_status 0
  expect_stdout 'HOROVOD_CONTROLLER=gloo
HOROVOD_CPU_OPERATIONS=gloo
HOROVOD_CROSS_RANK=0
HOROVOD_CROSS_SIZE=1
HOROVOD_GLOO_IFACE=lo
HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1
HOROVOD_HOSTNAME=localhost
HOROVOD_LOCAL_RANK=0
HOROVOD_LOCAL_SIZE=1
HOROVOD_RANK=0
HOROVOD_SIZE=1'
}

test_no_horovod_refuses_every_peer_without_the_token() {
  # shellcheck disable=SC2016
  run_dtrain run -np 1 --no-horovod --report report.json --no-tag sh -c 'python3 "$0" "$DTRAIN_RENDEZVOUS"; env | grep -c ^HOROVOD_GLOO; true' "$horovod_get"
  expect_status 0
  expect_stdout "b''
0"
  expect_stderr_contains 'authentication failed from 127.0.0.1'
  expect grep -q '"rejected": 1' report.json
  expect grep -q '"horovod_requests": 0' report.json
}

# Strangers that send other protocols, or nothing, on many connections each. Prints the answers to each kind once
# all connections are closed. The server closes each within 5 s of its last byte; a busy machine gets 5 s more.
cat_strangers() {
  cat >strangers.py <<'END'
import pathlib, random, socket, sys, time

words = {
    "TLS": bytes.fromhex("16030102000100fc0303") + bytes(512),
    "SSH": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "random": b"\x80" + random.Random(1).randbytes(200),
    "zeros": bytes(200),
    "nothing": b"",
}
host, port = sys.argv[1].rsplit(":", 1)
links = []
for kind, said in words.items():
    for _ in range(15):
        link = socket.create_connection((host, int(port)), timeout=30)
        link.sendall(said)
        links.append((kind, link))
last_word = time.monotonic()
pathlib.Path("strangers are there").touch()

def all_of(link):
    heard = b""
    try:
        while part := link.recv(1000):
            heard += part
    except ConnectionResetError:
        pass
    return heard.split(b"\r\n")[0].decode()

for answer in sorted({(kind, all_of(link)) for kind, link in links}):
    print(*answer)
took = time.monotonic() - last_word
assert took <= 10, took
END
}

# Runs a job of three with these options. Its workers meet by $meet and by libdtrain while 90 strangers are
# connected to the rendezvous. The file `answered` has the answers to the strangers.
run_among_strangers() {
  cat_strangers
  # shellcheck disable=SC2016  # the workers' shell expands it
  start_dtrain run -np 3 --report report.json --no-tag "$@" sh -c '[ "$RANK" != 0 ] || echo "$DTRAIN_RENDEZVOUS"
until [ -e "strangers are there" ]; do sleep 0.02; done; eval "$1" && exec "$2" stop' sh "$meet" "$steady_worker"
  wait_for stdout_has :
  python3 strangers.py "$(cat "$out/stdout")" >answered 2>&1 || fail 'strangers:' "$(cat answered)"
  touch stop
  since_ms=$(now_ms)
  finish
  expect_status 0
  [[ $(grep -c 'all sums were right' "$out/stdout") -eq 3 ]] || fail 'not all three came to the end'
  # At most one message a second, not one for each stranger.
  expect_not grep -v '^dtrain: warning: rendezvous: authentication failed from 127.0.0.1: ' "$out/stderr"
  (($(wc -l <"$out/stderr") <= 12)) || fail 'a line for each of 90 strangers'
  expect_no_processes
}

test_without_horovod_strangers_are_closed_and_the_job_is_unharmed() {
  local meet=true
  run_among_strangers --no-horovod
  expect_file answered $'HTTP \nSSH \nTLS \nnothing \nrandom \nzeros '
  expect grep -q '"rejected": 90' report.json
}

test_strangers_do_no_harm_to_workers_of_horovod_either() {
  cat_worker
  local meet='python3 worker.py'
  run_among_strangers
  [[ $(grep -c '^met 3$' "$out/stdout") -eq 3 ]] || fail 'not all three have met'
  expect_file answered $'HTTP HTTP/1.1 400 Bad Request\nSSH \nTLS \nnothing \nrandom \nzeros '
  expect grep -q '"rejected": 75' report.json
}

test_a_failure_of_a_worker_ends_those_that_wait_for_it() {
  cat_worker
  # shellcheck disable=SC2016  # the workers' shell expands it
  run_dtrain run -np 3 --grace 1s sh -c '[ $HOROVOD_RANK != 1 ] || exit 7; exec python3 worker.py'
  expect_status 7
  expect_no_processes
}

run_tests "$@"

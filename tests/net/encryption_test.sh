#!/usr/bin/env bash
# The bytes that ranks exchange, as a machine between two hosts sees them.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Sums of ones on two hosts. The bridge between them records for a while what node1 sends and receives. Sets `full`
# to the number of large packets, and `readable` to that of packets with ones or their sums.
record_sums() {
  hosts_up 2
  cat >record.py <<'PYTHON'
import socket, struct, sys, time

socket_ = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
socket_.bind((sys.argv[1], 0))
socket_.settimeout(0.2)
plain = [struct.pack('<f', value) * 16 for value in (1.0, 2.0, 3.0)]
full = readable = 0
end = time.monotonic() + 20
while full < 2000 and time.monotonic() < end:
    try:
        packet = socket_.recv(1 << 16)
    except TimeoutError:
        continue
    full += len(packet) > 1000
    readable += any(text in packet for text in plain)
print(full, readable)
PYTHON
  rm -f stop
  start_on_launcher "$DTRAIN" run "$@" -H node1:2,node2:1 \
    "$(dirname "$DTRAIN")/tests/programs/steady_worker" stop auto 0
  wait_for stdout_has '<stdout>:steady'
  ip netns exec "$net-l" python3 record.py port1 >counts
  expect_steady_end
  read -r full readable <counts
  ((full > 100)) || fail "only $full large packets were recorded"
}

test_without_encryption_the_data_is_readable_on_the_path() {
  record_sums
  ((readable > 100)) || fail "only $readable packets have the ranks' values"
}

test_with_encryption_no_value_is_on_the_path() {
  record_sums --encrypt-data
  ((readable == 0)) || fail "$readable packets have the ranks' values"
}

run_tests "$@"

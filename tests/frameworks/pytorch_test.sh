#!/usr/bin/env bash
# Unchanged PyTorch scripts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

train=$examples/pytorch_ddp/train.py

test_gradients_are_those_of_one_process() {
  uses debian-torch
  run_dtrain run -np 3 --no-tag "$python" "$scripts/pytorch_gradients.py"
  expect_status 0
  expect_stdout_lines 'rank '{0,1,2}' of 3 has the same gradients'
  expect_stderr ''
  expect_no_processes
}

test_training_ends_as_it_does_alone() {
  uses debian-torch
  run_dtrain run -np 1 --no-tag "$python" "$train"
  expect_status 0
  expect_stderr ''
  expect_training_result 1
  run_readme pytorch_ddp
  expect_status 0
  expect_stderr ''
  expect_training_result 4
  expect_no_processes
}

test_scripts_for_torchrun_find_their_local_rank() {
  uses debian-torch
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:1 --no-tag "$python" "$scripts/pytorch_local_rank.py"
  expect_status 0
  expect_stdout_lines 'rank 0 of 3: node 0, local rank 0 of 2' 'rank 1 of 3: node 0, local rank 1 of 2' \
    'rank 2 of 3: node 1, local rank 0 of 1'
  expect_stderr ''
  expect_no_processes
}

test_older_scripts_get_their_local_rank_as_an_option() {
  uses debian-torch
  run_dtrain run -np 2 --pass-local-rank --no-tag "$python" "$scripts/pytorch_local_rank.py" --device cpu
  expect_status 0
  expect_stdout_lines 'rank 0 of 2: node 0, local rank 0 of 2, as given' 'rank 1 of 2: node 0, local rank 1 of 2, as given'
  expect_stderr ''
}

test_training_goes_over_two_hosts() {
  uses debian-torch
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --no-tag "$python" "$train"
  expect_status 0
  expect_stderr ''
  expect_training_result 4
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --no-tag "$python" "$scripts/pytorch_gradients.py"
  expect_status 0
  expect_stdout_lines 'rank '{0,1,2,3}' of 4 has the same gradients'
  expect_no_processes
}

test_an_error_of_one_rank_is_reported_as_the_cause() {
  uses debian-torch
  cat >broken.py <<'END'
import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
if torch.distributed.get_rank() == 1:
    raise RuntimeError("no such image")
torch.distributed.all_reduce(torch.ones(1))
END
  run_dtrain run -np 3 --grace 2s "$python" broken.py
  expect_status 1
  expect_stderr_contains '[1]<stderr>:RuntimeError: no such image'
  expect_cause 1 "RuntimeError: no such image ($PWD/broken.py:6)"
  expect_no_processes
}

test_an_error_that_a_script_records_is_reported_with_its_place() {
  uses debian-torch
  cat >recorded.py <<'END'
import torch.distributed
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    torch.distributed.init_process_group("gloo")
    if torch.distributed.get_rank() == 1:
        raise FileNotFoundError("no shard 7")
    torch.distributed.barrier()


main()
END
  run_dtrain run -np 3 --grace 2s --report report.json "$python" recorded.py
  expect_status 1
  expect_cause 1 "FileNotFoundError: no shard 7 ($PWD/recorded.py:9)"
  expect grep -qF '"message": "FileNotFoundError: no shard 7"' report.json
  expect grep -qF "\"frame\": \"$PWD/recorded.py:9\"" report.json
  expect_no_processes
}

test_training_continues_from_its_checkpoint_after_restarts() {
  uses debian-torch
  ln -s "$scripts/pytorch_restarts.py" train.py
  PATH="${python%/*}:$PATH" expect_resumed_training --nnodes 1 --nproc-per-node 2 train.py
}

run_tests "$@"

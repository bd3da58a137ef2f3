#!/usr/bin/env bash
# The JSON documents of dtrain fit their schemas, and dtrain-report(5) has every member.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")
schemas=$(realpath "$tests/../../launcher/report/schemas")

# fits SCHEMA DOCUMENT…
fits() {
  local name=$1
  shift
  python3 "$tests/schema.py" "$schemas/$name.schema.json" "$@" >"$out/faults" 2>&1 || fail "$(cat "$out/faults")"
}

test_reports_fit_their_schema() {
  run_dtrain run -np 2 --report good.json --output-dir logs sh -c 'echo out; echo err >&2'
  expect_status 0
  run_dtrain run -np 2 --report failed.json sh -c '[ $RANK = 1 ] && exit 3; sleep 60'
  expect_status 3
  run_dtrain run -np 1 --report late.json --timeout 200ms sleep 60
  expect_status 124
  run_dtrain run -np 2 --report missing.json no-such-program
  expect_status 127
  run_dtrain run --role ps=1 --role worker=1 --report roles.json true
  cat >raises.py <<'END'
import json, os
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump({"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "", "timestamp": "1"}}}, file)
os.abort()
END
  run_dtrain run -np 1 --report raised.json python3 raises.py
  expect_status 134
  fits report good.json failed.json late.json missing.json roles.json raised.json
}

test_plans_fit_their_schema() {
  run_dtrain run -H localhost:3 --dry-run --json train '--rank={rank}'
  cp "$out/stdout" plan.json
  run_dtrain run --role chief=1 --role ps=1 --restart-role ps=always --dry-run --json train
  cp "$out/stdout" roles.json
  run_dtrain run -np 2 --role-gpus worker=0.5 --role-memory worker=1G --role-ports worker=2222,2223 --dry-run --json train
  cp "$out/stdout" resources.json
  run_dtrain run -H localhost:1 --spare b:1 --max-restarts 1 --dry-run --json train
  cp "$out/stdout" spare.json
  run_dtrain run --cluster-spec 'worker|localhost:2222;h2:2222' --dry-run --json train
  cp "$out/stdout" cluster.json
  mkdir tree
  echo one >tree/one
  run env -C tree "$DTRAIN" run --sync -H localhost:1 --dry-run --json train
  cp "$out/stdout" tree.json
  run_dtrain run --sync-from https://git.example.org/code.git -H localhost:1 --dry-run --json train
  cp "$out/stdout" url.json
  fits plan plan.json roles.json resources.json spare.json cluster.json tree.json url.json
}

test_configurations_fit_their_schema() {
  run_dtrain config show --json --all -np 2 -x A=1 --cycle-time-ms 3.5 --timeout 10m
  cp "$out/stdout" config.json
  fits config config.json
}

test_a_document_that_does_not_fit_is_noticed() {
  echo '{"world_size": "2"}' >wrong.json
  expect_not python3 "$tests/schema.py" "$schemas/plan.schema.json" wrong.json
}

test_the_manual_page_has_every_member() {
  local member
  grep -ho '"[a-z_]*": {' "$schemas"/*.json | tr -d '": {' | sort -u | grep -vx 'properties\|items\|additionalProperties' >members
  expect test -s members
  while read -r member; do
    expect grep -q "^\.It Ic $member\$" "$tests/../../man/dtrain-report.5.in"
  done <members
}

run_tests "$@"

#!/usr/bin/env bash
# commands_test.sh <source> <headroom-faulty> <work folder>: what scripts/slurm asks of Slurm and what it refuses, with
# stand-ins for Slurm's commands that keep what they are asked. slurm_test.sh has a real one, which not every machine has.
set -uo pipefail
source=$1 headroom=$2 work=$3
slurm=$source/scripts/slurm
failures=0

fails() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# shellcheck source=tests/cluster/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# asked <shards|merge> <texts...>: each is an argument of the last submission of shards or of a merge.
asked() {
  local call=$work/calls/sbatch text
  if [[ "$1" == shards ]]; then call+=-array; fi
  for text in "${@:2}"; do
    grep -qzxF -- "$text" "$call" || fails "sbatch was not given '$text' but $(tr '\0' ' ' <"$call")"
  done
}

# stand_in <command> <body>
stand_in() {
  printf '#!/usr/bin/env bash\nprintf "%%s\\0" "$@" >"%s"\n%s\n' "$work/calls/$1" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

rm -rf "$work" && mkdir -p "$work/bin" "$work/calls" "$work/here"
# Every submission gets the next id. A file `refuse` names the one that is refused.
# shellcheck disable=SC2016  # expanded inside
stand_in sbatch 'cd "$(dirname "$0")/../calls" || exit
[[ "$*" != *--array=* ]] || cp sbatch sbatch-array
[[ "$*" != *"$(cat refuse 2>/dev/null || echo nothing)"* ]] || { echo "sbatch: error: not for you" >&2; exit 1; }
id=$(($(cat id 2>/dev/null || echo 0) + 1))
echo $id | tee id'
# shellcheck disable=SC2016  # expanded inside
stand_in squeue 'cd "$(dirname "$0")/../calls" && cat queue && exit "$(cat code)"'
stand_in scancel ""
stand_in sacct "exit 1"
stand_in scontrol "echo 'JobId=3 JobState=NODE_FAIL Reason=None'"
# queue_says <exit code> <lines...>: what squeue answers from now on.
queue_says() {
  echo "$1" >"$work/calls/code"
  shift
  printf '%s\n' "$@" >"$work/calls/queue"
}
queue_says 0
PATH=$work/bin:$PATH
unset SLURM_ARRAY_TASK_ID SLURM_ARRAY_JOB_ID SLURMD_NODENAME
cd "$work/here" || exit

submit=("$slurm" submit --program "$headroom")
axes=(--heads 2 --tokens '4,8' --head-dim 8 --backend tbb --formulation split --threads 1 --repetitions 2 --min-time 0.001)

# What is refused before anything is submitted.
expect 2 "submit, status or resume" -- "$slurm"
expect 2 "unknown command 'sumbit'" -- "$slurm" sumbit
expect 0 "usage:" -- "$slurm" submit --help
expect 2 "unknown option '--heads'" "after --" -- "${submit[@]}" --shards 2 --out a --heads 2
expect 2 "unexpected 'b'" -- "${submit[@]}" --shards 2 --out a b
expect 2 "--out is missing" -- "${submit[@]}" --shards 2
expect 2 "--shards is missing" -- "${submit[@]}" --out a
expect 2 "--shards needs a value" -- "${submit[@]}" --out a --shards
for count in 0 -1 x 2.5 1/2 1000000; do
  expect 2 "--shards: '$count' is not a number" -- "${submit[@]}" --out a --shards "$count" -- "${axes[@]}"
done
expect 2 "--at-once: '0'" -- "${submit[@]}" --out a --shards 2 --at-once 0
expect 2 "enough for 2" -- "${submit[@]}" --out a --shards 3 -- "${axes[@]}"
expect 2 "unknown preset 'quik'" -- "${submit[@]}" --out a --shards 2 -- --preset quik
expect 3 "nofile" -- "${submit[@]}" --out a --shards 2 -- --weights nofile
expect 2 "--resume after --" -- "${submit[@]}" --out a --shards 2 -- "${axes[@]}" --resume
expect 2 "--shard=1/2 after --" -- "${submit[@]}" --out a --shards 2 -- "${axes[@]}" --shard=1/2
expect 2 "'--array=1-9' is not allowed" -- "${submit[@]}" --out a --shards 2 --sbatch --array=1-9 -- "${axes[@]}"
expect 2 "a quote is open" -- "${submit[@]}" --out a --shards 2 --sbatch "--comment='a" -- "${axes[@]}"
expect 2 "backslash" -- "${submit[@]}" --out 'a\b' --shards 2 -- "${axes[@]}"
expect 5 "there is no program" "build it" -- "$slurm" submit --program "$work/none" --out a --shards 2
mkdir "$work/tools"
for tool in bash env basename dirname; do ln -s "$(type -P "$tool")" "$work/tools/"; done
expect 5 "there is no sbatch here" "login node" -- env PATH="$work/tools" "${submit[@]}" --out a --shards 2 -- "${axes[@]}"
echo shard >"$work/calls/refuse"
expect 4 "not for you" "Nothing was submitted" -- "${submit[@]}" --out a --shards 2 -- "${axes[@]}"
[[ ! -e a ]] || fails "a refused submission left its folder"
rm "$work/calls/refuse"
touch a && expect 4 "is no folder" -- "${submit[@]}" --out a --shards 2 -- "${axes[@]}"
rm a && mkdir a && touch a/mine
expect 4 "is not empty" -- "${submit[@]}" --out a --shards 2 -- "${axes[@]}"
expect 3 "no slurm/arguments" -- "$slurm" status a
expect 3 "no slurm/arguments" -- "$slurm" resume nowhere

# What is asked, with a folder and options that a shell would take apart.
folder="$work/here/it's \"50%j\""
expect 0 "2 of 2 shards" "the merge" -- "${submit[@]}" --out "it's \"50%j\"" --shards 2 --at-once 1 \
  --sbatch "--time=5 --comment='two  words'" --sbatch --exclusive=user -- "${axes[@]}"
merge_job=$(cat "$folder/slurm/merge.job")
asked shards --exclusive --mem=0 "--array=1-2%1" "--comment=two  words" shard "$folder" \
  "--output=${folder//%/%%}/slurm/shard-%a.log"
asked merge --time=5 "--comment=two  words" --exclusive=user "--dependency=afterany:$((merge_job - 1))" merge "$folder" \
  "--output=${folder//%/%%}/slurm/merge.log"
! grep -qzxF -- --mem=0 "$work/calls/sbatch" || fails "the merge asks for a whole node"
expect 4 "submitted already" -- "${submit[@]}" --out "$folder" --shards 2 -- "${axes[@]}"
expect 4 "another sweep, 2 shards of: --heads 2" -- "${submit[@]}" --out "$folder" --shards 3 -- "${axes[@]}"
queue_says 0 "$((merge_job - 1))|1|RUNNING|node7|None" "$((merge_job - 1))|2|PENDING||Priority" "$merge_job|N/A|PENDING||Dependency"
expect 0 "shard-1  running  job $((merge_job - 1))_1 on node7, 0 cells so far" "shard-2  waiting  job $((merge_job - 1))_2 (Priority)" \
  "merge    waiting  job $merge_job (Dependency)" "0 done, 1 running, 1 waiting, 0 failed" -- "$slurm" status "$folder"
expect 0 "nothing to do" -- "$slurm" resume "$folder"
queue_says 1 "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
expect 4 "Unable to contact" -- "$slurm" status "$folder"
expect 4 "Unable to contact" -- "$slurm" resume "$folder"

# Jobs that Slurm has lost, or forgotten.
queue_says 1 "slurm_load_jobs error: Invalid job id specified"
expect 1 "shard-1  failed   job $((merge_job - 1))_1 ended without an exit code, NODE_FAIL: no log" "0 done, 0 running, 0 waiting, 2 failed" \
  "to go on: scripts/slurm resume" -- "$slurm" status "$folder"

# What runs on a node. The backend dies while it is timed, but for where it is slow.
job() { SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=${2-} SLURMD_NODENAME=node$((${2-0} + 4)) "$source/scripts/slurm-job" "$1" "$folder"; }
slow_job() { HEADROOM_TEST_SLOW_MS=1 job "$@"; }
cd / || exit
expect 0 "== shard-1 on node5, job 7_1" "1 of 1 cells: 1 ok" -- slow_job shard 1
expect 1 "not done: 2" -- job merge
expect 1 "shard-1  done     1 cell on node5" "shard-2  failed" "1 failed" -- "$slurm" status "$folder"
queue_says 0 "$merge_job|N/A|PENDING||DependencyNeverSatisfied"
expect 0 "1 of 2 shards" -- "$slurm" resume "$folder" --sbatch --time=9
asked shards --array=2 --time=9
asked merge --time=9 "--dependency=afterany:$((merge_job + 1))"
grep -qzxF -- "$merge_job" "$work/calls/scancel" || fails "the old merge was left waiting"
queue_says 0

# A cell that crashed is a result and is merged. It is tried again, and the earlier merge is kept.
expect 1 "1 crashed" -- job shard 2
expect 0 "2 cells from 2 folders" -- job merge
expect 0 "shard-2  done     1 cell on node6, 1 of them failed or crashed" "2 done" "merge    done     2 cells on node4" \
  -- "$slurm" status "$folder"
expect 0 "1 of 2 shards" "the merge" -- "$slurm" resume "$folder"
asked shards --array=2
array_job=$(cat "$folder/slurm/shard-2.job")
queue_says 0 "$array_job|2|PENDING||Priority" "$(cat "$folder/slurm/merge.job")|N/A|PENDING||Dependency"
expect 0 "shard-2  waiting" "1 done, 0 running, 1 waiting" -- "$slurm" status "$folder"
queue_says 0
expect 0 "1 of which crashed before" -- slow_job shard 2
expect 0 "now merged-1" "2 cells from 2 folders" -- job merge
expect 0 "nothing to do: every shard is done, and merged" -- "$slurm" resume "$folder"

# Half a shard is not merged.
echo 143 >"$folder/slurm/shard-2.exit"
expect 1 "not done: 2" -- job merge
echo 0 >"$folder/slurm/shard-2.exit"
# A shard that was measured on another kind of node is measured anew, once its folder is gone.
sed -i -E 's/("architecture": *")/\1odd-/' "$folder/shard-2/environment.json"
expect 2 "not parts of one sweep" architecture -- job merge
expect 1 "merge    failed   exit code 2 on node4: " -- env "$slurm" status "$folder"
rm -r "$folder/shard-2"
expect 0 "1 of 2 shards" -- "$slurm" resume "$folder"

# A node without what the program needs, and one that kills it.
printf '#!/nowhere\n' >"$folder/slurm/headroom"
expect 5 "headroom does not run on node6" -- job shard 2
# shellcheck disable=SC2016  # expanded inside
printf '#!/bin/sh\n[ "$1" = --version ] || kill -KILL $$\n' >"$folder/slurm/headroom"
expect 137 "ended by SIGKILL" -- job shard 2
[[ "$(cat "$folder/slurm/shard-2.exit")" == 137 ]] || fails "the exit code of a shard was not written down"

# Paths among the arguments are relative to where they were typed.
cd "$work/here" || exit
ln -s "$source/tests/data/weights" "my weights"
expect 0 "1 of 1 shard" -- "${submit[@]}" --out b --shards 1 -- --weights 'my weights/gpt2' --tokens 4 --backend naive \
  --repetitions 2 --min-time 0.001
cd / || exit
folder=$work/here/b
expect 0 "0 failed, 0 crashed" -- job shard 1

((failures == 0)) || exit 1
echo "passed"

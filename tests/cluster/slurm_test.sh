#!/usr/bin/env bash
# slurm_test.sh <source> <headroom> <work folder>: scripts/slurm on a real Slurm, which is started for it on this
# machine. An array of four shards loses three of them on the way, is resumed, and merges to what one run has.
set -uo pipefail
source=$1 headroom=$2 work=$3
# shellcheck source=tests/cluster/slurm.sh
source "$(dirname "${BASH_SOURCE[0]}")/slurm.sh"
# shellcheck source=tests/cluster/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
slurm=$source/scripts/slurm
folder="$work/it's a \"50%j\" folder"
# Long enough for every shard to be caught at work.
axes=(--heads '2,4' --head-dim 8 --tokens '4-32*2' --backend 'naive,xsimd' --threads 1 --repetitions 4 --min-time 0.1)
cells=48

fails() {
  echo "FAILED: $*" >&2
  for log in "$folder"/slurm/*.log; do
    [[ ! -e "$log" ]] || echo "-- ${log##*/}: $(tail -n 3 "$log")"
  done >&2
  [[ -z "$slurm_folder" ]] || echo "logs: $work, and of Slurm: $slurm_folder" >&2
  keep=1
  exit 1
}

# cells_of <results folder>: id and status of each cell, sorted.
cells_of() { sed -E 's/.*"id":"([^"]*)","status":"([^"]*)".*/\1 \2/' "$1/results.jsonl" | sort; }

# at_work <shard>: whether its task has kept a cell and goes on.
at_work() { [[ -s "$folder/shard-$1/results.jsonl" && ! -e "$folder/slurm/shard-$1.exit" ]]; }

slurm_folder="" keep=0
clean_up() {
  trap - EXIT INT TERM
  stop_slurm
  ((keep)) || [[ -z "$slurm_folder" ]] || rm -rf "$slurm_folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rm -rf "$work" && mkdir -p "$work"
for tool in munged munge slurmctld slurmd sbatch squeue sinfo scontrol scancel; do
  command -v "$tool" >/dev/null || fails "there is no $tool here; scripts/setup --cluster installs Slurm"
done
# Not in the work folder: the paths of sockets are limited to about a hundred characters.
slurm_folder=$(mktemp -d "${TMPDIR:-/tmp}/headroom-slurm.XXXXXX")
start_slurm "$slurm_folder" 4 || fails "Slurm did not start: $(tail -n 3 "$slurm_folder"/*.out)"
echo "a Slurm of four nodes on this machine: $(sinfo --version)"

submit=("$slurm" submit --program "$headroom")
expect 0 "4 of 4 shards" "the merge" -- "${submit[@]}" --shards 4 --out "$folder" --sbatch "--comment='two words'" -- "${axes[@]}"
job=$(cat "$folder/slurm/shard-2.job")
[[ "$(scontrol show job "${job}_2")" == *"Comment=two words"* ]] || fails "--sbatch did not reach the job"
expect 4 "submitted already" -- "${submit[@]}" --shards 4 --out "$folder" -- "${axes[@]}"

# One is cancelled, one loses its program as by a lack of memory, one its shell as by the end of a node.
wait_for 120 "cell of shard 2" at_work 2 || fails "shard 2 was not caught at work"
scancel --signal=KILL "${job}_2"
first=$(head -n 1 "$folder/shard-2/results.jsonl")
wait_for 120 "cell of shard 3" at_work 3 || fails "shard 3 was not caught at work"
kill -KILL "$(cat "$folder/shard-3/sweep.lock")"
wait_for 120 "cell of shard 4" at_work 4 || fails "shard 4 was not caught at work"
expect 1 "shard-4  running  job ${job}_4 on node" "merge    waiting" -- "$slurm" status "$folder"
program=$(cat "$folder/shard-4/sweep.lock")
shell=$(ps -o ppid= -p "$program")
kill -KILL "${shell// /}" "$program"

wait_for 240 "end of all jobs" no_jobs || fails "the jobs do not end"
expect 1 "shard-1  done     12 cells on node" "shard-2  failed   exit code 143 on node" "CANCELLED AT" \
  "shard-3  failed   exit code 137 on node" "ended by SIGKILL" "shard-4  failed   job ${job}_4 ended without an exit code on node" \
  "merge    failed   exit code 1 on node" "not done: 2 3 4" "1 done, 0 running, 0 waiting, 3 failed" \
  -- "$slurm" status "$folder"
printf '%s\n' "$answer"
[[ ! -e "$folder/merged" ]] || fails "half a sweep was merged"

expect 0 "3 of 4 shards" "the merge" -- "$slurm" resume "$folder"
expect 0 "nothing to do" -- "$slurm" resume "$folder"
wait_for 240 "end of all jobs" no_jobs || fails "the jobs do not end"
expect 0 "4 done" "merge    done     $cells cells" -- "$slurm" status "$folder"
expect 0 "nothing to do" -- "$slurm" resume "$folder"
[[ "$(head -n 1 "$folder/shard-2/results.jsonl")" == "$first" ]] || fails "shard 2 was measured anew"

"$headroom" sweep "${axes[@]}" --out "$work/whole" >/dev/null 2>&1 || fails "the sweep in one run ended with $?"
(($(wc -l <"$work/whole/results.jsonl") == cells)) || fails "the sweep in one run has not $cells cells"
diff <(cells_of "$work/whole") <(cells_of "$folder/merged") || fails "merged shards are not the cells of one run"
echo "four shards, three of them killed and resumed, have the $cells cells of one run"

# What Slurm refuses leaves nothing.
few=(--heads 2 --head-dim 8 --tokens '4,8' --backend naive --threads 1 --repetitions 2 --min-time 0.001)
expect 4 "invalid partition" "Nothing was submitted" -- \
  "${submit[@]}" --shards 2 --out "$work/refused" --sbatch --partition=nowhere -- "${few[@]}"
expect 4 "Invalid job array" "MaxArraySize" -- \
  "${submit[@]}" --shards 150 --out "$work/refused" -- --heads 2 --head-dim 8 --tokens '1-150+1' --backend naive
[[ ! -e "$work/refused" ]] || fails "a refused submission left its folder"

# A node that cannot run the program, and arguments with paths that are relative to where they were typed.
ln -s "$source/tests/data/weights" "$work/my weights"
cd "$work" || exit
expect 0 "job" -- "${submit[@]}" --shards 2 --out other --at-once 1 --sbatch --hold -- --weights 'my weights/gpt2' \
  --tokens '4,8' --backend naive --repetitions 2 --min-time 0.001
cd / || exit
mv "$work/other/slurm/headroom" "$work/other/slurm/kept"
expect 0 "shard-1  waiting" JobHeldUser -- "$slurm" status "$work/other"
squeue --noheader --format=%A | sort -u | xargs -n 1 scontrol release
wait_for 60 "end of all jobs" no_jobs || fails "the jobs do not end"
expect 1 "shard-1  failed   exit code 5 on node" "must see" "2 failed" -- "$slurm" status "$work/other"
mv "$work/other/slurm/kept" "$work/other/slurm/headroom"
sed -i -z 's/^--hold$/--nice/' "$work/other/slurm/options"
expect 0 "2 of 2 shards" -- "$slurm" resume "$work/other" --at-once 2
wait_for 120 "end of all jobs" no_jobs || fails "the jobs do not end"
expect 0 "2 done" "merge    done" -- "$slurm" status "$work/other"

# Heads over ranks that srun starts. Both on one node: PMIx takes nodes of one machine for one another.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
expect 0 "1 passed, 0 failed" "r2t1" -- timeout 120 srun --mpi=pmix --nodes 1 --ntasks 2 --overcommit \
  "$headroom" verify --ranks 2 --backend naive --formulation split --heads 4 --tokens 5
echo "two ranks that srun started agree with the oracle"
echo "passed"

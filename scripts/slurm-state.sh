# shellcheck shell=bash
# What the shards of scripts/slurm do; sourced by it, never run. The folder says what has ended, Slurm what has not.
# Reads folder, its slurm/ as state, and shards, the number of them.
# shellcheck disable=SC2154  # set by scripts/slurm
# `states` and `details` have one entry per shard and one named merge. A state is done, running, waiting or failed.

declare -A states details queue

# read_queue: what Slurm knows of our jobs, as queue[JOB_INDEX] and queue[JOB] = "STATE|NODE|REASON".
read_queue() {
  local jobs lines code=0 job index rest
  queue=()
  jobs=$({ cat "$state"/*.job 2>/dev/null || true; } | sort -u | paste -sd,)
  if [[ -z "$jobs" ]]; then return; fi
  lines=$(squeue --noheader --array --jobs="$jobs" --format='%F|%K|%T|%N|%r' 2>&1) || code=$?
  if ((code != 0)); then
    # That is how Slurm says that it has forgotten them.
    if [[ "$lines" == *"Invalid job id"* ]]; then return; fi
    printf '%s\n' "$lines" >&2
    return 1
  fi
  while IFS='|' read -r job index rest; do
    if [[ "$index" == N/A ]]; then queue[$job]=$rest; else queue[${job}_$index]=$rest; fi
  done <<<"$lines"
}

# ended_as <job>: Slurm's word for how a job ended, or nothing, since it forgets jobs after minutes.
ended_as() {
  local word
  word=$(sacct --noheader --allocations --parsable2 --jobs="$1" --format=State 2>/dev/null | tail -n 1) || word=""
  if [[ -z "$word" ]]; then
    word=$(scontrol --oneliner show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p' | tail -n 1)
  fi
  echo "$word"
}

# last_line <name>: of the last attempt, the last error, or else the last line.
last_line() {
  [[ -e "$state/$1.log" ]] || return 0
  awk '
    /^slurm-job: == / { error = "" }
    /error:/ { error = $0 }
    NF { line = $0 }
    END { print error == "" ? line : error }' "$state/$1.log"
}

counted() { if (($1 == 1)); then echo "$1 $2"; else echo "$1 $2s"; fi; }

on_node() { if [[ -e "$state/$1.node" ]]; then echo " on $(cat "$state/$1.node")"; fi; }

# cells_in <results folder>
cells_in() { counted "$({ grep -s . "$1/results.jsonl" || true; } | wc -l)" cell; }

# describe_done <name> <results folder>
describe_done() {
  local broken
  broken=$(grep -cE '"status":"(failed|crashed)"' "$2/results.jsonl") || true
  states[$1]="done"
  details[$1]="$(cells_in "$2")$(on_node "$1")"
  if ((broken > 0)); then details[$1]+=", $broken of them failed or crashed"; fi
}

# describe_queued <name> <job> <STATE|NODE|REASON> <results folder>
describe_queued() {
  local name=$1 job=$2 slurm_state node reason
  IFS='|' read -r slurm_state node reason <<<"$3"
  case "$slurm_state" in
    PENDING | REQUEUED | REQUEUE_HOLD | REQUEUE_FED | SPECIAL_EXIT)
      states[$name]=waiting
      details[$name]="job $job ($reason)"
      ;;
    *)
      states[$name]=running
      details[$name]="job $job on ${node:-a node}, $(cells_in "$4") so far"
      ;;
  esac
}

# describe_failed <name> <job> <exit code>
describe_failed() {
  local name=$1 job=$2 code=$3 word line
  states[$name]=failed
  line=$(last_line "$name")
  if [[ -z "$job" ]]; then
    details[$name]="never submitted"
  elif [[ -n "$code" ]]; then
    details[$name]="exit code $code$(on_node "$name"): ${line:-no log}"
  else
    word=$(ended_as "$job")
    details[$name]="job $job ended without an exit code$(on_node "$name")${word:+, $word}: ${line:-no log; can that node see the folder?}"
  fi
}

# read_state <name> <index of the task or nothing> <results folder> <exit codes that are done, as a pattern>
read_state() {
  local name=$1 index=$2 results=$3 job="" code="" now
  if [[ -e "$state/$name.job" ]]; then job=$(cat "$state/$name.job")${index:+_$index}; fi
  if [[ -e "$state/$name.exit" ]]; then code=$(cat "$state/$name.exit"); fi
  now=${job:+${queue[$job]-}}
  # shellcheck disable=SC2053  # a pattern
  if [[ "$code" == $4 && -e "$results/results.jsonl" ]]; then
    describe_done "$name" "$results"
  elif [[ -n "$now" && ! ("$now" == COMPLETING* && -n "$code") ]]; then
    describe_queued "$name" "$job" "$now" "$results"
  elif [[ "$code" == $4 && -n "$code" ]]; then
    states[$name]=failed
    details[$name]="$results is gone"
  else
    describe_failed "$name" "$job" "$code"
  fi
}

read_states() {
  local i
  read_queue || return
  for ((i = 1; i <= shards; ++i)); do read_state "shard-$i" "$i" "$folder/shard-$i" '[01]'; done
  read_state merge "" "$folder/merged" 0
}

# Crashed cells are tried again, as headroom sweep --resume does.
is_to_do() {
  [[ "${states[shard-$1]}" == failed ]] && return
  [[ "${states[shard-$1]}" == "done" ]] && grep -q '"status":"crashed"' "$folder/shard-$1/results.jsonl"
}

# The jobs of shards that have not ended, as --dependency takes them. Of an array it waits for all tasks.
open_jobs() {
  local i jobs=()
  for ((i = 1; i <= shards; ++i)); do
    case "${states[shard-$i]}" in running | waiting) jobs+=("$(cat "$state/shard-$i.job")") ;; esac
  done
  if ((${#jobs[@]} > 0)); then printf '%s\n' "${jobs[@]}" | sort -u | paste -sd:; fi
}

print_states() {
  local i name arguments=() width=$((6 + ${#shards}))
  local -A count=([done]=0 [running]=0 [waiting]=0 [failed]=0)
  mapfile -d '' -t arguments <"$state/arguments"
  echo "$(counted "$shards" shard) of: $(shown "${arguments[@]}")"
  for ((i = 1; i <= shards; ++i)); do
    name=shard-$i
    count[${states[$name]}]=$((count[${states[$name]}] + 1))
    printf "%-${width}s  %-7s  %s\n" "$name" "${states[$name]}" "${details[$name]}"
  done
  printf "%-${width}s  %-7s  %s\n" merge "${states[merge]}" "${details[merge]}"
  echo "${count[done]} done, ${count[running]} running, ${count[waiting]} waiting, ${count[failed]} failed"
  if ((count[failed] > 0)) || [[ "${states[merge]}" == failed ]]; then
    echo "to go on: scripts/slurm resume $(shown "$folder")"
    return 1
  fi
}

# shellcheck shell=bash
# A Slurm of this machine's own, for tests: its configuration, key, sockets and logs lie in one folder, and every daemon
# is a child that is stopped. Sourced; start_slurm FOLDER NODES, then stop_slurm.

slurm_daemons=()
# Where daemons are, which is not on everybody's path.
PATH=$PATH:/usr/sbin:/sbin

# free_ports <count>: the first of that many in a row to which nothing listens.
free_ports() {
  local first port
  for ((first = 20000 + RANDOM % 9000; first < 32000; first += $1)); do
    for ((port = first; port < first + $1; ++port)); do
      if (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue 2; fi
    done
    echo "$first"
    return
  done
  return 1
}

# run_daemon <name> <command...>: in the foreground of a job of its own, so that its process is known.
run_daemon() {
  local name=$1
  shift
  # A session of its own, so that Ctrl-C reaches the test alone, which stops the daemons in their order. If the test is
  # killed, they end with it.
  setsid setpriv --pdeathsig TERM "$@" >"$slurm_folder/$name.out" 2>&1 </dev/null &
  slurm_daemons+=("$!")
}

# wait_for <seconds> <what for> <command...>
wait_for() {
  local most=$1 what=$2 tries
  shift 2
  for ((tries = 0; tries < most * 5; ++tries)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  echo "no $what after $most s" >&2
  return 1
}

write_slurm_conf() {
  local nodes=$1 port=$2 host size i
  host=$(uname -n)
  host=${host%%.*}
  # Every node is this whole machine, as Slurm sees it.
  size=$(slurmd -C | sed -n 's/.*\(CPUs=.*\)/\1/p')
  cat <<END
ClusterName=headroom
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge/socket
CredType=cred/munge
StateSaveLocation=$slurm_folder/state
SlurmdSpoolDir=$slurm_folder/spool-%n
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmdPidFile=$slurm_folder/slurmd-%n.pid
SlurmctldLogFile=$slurm_folder/slurmctld.log
SlurmdLogFile=$slurm_folder/slurmd-%n.log
# Nothing that needs control groups, which a container may lack.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=2,batch_sched_delay=0,sched_min_interval=0
KillWait=2
MaxArraySize=101
PartitionName=cpu Nodes=ALL Default=YES MaxTime=10:00 State=UP
END
  for ((i = 1; i <= nodes; ++i)); do
    echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) $size"
  done
}

start_munge() {
  local folder=$slurm_folder/munge
  mkdir -m 0755 "$folder"
  (umask 077 && head -c 128 /dev/urandom >"$folder/key")
  # --force: the folders above may be writable for a group, which is a warning here.
  run_daemon munged munged --foreground --force --num-threads=2 --socket="$folder/socket" \
    --key-file="$folder/key" --pid-file="$folder/pid" --log-file="$folder/log" --seed-file="$folder/seed"
  wait_for 20 "answer of munged" munge --socket="$folder/socket" --no-input --output=/dev/null
}

# idle_nodes <count>: whether that many nodes wait for work.
idle_nodes() { [[ "$(sinfo --noheader --Node --states=idle --format=%n | wc -l)" -eq "$1" ]]; }

# start_slurm <folder> <nodes>: the folder is new, and its path short, as paths of sockets are.
start_slurm() {
  local nodes=$2 port i
  slurm_folder=$1
  mkdir -p "$slurm_folder/state"
  start_munge || return
  port=$(free_ports $((nodes + 1))) || return
  write_slurm_conf "$nodes" "$port" >"$slurm_folder/slurm.conf"
  export SLURM_CONF="$slurm_folder/slurm.conf"
  run_daemon slurmctld slurmctld -D -c
  wait_for 30 "answer of slurmctld" scontrol ping || return
  for ((i = 1; i <= nodes; ++i)); do
    mkdir "$slurm_folder/spool-node$i"
    run_daemon "slurmd-node$i" slurmd -D -N "node$i"
  done
  wait_for 60 "$nodes idle nodes" idle_nodes "$nodes"
}

no_jobs() { [[ -z "$(squeue --noheader 2>/dev/null)" ]]; }

# Ends the jobs first, because a daemon leaves those of its node alone when it ends.
stop_slurm() {
  local daemon
  if ((${#slurm_daemons[@]} == 0)); then return; fi
  if scontrol ping >/dev/null 2>&1; then
    scancel --user="$(id -un)" --full --signal=KILL 2>/dev/null
    scancel --user="$(id -un)" 2>/dev/null
    wait_for 15 "end of all jobs" no_jobs
  fi
  # The last started first: nodes, controller, munged.
  for ((daemon = ${#slurm_daemons[@]} - 1; daemon >= 0; --daemon)); do
    kill -TERM "${slurm_daemons[daemon]}" 2>/dev/null
    wait "${slurm_daemons[daemon]}" 2>/dev/null
  done
  slurm_daemons=()
}

#!/usr/bin/env bash
# A Slurm of this machine alone, for tests: one controller, several nodes (all of them this host), fake GPUs, its own munge.
#
#   tests/lab/slurm.sh up DIR [NODES] [GPUS]   starts it below DIR; say `export SLURM_CONF=DIR/slurm.conf` afterwards
#                                              (LAB_PORTS="P Q ...": ports of the controller and of each node)
#   tests/lab/slurm.sh down DIR                ends every job and every daemon of it
#   tests/lab/slurm.sh kill-node DIR NODE      ends that node's daemon and all that runs on it, as a power cut would
#   tests/lab/slurm.sh start-node DIR NODE     brings it back
#
# Needs root and Debian's slurmctld slurmd slurm-client munge; nothing is installed here. Partitions: `llmeval`, and `urgent`
# over the same nodes, whose jobs preempt those of `llmeval` (they are put back into the queue).
set -euo pipefail

# Some free TCP ports, ascending and distinct.
free_ports() {
  local want=$1 port=20000 found=()
  port=$((20000 + RANDOM % 20000))
  while [ "${#found[@]}" -lt "$want" ]; do
    port=$((port + 1))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
  done
  echo "${found[@]}"
}

up() {
  local dir=$1 nodes=${2:-4} gpus=${3:-8} host
  host=$(hostname -s)
  getent hosts "$host" >/dev/null || echo "127.0.0.1 $host" >>/etc/hosts
  mkdir -p "$dir"/{state,log,run,spool,munge,dev}
  chmod 755 "$dir"
  dd if=/dev/urandom of="$dir/munge/munge.key" bs=128 count=1 status=none
  chmod 400 "$dir/munge/munge.key"
  chmod 711 "$dir/munge"
  chown -R munge:munge "$dir/munge"
  setpriv --reuid munge --regid munge --clear-groups munged --key-file="$dir/munge/munge.key" \
    --socket="$dir/munge/munge.sock" --pid-file="$dir/munge/munged.pid" --log-file="$dir/munge/munged.log" \
    --seed-file="$dir/munge/seed"
  # Clones of /dev/null stand in for GPUs: Slurm counts character devices and sets CUDA_VISIBLE_DEVICES by them.
  local gpu node names="" ports
  for gpu in $(seq 0 $((gpus - 1))); do mknod "$dir/dev/gpu$gpu" c 1 3; done
  read -r -a ports <<<"${LAB_PORTS:-$(free_ports $((nodes + 1)))}"
  cat >"$dir/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$dir/munge/munge.sock,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
ReturnToService=1
SlurmctldTimeout=20
SlurmdTimeout=20
InactiveLimit=0
KillWait=3
MinJobAge=300
WaitTime=0
MaxArraySize=10001
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
PluginDir=/usr/lib/x86_64-linux-gnu/slurm-wlm
CONF
  echo "AutoDetect=off" >"$dir/gres.conf"
  for node in $(seq 1 "$nodes"); do
    mkdir -p "$dir/spool/s$node"
    echo "NodeName=s$node NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$node]} CPUs=32 Sockets=2 CoresPerSocket=16" \
      "ThreadsPerCore=1 RealMemory=64000 Gres=gpu:fake:$gpus State=UNKNOWN" >>"$dir/slurm.conf"
    echo "NodeName=s$node Name=gpu Type=fake File=$dir/dev/gpu[0-$((gpus - 1))]" >>"$dir/gres.conf"
    names+=",s$node"
  done
  cat >>"$dir/slurm.conf" <<CONF
PartitionName=llmeval Nodes=${names#,} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=urgent Nodes=${names#,} MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
CONF
  export SLURM_CONF="$dir/slurm.conf"
  slurmctld -f "$SLURM_CONF"
  for node in $(seq 1 "$nodes"); do slurmd -N "s$node" -f "$SLURM_CONF"; done
  for _ in $(seq 600); do
    [ "$(sinfo -h -N -p llmeval -t idle -o %N 2>/dev/null | sort -u | wc -l)" = "$nodes" ] && return
    sleep 0.1
  done
  sinfo -N -l >&2 || true
  tail -n 20 "$dir"/log/*.log >&2
  return 1
}

# Ends a process by its pid file and waits until it is gone; a zombie is.
finish() {
  local file=$1 signal=${2:-TERM} pid
  [ -f "$file" ] || return 0
  pid=$(cat "$file")
  kill "-$signal" "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    grep -qs '^State:\s*[^Z]' "/proc/$pid/status" || return 0
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
}

down() {
  local dir=$1
  export SLURM_CONF="$dir/slurm.conf"
  timeout 20 scancel --user=root --full >/dev/null 2>&1 || true
  for _ in $(seq 100); do
    [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break
    sleep 0.1
  done
  for file in "$dir"/run/slurmd-*.pid "$dir/run/slurmctld.pid"; do finish "$file"; done
  finish "$dir/munge/munged.pid"
}

# All that runs for the node has its name in its environment; what keeps it alive are the parents, slurmstepd.
kill_node() {
  local dir=$1 node=$2 process pid parent
  finish "$dir/run/slurmd-$node.pid" KILL
  for process in /proc/[0-9]*; do
    pid=${process#/proc/}
    tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "SLURM_CONF=$dir/slurm.conf" || continue
    tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "SLURMD_NODENAME=$node" || continue
    parent=$(awk '/^PPid:/ { print $2 }' "$process/status" 2>/dev/null || true)
    grep -qsx slurmstepd "/proc/$parent/comm" && kill_tree "$parent"
    kill_tree "$pid"
  done
}

kill_tree() {
  local child
  # shellcheck disable=SC2013 # the file has words
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do kill_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

command=${1:?up, down, kill-node or start-node}
dir=${2:?a folder}
case $command in
  up) up "$dir" "${3:-4}" "${4:-8}" ;;
  down) down "$dir" ;;
  kill-node) kill_node "$dir" "${3:?a node}" ;;
  start-node) SLURM_CONF="$dir/slurm.conf" slurmd -N "${3:?a node}" -f "$dir/slurm.conf" ;;
  *) echo "unknown command: $command" >&2 && exit 2 ;;
esac

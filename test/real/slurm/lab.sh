#!/bin/bash
# A real one-host Slurm cluster for tests: munge, MariaDB, slurmdbd, slurmctld, two slurmd with 8 fake H100 each, sshd.
#
#   lab.sh DIR    starts everything below DIR, prints "ready", runs until its standard input ends, then stops all of it
#
# That is how a killed test cleans up: its end of the pipe closes. Until then it obeys lines of standard input and answers each with
# "done": "stop NAME" and "start NAME" of slurmctld, slurmdbd, NODE1, NODE2. Runs as root on Debian 12, without systemd or containers.
# Environment:
#   LAB_PORTS       five free TCP ports: slurmctld, slurmdbd, two slurmd, sshd
#   LAB_USER        an ordinary user, made when missing; lets itself in over ssh with DIR/ssh/userkey
#   LAB_ACCOUNTING  slurmdbd (default) or none
#   LAB_PREEMPT     REQUEUE (default) or CANCEL
#   LAB_CGROUP      1: memory limits are enforced (needs cgroup v1); 0 (default)
#   LAB_MIN_JOB_AGE seconds that an ended job stays in squeue (default 300)
# Files: DIR/etc/slurm.conf, DIR/pids/NAME, DIR/log, DIR/ssh/{userkey,hostkey.pub,known_hosts}, DIR/home (the user's own)
set -u
[ $# = 1 ] && [[ $1 = /* ]] || { sed -n '2,16p' "$0" >&2; exit 64; }
D=${1%/}
read -r CTLD_PORT DBD_PORT NODE1_PORT NODE2_PORT SSH_PORT <<<"$LAB_PORTS"
USER_NAME=${LAB_USER:-understudy-lab} ACCOUNTING=${LAB_ACCOUNTING:-slurmdbd} PREEMPT=${LAB_PREEMPT:-REQUEUE}
CGROUP=${LAB_CGROUP:-0} MIN_JOB_AGE=${LAB_MIN_JOB_AGE:-300}
HOST=$(hostname)
export SLURM_CONF=$D/etc/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
NODES="lab$CTLD_PORT-1 lab$CTLD_PORT-2" # unique on the machine: slurmd names its cgroups after them

# A killed daemon stays a zombie until its parent asks for it: read its state instead of kill -0.
running() {
  local state
  state=$(sed 's/.*) //;s/ .*//' "/proc/$1/stat" 2>/dev/null) && [ -n "$state" ] && [ "$state" != Z ]
}

wait_for() {
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  echo "gave up waiting for: $*" >&2
  return 1
}

# In memory, too: the folder may be taken away under a lab whose test was killed.
declare -A PIDS

# NAME COMMAND...: in a session of its own; the pid is right because setsid and the shell exec the command.
start() {
  local name=$1
  shift
  setsid bash -c 'echo $$ >"$0"; exec "$@"' "$D/pids/$name" "$@" </dev/null >>"$D/log/$name.out" 2>&1 &
  PIDS[$name]=$!
}

# NAME: one that a test may stop and start again.
daemon() {
  case $1 in
    slurmctld) start slurmctld setpriv --reuid slurm --regid slurm --clear-groups slurmctld -D -i ;;
    slurmdbd) MYSQL_UNIX_PORT=$D/db/sock start slurmdbd setpriv --reuid slurm --regid slurm --clear-groups slurmdbd -D ;;
    NODE1) start NODE1 slurmd -D -N "${NODES% *}" ;;
    NODE2) start NODE2 slurmd -D -N "${NODES#* }" ;;
  esac
}

stop() {
  local pid
  pid=${PIDS[$1]:-}
  [ -n "$pid" ] || return 0
  kill -CONT "$pid" 2>/dev/null
  kill "$pid" 2>/dev/null
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    running "$pid" || break
    sleep 0.05
  done
  running "$pid" && kill -9 "$pid" 2>/dev/null
  rm -f "$D/pids/$1"
  unset "PIDS[$1]"
}

stop_all() {
  trap '' TERM INT HUP
  local pid
  stop slurmctld
  stop NODE1
  stop NODE2
  # slurmstepd and the jobs outlive slurmd: whatever has this lab in its environment or command line is ours.
  local process tries left
  for ((tries = 0; tries < 40; tries++)); do
    left=""
    for process in /proc/[0-9]*; do
      pid=${process#/proc/}
      [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] && running "$pid" || continue
      tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qxF "SLURM_CONF=$SLURM_CONF" || continue
      tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -q '^SLURM_JOB_ID=' ||
        tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q '^slurmstepd' || continue
      left+=" $pid"
    done
    [ -n "$left" ] || break
    kill -9 $left 2>/dev/null
    sleep 0.05
  done
  for name in sshd slurmdbd mariadbd munged; do stop "$name"; done
  for node in $NODES; do
    for group in /sys/fs/cgroup/*/slurm_"$node"; do
      [ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
  done
}
trap 'stop_all; exit 143' TERM INT HUP

fail() {
  echo "failed: $1" >&2
  tail -n 5 "$D"/log/*.out "$D"/log/*.log 2>/dev/null >&2
  stop_all
  exit 1
}

mkdir -p "$D"/{pids,log,etc,state,spool,db,ssh,dev,home,munge}
chmod 755 "$D" "$D/home"
if ! id "$USER_NAME" >/dev/null 2>&1; then useradd -M -s /bin/bash "$USER_NAME" 2>/dev/null; fi
wait_for id "$USER_NAME" || fail user
# useradd leaves '!' (locked), which sshd refuses.
wait_for usermod -p '*' "$USER_NAME" || fail user
chown slurm:slurm "$D/state" "$D/log" "$D/pids"
chmod 777 "$D/pids" "$D/log"
chown "$USER_NAME" "$D/home"

# --- the database makes its files while munge starts -----------------------------------------------
if [ "$ACCOUNTING" = slurmdbd ]; then
  chown mysql:mysql "$D/db"
  mariadb-install-db --no-defaults --user=mysql --datadir="$D/db/data" --auth-root-authentication-method=normal \
    --skip-test-db >"$D/log/install-db.out" 2>&1 &
  INSTALL=$!
fi
chown munge:munge "$D/munge"
chmod 711 "$D/munge"
head -c 128 /dev/urandom >"$D/munge/key"
chown munge:munge "$D/munge/key"
chmod 400 "$D/munge/key"
start munged setpriv --reuid munge --regid munge --clear-groups munged --foreground --socket="$D/munge/sock" \
  --key-file="$D/munge/key" --pid-file="$D/munge/pid" --log-file="$D/munge/log" --seed-file="$D/munge/seed"
wait_for munge -n -S "$D/munge/sock" || fail munged

# --- configuration -----------------------------------------------------------------------------------
# Device files only so that indexes are allotted: Count= without File= makes a node invalid.
for i in 0 1 2 3 4 5 6 7; do mknod -m 666 "$D/dev/nvidia$i" c 1 3; done
if [ "$CGROUP" = 1 ]; then TRACKING=proctrack/cgroup TASK=task/cgroup; else TRACKING=proctrack/linuxproc TASK=task/none; fi
# cred_expire: a requeued job waits 6 s instead of 121 s. KillWait, SlurmdTimeout and the intervals make tests fast, too.
cat >"$D/etc/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$CTLD_PORT
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/pids/.slurmctld
SlurmdPidFile=$D/pids/.slurmd-%n
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=$TRACKING
TaskPlugin=$TASK
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=$MIN_JOB_AGE
MessageTimeout=10
EnforcePartLimits=ALL
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
CONF
if [ "$ACCOUNTING" = slurmdbd ]; then
  cat >>"$D/etc/slurm.conf" <<CONF
PreemptType=preempt/qos
PreemptMode=$PREEMPT
PriorityType=priority/multifactor
PriorityWeightQOS=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePass=$D/munge/sock
AccountingStoragePort=$DBD_PORT
AccountingStorageTRES=gres/gpu,gres/gpu:h100
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment
CONF
else
  echo "AccountingStorageType=accounting_storage/none" >>"$D/etc/slurm.conf"
fi
: >"$D/etc/gres.conf"
port=$NODE1_PORT
for node in $NODES; do
  mkdir -p "$D/spool/$node"
  echo "NodeName=$node NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$port CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Gres=gpu:h100:8" >>"$D/etc/slurm.conf"
  echo "NodeName=$node Name=gpu Type=h100 File=$D/dev/nvidia[0-7]" >>"$D/etc/gres.conf"
  port=$NODE2_PORT
done
cat >>"$D/etc/slurm.conf" <<CONF
PartitionName=gpu Nodes=${NODES// /,} Default=YES MaxTime=7-0 DefMemPerCPU=100
PartitionName=short Nodes=${NODES// /,} MaxTime=00:10:00 DefMemPerCPU=100
CONF
printf '%s\n' CgroupPlugin=cgroup/v1 CgroupAutomount=no CgroupMountpoint=/sys/fs/cgroup ConstrainRAMSpace=yes >"$D/etc/cgroup.conf"

# --- accounting: MYSQL_UNIX_PORT with StorageHost=localhost means a private socket and no TCP port ----
account() { sacctmgr -iQ "$@" >>"$D/log/sacctmgr.out" 2>&1; }
if [ "$ACCOUNTING" = slurmdbd ]; then
  wait "$INSTALL" || fail "the database"
  start mariadbd mariadbd --no-defaults --user=mysql --datadir="$D/db/data" --socket="$D/db/sock" --skip-networking \
    --innodb-buffer-pool-size=64M --innodb-log-file-size=16M --innodb-lock-wait-timeout=900 \
    --innodb-flush-log-at-trx-commit=0 --performance-schema=OFF
  SQL=(mariadb --no-defaults -uroot -S "$D/db/sock")
  wait_for "${SQL[@]}" -e 'select 1' || fail mariadbd
  "${SQL[@]}" -e "create database slurm_acct_db; create user slurm@localhost identified by 'slurm'; grant all on slurm_acct_db.* to slurm@localhost"
  cat >"$D/etc/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock
DbdHost=$HOST
DbdAddr=127.0.0.1
DbdPort=$DBD_PORT
SlurmUser=slurm
LogFile=$D/log/slurmdbd.log
PidFile=$D/pids/.slurmdbd
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
CONF
  chown slurm:slurm "$D/etc/slurmdbd.conf"
  chmod 600 "$D/etc/slurmdbd.conf"
  daemon slurmdbd
  wait_for sacctmgr -n show cluster || fail slurmdbd
  account add cluster lab
fi

# --- slurmctld and nodes -----------------------------------------------------------------------------
for name in slurmctld NODE1 NODE2; do daemon "$name"; done

# --- sshd, while the nodes register --------------------------------------------------------------------
install -d -m 755 /run/sshd
for key in hostkey userkey; do ssh-keygen -q -t ed25519 -N '' -C lab -f "$D/ssh/$key"; done
chmod 644 "$D/ssh/userkey.pub"
cat >"$D/ssh/sshd_config" <<CONF
Port $SSH_PORT
ListenAddress 127.0.0.1
HostKey $D/ssh/hostkey
PidFile none
AuthorizedKeysFile $D/ssh/userkey.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AllowUsers $USER_NAME
MaxSessions 10
Subsystem sftp internal-sftp
SetEnv SLURM_CONF=$SLURM_CONF
CONF
start sshd /usr/sbin/sshd -D -e -f "$D/ssh/sshd_config"
echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$D/ssh/hostkey.pub")" >"$D/ssh/known_hosts"

nodes_idle() { [ "$(sinfo -h -N -o '%N %T' | sort -u | grep -c idle)" = 2 ]; }
wait_for nodes_idle || fail "slurmctld and slurmd"
if [ "$ACCOUNTING" = slurmdbd ]; then
  # Only now: a QOS limit on gres/gpu is refused before slurmctld has registered its TRES. Two limits at once in one call each.
  account add account ml,other
  account add user "$USER_NAME" account=ml defaultaccount=ml
  account add qos high Priority=100 Preempt=normal
  account add qos tiny GrpTRES=gres/gpu=1 MaxWall=00:05:00 Flags=DenyOnLimit
  account add qos single MaxSubmitJobsPerUser=1 Flags=DenyOnLimit
  account modify user "$USER_NAME" set qos=normal,high,tiny,single defaultqos=normal
  account modify user root set qos=normal,high,tiny,single defaultqos=normal
fi
wait_for ssh -F none -o BatchMode=yes -o UserKnownHostsFile="$D/ssh/known_hosts" -i "$D/ssh/userkey" -p "$SSH_PORT" \
  "$USER_NAME@127.0.0.1" true || fail sshd
echo ready
# Until the test process closes its end, or dies.
while read -r word name; do
  case $word in
    stop) stop "$name" ;;
    start) daemon "$name" ;;
  esac
  echo done
done
stop_all
exit 0

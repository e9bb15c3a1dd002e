#!/bin/sh
# Runs one attempt of a job and leaves evidence of how it ended. POSIX sh and coreutils, nothing else.
#
#   wrapper.sh --run FOLDER --attempt N --marker M --token T --keep "NAME PREFIX_*"
#              [--owner ID] [--host NAME] [--umask MODE] [--python FILE] [--gpus N] [--max-held MIB] [--cuda VERSION]
#              [--disk-bytes B] [--grace SECONDS] [--also-stop FILE] [--containers docker] -- PROGRAM ARGUMENT...
#
# FOLDER/claims/M/owner            who may run this marker; the first mkdir wins, a requeue with the same owner keeps it
# FOLDER/fence                     token of the attempt that may write; another token in it: exit 75
# FOLDER/attempts/N/supervisor.json  who watches the program, and the program itself
# FOLDER/attempts/N/log.txt        everything the program prints, appended
# FOLDER/attempts/N/STOP           made here on TERM, INT and USR1: the program saves and stops
# FOLDER/attempts/N/result.json    how it ended, written once and last
#
# Node checks: output folder, disk, and with --gpus their number, with --max-held the memory that others hold of them, with --cuda
# that the driver is new enough for it. FILE of --also-stop becomes STOP too, unless it is older than attempts/N/job.json.
# With --containers, what the program has left running under the name M or M-RANK is removed after the result is written; and before
# that, when Slurm ends the job: soon after TERM it kills this wrapper, and a container would go on by itself.
#
# HUP is ignored, so that a logout does not stop a job of fifteen hours. A second TERM is passed on to the program.
# With --grace, a program that has not stopped that many seconds after the first signal, or after a STOP that somebody else
# made, gets TERM, then KILL.
# Exit: the program's own code; 64 wrong usage; 69 this machine is unfit (node check); 75 fenced.

# shellcheck disable=SC2317 # the signal handlers are reached through trap
set -u
set -f
trap '' HUP
newline='
'

run='' attempt='' marker='' token='' owner='' host='' python='' disk_bytes=0 gpus=0 grace=0 keep='' mask=022
max_held='' cuda='' also_stop='' containers=''

usage() {
  printf 'wrapper.sh: %s\n' "$1" >&2
  exit 64
}

while [ $# -gt 0 ]; do
  case $1 in --) break ;; esac
  [ $# -ge 2 ] || usage "$1 needs a value"
  case $1 in
    --run) run=$2 ;;
    --attempt) attempt=$2 ;;
    --marker) marker=$2 ;;
    --token) token=$2 ;;
    --owner) owner=$2 ;;
    --host) host=$2 ;;
    --umask) mask=$2 ;;
    --python) python=$2 ;;
    --disk-bytes) disk_bytes=$2 ;;
    --gpus) gpus=$2 ;;
    --max-held) max_held=$2 ;;
    --cuda) cuda=$2 ;;
    --also-stop) also_stop=$2 ;;
    --containers) containers=$2 ;;
    --grace) grace=$2 ;;
    --keep) keep=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
[ $# -ge 2 ] || usage 'no program after --'
shift

case $run in /*) ;; *) usage '--run must be an absolute folder' ;; esac
for number in "$attempt" "$disk_bytes" "$gpus" "$grace" "${max_held:-0}"; do
  case $number in '' | *[!0-9]*) usage "not a number: '$number'" ;; esac
done
for word in "$marker" "$token"; do
  case $word in '' | *[!A-Za-z0-9._-]*) usage "not a marker or token: '$word'" ;; esac
done
case $cuda in *[!0-9.]* | .*) usage "not a version of CUDA: '$cuda'" ;; esac
case $mask in '' | *[!0-7]*) usage "not a umask: '$mask'" ;; esac
umask "$mask"

folder=$run/attempts/$attempt
claim=$run/claims/$marker
child='' child_start='' timer='' stops=0 terms=0 interrupted=0 watcher='' reaper=''

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# Text for a JSON string: no control characters, no quotes, no backslashes.
json_text() { printf '%s' "$1" | tr '\n\t"\134' "  '/" | tr -d '\000-\037'; }

# PATH TEXT: a reader sees the old or the new content, never half of it.
write_file() {
  printf '%s\n' "$2" >"$1.$$.tmp" || return 1
  sync "$1.$$.tmp" 2>/dev/null || sync 2>/dev/null || :
  mv -f "$1.$$.tmp" "$1" || return 1
  sync "$folder" 2>/dev/null || :
}

# PID: sets `start` (a pid that was handed out again has another one) and `group`.
identify() {
  start='' group=''
  if [ -r "/proc/$1/stat" ]; then
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The command name in parentheses may hold spaces: count the fields after it.
    stat=${stat##*) }
    # shellcheck disable=SC2086
    set -- $stat
    group=$3
    shift 19
    start=$1
  else
    # shellcheck disable=SC2046
    set -- $(TZ=UTC LC_ALL=C ps -o pgid= -o lstart= -p "$1" 2>/dev/null)
    [ $# -gt 1 ] || return 1
    group=$1
    shift
    start=$*
  fi
  [ -n "$start" ]
}

boot_id() {
  cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.bootsessionuuid 2>/dev/null || echo unknown
}

fenced() {
  printf 'fenced: %s\n' "$1" >&2
  exit 75
}

fence_is_ours() {
  [ -f "$run/fence" ] || return 0
  current=''
  IFS= read -r current <"$run/fence" || :
  [ "$current" = "$token" ]
}

# True when this marker is ours. A killed winner may have left a claim without a name: that one stays taken.
claim_marker() {
  mkdir -p "$run/claims" "$folder" || exit 69
  if mkdir "$claim" 2>/dev/null; then
    printf '%s\n' "$owner" >"$claim/owner.tmp" && mv -f "$claim/owner.tmp" "$claim/owner"
    return
  fi
  [ -d "$claim" ] || exit 69
  tries=0
  until [ -f "$claim/owner" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 5 ] || return 1
    sleep 1
  done
  holder=''
  IFS= read -r holder <"$claim/owner" || :
  [ "$holder" = "$owner" ]
}

# A requeue finds what its predecessor left: keep the evidence, drop a stop that only the requeue's signal asked for.
tidy_after_requeue() {
  if [ -f "$folder/result.json" ]; then
    earlier=1
    while [ -f "$folder/result.$earlier.json" ]; do earlier=$((earlier + 1)); done
    mv -f "$folder/result.json" "$folder/result.$earlier.json"
  fi
  [ -f "$folder/STOP" ] || return 0
  why=''
  IFS= read -r why <"$folder/STOP" || :
  case $why in signal*) rm -f "$folder/STOP" ;; esac
}

write_supervisor() {
  payload=null
  [ -z "$child" ] || payload="{\"pid\":$child,\"startTime\":\"$child_start\"}"
  write_file "$folder/supervisor.json" "{\"schemaVersion\":1,\"marker\":\"$marker\",\"token\":\"$token\",\"pid\":$$,\"startTime\":\"$own_start\",\"bootId\":\"$boot\",\"host\":\"$host\",\"pgid\":${own_group:-$$},\"payload\":$payload}"
}

# CODE SIGNAL REASON DETAIL. A full disk may have room again in a moment.
write_result() {
  signal=null
  [ -z "$2" ] || signal="\"$2\""
  text="{\"schemaVersion\":1,\"marker\":\"$marker\",\"exitCode\":$1,\"signal\":$signal,\"startedAt\":\"$started\",\"endedAt\":\"$(now)\",\"host\":\"$host\",\"reason\":\"$3\",\"detail\":\"$(json_text "$4")\"}"
  tries=0
  until write_file "$folder/result.json" "$text"; do
    tries=$((tries + 1))
    [ "$tries" -lt 6 ] || return 1
    sleep 2
  done
}

# Free KiB where $1 lies: the field before the one that ends in %.
free_kib() {
  # shellcheck disable=SC2046
  set -- $(df -Pk "$1" | tail -n 1)
  previous=''
  for field in "$@"; do
    case $field in *%) echo "$previous" && return ;; esac
    previous=$field
  done
  echo 0
}

# A driver in trouble hangs for ever: a check that cannot end is a failed one.
at_most_a_minute() {
  if command -v timeout >/dev/null 2>&1; then timeout -k 5 60 "$@"; else "$@"; fi
}

# INDEX UUID: this GPU is one of the job's.
is_given() {
  [ -n "${CUDA_VISIBLE_DEVICES+set}" ] || return 0
  case ,$CUDA_VISIBLE_DEVICES, in *",$1,"*) return 0 ;; esac
  # A UUID may be cut short.
  IFS=,
  for device in $CUDA_VISIBLE_DEVICES; do
    case $device in GPU-?*) case $2 in "$device"*) unset IFS && return 0 ;; esac ;; esac
  done
  unset IFS
  return 1
}

# Sets `held` to the job's GPUs of which others hold too much, and `told` to the number of those that say anything.
read_held() {
  held='' told=0
  while IFS=', ' read -r index uuid used _; do
    case $index in '' | *[!0-9]*) continue ;; esac
    is_given "$index" "$uuid" || continue
    # Some machines do not count it: that is no fault.
    case $used in '[N/A]' | N/A | '[Not') told=$((told + 1)) && continue ;; '' | *[!0-9]*) continue ;; esac
    told=$((told + 1))
    [ "$used" -le "$max_held" ] || held="$held$index $uuid $used$newline"
  done <<END
$1
END
}

# Sets `whom` to what is held by whom.
name_holders() {
  apps=$(at_most_a_minute nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv,noheader,nounits 2>/dev/null) || apps=''
  whom=''
  while read -r index uuid used; do
    [ -n "$uuid" ] || continue
    by=''
    while IFS=', ' read -r app_uuid pid mib program; do
      case $pid in '' | *[!0-9]*) continue ;; esac
      [ "$app_uuid" = "$uuid" ] || continue
      owner_of=$(stat -c %U "/proc/$pid" 2>/dev/null) || owner_of='an unknown user'
      by="$by${by:+, }$mib MiB by pid $pid of $owner_of ($program)"
    done <<END
$apps
END
    whom="$whom${whom:+; }GPU $index: $used MiB held: ${by:-by nobody that nvidia-smi shows}"
  done <<END
$held
END
}

# Sets `problem` and fails when others hold memory of the job's GPUs. What has just ended needs a moment to give it back.
held_check() {
  case ${CUDA_VISIBLE_DEVICES:-} in *MIG-*) return 0 ;; esac
  tries=0
  while :; do
    if ! said=$(at_most_a_minute nvidia-smi --query-gpu=index,uuid,memory.used --format=csv,noheader,nounits 2>&1); then
      problem="nvidia-smi does not tell what is held of the GPUs${said:+: $said}"
      return 1
    fi
    read_held "$said"
    if [ "$told" -lt "$gpus" ]; then
      problem="nvidia-smi tells the memory of only $told of $gpus GPUs${said:+: $said}"
      return 1
    fi
    [ -n "$held" ] || return 0
    tries=$((tries + 1))
    [ "$tries" -lt 6 ] || break
    sleep 5
  done
  name_holders
  problem="others hold memory of the job's GPUs (more than $max_held MiB): $whom"
  return 1
}

# TEXT WORDS: sets `version` to the number that follows the words, empty when there is none.
version_after() {
  version=${1#*"$2"}
  if [ "$version" = "$1" ]; then version='' && return; fi
  version=${version#"${version%%[0-9]*}"}
  version=${version%%[!0-9.]*}
}

# Sets `problem` and fails when the driver is too old for the payload. One that does not say so may do.
driver_check() {
  if ! said=$(at_most_a_minute nvidia-smi 2>&1); then
    problem="nvidia-smi fails${said:+: $said}"
    return 1
  fi
  version_after "$said" 'Driver Version:'
  driver=${version:-unknown}
  version_after "$said" 'CUDA Version:'
  [ -n "$version" ] && [ "${version%%.*}" -lt "${cuda%%.*}" ] || return 0
  problem="driver $driver (CUDA $version) is too old: the payload's torch is built for CUDA $cuda"
  return 1
}

# Sets `problem` and fails when there are fewer GPUs than the job needs.
gpu_check() {
  if ! listed=$(at_most_a_minute nvidia-smi -L 2>&1); then
    problem="the job needs $gpus GPUs, but nvidia-smi fails${listed:+: $listed}"
    return 1
  fi
  found=0
  while IFS= read -r line; do
    case $line in 'GPU '[0-9]*) found=$((found + 1)) ;; esac
  done <<END
$listed
END
  if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    visible=0
    IFS=,
    for device in $CUDA_VISIBLE_DEVICES; do [ -z "$device" ] || visible=$((visible + 1)); done
    unset IFS
    [ "$visible" -ge "$found" ] || found=$visible
  fi
  [ "$found" -ge "$gpus" ] && return
  problem="the job needs $gpus GPUs, but there are only $found: $listed"
  return 1
}

# Sets `problem` and fails when this machine cannot run the job.
node_check() {
  problem=''
  if ! { mkdir -p "$run/output" && : >"$run/output/.writable.$$" && rm -f "$run/output/.writable.$$"; } 2>/dev/null; then
    problem="the output folder $run/output cannot be written"
    return 1
  fi
  need=$(((disk_bytes + 1023) / 1024))
  free=$(free_kib "$run/output")
  if [ "$free" -lt "$need" ]; then
    problem="the job writes $disk_bytes bytes, but $run/output has only $((free * 1024)) bytes free"
    return 1
  fi
  if [ "$gpus" -gt 0 ]; then
    gpu_check || return 1
    [ -z "$cuda" ] || driver_check || return 1
    [ -z "$max_held" ] || held_check || return 1
  fi
  [ -n "$python" ] || return 0
  if ! said=$("$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>&1); then
    problem="$python does not run or is older than Python 3.10${said:+: $said}"
    return 1
  fi
}

request_stop() {
  if ! [ -e "$folder/STOP" ]; then printf 'signal %s\n' "$1" >"$folder/STOP"; fi
  [ -z "$child" ] || start_grace_timer
}

on_signal() {
  interrupted=1
  stops=$((stops + 1))
  [ "$stops" -gt 1 ] || request_stop "$1"
  [ "$1" = TERM ] || return 0
  terms=$((terms + 1))
  if [ "$terms" -eq 2 ] && [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null || :; fi
  [ -z "$child" ] || start_reaper
}

start_grace_timer() {
  [ "$grace" -gt 0 ] && [ -z "$timer" ] || return 0
  (
    wait_for_end "$grace" && exit
    kill -TERM "$child" 2>/dev/null
    wait_for_end 10 && exit
    kill -KILL "$child" 2>/dev/null
  ) >/dev/null 2>&1 &
  timer=$!
}

# TERM may also be the beginning of a preemption's grace, in which the program saves. One whose end Slurm has begun is killed
# after KillWait (30 seconds, where the site has not said otherwise); one that is to end now has nothing to save.
start_reaper() {
  [ "$containers" = docker ] && [ -n "${SLURM_JOB_ID:-}" ] || return 0
  [ -z "$reaper" ] || ! kill -0 "$reaper" 2>/dev/null || return 0
  (
    if ! ends_now; then
      wait_for_end 15 && exit
      is_completing || exit
    fi
    until
      end_containers
      wait_for_end 2
    do :; done
  ) >/dev/null 2>&1 &
  reaper=$!
}

ends_now() {
  run_is_stopped || return 1
  how=''
  IFS= read -r how <"$also_stop" || :
  [ "$how" = now ]
}

is_completing() { [ -n "$(timeout -k 2 8 squeue -h -j "$SLURM_JOB_ID" -t COMPLETING -o %i 2>/dev/null)" ]; }

# Whoever asks for a stop before this wrapper has reported leaves the file and sends no signal.
on_stop_seen() {
  interrupted=1
  start_grace_timer
}

# The stop of the whole run, newer than this attempt: whoever left it may have found no folder to leave another one in.
run_is_stopped() {
  [ -n "$also_stop" ] && [ -e "$also_stop" ] || return 1
  # shellcheck disable=SC3013 # in POSIX since 2024, and in every sh before
  ! [ "$also_stop" -ot "$folder/job.json" ]
}

# USR2 reaches this wrapper alone, and only while it is the one that started the watcher.
watch_for_stop() {
  [ "$grace" -gt 0 ] || [ -n "$also_stop" ] || return 0
  (
    until [ -e "$folder/STOP" ] || run_is_stopped; do
      sleep 2
      kill -0 "$child" 2>/dev/null || exit
    done
    [ -e "$folder/STOP" ] || printf 'cancel\n' >"$folder/STOP"
    if identify $$ && [ "$start" = "$own_start" ]; then kill -USR2 $$; fi
  ) >/dev/null 2>&1 &
  watcher=$!
}

# SECONDS: true as soon as the program is gone.
wait_for_end() {
  waited=0
  while kill -0 "$child" 2>/dev/null; do
    [ "$waited" -lt "$1" ] || return 1
    sleep 1
    waited=$((waited + 1))
  done
}

# Names in the environment that --keep does not list.
unlisted() {
  for name in $(env | cut -d= -f1); do
    case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    listed=no
    for pattern in $keep UNDERSTUDY_JOB; do
      # shellcheck disable=SC2254
      case $name in $pattern) listed=yes ;; esac
    done
    [ "$listed" = yes ] || printf '%s ' "$name"
  done
}

start_program() {
  (
    UNDERSTUDY_JOB=$marker.$token
    export UNDERSTUDY_JOB
    drop=$(unlisted)
    # shellcheck disable=SC2086
    [ -z "$drop" ] || command unset -v $drop
    exec "$@"
  ) >>"$folder/log.txt" 2>&1 </dev/null &
  child=$!
  if identify "$child"; then child_start=$start; fi
}

# Sets `code`. A trapped signal ends `wait` early; the code of a program that ended in that moment is not lost.
await_program() {
  code=''
  while :; do
    interrupted=0
    wait "$child"
    latest=$?
    if [ "$latest" -eq 127 ] && [ -n "$code" ]; then break; fi
    code=$latest
    [ "$interrupted" -eq 1 ] || break
  done
}

# Processes started by the program that are still there. A trainer's workers outlive a killed parent and may have sessions
# of their own; the marker in their environment names them.
leftovers() {
  set +f
  for process in /proc/[0-9]*; do
    case "$newline$(tr '\0' '\n' 2>/dev/null <"$process/environ")$newline" in
      *"${newline}UNDERSTUDY_JOB=$marker.$token$newline"*) printf '%s ' "${process#/proc/}" ;;
    esac
  done 2>/dev/null
  set -f
}

end_leftovers() {
  [ -r /proc/self/environ ] || return 0
  tries=0
  while left=$(leftovers) && [ -n "$left" ]; do
    how=TERM
    [ "$tries" -lt 5 ] || how=KILL
    # shellcheck disable=SC2086
    kill -s "$how" $left 2>/dev/null || :
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || return 0
    sleep 1
  done
}

# A container is the daemon's child: it outlives the command that has started it. A daemon that hangs costs some seconds.
end_containers() {
  [ "$containers" = docker ] && command -v timeout >/dev/null 2>&1 || return 0
  listed=$(timeout -k 5 20 docker ps --all --filter "name=$marker" --format '{{.Names}}' 2>/dev/null) || return 0
  names=''
  while IFS= read -r name; do
    case $name in "$marker" | "$marker-"?*) ;; *) continue ;; esac
    case ${name#"$marker"} in *[!0-9-]*) continue ;; esac
    names="$names $name"
  done <<END
$listed
END
  # shellcheck disable=SC2086
  [ -z "$names" ] || timeout -k 5 30 docker rm --force $names >/dev/null 2>&1 || :
}

end_log_line() {
  [ -s "$folder/log.txt" ] || return 0
  [ -z "$(tail -c 1 "$folder/log.txt" | tr '\0' ' ')" ] || echo >>"$folder/log.txt"
}

identify $$ || :
own_start=$start own_group=$group
host=$(json_text "${host:-$(uname -n)}")
boot=$(json_text "$(boot_id)")
[ -n "$owner" ] || owner="$host:$$:$own_start"

fence_is_ours || fenced "another attempt owns $run"
claim_marker || fenced "marker $marker belongs to another submission"

trap 'on_signal TERM' TERM
trap 'on_signal INT' INT
trap 'on_signal USR1' USR1
trap on_stop_seen USR2
started=$(now)
tidy_after_requeue
write_supervisor || exit 69
if ! node_check; then
  write_result 69 '' node-check "$problem"
  exit 69
fi
if ! fence_is_ours; then
  write_result 75 '' exited 'fenced: a newer attempt owns this run'
  fenced "another attempt owns $run"
fi

start_program "$@"
write_supervisor || :
if [ -e "$folder/STOP" ] || [ "$stops" -gt 0 ]; then start_grace_timer; else watch_for_stop; fi
[ "$terms" -eq 0 ] || start_reaper
await_program
for helper in $watcher $timer $reaper; do kill "$helper" 2>/dev/null || :; done
end_leftovers
end_log_line

if [ "$code" -gt 128 ] && name=$(kill -l "$code" 2>/dev/null) && [ -n "$name" ]; then
  write_result "$code" "SIG$name" signalled ''
else
  write_result "$code" '' exited ''
fi
end_containers
exit "$code"

# Common to the host-*.sh programs: put in front of each of them. POSIX sh, coreutils and grep; Linux's /proc.
#
# Locks lie on the host's own disk, one folder for each job (MARKER.TOKEN), one ticket for each claim on GPUs:
#   lease-NONCE              reserved by a controller that is still sending things; counts while it was touched lately
#   run-PID-START-BOOT       held by that process, which becomes the wrapper; counts while it or the job's processes run
#   gone-PID-START-BOOT      was held; kept a while as evidence of where the job ran
# A ticket holds the GPUs' UUIDs on one line, or `-`. Nobody removes another's live ticket: all write before they look, so of
# two that come together at least one sees the other, and who sees another steps back.

# shellcheck shell=sh disable=SC2015,SC2034,SC2086,SC2317
set -u
set -f
umask 022
LC_ALL=C
export LC_ALL
locks=${UNDERSTUDY_LOCKS:-/var/tmp/understudy-locks}
lease_seconds=300
kept_seconds=604800

fail() {
  printf 'error %s\nend\n' "$1"
  exit 0
}

# Whole numbers only: these words become arguments of commands.
number() {
  case $1 in '' | *[!0-9]*) fail "not a number: '$1'" ;; esac
}

name() {
  case $1 in '' | .* | *[!A-Za-z0-9._-]*) fail "not a name: '$1'" ;; esac
}

boot=$(cat "${UNDERSTUDY_BOOT_ID_FILE:-/proc/sys/kernel/random/boot_id}" 2>/dev/null) || boot=
[ -n "$boot" ] || boot=unknown

# PID: sets `state`, `group` and `start` (a pid that was handed out again has another one).
identify() {
  state='' group='' start=''
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The command name in parentheses may hold spaces: count the fields after it.
  stat=${stat##*) }
  set -- $stat
  [ $# -ge 20 ] || return 1
  state=$1 group=$3
  shift 19
  start=$1
}

# PID START: that very process runs and is no zombie.
alive() {
  identify "$1" && [ "$start" = "$2" ] && [ "$state" != Z ] && [ "$state" != X ]
}

# JOB: pids of its processes. Workers outlive a killed parent and may have sessions of their own; MARKER.TOKEN in their
# environment names them.
marked() {
  set +f
  candidates=$(grep -slF "UNDERSTUDY_JOB=$1" /proc/[0-9]*/environ 2>/dev/null)
  set -f
  for file in $candidates; do
    process=${file#/proc/}
    process=${process%/environ}
    is_marked "$process" "$1" && printf '%s\n' "$process"
  done
  return 0
}

is_marked() {
  { tr '\0' '\n' <"/proc/$1/environ" | grep -qxF "UNDERSTUDY_JOB=$2"; } 2>/dev/null
}

if command -v timeout >/dev/null 2>&1; then limited() { timeout 20 "$@"; }; else limited() { "$@"; }; fi

# ENGINE MARKER: sets `container` to running, gone or unknown. The marker is its name. A container is no child of ours: it outlives
# the client that was asked to run it, and where users are mapped its processes do not show whose they are.
ask_container() {
  container=gone
  [ "$1" = docker ] && command -v docker >/dev/null 2>&1 || return 0
  if asked=$(limited docker container inspect --format '{{.State.Running}}' "$2" 2>&1 </dev/null); then
    [ "$asked" != true ] || container=running
  else
    case $asked in *[Nn]'o such container'*) ;; *) container=unknown ;; esac
  fi
}

# ENGINE MARKER
remove_container() {
  [ "$1" = docker ] && command -v docker >/dev/null 2>&1 || return 0
  limited docker rm --force "$2" >/dev/null 2>&1 </dev/null || :
}

# JSON-TEXT KEY: the first value of that name; the wrapper writes one line without blanks.
field() {
  value=${1#*\""$2"\":}
  [ "$value" != "$1" ] || return 1
  value=${value#\"}
  value=${value%%[\",\}]*}
  printf '%s' "$value"
}

# FILE: seconds since it was touched.
age() {
  touched=$(stat -c %Y "$1" 2>/dev/null) || return 1
  echo $(($(date +%s) - touched))
}

# PATH of a run ticket: sets `pid`, `began` and `its_boot`.
owner_of() {
  owner=${1##*/}
  owner=${owner#*-}
  pid=${owner%%-*}
  owner=${owner#*-}
  began=${owner%%-*}
  its_boot=${owner#*-}
}

# PATH JOB: the ticket counts. One that never will again is renamed, so that it is looked at once.
is_live() {
  case ${1##*/} in
    lease-*)
      old=$(age "$1") || return 1
      [ "$old" -lt "$lease_seconds" ] && return 0
      [ "$old" -lt "$kept_seconds" ] || rm -f "$1" 2>/dev/null
      return 1
      ;;
    run-*)
      owner_of "$1"
      if [ "$its_boot" = "$boot" ]; then
        if alive "$pid" "$began" || [ -n "$(marked "$2")" ]; then return 0; fi
      fi
      mv -f "$1" "${1%/*}/gone-${1##*/run-}" 2>/dev/null
      return 1
      ;;
  esac
  return 1
}

# Tickets of a job, of the kinds given.
tickets() {
  set +f
  for kind in $2; do
    for ticket in "$locks/$1/$kind"-*; do
      [ -f "$ticket" ] && printf '%s\n' "$ticket"
    done
  done
  set -f
}

# JOB [TICKET]: a process of this host is, or is to become, the job's wrapper; that ticket left out.
is_running() {
  for path in $(tickets "$1" run); do
    if [ "${path##*/}" != "${2:-}" ] && is_live "$path" "$1"; then return 0; fi
  done
  return 1
}

# JOB: prints `OTHER-JOB GPUS` for each live ticket of another job, whoever owns it.
others() {
  set +f
  set -- "$1" "$locks"/*/
  set -f
  mine=$1
  shift
  for place in "$@"; do
    other=${place%/}
    other=${other##*/}
    if [ "$other" = "$mine" ] || [ "$other" = '*' ]; then continue; fi
    for path in $(tickets "$other" 'lease run'); do
      if is_live "$path" "$other"; then printf '%s %s\n' "$other" "$(cat "$path" 2>/dev/null)"; fi
    done
  done
}

# MAX: sets `free` (UUIDs of GPUs with at most MAX MiB held), `total`, and `foreign` in words; fails when they cannot be asked.
ask_gpus() {
  free='' foreign='' total=0
  asked=$(nvidia-smi --query-gpu=uuid,memory.used --format=csv,noheader,nounits 2>&1 </dev/null) || return 1
  while IFS=', ' read -r uuid used _; do
    [ -n "$uuid" ] || continue
    total=$((total + 1))
    # Where the driver does not tell (MIG), nothing can be held against the GPU.
    case $used in '' | *[!0-9]*) used=0 ;; esac
    if [ "$used" -le "$1" ]; then free="$free $uuid"; else foreign="$foreign, $uuid holds $used MiB"; fi
  done <<GPUS
$asked
GPUS
  foreign=${foreign#, }
}

# LIST LIST: true when a word is in both.
overlaps() {
  for one in $1; do
    [ "$one" != - ] || continue
    for two in $2; do
      [ "$one" != "$two" ] || return 0
    done
  done
  return 1
}

# JOB GPUS JOBS: fails, with `busy` set, when another job's ticket stands against these GPUs or there are too many jobs.
unopposed() {
  busy='' running=0
  others "$1" >"$locks/$1/others.$$" || :
  while read -r other its; do
    running=$((running + 1))
    if overlaps "$its" "$2"; then busy="GPUs are locked by $other"; fi
  done <"$locks/$1/others.$$"
  rm -f "$locks/$1/others.$$"
  if [ "$3" -gt 0 ] && [ "$running" -ge "$3" ]; then busy="$running jobs run there, $3 are allowed"; fi
  [ -z "$busy" ]
}

# Reserves GPUs of this host for a job that is about to be sent.
#
#   host-lock.sh reserve JOB NONCE DEVICE COUNT MAX_HELD JOBS     → gpus UUID… | busy WHY | unfit WHY | taken
#   host-lock.sh renew JOB NONCE                                  → renewed | gone
#   host-lock.sh ask JOB - DEVICE COUNT MAX_HELD JOBS             → the same, and: locked JOB…; nothing is changed
#   host-lock.sh release JOB NONCE                                → released
#
# DEVICE auto takes GPUs where nvidia-smi finds any. JOBS 0: as many as the GPUs allow.

reserve() {
  job=$1 nonce=$2 device=$3 count=$4 max=$5 jobs=$6
  for word in "$count" "$max" "$jobs"; do number "$word"; done
  [ -d "$locks" ] || mkdir -m 1777 "$locks" 2>/dev/null || [ -d "$locks" ] || fail "cannot make $locks"
  mkdir -p "$locks/$job" 2>/dev/null || fail "cannot make $locks/$job"
  # An earlier submission of the same job is over, or finds its reservation gone.
  for path in $(tickets "$job" lease); do rm -f "$path"; done
  tries=0
  until try_lock; do
    tries=$((tries + 1))
    [ "$tries" -lt 6 ] || break
    [ "$retry" = yes ] || break
    sleep "0.$((($$ + tries * 7) % 9 + 1))"
  done
  # What holds the GPUs may be this very job, started by another submission.
  if [ -n "$busy" ] && is_running "$job"; then echo taken; else tell; fi
}

tell() {
  if [ -n "$unfit" ]; then
    printf 'unfit %s\n' "$unfit"
  elif [ -n "$busy" ]; then
    printf 'busy %s\n' "$busy"
  else
    printf 'gpus %s\n' "$chosen"
  fi
}

# Sets `chosen`, or `busy` and whether another look in a moment may find it otherwise.
try_lock() {
  retry=no
  choose || return 1
  printf '%s\n' "$chosen" >"$locks/$job/new.$$" && mv -f "$locks/$job/new.$$" "$locks/$job/lease-$nonce" ||
    fail "cannot write into $locks/$job"
  unopposed "$job" "$chosen" "$jobs" && return 0
  rm -f "$locks/$job/lease-$nonce"
  retry=yes
  return 1
}

ask() {
  job=$1 device=$2 count=$3 max=$4 jobs=$5
  for word in "$count" "$max" "$jobs"; do number "$word"; done
  choose || :
  tell
  [ -z "$locked" ] || printf 'locked %s\n' "$(lockers)"
}

# Sets `chosen`, or fails with `busy`; `unfit` when no waiting helps.
choose() {
  chosen=- busy='' unfit=''
  locked=$(others "$job")
  if [ "$jobs" -gt 0 ] && [ "$(printf '%s' "$locked" | grep -c .)" -ge "$jobs" ]; then
    busy="$jobs jobs at once are allowed there"
    return 1
  fi
  [ "$device" != cpu ] || return 0
  if [ "$device" = auto ] && ! command -v nvidia-smi >/dev/null 2>&1; then return 0; fi
  if ! command -v nvidia-smi >/dev/null 2>&1; then
    unfit='there is no nvidia-smi' busy=$unfit
    return 1
  fi
  if ! ask_gpus "$max"; then
    busy="nvidia-smi failed: $(printf '%s' "$asked" | head -n 1)"
    return 1
  fi
  if [ "$device" = auto ] && [ "$total" -eq 0 ]; then return 0; fi
  if [ "$total" -lt "$count" ]; then
    unfit="it has $total GPUs, $count are needed" busy=$unfit
    return 1
  fi
  chosen='' found=0
  for uuid in $free; do
    [ "$found" -lt "$count" ] || break
    case " $(printf '%s' "$locked" | tr '\n' ' ') " in *" $uuid "*) continue ;; esac
    chosen="$chosen $uuid"
    found=$((found + 1))
  done
  chosen=${chosen# }
  [ "$found" -lt "$count" ] || return 0
  busy="$found of $total GPUs are free, $count are needed"
  [ -z "$foreign" ] || busy="$busy; $foreign"
  [ -z "$locked" ] || busy="$busy; locked by $(lockers)"
  return 1
}

# Names of the other jobs, without their tokens.
lockers() { printf '%s\n' "$locked" | cut -d' ' -f1 | cut -d. -f1 | sort -u | paste -sd' ' -; }

main() {
  [ $# -ge 3 ] || fail 'wrong usage'
  name "$2"
  [ "$1" = ask ] || name "$3"
  case $1 in
    reserve)
      [ $# -eq 7 ] || fail 'wrong usage'
      shift
      reserve "$@"
      ;;
    renew) if touch -c "$locks/$2/lease-$3" && [ -f "$locks/$2/lease-$3" ]; then echo renewed; else echo gone; fi ;;
    ask)
      [ $# -eq 7 ] || fail 'wrong usage'
      ask "$2" "$4" "$5" "$6" "$7"
      ;;
    release)
      rm -f "$locks/$2/lease-$3"
      echo released
      ;;
    *) fail 'wrong usage' ;;
  esac
  echo end
}
main "$@"

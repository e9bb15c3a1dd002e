# Turns a reservation into a lock of its own process and becomes the job: the process that holds the lock is the one that
# runs the wrapper, so the lock ends with it, whatever ends it.
#
#   host-run.sh FOLDER JOB MAX_HELD JOBS -- PROGRAM ARGUMENT…
#
# UNDERSTUDY_LEASE names the reservation. Taken back or no longer free: FOLDER/refused-NONCE says why, exit 75.

refuse() {
  rm -rf "$folder/secrets-$nonce" "$run/secrets-$nonce"
  printf '%s\n' "$1" >"$folder/refused.$$.tmp" && mv -f "$folder/refused.$$.tmp" "$folder/refused-$nonce"
  exit 75
}

# Nobody reads replies here: standard error is the attempt's wrapper.txt.
fail() {
  printf 'host-run.sh: %s\n' "$1" >&2
  exit 64
}

main() {
  [ $# -ge 6 ] && [ "$5" = -- ] || fail 'wrong usage'
  folder=$1 job=$2 max=$3 jobs=$4 nonce=${UNDERSTUDY_LEASE:-}
  run=${folder%/*/*}
  unset UNDERSTUDY_LEASE
  name "$job"
  name "$nonce"
  number "$max"
  number "$jobs"
  shift 5
  identify $$ || fail 'the system does not know this process'
  ticket="run-$$-$start-$boot"
  mv "$locks/$job/lease-$nonce" "$locks/$job/$ticket" 2>/dev/null || refuse 'gone its reservation was taken back'
  gpus=$(cat "$locks/$job/$ticket")
  if ! unopposed "$job" "$gpus" "$jobs" || ! still_free; then step_back; fi
  take_turn
  take_secrets "$folder/secrets"
  take_secrets "$run/secrets"
  if [ "$gpus" != - ]; then
    CUDA_VISIBLE_DEVICES=$(printf '%s' "$gpus" | tr ' ' ',')
    export CUDA_VISIBLE_DEVICES
  fi
  exec "$@"
}

still_free() {
  [ "$gpus" != - ] || return 0
  ask_gpus "$max" || {
    busy='nvidia-smi failed'
    return 1
  }
  for uuid in $gpus; do
    case " $free " in
      *" $uuid "*) ;;
      *) busy="$uuid is no longer free: $foreign" && return 1 ;;
    esac
  done
}

# What stands in the way may be this very job, started by another submission: then it is not refused.
step_back() {
  if is_running "$job" "$ticket" || [ -d "$run/claims/${job%%.*}" ]; then busy=''; fi
  mv -f "$locks/$job/$ticket" "$locks/$job/gone-${ticket#run-}"
  [ -z "$busy" ] || refuse "busy $busy"
  refuse taken
}

# Of several submissions of one job that are as far as this, one goes on: setup lines run once, and secrets are read once.
take_turn() {
  tries=0
  until ln -s "$ticket" "$locks/$job/first" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -le 5 ] || fail "cannot write into $locks/$job"
    first=$(readlink "$locks/$job/first") || continue
    if is_live "$locks/$job/$first" "$job"; then
      mv -f "$locks/$job/$ticket" "$locks/$job/gone-${ticket#run-}"
      refuse taken
    fi
    rm -f "$locks/$job/first"
  done
}

# FOLDER: where the job looks for secrets. They were stored under the name of this submission; those of others are not needed.
take_secrets() {
  if [ -d "$1-$nonce" ]; then
    rm -rf "$1"
    mv "$1-$nonce" "$1" || fail "cannot take $1"
  fi
  set +f
  rm -rf "$1"-*
  set -f
}
trap '' HUP
main "$@"

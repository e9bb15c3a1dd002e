# Starts a job in a session of its own, so that it survives the end of this connection and of whoever opened it, and waits
# until it has claimed its marker.
#
#   host-start.sh FOLDER RUN-FOLDER JOB NONCE SECONDS -- PROGRAM ARGUMENT…
#
# → accepted PID | taken | gone WHY | busy WHY | failed WHY | slow PID

# systemd-logind may end everything a user has left behind at logout. Only a unit of the user's own manager survives that, and
# only when the user lingers.
detacher() {
  if command -v setsid >/dev/null 2>&1; then detach='setsid'; else detach='nohup'; fi
  command -v loginctl >/dev/null 2>&1 || return 0
  user=$(id -un)
  ends_at_logout || return 0
  problem="this host ends all processes of $user at logout (KillUserProcesses=yes)"
  loginctl show-user "$user" -p Linger 2>/dev/null </dev/null | grep -qx 'Linger=yes' ||
    loginctl enable-linger 2>/dev/null </dev/null || {
    problem="$problem, and lingering is off: ask for loginctl enable-linger $user"
    return 1
  }
  XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
  export XDG_RUNTIME_DIR
  unit='systemd-run --user --scope --quiet --collect'
  # A manager that was asked for just now takes a moment.
  tries=0
  until $unit true >/dev/null 2>&1 </dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 30 ] || {
      problem="$problem, and systemd-run --user does not work there"
      return 1
    }
    sleep 0.1
  done
  detach="$unit $detach"
}

ends_at_logout() {
  logind=$(loginctl show-session -p KillUserProcesses -p KillExcludeUsers -p KillOnlyUsers 2>/dev/null </dev/null)
  case $logind in *KillUserProcesses=yes*) ;; *) return 1 ;; esac
  spared=$(printf '%s\n' "$logind" | sed -n 's/^KillExcludeUsers=//p')
  only=$(printf '%s\n' "$logind" | sed -n 's/^KillOnlyUsers=//p')
  case " $spared " in *" $user "*) return 1 ;; esac
  [ -n "$only" ] || return 0
  case " $only " in *" $user "*) return 0 ;; esac
  return 1
}

main() {
  # shellcheck disable=SC2015
  [ $# -ge 7 ] && [ "$6" = -- ] || fail 'wrong usage'
  folder=$1 run=$2 job=$3 marker=${3%%.*} nonce=$4 seconds=$5
  name "$job"
  name "$nonce"
  number "$seconds"
  shift 6
  cd "$folder" 2>/dev/null || fail "there is no folder $folder"
  if ! detacher; then
    printf 'failed %s\nend\n' "$problem"
    return
  fi
  UNDERSTUDY_LEASE=$nonce
  export UNDERSTUDY_LEASE
  # Another host may have written there before.
  if ! : 2>/dev/null >>"$folder/wrapper.txt"; then
    printf 'failed nothing can be written into %s: %s\nend\n' "$folder" "$(space_of "$folder")"
    return
  fi
  spoken=$(wc -c <"$folder/wrapper.txt")
  $detach "$@" >>"$folder/wrapper.txt" 2>&1 </dev/null &
  pid=$!
  identify "$pid" || start=gone
  await "$pid" "$start"
  echo end
}

# FOLDER: what there is left, in words.
space_of() {
  # shellcheck disable=SC2046
  set -- $(df -Pk "$1" 2>/dev/null | tail -n 1)
  if [ $# -ge 6 ]; then echo "$((${4} / 1024)) of $((${2} / 1024)) MB are free"; else echo 'its disk does not answer'; fi
}

# PID START. Tenths of seconds: the job is usually there in a moment.
await() {
  tenths=0
  until [ "$tenths" -ge $((seconds * 10)) ]; do
    running=yes
    alive "$1" "$2" || running=no
    if [ -f "$folder/supervisor.json" ]; then
      case $(cat "$folder/supervisor.json" 2>/dev/null) in *"\"marker\":\"$marker\""*"\"pid\":$1,"*"\"host\""*)
        printf 'accepted %s\n' "$1"
        return
        ;;
      esac
    fi
    if [ "$running" = no ]; then
      explain
      return
    fi
    sleep 0.1
    tenths=$((tenths + 1))
  done
  printf 'slow %s\n' "$1"
}

explain() {
  if [ -f "$folder/refused-$nonce" ]; then
    head -n 1 "$folder/refused-$nonce"
    rm -f "$folder/refused-$nonce"
  elif [ -d "$run/claims/$marker" ] || is_running "$job"; then
    echo taken
  else
    # Nobody reads them any more.
    rm -rf "$folder/secrets" "$run/secrets"
    printf 'failed %s\n' "$(tail -c "+$((spoken + 1))" "$folder/wrapper.txt" 2>/dev/null | tail -n 4 | tr '\n' ' ' |
      tr -d '\000-\037')"
  fi
}
main "$@"

# Stops an attempt. Each signal goes to a process whose identity was checked here a moment before.
#
#   host-cancel.sh graceful|now MARKER FOLDER ENGINE     → requested | ended
#
# graceful: asks for save-and-stop and returns at once; asking again changes nothing. now: TERM, three seconds, KILL to every
# process of the job, and its container is removed (ENGINE docker; `-` for none); returns when they are gone.

# SIGNAL PID START
signal_one() {
  if alive "$2" "$3"; then kill -s "$1" "$2" 2>/dev/null || :; fi
}

# SIGNAL: to the job's processes, the wrapper left out.
signal_all() {
  for process in $(marked "$job"); do
    if is_marked "$process" "$job"; then kill -s "$1" "$process" 2>/dev/null || :; fi
  done
}

# TENTHS COMMAND…: true as soon as the command is.
within() {
  tenths=$1
  shift
  until "$@"; do
    [ "$tenths" -gt 0 ] || return 1
    tenths=$((tenths - 1))
    sleep 0.1
  done
}

all_gone() { [ -z "$(marked "$job")" ]; }
wrapper_gone() { ! alive "$pid" "$began"; }
finally_gone() {
  signal_all KILL
  wrapper_gone && all_gone
}

end_now() {
  signal_all TERM
  within 30 all_gone || signal_all KILL
  # Before the wrapper says that all is over: what is in it would go on writing.
  remove_container "$engine" "$marker"
  # With its program gone the wrapper writes the result: better evidence than none.
  within 100 wrapper_gone || signal_one KILL "$pid" "$began"
  # A program that was just being started carries its marker only now.
  within 30 finally_gone || :
}

# Nothing of ours runs any more, unless a container has outlived it.
over() {
  [ "$mode" != now ] || ask_container "$engine" "$marker"
  if [ "$mode" = now ] && [ "$container" = running ]; then
    remove_container "$engine" "$marker"
    echo requested
  else
    echo ended
  fi
  echo end
}

main() {
  [ $# -eq 4 ] || fail 'wrong usage'
  mode=$1 marker=$2 folder=$3 engine=$4
  name "$marker"
  if [ -f "$folder/result.json" ]; then
    over
    return
  fi
  [ -d "$folder" ] || fail "there is no folder $folder"
  record=$(cat "$folder/supervisor.json" 2>/dev/null) || record=''
  if [ -n "$record" ]; then
    case $record in *"\"marker\":\"$marker\""*) ;; *) fail "$folder/supervisor.json belongs to another attempt" ;; esac
    pid=$(field "$record" pid) && began=$(field "$record" startTime) && its_boot=$(field "$record" bootId) &&
      token=$(field "$record" token) || fail "$folder/supervisor.json cannot be read"
    number "$pid"
    job=$marker.$token
    if [ "$its_boot" != "$boot" ] || { wrapper_gone && all_gone; }; then
      over
      return
    fi
  fi
  first=no
  if (set -C && printf 'cancel\n' >"$folder/STOP") 2>/dev/null; then first=yes; fi
  if [ -n "$record" ]; then
    # One TERM starts the wrapper's grace period; a second would reach the payload in the middle of its save.
    if [ "$mode" = now ]; then end_now; elif [ "$first" = yes ]; then signal_one TERM "$pid" "$began"; fi
  fi
  printf 'requested\nend\n'
}
main "$@"

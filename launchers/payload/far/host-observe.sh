# Evidence about attempts that this host was given, all in one go.
#
#   host-observe.sh ENGINE {MARKER FOLDER}…       ENGINE: docker where containers run the jobs, else `-`
#
# → host NAME, boot ID, and for each attempt, in the order they were asked for:
#   attempt MARKER
#   supervisor BASE64     who supervises it
#   alive yes|no          that very process runs in this boot
#   left PID…             processes of the job, when the wrapper is gone, or has written its result
#   container running|gone|unknown   when the wrapper is gone, or has written its result
#   claim SECONDS         age of the claim, when nobody has reported
#   ticket live|gone      a process that became, or is to become, the wrapper
#   result BASE64         read last: what ended while we looked has written it by then
#   said TEXT             last line of the starter, when nobody has claimed the marker

text_of() { base64 <"$1" 2>/dev/null | tr -d '\n'; }

examine() {
  record=$(cat "$folder/supervisor.json" 2>/dev/null)
  printf 'supervisor %s\n' "$(text_of "$folder/supervisor.json")"
  pid=$(field "$record" pid) && began=$(field "$record" startTime) && its_boot=$(field "$record" bootId) || return 0
  case $pid in '' | *[!0-9]*) return 0 ;; esac
  if [ "$its_boot" = "$boot" ] && alive "$pid" "$began"; then
    echo 'alive yes'
    return 0
  fi
  echo 'alive no'
  [ "$its_boot" = "$boot" ] || return 0
  token=$(field "$record" token) || return 0
  left=$(marked "$marker.$token" | tr '\n' ' ')
  if [ -n "$left" ]; then
    printf 'left %s\n' "$left"
  elif [ ! -f "$folder/result.json" ]; then
    tell_container
  fi
}

# A container is no child of ours: it may run on whatever the wrapper has written down.
tell_container() {
  [ "$engine" != - ] || return 0
  ask_container "$engine" "$marker"
  printf 'container %s\n' "$container"
}

unreported() {
  set +f
  for place in "$locks/$marker".*/; do
    for path in "$place"run-* "$place"gone-*; do
      [ -f "$path" ] || continue
      owner_of "$path"
      if [ "$its_boot" = "$boot" ] && alive "$pid" "$began"; then echo 'ticket live'; else echo 'ticket gone'; fi
    done
  done
  set -f
  if [ -d "$run/claims/$marker" ]; then
    printf 'claim %s\n' "$(age "$run/claims/$marker")"
  else
    printf 'said %s\n' "$(tail -n 1 "$folder/wrapper.txt" 2>/dev/null | tr -d '\000-\037')"
  fi
}

main() {
  engine=${1:--}
  [ $# -eq 0 ] || shift
  printf 'host %s\nboot %s\n' "$(uname -n)" "$boot"
  while [ $# -ge 2 ]; do
    marker=$1 folder=$2 run=${2%/*/*}
    shift 2
    name "$marker"
    printf 'attempt %s\n' "$marker"
    if [ -f "$folder/supervisor.json" ]; then examine; else unreported; fi
    # Somebody may have reported between the two looks.
    if [ -f "$folder/result.json" ]; then
      printf 'result %s\n' "$(text_of "$folder/result.json")"
      tell_container
    fi
  done
  echo end
}
main "$@"

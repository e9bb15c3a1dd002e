# What this host knows of a run and of one of its attempts.
#
#   host-look.sh settle|look|forget RUN-FOLDER MARKER TOKEN
#
# → host NAME           uname -n
#   claim OWNER         the marker is claimed; owner as the wrapper wrote it
#   ticket live|gone    this host started it: its process runs, or has ended
#   lease               reserved by a submission that has not started it yet
#   newest N            highest attempt that has a folder
#   begun BYTES         whole lines of events.jsonl: the payload has run here, or events of another host were brought
#   work                complete checkpoints or finished results lie here
#
# `settle` first takes back reservations for this attempt: whatever a lost controller has sent and is still on its way cannot
# start any more, so that "nobody holds this marker" stays true. `forget` removes the secrets that were stored for it.

ticket_of() {
  answer=''
  for path in $(tickets "$1" 'run gone'); do
    answer=gone
    case ${path##*/} in run-*)
      owner_of "$path"
      if [ "$its_boot" = "$boot" ] && alive "$pid" "$began"; then
        answer=live
        break
      fi
      ;;
    esac
  done
  [ -z "$answer" ] || printf 'ticket %s\n' "$answer"
  for path in $(tickets "$1" lease); do
    if is_live "$path" "$1"; then echo lease; fi
  done
}

newest() {
  highest=0
  set +f
  for place in "$1"/attempts/*/; do
    place=${place%/}
    place=${place##*/}
    case $place in '' | *[!0-9]*) continue ;; esac
    [ "$place" -le "$highest" ] || highest=$place
  done
  set -f
  printf 'newest %s\n' "$highest"
}

# FILE: bytes up to the end of its last whole line. What a killed writer has torn is nobody's event.
whole_lines() {
  bytes=$(wc -c <"$1")
  [ "$(tail -c 1 "$1" | wc -l)" -gt 0 ] || bytes=$((bytes - $(tail -n 1 "$1" | wc -c)))
  echo $((bytes))
}

has_work() {
  set +f
  for file in "$1"/output/checkpoint-*/_COMPLETE.json "$1"/output/_DONE.json "$1"/output/*/_DONE.json "$1"/output/*/*/_DONE.json; do
    if [ -f "$file" ]; then
      echo work
      break
    fi
  done
  set -f
}

# What was stored for a start that cannot come any more, or that has ended before it read them.
forget_secrets() {
  set +f
  rm -rf "$run"/secrets "$run"/secrets-* "$run"/attempts/*/secrets "$run"/attempts/*/secrets-*
  set -f
}

main() {
  [ $# -eq 4 ] || fail 'wrong usage'
  run=$2 marker=$3 job=$3.$4
  name "$job"
  if [ "$1" = settle ]; then
    for path in $(tickets "$job" lease); do rm -f "$path"; done
  fi
  printf 'host %s\n' "$(uname -n)"
  # The ticket before the claim: a process that ends in between has claimed.
  ticket_of "$job"
  # Where hosts share the folder, another one may be about to read them: only who has asked all hosts says forget.
  if [ "$1" = forget ] && [ "$answer" != live ]; then forget_secrets; fi
  if [ -d "$run/claims/$marker" ]; then
    printf 'claim %s\n' "$(head -n 1 "$run/claims/$marker/owner" 2>/dev/null)"
  fi
  newest "$run"
  [ ! -f "$run/events.jsonl" ] || printf 'begun %s\n' "$(whole_lines "$run/events.jsonl")"
  has_work "$run"
  echo end
}
main "$@"

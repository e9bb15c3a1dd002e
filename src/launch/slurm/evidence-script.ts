/**
 * Reads the folders of any number of runs: a line `FROM FOLDER` of standard input for each, FROM being the first attempt that matters.
 * Shell builtins alone where all is well, so that a thousand runs cost a few processes: one more for each folder of runs, a tail
 * where a job had nothing to start, an ls where something is missing. Each line of a file is marked, whatever is in it. A job's log
 * lies with the first attempt of its submission.
 *
 *   N seconds   now        L             no other machine's files are seen late here
 *   R folder    a run      U words       why it is not known what lies there
 *   A number    attempt    S folder      secrets that nobody has read
 *   C name job  claim      F name, +line a file
 */
export const EVIDENCE_SCRIPT = `
cannot() { printf 'U%s\\n' "$(printf %s "$1" | tr '\\n' ' ')"; }
lines() {
  while IFS= read -r line || [ -n "$line" ]; do printf '+%s\\n' "$line"; line=; done <"$1"
}
text() {
  [ -f "$1" ] || return 0
  printf 'F%s\\n' "$1"
  lines "$1" 2>/dev/null || cannot "$1 cannot be read"
}
# FIRST-FOUND FOLDER: where nothing was found, it may be that nothing can be listed.
found() {
  if [ -e "$1" ]; then return 0; fi
  case $1 in
    */'*') if [ -d "$2" ]; then listed "$2"; fi ;;
    *) cannot "$1 cannot be looked at" ;;
  esac
  return 1
}
listed() { why=$(LC_ALL=C ls -- "$1" 2>&1 >/dev/null) || cannot "\${why:-$1 cannot be listed}"; }
enter() {
  cd "$1" 2>/dev/null && return
  # A folder above that can be listed knows better than a name that was looked for before.
  why=$(LC_ALL=C ls -- "\${1%/*}/" 2>&1 >/dev/null) && why=$(LC_ALL=C ls -d -- "$1/." 2>&1 >/dev/null)
  case $?:$why in
    0:*) cd "$1" 2>/dev/null && return; cannot "$1 cannot be entered" ;;
    *"$1/."*'No such file or directory') ;;
    *) cannot "\${why:-$1 cannot be entered}" ;;
  esac
  return 1
}
place() {
  folder=\${1%/*}
  [ "$folder" = "$placed" ] || { placed=$folder kind=$(stat -f -c %T -- "$folder/" 2>/dev/null); }
  case $kind in ext2/ext3 | ext4 | xfs | btrfs | zfs | tmpfs | ramfs | overlayfs | f2fs | jfs | reiserfs) echo L ;; esac
}
needs_log() {
  [ -f "attempts/$from/supervisor.json" ] || return 0
  line=
  { IFS= read -r line <"attempts/$from/result.json"; } 2>/dev/null
  case $line in *'"exitCode":69,'*) return 0 ;; esac
  return 1
}
log_of() {
  first=0 newest=
  for file in attempts/*/link-*.txt; do
    number=\${file#attempts/} number=\${number%%/*}
    case $number in *[!0-9]*) continue ;; esac
    [ -f "$file" ] && [ "$number" -le "$from" ] && [ "$number" -ge "$first" ] || continue
    [ "$number" -eq "$first" ] && [ "$newest" -nt "$file" ] || newest=$file
    first=$number
  done
  [ -n "$newest" ] || return 0
  printf 'F%s\\n' "$newest"
  tail -c 2000 "$newest" 2>/dev/null | while IFS= read -r line || [ -n "$line" ]; do printf '+%s\\n' "$line"; line=; done
}
placed= kind=
printf 'N%s\\n' "$(date +%s)"
while IFS=' ' read -r from run; do
  printf 'R%s\\n' "$run"
  place "$run"
  enter "$run" || continue
  text STOP
  text fence
  set -- claims/*
  if found "$1" claims; then
    for claim do
      [ -d "$claim" ] || continue
      owner=
      if [ -r "$claim/owner" ]; then { IFS= read -r owner <"$claim/owner"; } 2>/dev/null
      elif [ -e "$claim/owner" ]; then cannot "$claim/owner cannot be read"; fi
      printf 'C%s %s\\n' "\${claim#claims/}" "$owner"
    done
  fi
  set -- links/*
  if found "$1" links; then
    for file do case $file in *.json) text "$file" ;; esac; done
  fi
  set -- attempts/*
  if found "$1" attempts; then
    for folder do
      number=\${folder#attempts/}
      case $number in *[!0-9]*) continue ;; esac
      [ -d "$folder" ] || continue
      [ ! -d "$folder/secrets" ] || printf 'S%s\\n' "$folder/secrets"
      [ "$number" -ge "$from" ] || continue
      printf 'A%s\\n' "$number"
      # Listing a folder makes a network filesystem ask its server.
      set -- "$folder"/*
      found "$1" "$folder" || continue
      for file do
        case \${file##*/} in supervisor.json | result.json | STOP) text "$file" ;; esac
      done
    done
  else
    # Every run has one from its submission on.
    listed .
  fi
  [ ! -d secrets ] || echo Ssecrets
  if needs_log; then log_of; fi
done
`;

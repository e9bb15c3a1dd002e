#!/bin/sh
# Makes sure of data that a machine had before us, without reading it more than once. POSIX sh and coreutils.
#
#   trust.sh list --records FOLDER          standard input: a line `BYTES SHA256 PATH` for each file
#       one line for each file: `trusted`, `unproven` (right size, digest not known yet), `size BYTES`, `missing`. Reads no data
#   trust.sh hash --records FOLDER [--umask U] [--events FILE] {--file BYTES SHA256 PATH}... [-- PROGRAM ARGUMENT...]
#       hashes what is unproven, writes down what was found, then becomes PROGRAM. Exit 2: not the files that are expected;
#       3: asked to stop. Runs inside a job, never on a login node
#
# SHA256 `-`: the size alone counts. A digest stands in `.understudy-trust.json` beside its file, with the size and the time of
# change at which it was found: another size or time, and it is found anew. Where the folder cannot be written, the record
# is kept in the records' folder under the digest of its path.

set -u
LC_ALL=C
export LC_ALL

usage() {
  printf 'trust.sh: %s\n' "$1" >&2
  exit 64
}

# PATH: sets `bytes` and `mtime`; fails when there is no such file.
measure() {
  [ -f "$1" ] || return 1
  # shellcheck disable=SC2046
  set -- $(stat -L -c '%s %.9Y' "$1" 2>/dev/null)
  [ $# -eq 2 ] || return 1
  bytes=$1 mtime=$2
}

# PATH: sets `entry`, the line of a record that stands for this file as it is now, with the digest $2. Fails for a name that
# would need quoting: such a file is hashed each time.
entry_of() {
  case ${1##*/} in *[!A-Za-z0-9._@+=,\ -]*) return 1 ;; esac
  entry="\"${1##*/}\":{\"bytes\":$bytes,\"mtime\":\"$mtime\",\"sha256\":\"$2\"}"
}

# PATH: sets `beside` and `apart`, where its record may lie.
records_of() {
  folder=${1%/*}
  beside=$folder/.understudy-trust.json
  if [ "$folder" != "${last_folder:-}" ]; then
    key=$(printf '%s' "$folder" | sha256sum)
    last_folder=$folder
  fi
  apart=$records/${key%% *}.json
}

# BYTES SHA256 PATH: sets `verdict`.
judge() {
  if ! measure "$3"; then
    verdict=missing
  elif [ "$bytes" != "$1" ]; then
    verdict="size $bytes"
  elif [ "$2" = - ]; then
    verdict=trusted
  else
    verdict=unproven
    entry_of "$3" "$2" || return 0
    records_of "$3"
    if grep -q -s -x -F -e "$entry" -e "$entry," "$beside" "$apart" 2>/dev/null; then verdict=trusted; fi
  fi
}

list() {
  while read -r want_bytes want_digest path; do
    judge "$want_bytes" "$want_digest" "$path"
    echo "$verdict"
  done
}

# RECORD: its lines without the file of `entry`, and `entry`. A reader sees the old record or the new one.
add_entry() {
  [ ! -d "$1" ] || return 1
  name=${entry%%:*}
  {
    echo '{"schemaVersion":1,"files":{'
    if [ -f "$1" ]; then
      sed -n 's/^\("[^"]*":{"bytes":[0-9]*,"mtime":"[0-9.]*","sha256":"[0-9a-f]*"}\),*$/\1,/p' "$1" | grep -v -F "$name:" || :
    fi
    printf '%s\n}}\n' "$entry"
  } 2>/dev/null >"$1.$$.new" && mv -f "$1.$$.new" "$1" 2>/dev/null && return 0
  rm -f "$1.$$.new" 2>/dev/null
  return 1
}

keep_record() {
  entry_of "$1" "$2" || return 0
  records_of "$1"
  if [ -w "$folder" ] && add_entry "$beside" 2>/dev/null; then return 0; fi
  mkdir -p "$records" 2>/dev/null && add_entry "$apart" 2>/dev/null ||
    echo "note: no record could be written for $1: it is hashed again the next time"
}

# CODE MESSAGE HINT: says it in the log and in the events of the run, and ends.
refuse() {
  printf '%s: %s\n' "$1" "$2" >&2
  if [ -n "$events" ]; then
    job=${UNDERSTUDY_JOB:-}
    job=${job%%.*}
    attempt=${job##*-a}
    case $attempt in '' | *[!0-9]*) attempt=0 ;; esac
    printf '{"v":1,"at":"%s","attempt":%s,"type":"failed","code":"%s","message":"%s","hint":"%s"}\n' \
      "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" "$attempt" "$1" "$(json_text "$2")" "$(json_text "$3")" >>"$events"
  fi
  exit 2
}

json_text() { printf '%s' "$1" | tr '\n\t"\134' "  '/" | tr -d '\000-\037'; }

stopped() {
  [ -z "${hasher:-}" ] || kill "$hasher" 2>/dev/null
  echo 'asked to stop before the data was known'
  exit 3
}

# Counts before anything is read: all gone, half gone or changed are three different stories.
survey() {
  total=0 missing=0 first='' wrong=''
  while [ $# -gt 0 ] && [ "$1" = --file ]; do
    total=$((total + 1))
    judge "$2" "$3" "$4"
    case $verdict in
      missing) missing=$((missing + 1)) && first=${first:-$4} ;;
      size*) wrong=${wrong:-"$4 has ${verdict#size } bytes; $2 are expected"} ;;
    esac
    shift 4
  done
  if [ "$missing" -gt 0 ] && [ "$missing" -eq "$total" ]; then
    refuse DATA_PURGED "none of the $total files is there, e.g. $first: they were removed, or never put there" \
      'put them there again, or set stage to upload'
  elif [ "$missing" -gt 0 ]; then
    refuse DATA_TORN "$missing of $total files are not there, e.g. $first" 'complete them, or set stage to upload'
  elif [ -n "$wrong" ]; then
    refuse DATA_CHANGED "$wrong" 'it is another file, or a copy that was cut short: copy it again, or set stage to upload'
  fi
}

# BYTES SHA256 PATH
prove() {
  judge "$@"
  if [ "$verdict" = trusted ]; then
    known=$((known + 1))
    return
  fi
  echo "hashing $3 ($1 bytes)"
  measure "$3" || refuse DATA_TORN "$3 is gone" 'copy it again'
  size_before=$bytes time_before=$mtime
  # In the background, so that a signal is not kept waiting for gigabytes.
  sha256sum <"$3" >"$scratch" &
  hasher=$!
  wait "$hasher" || refuse DATA_UNREADABLE "$3 cannot be read" 'look at its owner and mode, and at the disk'
  hasher=''
  read -r found _ <"$scratch"
  { measure "$3" && [ "$bytes" = "$size_before" ] && [ "$mtime" = "$time_before" ]; } ||
    refuse DATA_CHANGED "$3 was changed while it was read" 'start again when nobody writes it any more'
  if [ "$found" != "$2" ]; then
    refuse DATA_MISMATCH "$3 has the SHA-256 $found; $2 is expected" 'it is another file of the same size: copy it again, or set stage to upload'
  fi
  keep_record "$3" "$2"
  hashed=$((hashed + 1))
}

# The stop of the attempt that runs this, whatever its number.
stop_file() {
  [ -n "$events" ] || return 1
  job=${UNDERSTUDY_JOB:-}
  job=${job%%.*}
  [ -e "${events%/*}/attempts/${job##*-a}/STOP" ]
}

main() {
  mode=${1:-} records='' events='' mask=''
  [ $# -gt 0 ] && shift
  while [ $# -ge 2 ]; do
    case $1 in
      --records) records=$2 ;;
      --events) events=$2 ;;
      --umask) mask=$2 ;;
      *) break ;;
    esac
    shift 2
  done
  [ -n "$records" ] || usage '--records is needed'
  case $mode in
    list) list && exit 0 ;;
    hash) ;;
    *) usage "unknown way '$mode'" ;;
  esac
  outer=$(umask)
  [ -z "$mask" ] || umask "$mask"
  known=0 hashed=0 hasher=''
  survey "$@"
  trap stopped TERM INT USR1
  scratch=$(mktemp) || usage 'there is no room for a temporary file'
  trap 'rm -f "$scratch"' EXIT
  while [ $# -gt 0 ] && [ "$1" = --file ]; do
    if stop_file; then stopped; fi
    prove "$2" "$3" "$4"
    shift 4
  done
  echo "data: $known files known by size and time of change, $hashed hashed"
  rm -f "$scratch"
  trap - EXIT TERM INT USR1
  umask "$outer"
  [ "${1:-}" = -- ] && shift
  [ $# -gt 0 ] || exit 0
  exec "$@"
}

main "$@"

#!/bin/sh
# Makes the payload's Python environment on a far machine, once for each digest of its lock files. POSIX sh and coreutils.
#
#   environment.sh status FOLDER GENERATION OFFSET
#       what is known, one fact a line; after the line `log` the text of that build from byte OFFSET on
#   environment.sh start FOLDER BUILD-OPTIONS...    (standard input: a line with the folder or URL that torch for the CPU comes
#       from, or an empty one, since a URL may hold a token that no argument may show; then this script, again)
#       starts `build` so that it lives on when the connection ends; says `generation N` of the build that runs now
#   environment.sh build FOLDER --umask U --python P --device cpu|cuda [--group G] [--wheelhouse W]
#                  [--torch-index URL] --lock FILE... [--torch-source-file FILE]
#
# FOLDER                     the environment; _COMPLETE.json in it. It appears whole, by one rename
# FOLDER.build-N             where build number N works
# FOLDER.lock/N/owner        who makes build N: host, pid, start time, boot id. Whoever makes the folder N owns it: nobody ever
#                            takes a lock away, a newer number supersedes an older one
# FOLDER.lock/N/heartbeat    touched while it works; log.txt what it says; failed why it gave up (CODE sentence)

set -u
LC_ALL=C
export LC_ALL

# A build on another host counts as dead after this many seconds without a sign of life.
far_patience=900
# A lock whose maker was killed before it could sign.
unsigned_patience=60

die() {
  printf '%s\n' "$1" >&2
  exit 1
}

is_complete() { [ -f "$folder/_COMPLETE.json" ] && [ -x "$folder/bin/python" ]; }

# Sets `newest`: the highest number of a build; 0 for none.
find_newest() {
  newest=0
  while [ -d "$lock/$((newest + 1))" ]; do newest=$((newest + 1)); done
}

# Seconds since the file was touched, by the clock of the disk it lies on.
age_of() {
  then=$(stat -c %Y "$1" 2>/dev/null) || return 1
  if : 2>/dev/null >"$lock/.clock.$$"; then
    now=$(stat -c %Y "$lock/.clock.$$")
    rm -f "$lock/.clock.$$"
  else
    now=$(date +%s)
  fi
  echo $((now - then))
}

boot_id() { cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo unknown; }

# Start time of a process that runs (a zombie does not); fails when there is none.
start_of() {
  # The command name in parentheses may hold spaces: count the fields after it.
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  case $1 in Z | X) return 1 ;; esac
  shift 19
  echo "$1"
}

# Whether build number $1 is being made.
is_alive() {
  [ ! -f "$lock/$1/failed" ] || return 1
  if ! [ -f "$lock/$1/owner" ]; then
    age=$(age_of "$lock/$1") && [ "$age" -lt "$unsigned_patience" ]
    return
  fi
  read -r host pid start boot <"$lock/$1/owner" || return 1
  if [ "$host" = "$(uname -n)" ]; then
    [ "$boot" = "$(boot_id)" ] && found=$(start_of "$pid") && [ "$found" = "$start" ]
    return
  fi
  age=$(age_of "$lock/$1/heartbeat") && [ "$age" -lt "$far_patience" ]
}

status() {
  wanted=$1 offset=$2
  find_newest
  if is_complete; then
    echo 'state complete'
  elif [ "$newest" -eq 0 ]; then
    echo 'state absent'
  elif is_alive "$newest"; then
    echo 'state building'
  elif [ -f "$lock/$newest/failed" ]; then
    echo 'state failed'
  else
    echo 'state abandoned'
  fi
  echo "generation $newest"
  if [ -f "$lock/$newest/owner" ]; then
    read -r host pid _ <"$lock/$newest/owner" && echo "owner process $pid on $host"
  fi
  if [ -f "$lock/$newest/failed" ]; then printf 'failed %s\n' "$(head -n 1 "$lock/$newest/failed")"; fi
  [ "$wanted" = "$newest" ] || offset=0
  echo "log"
  if [ -f "$lock/$newest/log.txt" ]; then tail -c "+$((offset + 1))" "$lock/$newest/log.txt"; fi
}

# FOLDER: made if need be, for the group where there is one. What is not allowed is told, not fatal.
share() {
  mkdir -p "$1" || die "the folder $1 cannot be made: $(why_unwritable)"
  [ -n "$group" ] || return 0
  [ "$(stat -c %G "$1")" = "$group" ] || chgrp "$group" "$1" 2>/dev/null ||
    echo "note: $1 could not be given to the group $group"
  [ -g "$1" ] || chmod g+s "$1" 2>/dev/null || echo "note: $1 does not hand its group on to what is made in it"
}

start() {
  umask "$mask" || die "the umask $mask is none"
  is_complete && echo 'generation 0' && exit 0
  share "$(dirname "$folder")"
  share "$lock"
  script=$lock/build-$$.sh said=$lock/build-$$.txt source=$lock/build-$$.source
  # For its owner alone: the address of an index, or a line of the setup, may hold a token.
  (
    umask 077
    IFS= read -r first
    if [ -n "$first" ]; then printf '%s\n' "$first" >"$source" || exit 1; fi
    cat >"$script" && [ -s "$script" ]
  ) 2>/dev/null || die "nothing can be written into $lock: $(why_unwritable)"
  [ ! -f "$source" ] || set -- "$@" --torch-source-file "$source"
  find_newest
  before=$newest
  # A session of its own where the system has setsid: no signal to the login's group reaches it.
  detach=$(command -v setsid || echo nohup)
  # shellcheck disable=SC2086
  nohup $detach /bin/sh "$script" build "$@" >"$said" 2>&1 </dev/null &
  builder=$!
  tries=0
  while [ "$tries" -lt 300 ]; do
    find_newest
    if is_complete || [ "$newest" -gt "$before" ]; then break; fi
    if ! kill -0 "$builder" 2>/dev/null; then
      find_newest
      # It left because somebody else is at work.
      if is_complete || { [ "$newest" -gt 0 ] && is_alive "$newest"; }; then break; fi
      [ "$newest" -gt "$before" ] || die "the build could not begin: $(tail -n 3 "$said" | tr '\n' ' ')"
      break
    fi
    tries=$((tries + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
  echo "generation $newest"
}

# Sets `free` and `total` of the disk that the environment lies on, in KiB.
ask_space() {
  place=$lock
  while [ ! -d "$place" ] && [ "$place" != / ]; do place=$(dirname "$place"); done
  # shellcheck disable=SC2046
  set -- $(df -Pk "$place" 2>/dev/null | tail -n 1)
  free=${4:-} total=${2:-}
  case $free$total in '' | *[!0-9]*) free='' total='' ;; esac
}

why_unwritable() {
  ask_space
  if [ -z "$free" ]; then
    echo 'permission denied, a quota that is used up, or a full disk'
  elif [ "$free" -lt 64 ]; then
    echo "the disk is full (0 of $((total / 1024)) MB are free)"
  else
    echo "permission denied, or a quota that is used up ($((free / 1024)) of $((total / 1024)) MB of the disk are free)"
  fi
}

# ---- build ----

# CODE SENTENCE. What looks like something else may be a disk that is full: that is told first, with numbers.
failed_with() {
  if ran_full; then
    set -- DISK_FULL "the disk of $folder is full: $((free / 1024)) of $((total / 1024)) MB are free, and an environment takes about $needed ($2)"
  fi
  printf 'failed: %s\n' "$2"
  # First, so that there is room for a word about it on a full disk.
  rm -rf "$build"
  printf '%s %s\n' "$1" "$2" | tr '\n' ' ' >"$own/failed.new" && mv -f "$own/failed.new" "$own/failed"
  exit 1
}

# Asked before the half-made environment is removed. A little is always left: what could not be written was larger.
ran_full() {
  ask_space
  [ -n "$free" ] || return 1
  if [ "$device" = cpu ]; then needed='2 GB'; else needed='12 GB'; fi
  [ "$free" -ge 1024 ] || return 0
  grep -E -s -q 'No space left on device|Disk quota exceeded|Errno (28|122)' "$own/log.txt"
}

# Makes the next number ours, unless the newest is at work. Sets `own` and `number`.
acquire() {
  while :; do
    find_newest
    if [ "$newest" -gt 0 ] && is_alive "$newest"; then return 1; fi
    number=$((newest + 1)) own=$lock/$((newest + 1))
    if mkdir "$own" 2>/dev/null; then break; fi
    # Somebody was faster, or removed everything because the environment is complete.
    if is_complete; then return 1; fi
    [ -d "$own" ] || die "nothing can be written into $lock: $(why_unwritable)"
  done
  { printf '%s %s %s %s\n' "$(uname -n)" "$$" "$(start_of $$)" "$(boot_id)" >"$own/owner.new" &&
    mv -f "$own/owner.new" "$own/owner" && : >"$own/heartbeat"; } ||
    die "nothing can be written into $own: $(why_unwritable)"
}

beat() {
  while kill -0 $$ 2>/dev/null && [ -d "$own" ]; do
    touch "$own/heartbeat" 2>/dev/null
    sleep 10
  done
}

on_exit() {
  code=$?
  [ -z "${pulse:-}" ] || kill "$pulse" 2>/dev/null
  is_complete || rm -rf "$build"
  if [ -d "$own" ] && ! [ -f "$own/failed" ] && ! is_complete; then
    printf 'ENVIRONMENT_FAILED the build ended unexpectedly with code %s\n' "$code" >"$own/failed"
  fi
}

# What killed builds have left: their programs on this host, then their files.
clear_earlier() {
  earlier=1
  while [ "$earlier" -lt "$number" ]; do
    # The name in their environment ends with a NUL byte.
    for process in $(grep -alsz -x -F "UNDERSTUDY_BUILD=$folder#$earlier" /proc/[0-9]*/environ 2>/dev/null); do
      process=${process#/proc/}
      kill -KILL "${process%/environ}" 2>/dev/null
    done
    rm -rf "$folder.build-$earlier" 2>/dev/null || { sleep 1 && rm -rf "$folder.build-$earlier"; }
    earlier=$((earlier + 1))
  done
}

find_python() {
  version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>&1) ||
    failed_with PYTHON_MISSING "$python does not run: $(echo "$version" | tail -n 1)"
  major=${version%%.*} minor=${version#*.}
  minor=${minor%%.*}
  case $major$minor in '' | *[!0-9]*) failed_with PYTHON_MISSING "$python is no Python: it says $version" ;; esac
  if [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -lt 10 ]; }; then
    failed_with PYTHON_TOO_OLD "the payload needs Python 3.10 or newer; $python is $version"
  fi
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    failed_with PYTHON_WITHOUT_VENV "Python $version ($python) cannot make virtual environments: venv or ensurepip is missing"
}

# Every wheel that the locks ask for, told by the first that is missing or does not fit this Python and this machine.
CHECK_WHEELS='
import os, platform, re, sys
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.tags import sys_tags
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename
house, locks = sys.argv[1], sys.argv[2:]
here = list(sys_tags())
known = set(here)
python = "cp%d%d" % sys.version_info[:2]
libc = (os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ")[-1] if hasattr(os, "confstr") else ""
wheels, sources = {}, set()
for name in sorted(os.listdir(house)):
    if name.endswith(".whl"):
        try:
            project, version, _, tags = parse_wheel_filename(name)
        except Exception:
            continue
        wheels.setdefault(project, []).append((version, tags, name))
    elif name.endswith((".tar.gz", ".zip")):
        sources.add(canonicalize_name(re.sub(r"-[0-9][^-]*$", "", re.sub(r"\.(tar\.gz|zip)$", "", name))))

def misfit(name, tags):
    fitting = [t for t in tags if t.interpreter in {k.interpreter for k in here} and t.abi in {k.abi for k in here}]
    if not fitting:
        kinds = sorted({t.interpreter for t in tags})
        return "%s is for %s; this Python is %s" % (name, " or ".join(kinds), python)
    needs = [re.match(r"manylinux_(\d+)_(\d+)_(.*)", t.platform) for t in fitting]
    needs = [(int(m[1]), int(m[2])) for m in needs if m and m[3] == platform.machine()]
    if needs and libc:
        return "%s needs glibc %d.%d; this machine has %s" % ((name,) + min(needs) + (libc,))
    return "%s is for %s; this machine is %s" % (name, " or ".join(sorted({t.platform for t in fitting})), platform.machine())

for lock in locks:
    text = re.sub(r"\\\n", " ", open(lock, encoding="utf-8").read())
    for line in text.splitlines():
        line = re.sub(r"\s--hash=\S+", "", line.split(" #")[0]).strip()
        if not line or line.startswith(("#", "-")):
            continue
        wanted = Requirement(line)
        if wanted.marker and not wanted.marker.evaluate():
            continue
        project = canonicalize_name(wanted.name)
        have = [w for w in wheels.get(project, []) if wanted.specifier.contains(w[0], prereleases=True)]
        if any(known & tags for _, tags, _ in have):
            continue
        if have:
            sys.exit(misfit(have[0][2], have[0][1]))
        if project not in sources:
            others = ", ".join(str(v) for v, _, _ in wheels.get(project, []))
            sys.exit("%s has no wheel of %s%s" % (house, line.split(";")[0].strip(), others and " (only of %s)" % others))
'

check_wheelhouse() {
  [ -d "$wheelhouse" ] || failed_with WHEELHOUSE_UNFIT "there is no folder $wheelhouse"
  echo "comparing the wheels in $wheelhouse with this Python and this machine"
  # The locks are the arguments.
  misfit=$("$build/bin/python" -c "$CHECK_WHEELS" "$wheelhouse" "$@" 2>&1) ||
    failed_with WHEELHOUSE_UNFIT "$(echo "$misfit" | tail -n 1)"
}

# WHAT CODE ARGUMENTS...: pip with its own settings, but nothing that would send packages elsewhere. The cache would fill a
# home's quota with gigabytes that are needed once.
install() {
  what=$1 code=$2
  shift 2
  echo "installing $what"
  said_before=$(wc -c <"$own/log.txt")
  if [ -n "$wheelhouse" ] && [ "$elsewhere" = no ]; then
    only_folder
    set -- --no-index --find-links "$wheelhouse" "$@"
  fi
  "$build/bin/python" -m pip install --no-input --no-cache-dir --progress-bar off --no-deps "$@" && return
  find_cut
  failed_with "$code" "$cut$what could not be installed${cut:+)}"
}

# Sets `cut`: that what was tried last could not be fetched, which pip tells last as versions that do not fit; else empty.
find_cut() {
  cut=''
  said=$(tail -c "+$((said_before + 1))" "$own/log.txt")
  printf '%s\n' "$said" | grep -E -q "$no_connection" || return 0
  printf '%s\n' "$said" | grep -q 'DO NOT MATCH THE HASHES' && return 0
  # Without a line about it, where pip looks when it is not told.
  place=$(printf '%s\n' "$said" | sed -n 's/^Looking in indexes: //p' | tail -n 1 | sed 's#//[^/ @]*@#//#g')
  reason=$(printf '%s\n' "$said" | sed -n "s/.*\\(\\[Errno [-0-9]*\\] [A-Za-z ]*\\).*/\\1/p" | tail -n 1)
  cut="there is no connection to ${place:-the package index} from there${reason:+: $reason} ("
}

no_connection='Retrying \(Retry|NewConnectionError|ConnectTimeoutError|Max retries exceeded|Temporary failure in name resolution'

# pip adds the folders of its settings to the one it is given, --no-index or not.
only_folder() {
  PIP_CONFIG_FILE=/dev/null
  export PIP_CONFIG_FILE
  unset PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_CONSTRAINT
}

install_lock() {
  if grep -q -e '--hash=' "$1"; then hashes=--require-hashes; else hashes=; fi
  # shellcheck disable=SC2086
  install "the packages of ${1##*/}" PACKAGES_FAILED $hashes -r "$1"
}

IS_CPU='
import json, sys
found = [i["metadata"]["version"] for i in json.load(sys.stdin)["install"] if i["metadata"]["name"] == "torch"]
sys.exit(not any(v.endswith("+cpu") for v in found))
'

# The plain build for Linux on x86-64 brings gigabytes of CUDA libraries.
install_cpu_torch() {
  version=$(sed -n 's/^torch==\([0-9][0-9.a-z]*\).*/\1/p' "$1" | head -n 1)
  case $torch_source in
    http://* | https://* | file://*)
      index=$torch_source
      from_elsewhere -r "$1"
      ;;
    ?*) (trap - EXIT && only_folder && from_elsewhere --no-index --find-links "$torch_source" -r "$1") || exit 1 ;;
    '')
      if [ -n "$wheelhouse" ]; then
        set -- "$1" "$wheelhouse"/torch-"$version"+cpu-*.whl
        if [ -e "$2" ]; then install 'torch for the CPU' PACKAGES_FAILED "torch==$version+cpu"; else install_lock "$1"; fi
      elif [ "$(uname -m)" != x86_64 ] || offers_cpu_torch "$1" || [ -z "$torch_index" ]; then
        install_lock "$1"
      else
        index=$torch_index
        from_elsewhere "torch==$version+cpu"
      fi
      ;;
  esac
}

# With `index` set, from there: as a variable, which only the owner of the process can read. A package that pip would have to
# build first is refused, since pip hands the address to its builds as an argument.
from_elsewhere() {
  # A subshell: what follows comes from where pip is set up to look.
  (
    elsewhere=yes
    unset PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX
    if [ -n "$index" ]; then
      PIP_INDEX_URL=$index
      export PIP_INDEX_URL
      set -- --only-binary torch "$@"
    fi
    trap - EXIT
    install 'torch for the CPU' TORCH_UNREACHABLE "$@"
  ) || exit 1
}

# Only when pip is set up to look somewhere of its own: elsewhere the answer is known.
offers_cpu_torch() {
  "$build/bin/python" -m pip config list 2>/dev/null |
    grep -Eq '^[^ ]*\.(index-url|extra-index-url|find-links|no-index)=' || return 1
  "$build/bin/python" -m pip install --dry-run --no-deps --ignore-installed --quiet --report - -r "$1" 2>/dev/null |
    "$build/bin/python" -c "$IS_CPU"
}

# Scripts in a virtual environment hold its path.
MOVE='
import os, sys
old, new = (text.encode() for text in sys.argv[1:])
names = [os.path.join("bin", n) for n in os.listdir(os.path.join(old, b"bin").decode())] + ["pyvenv.cfg"]
for name in names:
    path = os.path.join(old.decode(), name)
    if os.path.islink(path) or not os.path.isfile(path):
        continue
    with open(path, "rb") as file:
        text = file.read()
    if old in text and b"\0" not in text:
        with open(path, "wb") as file:
            file.write(text.replace(old, new))
'

# DIGIT of a umask: the letters that it takes away.
taken() {
  case $1 in 1) echo x ;; 2) echo w ;; 3) echo wx ;; 4) echo r ;; 5) echo rx ;; 6) echo rw ;; 7) echo rwx ;; esac
}

# pip gives scripts a mode of its own, whatever the umask.
apply_mask() {
  of_group=$(taken $(((0$mask / 8) % 8))) of_others=$(taken $((0$mask % 8)))
  chmod -R "g-$of_group,o-$of_others" "$build" 2>/dev/null ||
    echo "note: not everything in $folder has the modes that the umask $mask asks for"
}

finish() {
  "$build/bin/python" -c "$MOVE" "$build" "$folder" || failed_with ENVIRONMENT_FAILED 'its scripts could not be written'
  torch=null
  if [ -n "$has_torch" ]; then
    echo 'trying torch'
    torch=$("$build/bin/python" -c 'import json, torch; print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda}))') ||
      failed_with TORCH_UNUSABLE 'torch is installed and cannot be loaded on this machine'
    torch=$(echo "$torch" | tail -n 1)
  fi
  rm -rf "$build/tmp"
  printf '{"schemaVersion":1,"python":"%s","device":"%s","torch":%s,"madeAt":"%s","host":"%s"}\n' \
    "$version_of_python" "$device" "$torch" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(uname -n)" >"$build/_COMPLETE.json" ||
    failed_with ENVIRONMENT_FAILED "nothing can be written into $build: $(why_unwritable)"
  apply_mask
  if [ -n "$group" ] && ! chgrp -R "$group" "$build" 2>/dev/null; then
    echo "note: not everything in $folder could be given to the group $group"
  fi
  # On the disk before it has its name.
  sync -f "$build" 2>/dev/null || sync
  find_newest
  if is_complete; then exit 0; fi
  # Silent for so long that another host took over.
  [ "$newest" = "$number" ] || failed_with ENVIRONMENT_FAILED 'another machine has taken over this build'
  if [ -e "$folder" ] || [ -h "$folder" ]; then
    mv -T "$folder" "$folder.build-old$number" && rm -rf "$folder.build-old$number"
  fi
  mv -T "$build" "$folder" || is_complete || failed_with ENVIRONMENT_FAILED "$folder could not be put in its place"
  echo "the environment $folder is complete"
  rm -rf "$build" "$lock"
}

build() {
  if [ -n "$torch_source_file" ]; then
    torch_source=$(cat "$torch_source_file" 2>/dev/null) || torch_source=''
    rm -f "$torch_source_file"
  fi
  umask "$mask" || die "the umask $mask is none"
  if is_complete; then exit 0; fi
  acquire || exit 0
  build=$folder.build-$number elsewhere=no has_torch='' index=''
  exec >>"$own/log.txt" 2>&1 </dev/null
  trap on_exit EXIT
  trap 'exit 143' TERM
  trap 'exit 130' INT
  if is_complete; then rm -rf "$lock" && exit 0; fi
  UNDERSTUDY_BUILD=$folder#$number
  export UNDERSTUDY_BUILD
  beat >/dev/null 2>&1 &
  pulse=$!
  clear_earlier
  unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX
  export PYTHONNOUSERSITE=1 PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1
  find_python
  version_of_python=$version
  echo "making a Python $version environment in $folder"
  "$python" -m venv "$build" || failed_with ENVIRONMENT_FAILED 'the virtual environment could not be made'
  mkdir -p "$build/tmp" && TMPDIR=$build/tmp && export TMPDIR
  for file in "$@"; do
    [ -r "$file" ] || failed_with PAYLOAD_INCOMPLETE "there is no lock file $file on $(uname -n)"
  done
  [ -z "$wheelhouse" ] || check_wheelhouse "$@"
  for file in "$@"; do
    if grep -q '^torch==' "$file"; then
      has_torch=yes
      if [ "$device" = cpu ]; then
        install_cpu_torch "$file"
        continue
      fi
    fi
    install_lock "$file"
  done
  finish
}

main() {
  [ $# -ge 2 ] || die 'usage: environment.sh status|start|build FOLDER …'
  mode=$1 folder=$2 lock=$2.lock
  shift 2
  if [ "$mode" = status ]; then
    status "${1:-0}" "${2:-0}"
    exit 0
  fi
  # `build` is started with the same words.
  python=python3 device=cpu group='' wheelhouse='' torch_source='' torch_source_file='' torch_index='' mask=022
  if [ "$mode" = start ]; then
    options "$@"
    start "$folder" "$@"
  else
    options "$@"
    eval "set -- $locks"
    build "$@"
  fi
}

options() {
  locks=''
  count=0
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || die "$1 needs a value"
    count=$((count + 1))
    case $1 in
      --umask) mask=$2 ;;
      --python) python=$2 ;;
      --device) device=$2 ;;
      --group) group=$2 ;;
      --wheelhouse) wheelhouse=$2 ;;
      --torch-source-file) torch_source_file=$2 ;;
      --torch-index) torch_index=$2 ;;
      --lock) eval "lock_$count=\$2" && locks="$locks \"\$lock_$count\"" ;;
      *) die "unknown option $1" ;;
    esac
    shift 2
  done
}

main "$@"

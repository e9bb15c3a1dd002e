#!/bin/sh
# What a far machine is like, one fact a line (a word, then what was found). Changes nothing there. POSIX sh and coreutils.
#
#   check.sh [--python P] [--group G] [--engine E] [--image FILE] [--wheelhouse W] [--environment FOLDER] [--model FOLDER]
#            [--gpus yes] [--folder F]... [--pip-index yes] [--index URL] [--torch-index URL]
#
# Each question has a limit of its own: a driver or a mount that hangs costs seconds, not the answer.

set -u
LC_ALL=C
export LC_ALL

if command -v timeout >/dev/null 2>&1; then limited() { timeout 20 "$@"; }; else limited() { "$@"; }; fi

# Everything on one line.
flat() { tr '\n\t\r' '   ' | sed 's/  */ /g; s/ $//'; }

# The nearest folder that exists.
nearest() {
  place=$1
  while [ ! -d "$place" ] && [ "$place" != / ]; do place=$(dirname "$place"); done
  printf '%s' "$place"
}

# FOLDER: writable, device, mount, free KiB, total KiB, free inodes, inodes, nearest folder, folder.
folder_fact() {
  place=$(nearest "$1")
  if [ -w "$place" ] && [ -x "$place" ]; then writable=yes; else writable=no; fi
  space=$(limited df -Pk "$place" 2>/dev/null | tail -n 1)
  inodes=$(limited df -Pi "$place" 2>/dev/null | tail -n 1)
  # A name of a device or mount with spaces would shift the fields: counted from the end.
  printf 'folder\t%s\t%s\t%s\t%s\t%s\n' "$writable" "$place" "$1" "$(echo "$space" | flat)" "$(echo "$inodes" | flat)"
  if command -v lfs >/dev/null 2>&1; then
    limited lfs quota -q -u "$(id -u)" "$place" 2>/dev/null | flat | sed 's/^/lfs-quota /'
    echo
  fi
}

python_facts() {
  if said=$(limited "$python" -c 'import sys; print("%d.%d.%d %s" % (sys.version_info[:3] + (sys.executable,)))' 2>&1); then
    echo "python $said"
    if limited "$python" -c 'import ensurepip, venv' 2>/dev/null; then echo 'venv yes'; else echo 'venv no'; fi
  else
    printf 'python-error %s\n' "$(printf '%s' "$said" | tail -n 1 | flat)"
  fi
}

# Which package indexes answer: any answer will do, a certificate that only pip trusts too. Those that the environment is going to
# be made from: as pip is set up here, and torch's only where it is not. Where pip has a proxy of its own nothing can be told.
INDEXES='
import configparser, os, platform, ssl, sys, urllib.error, urllib.parse, urllib.request
asks_pip, index, torch = sys.argv[1:]
settings = {}
config = os.environ.get("PIP_CONFIG_FILE")
base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
places = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "~/.pip/pip.conf", base + "/pip/pip.conf"]
for place in [] if config == os.devnull else places + [config or ""]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(os.path.expanduser(place))
    except configparser.Error:
        continue
    for section in ("global", "install"):
        if parser.has_section(section):
            settings.update({name.replace("_", "-"): value for name, value in parser.items(section)})
for name, value in os.environ.items():
    if name.startswith("PIP_") and value:
        settings[name[4:].lower().replace("_", "-")] = value
sources = [settings.get(name) for name in ("index-url", "extra-index-url", "find-links", "no-index")]
urls = [index]
if asks_pip and not settings.get("no-index"):
    urls.append(settings.get("index-url") or "https://pypi.org/simple/")
if not any(sources) and platform.machine() == "x86_64":
    urls.append(torch)

def reason(url):
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=8).close()
    except urllib.error.HTTPError:
        return None
    except Exception as error:
        error = getattr(error, "reason", error)
        return None if isinstance(error, ssl.SSLError) else str(error) or type(error).__name__
    return None

for url in urls if not settings.get("proxy") else []:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        continue
    place = parts.netloc.rpartition("@")[2]
    why = reason(urllib.parse.urlunsplit(parts._replace(netloc=place)))
    print("index", place, "yes" if why is None else "no " + " ".join(why.split()), flush=True)
'

index_facts() {
  [ -n "$pip_index$index$torch_index" ] || return 0
  said=$(limited "$python" -c "$INDEXES" "$pip_index" "$index" "$torch_index" 2>/dev/null)
  [ $? -ne 124 ] || said="$said
index - no there was no answer within 20 s"
  printf '%s\n' "$said" | sed -n '/^index /p'
}

gpu_facts() {
  if ! command -v nvidia-smi >/dev/null 2>&1; then
    echo 'nvidia-smi absent'
    return
  fi
  if ! said=$(limited nvidia-smi --query-gpu=index,uuid,name,memory.total,memory.used,driver_version --format=csv,noheader,nounits 2>&1); then
    printf 'nvidia-smi failed %s\n' "$(printf '%s' "$said" | flat)"
    return
  fi
  echo 'nvidia-smi ok'
  printf '%s\n' "$said" | sed 's/^/gpu /'
  limited nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9][0-9.]*\).*/cuda \1/p' | head -n 1
  limited nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv,noheader,nounits 2>/dev/null |
    while IFS= read -r line; do
      pid=$(echo "$line" | cut -d, -f2 | tr -d ' ')
      owner=$(stat -c %U "/proc/$pid" 2>/dev/null || echo '?')
      printf 'gpu-process %s, %s\n' "$owner" "$line"
    done
}

session_facts() {
  command -v loginctl >/dev/null 2>&1 || return 0
  # Without a session's name: properties of the manager.
  limited loginctl show-session -p KillUserProcesses -p KillExcludeUsers -p KillOnlyUsers 2>/dev/null | sed 's/^/logind /'
  limited loginctl show-user "$(id -un)" -p Linger 2>/dev/null | sed 's/^/logind /'
}

engine_fact() {
  case $engine in
    '') return ;;
    pyxis) if srun --help 2>/dev/null | grep -q -e --container-image; then echo 'engine yes pyxis'; else echo 'engine no srun has no --container-image'; fi ;;
    docker) if said=$(limited docker version --format '{{.Server.Version}}' 2>&1); then echo "engine yes docker $said"; else printf 'engine no %s\n' "$(printf '%s' "$said" | flat)"; fi ;;
    *) if said=$(limited "$engine" --version 2>&1); then echo "engine yes $said"; else echo "engine no there is no $engine"; fi ;;
  esac
}

# Weights of which nobody here has a list: what lies there, what their own index asks for, and what a download has written down of
# their revision. No weights are read.
model_facts() {
  [ -n "$model" ] || return 0
  if ! [ -d "$model" ]; then
    echo 'model no'
    return
  fi
  echo 'model yes'
  for file in "$model"/*; do
    [ -f "$file" ] && printf 'model-file %s %s\n' "$(stat -L -c %s "$file")" "${file##*/}"
  done
  for file in "$model"/*.safetensors.index.json; do
    [ -f "$file" ] || continue
    # Everything that looks like a file of weights, and the sum of all tensors.
    tr ',{}' '[\n*]' <"$file" | sed -n 's/.*:[ \t]*"\([^"]*\.safetensors\)".*/model-part \1/p' | sort -u
    tr ',{}' '[\n*]' <"$file" | sed -n 's/.*"total_size"[ \t]*:[ \t]*\([0-9][0-9]*\).*/model-bytes \1/p' | head -n 1
  done
  # hf download --local-dir keeps the commit of each file; our own download its revision.
  for file in "$model"/.cache/huggingface/download/*.metadata; do
    [ -f "$file" ] && head -n 1 "$file" | flat && echo
  done | sort -u | sed -n 's/^\([0-9a-f]\{40\}\)$/model-commit \1/p'
  sed -n 's/.*"revision": *"\([^"]*\)".*/model-commit \1/p' "$model/.understudy-download.json" 2>/dev/null | head -n 1
}

main() {
  python='' group='' engine='' image='' wheelhouse='' environment='' gpus='' model='' pip_index='' index='' torch_index=''
  echo "host $(uname -n)"
  echo "user $(id -un)"
  while [ $# -ge 2 ]; do
    case $1 in
      --python) python=$2 ;;
      --group) group=$2 ;;
      --engine) engine=$2 ;;
      --image) image=$2 ;;
      --wheelhouse) wheelhouse=$2 ;;
      --environment) environment=$2 ;;
      --gpus) gpus=$2 ;;
      --model) model=$2 ;;
      --pip-index) pip_index=$2 ;;
      --index) index=$2 ;;
      --torch-index) torch_index=$2 ;;
      --folder) folder_fact "$2" ;;
    esac
    shift 2
  done
  echo "machine $(uname -m)"
  echo "cores $(nproc 2>/dev/null || echo 0)"
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) && echo "libc $glibc"
  for limit in 'open files' 'locked memory' 'processes'; do
    sed -n "s/^Max $limit  *\([0-9a-z]*\).*/limit $limit: \1/p" /proc/self/limits 2>/dev/null
  done
  if command -v quota >/dev/null 2>&1; then limited quota -w -p -u 2>/dev/null | sed 's/^/quota /'; fi
  [ -z "$group" ] || echo "groups $(id -Gn)"
  if [ -n "$wheelhouse" ]; then
    set -- "$wheelhouse"/*.whl
    if [ -e "$1" ]; then echo "wheels $#"; else echo 'wheels 0'; fi
  fi
  if [ -n "$image" ]; then if [ -r "$image" ]; then echo 'image yes'; else echo 'image no'; fi; fi
  if [ -n "$environment" ] && [ -r "$environment/_COMPLETE.json" ] && [ -x "$environment/bin/python" ]; then
    printf 'environment %s\n' "$(flat <"$environment/_COMPLETE.json")"
    pip_index='' index='' torch_index=''
  fi
  model_facts
  [ -z "$python" ] || python_facts
  [ -z "$python" ] || index_facts
  engine_fact
  if [ "$gpus" = yes ]; then gpu_facts; fi
  session_facts
  # Last, so that it is as near to the answer as can be.
  echo "time $(date +%s)"
  echo end
}

main "$@"

#!/bin/sh
# One job of a chain: decides by files alone whether there is work left, takes the next attempt's number and becomes
# wrapper.sh. So a run goes on over the time limit of one job with nobody watching. POSIX sh and coreutils, nothing else.
#
#   link.sh --run FOLDER --first N --stem STEM --token T --steps S [--rows FILE]... [--link K] [--links L]
#           [--owner ID] [--avoid NODES] [any option of wrapper.sh but --attempt, --marker]... -- PROGRAM ARGUMENT...
#   NODES is what the jobs of this chain exclude already. K and L are by default UNDERSTUDY_LINK and UNDERSTUDY_LINKS, ID is SLURM_JOB_ID.
#
# FOLDER/claims/STEM-aN.link-K/owner  scheduler's id of the job that is this link; a requeue has the same id and goes on,
#                                     a second submission has another one: it exits 75 and writes nothing
# FOLDER/claims/STEM-an/owner         the job that has begun attempt n; folder and name come in one rename, so that there is no
#                                     attempt without a name, and a number is never given twice
# FOLDER/links/N-K.json               what this link decided and why; N-K-2.json, ... after a requeue
# FOLDER/attempts/N/job.template.json made into attempts/n/job.json
# FOLDER/STOP                         no more attempts, unless it is older than this submission; the wrapper heeds it, too
# FOLDER/fence                        T in attempt N, T.n later; a token of another submission: exit 75
#
# An argument @MANIFEST@ of PROGRAM becomes the path of job.json. Progress is the newest complete checkpoint or, with
# --rows, the bytes of the rows that are written. S is the step of the final checkpoint, 0 where there are none.
#
# What may follow the end of the newest attempt; the control plane's reason table says the same of each:
#   3, 69, 129, 130, 137, 143, no result   another attempt (saved, unfit machine, HUP, INT, KILL, TERM from outside)
#   any other code or signal, 0 included   none, whether the run has succeeded or failed
# How often, over all attempts of the submission. The limits are those of the control plane (src/workflow/budgets.ts):
#   timeout     stopped by USR1, the time limit: 50 times, and never without progress
#   preemption  stopped by TERM or INT, or started again by Slurm itself without a word: 50 times
#   infra       an unfit node (69), killed, or no result, and not started again by Slurm: 3 times
#   unasked     it saved and stopped, and nobody is known to have asked: not 3 times in a row without progress; the others
#               neither count as one of these nor end the row
# Exit: that of wrapper.sh; 0 when the run has succeeded; 3 stopped; 1 given up, and links/N-K.json says why; 64, 69, 75.

set -u
set -f
umask 022

run='' first='' stem='' token='' link=${UNDERSTUDY_LINK:-} links=${UNDERSTUDY_LINKS:-} steps='' owner='' host='' keep='' python='' disk_bytes=0 grace=0 gpus=0 max_held='' cuda='' containers=''
mask=022 rows='' avoid='' newline='
'

usage() {
  printf 'link.sh: %s\n' "$1" >&2
  exit 64
}

while [ $# -gt 0 ]; do
  case $1 in --) break ;; esac
  [ $# -ge 2 ] || usage "$1 needs a value"
  case $1 in
    --run) run=$2 ;;
    --first) first=$2 ;;
    --stem) stem=$2 ;;
    --token) token=$2 ;;
    --link) link=$2 ;;
    --links) links=$2 ;;
    --steps) steps=$2 ;;
    --rows) rows=$rows$2$newline ;;
    --owner) owner=$2 ;;
    --avoid) avoid=$2 ;;
    --host) host=$2 ;;
    --keep) keep=$2 ;;
    --python) python=$2 ;;
    --disk-bytes) disk_bytes=$2 ;;
    --grace) grace=$2 ;;
    --gpus) gpus=$2 ;;
    --max-held) max_held=$2 ;;
    --cuda) cuda=$2 ;;
    --containers) containers=$2 ;;
    --umask) mask=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
[ $# -ge 2 ] || usage 'no program after --'
shift

[ -n "$owner" ] || owner=${SLURM_JOB_ID:-}
[ -n "$host" ] || host=${SLURMD_NODENAME:-$(uname -n)}
restart=${SLURM_RESTART_COUNT:-0}
case $run in /*) ;; *) usage '--run must be an absolute folder' ;; esac
for number in "$first" "$link" "$links" "$steps" "$restart"; do
  case $number in '' | *[!0-9]*) usage "not a number: '$number'" ;; esac
done
for word in "$stem" "$token" "$owner" "$host"; do
  case $word in '' | *[!A-Za-z0-9._-]*) usage "not a name, token or job id: '$word'" ;; esac
done
case $mask in '' | *[!0-7]*) usage "not a umask: '$mask'" ;; esac
umask "$mask"

template=$run/attempts/$first/job.template.json
claim=$run/claims/$stem-a$first.link-$link

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# PATH TEXT: a reader sees the old or the new content, never half of it.
write_file() {
  printf '%s\n' "$2" >"$1.$$.tmp" || return 1
  sync "$1.$$.tmp" 2>/dev/null || sync 2>/dev/null || :
  mv -f "$1.$$.tmp" "$1"
}

unfit() {
  printf 'link.sh: %s\n' "$1" >&2
  exit 69
}

fenced() {
  printf 'fenced: %s\n' "$1" >&2
  exit 75
}

# FILE: sets `line` to its first line, empty when there is none.
first_line() {
  line=''
  if [ -f "$1" ]; then IFS= read -r line <"$1" || :; fi
}

# Whoever makes `owner` first is this link: a hard link is made whole or not at all, so that a job killed in between can
# come back by requeue. Nobody else's job writes anything.
claim_link() {
  won=no
  if ! [ -f "$claim/owner" ]; then
    mkdir -p "$run/claims" || unfit "$run/claims cannot be made"
    if mkdir "$claim" 2>/dev/null; then won=yes; else await_owner; fi
  fi
  if ! [ -f "$claim/owner" ]; then
    printf '%s\n' "$owner" >"$claim/owner.$owner.$$" || unfit "$claim cannot be written"
    if ! ln "$claim/owner.$owner.$$" "$claim/owner" 2>/dev/null && [ "$won" = yes ] && ! [ -e "$claim/owner" ]; then
      mv -f "$claim/owner.$owner.$$" "$claim/owner"
    fi
    rm -f "$claim/owner.$owner.$$"
  fi
  first_line "$claim/owner"
  [ "$line" = "$owner" ]
}

await_owner() {
  tries=0
  until [ -f "$claim/owner" ] || [ "$tries" -ge 5 ]; do
    tries=$((tries + 1))
    sleep 1
  done
}

fence_is_ours() {
  [ -f "$run/fence" ] || return 0
  first_line "$run/fence"
  case $line in "$token" | "$token".*) return 0 ;; esac
  return 1
}

# The fence is looked at as late as can be: while its text is made durable, which may take long, another submission may take it.
take_fence() {
  next_fence=$run/fence.$$.tmp
  printf '%s\n' "$attempt_token" >"$next_fence" || return 1
  sync "$next_fence" 2>/dev/null || sync 2>/dev/null || :
  if ! fence_is_ours; then
    rm -f "$next_fence"
    fenced "another submission owns $run"
  fi
  mv -f "$next_fence" "$run/fence"
}

# A stop that was asked for before this submission does not end it.
stop_is_asked() {
  [ -e "$run/STOP" ] || return 1
  # shellcheck disable=SC3013 # in POSIX since 2024, and in every sh before
  ! [ "$run/STOP" -ot "$template" ]
}

# Sets `progress`: it grows when there is more to go on from.
measure_progress() {
  progress=0
  if [ -n "$rows" ]; then
    while IFS= read -r file; do
      [ -f "$file" ] || continue
      bytes=$(wc -c <"$file") || continue
      progress=$((progress + bytes))
    done <<END
${rows%"$newline"}
END
    return
  fi
  set +f
  for marker in "$run"/output/checkpoint-*/_COMPLETE.json; do
    step=${marker%/_COMPLETE.json}
    step=${step##*/checkpoint-}
    case $step in '' | *[!0-9]*) continue ;; esac
    if is_complete "$step" && [ "$step" -gt "$progress" ]; then progress=$step; fi
  done
  set -f
}

# STEP: the marker of its checkpoint is there, whole.
is_complete() {
  text=$(cat "$run/output/checkpoint-$1/_COMPLETE.json" 2>/dev/null) || return 1
  case $text in '{'*'}') return 0 ;; esac
  return 1
}

# NUMBER: sets `code` to the exit code of an attempt's result, empty when there is none or it is torn.
exit_code() {
  code=''
  text=$(cat "$run/attempts/$1/result.json" 2>/dev/null) || return 0
  case $text in '{'*'"exitCode":'*'}') ;; *) return 0 ;; esac
  code=${text#*'"exitCode":'}
  code=${code%%[!0-9]*}
}

# NUMBER: sets `before` to the progress with which an attempt began, empty when it left no record.
progress_before() {
  before=''
  set +f
  for record in "$run/links/$first"-*.json; do
    first_line "$record"
    case $line in
      '{'*"\"attempt\":$1,\"progress\":"*'}')
        before=${line#*'"progress":'}
        before=${before%%[!0-9]*}
        ;;
    esac
  done
  set -f
}

# NUMBER: the job that began this attempt was started again by Slurm: it began the next one too, or is this one.
came_back() {
  first_line "$run/claims/$stem-a$1/owner"
  job=$line line=$owner
  [ "$1" -ge "$newest" ] || first_line "$run/claims/$stem-a$(($1 + 1))/owner"
  [ -n "$job" ] && [ "$job" = "$line" ]
}

# NUMBER: sets `kind` to what its end is counted as.
sort_end() {
  exit_code "$1"
  first_line "$run/attempts/$1/STOP"
  case $code:$line in
    69:*) kind=infra ;;
    *:'signal USR1') kind=timeout ;;
    *:'signal TERM' | *:'signal INT') kind=preemption ;;
    3:*) kind=unasked ;;
    *) if came_back "$1"; then kind=preemption; else kind=infra; fi ;;
  esac
}

# Sets how often this submission has ended in each way, and `fruitless`: how many unasked ends in a row, back to attempt
# `since`, have not gone beyond where they began.
count_ends() {
  timeouts=0 preemptions=0 failures=0 fruitless=0 since=$newest row=yes
  number=$newest
  while [ "$number" -ge "$first" ]; do
    progress_before "$number"
    if [ -n "$before" ] && [ "$before" -lt "$progress" ]; then row=no; fi
    sort_end "$number"
    case $kind:$row in
      timeout:*) timeouts=$((timeouts + 1)) ;;
      preemption:*) preemptions=$((preemptions + 1)) ;;
      infra:*) failures=$((failures + 1)) ;;
      unasked:yes) fruitless=$((fruitless + 1)) since=$number ;;
    esac
    number=$((number - 1))
  done
}

# Sets `next`: the attempt that would be begun now.
find_next() {
  next=$first
  while [ -d "$run/claims/$stem-a$next" ]; do next=$((next + 1)); done
}

# Sets `decision`: run, or why not.
decide() {
  decision=run reason=''
  newest=$((next - 1))
  if stop_is_asked; then
    decision=stopped reason='a stop was asked for'
    return
  fi
  [ "$newest" -ge "$first" ] || return 0
  exit_code "$newest"
  case $code in
    '' | 3 | 69 | 129 | 130 | 137 | 143) ;;
    0)
      if [ "$steps" -eq 0 ] || is_complete "$steps"; then
        decision=succeeded reason="attempt $newest has finished"
      else
        decision=failed reason="attempt $newest ended with exit code 0, but the checkpoint of step $steps is not there"
      fi
      return
      ;;
    *)
      decision=failed reason="attempt $newest ended with exit code $code, which another attempt would not change"
      return
      ;;
  esac
  count_ends
  first_line "$run/attempts/$newest/STOP"
  stopped_by=$line
  progress_before "$newest"
  if [ "$stopped_by" = 'signal USR1' ] && [ -n "$before" ] && [ "$before" -ge "$progress" ]; then
    decision=no-progress reason="attempt $newest reached the time limit and left nothing newer to go on from"
  elif [ "$fruitless" -ge 3 ]; then
    decision=no-progress reason="attempts $since to $newest left nothing newer to go on from"
  elif [ "$failures" -gt 3 ]; then
    decision=failed reason="$failures attempts were lost to machines: unfit, killed or without a trace"
  elif [ "$preemptions" -gt 50 ]; then
    decision=failed reason="$preemptions attempts had to make room for others"
  elif [ "$timeouts" -gt 50 ]; then
    decision=failed reason="$timeouts attempts reached the time limit"
  fi
}

# ATTEMPT or null: one record for each start of this link.
record() {
  name=$first-$link
  if [ -e "$run/links/$name.json" ]; then
    again=2
    while [ -e "$run/links/$name-$again.json" ]; do again=$((again + 1)); done
    name=$name-$again
  fi
  write_file "$run/links/$name.json" "{\"schemaVersion\":1,\"first\":$first,\"link\":$link,\"links\":$links,\"job\":\"$owner\",\"restart\":$restart,\"host\":\"$host\",\"decision\":\"$decision\",\"attempt\":$1,\"progress\":$progress,\"reason\":\"$reason\",\"at\":\"$(now)\"}"
}

leave() {
  printf 'link %s of %s: %s: %s\n' "$link" "$links" "$decision" "$reason"
  case $decision in
    succeeded) exit 0 ;;
    stopped) exit 3 ;;
    *) exit 1 ;;
  esac
}

# Sets `attempt`: a number that nobody had before. What begins with a dot is no claim.
begin_attempt() {
  attempt=$next
  private=.$owner.$$
  { mkdir -p "$run/claims/$private" && write_file "$run/claims/$private/owner" "$owner"; } || unfit "$run/claims cannot be written"
  until take_number "$run/claims/$stem-a$attempt"; do attempt=$((attempt + 1)); done
}

# CLAIM: renames the private folder to it. One that is there is never replaced: it has a file in it, and mv goes into it.
take_number() {
  [ ! -e "$1" ] || return 1
  if ! mv "$run/claims/$private" "$1" 2>/dev/null; then
    [ -e "$1" ] || unfit "$run/claims cannot be written"
    return 1
  fi
  [ -e "$1/$private" ] || return 0
  mv "$1/$private" "$run/claims/$private" || unfit "$run/claims cannot be written"
  return 1
}

# NUMBER: sets `bad` to the node that was unfit for an attempt, empty when that was not its end.
unfit_node() {
  bad=''
  text=$(cat "$run/attempts/$1/result.json" 2>/dev/null) || return 0
  case $text in '{'*'"reason":"node-check"'*'}') ;; *) return 0 ;; esac
  bad=${text#*'"host":"'}
  bad=${bad%%'"'*}
}

# Slurm likes to hand out the node that is idle because everything fails on it. As far as the site allows: without an answer
# this job goes on all the same.
avoid_unfit_nodes() {
  [ "$next" -gt "$first" ] && [ -n "${SLURM_JOB_NAME:-}" ] && command -v timeout >/dev/null 2>&1 || return 0
  nodes=$avoid
  number=$first
  while [ "$number" -lt "$next" ]; do
    unfit_node "$number"
    case ",$nodes," in *",$bad,"*) ;; *) [ -z "$bad" ] || nodes=${nodes:+$nodes,}$bad ;; esac
    number=$((number + 1))
  done
  [ "$nodes" != "$avoid" ] || return 0
  waiting=$(timeout 30 squeue -h -n "$SLURM_JOB_NAME" -t PENDING -o %i 2>/dev/null) || return 0
  while IFS= read -r id; do
    [ -n "$id" ] || continue
    exclude_nodes "$id" && continue
    # One name that the cluster does not know any more makes it refuse all of them.
    keep_known_nodes && exclude_nodes "$id" || return 0
  done <<END
$waiting
END
}

# JOB
exclude_nodes() { timeout 30 scontrol update JobId="$1" ExcNodeList="$nodes"; }

# Takes from `nodes` those that the cluster does not know; fails when that changes nothing, or none is left.
keep_known_nodes() {
  known=$(timeout 30 sinfo --all -h -N -o %N 2>/dev/null) || return 1
  wanted=$(timeout 30 scontrol show hostnames "$nodes" 2>/dev/null) || return 1
  kept='' unknown=''
  for name in $wanted; do
    case $newline$known$newline in
      *"$newline$name$newline"*) kept=${kept:+$kept,}$name ;;
      *) unknown="$unknown $name" ;;
    esac
  done
  [ -n "$kept" ] && [ -n "$unknown" ] || return 1
  printf 'link %s of %s: not avoided, as the cluster does not know it:%s\n' "$link" "$links" "$unknown"
  nodes=$kept
}

# What earlier attempts have left running on this node: a container outlives its job, and holds the GPUs.
end_containers() {
  [ "$containers" = docker ] && command -v timeout >/dev/null 2>&1 || return 0
  listed=$(timeout -k 5 20 docker ps --all --filter "name=$stem-a" --format '{{.Names}}' 2>/dev/null) || return 0
  names=''
  while IFS= read -r name; do
    case $name in "$stem-a"[0-9]*) ;; *) continue ;; esac
    case ${name#"$stem-a"} in *[!0-9-]*) continue ;; esac
    names="$names $name"
  done <<END
$listed
END
  [ -n "$names" ] || return 0
  printf 'link %s of %s: ending containers of earlier attempts:%s\n' "$link" "$links" "$names"
  # shellcheck disable=SC2086
  timeout -k 5 30 docker rm --force $names >/dev/null 2>&1 || :
}

# The manifest of this attempt. A sign in the job's own texts is written as \u0040 by whoever made the template.
write_manifest() {
  mkdir -p "$folder" || return 1
  manifest=''
  while IFS= read -r line || [ -n "$line" ]; do
    while :; do
      case $line in
        *@ATTEMPT@*) line=${line%%@ATTEMPT@*}$attempt${line#*@ATTEMPT@} ;;
        *@TOKEN@*) line=${line%%@TOKEN@*}$attempt_token${line#*@TOKEN@} ;;
        *) break ;;
      esac
    done
    manifest=$manifest$line$newline
  done <"$template" || return 1
  write_file "$folder/job.json" "${manifest%"$newline"}"
}

fence_is_ours || fenced "another submission owns $run"
claim_link || fenced "link $link of $stem-a$first belongs to another job"
mkdir -p "$run/links" || unfit "$run/links cannot be made"
measure_progress
find_next
decide
if [ "$decision" != run ]; then
  record null || unfit "$run/links cannot be written"
  leave
fi

avoid_unfit_nodes
begin_attempt
# Whoever stops the run looks for the newest attempt after leaving STOP: one of the two sees the other.
if stop_is_asked; then
  decision=stopped reason='a stop was asked for'
  record null || unfit "$run/links cannot be written"
  leave
fi
folder=$run/attempts/$attempt
attempt_token=$token
[ "$attempt" -eq "$first" ] || attempt_token=$token.$attempt
record "$attempt" || unfit "$run/links cannot be written"
write_manifest || unfit "$folder/job.json cannot be made from $template"
take_fence || unfit "$run/fence cannot be written"
end_containers
# Once more: whoever left STOP meanwhile may have found no folder of this attempt. From here on the wrapper looks.
if stop_is_asked; then
  decision=stopped reason='a stop was asked for'
  record null || unfit "$run/links cannot be written"
  leave
fi

unset UNDERSTUDY_LINK UNDERSTUDY_LINKS
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  [ "$argument" != @MANIFEST@ ] || argument=$folder/job.json
  set -- "$@" "$argument"
  count=$((count - 1))
done
printf 'link %s of %s: attempt %s on %s\n' "$link" "$links" "$attempt" "$host"
exec /bin/sh "$run/attempts/$first/wrapper.sh" --run "$run" --attempt "$attempt" --marker "$stem-a$attempt" \
  --token "$attempt_token" --owner "$owner" --host "$host" --keep "$keep" --python "$python" \
  --disk-bytes "$disk_bytes" --grace "$grace" --gpus "$gpus" --max-held "$max_held" --cuda "$cuda" \
  --also-stop "$run/STOP" --containers "$containers" --umask "$mask" -- "$@"

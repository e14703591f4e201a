# Outlives a server that is killed, and takes all with it that the server's calls have started.
#
#   sh reaper.sh TOKEN CGROUP_HOME      stdin: the pipe that ends when the server, and each start in progress, has ended
#
# Reads `add PID START` and `del PID START`, where PID is also the number of the group, and `end`, when there is nothing
# to watch any more: then it goes, and harms nothing that is started later. At the end of the pipe it kills, in this
# order: the control group; each group whose leader is still the one that was registered, or has ended (its number is
# nobody else's while the group has members); and whatever has the token in its environment, with its group, round after
# round until three in a row find none: what is being started, or was started while it was looked, shows in the next.
# CGROUP_HOME is empty where there can be none.

# Whoever asks a whole group or container to end means those that it guards, and they may take their time.
trap '' HUP INT TERM PIPE

token=$1
home=$2
groups=' '

while read -r verb pid start; do
  [ "$verb" != end ] || exit 0
  others=' '
  for group in $groups; do
    [ "$group" = "$pid:$start" ] || others="$others$group "
  done
  groups=$others
  [ "$verb" != add ] || groups="$groups$pid:$start "
done

# Sets what /proc says of a process: `at_group` and `at_start`; empty when it has ended, or there is no /proc.
look_at() {
  at_group= at_start= stat=
  [ -r "/proc/$1/stat" ] && read -r stat 2>/dev/null < "/proc/$1/stat"
  [ -n "$stat" ] || return 0
  set -- ${stat##*) }
  [ "$1" != Z ] || return 0
  at_group=$3
  shift 19
  at_start=$1
}

# dash refuses `kill -KILL -- -N`.
kill_group() {
  kill -s KILL -- "-$1" 2>/dev/null
}

[ -z "$home" ] || echo 1 2>/dev/null > "$home/cgroup.kill"

for group in $groups; do
  pid=${group%:*}
  look_at "$pid"
  [ -n "$at_start" ] && [ "$at_start" != "${group#*:}" ] || kill_group "$pid"
done

round=0
empty=0
while [ "$round" -lt 200 ] && [ "$empty" -lt 3 ]; do
  found=
  for file in $(grep -lsF "$token." /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    look_at "$pid"
    [ -n "$at_start" ] || continue
    found=yes
    kill -s KILL "$pid" 2>/dev/null
    kill_group "$at_group"
  done
  round=$((round + 1))
  empty=$((empty + 1))
  [ -z "$found" ] || empty=0
done

# What was killed takes a moment to be gone, and its control group with it.
tries=0
while [ -n "$home" ] && [ -d "$home" ] && [ "$tries" -lt 100 ]; do
  find "$home" -depth -type d -exec rmdir {} \; 2>/dev/null
  [ ! -d "$home" ] || sleep 0.05
  tries=$((tries + 1))
done

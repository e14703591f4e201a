# What holds a resource that bears one holder at a time. Each of its processes says so itself, in a log that only grows,
# and looks whether one of another holder is alive.
#
#   sh holder.sh LOG HOLDER SHAPE MARK      writes `in HOLDER PID START`, and `overlap HOLDER OTHER` for each that it meets
#
# In the end each is a `sleep MARK`.

log=$1
holder=$2
shape=$3
mark=$4

case $shape in
  enter) ;;
  plain) ;;
  traps) trap '' TERM; sh "$0" "$log" "$holder" enter "$mark" & ;;
  setsid) setsid sh "$0" "$log" "$holder" enter "$mark" & ;;
  daemon) setsid sh -c 'sh "$0" "$1" "$2" enter "$3" &' "$0" "$log" "$holder" "$mark" ;;
  # Comes when the stop may have come before it.
  late) setsid sh -c 'trap "" TERM; sleep 0.05; exec sh "$0" "$1" "$2" enter "$3"' "$0" "$log" "$holder" "$mark" & ;;
  *) exit 64 ;;
esac

# Sets `start`; empty when that process has ended.
start_of() {
  start= stat=
  [ -r "/proc/$1/stat" ] && read -r stat 2>/dev/null < "/proc/$1/stat"
  [ -n "$stat" ] || return 0
  set -- ${stat##*) }
  [ "$1" != Z ] && [ "$1" != X ] || return 0
  shift 19
  start=$1
}

start_of $$
echo "in $holder $$ $start" >> "$log"
while read -r what other pid since; do
  [ "$what" = in ] && [ "$other" != "$holder" ] || continue
  start_of "$pid"
  [ "$start" != "$since" ] || echo "overlap $holder $other" >> "$log"
done < "$log"
exec sleep "$mark"

# Becomes the command of a call's child, after it has made itself known.
#
#   sh start.sh CGROUP_PROCS DATA_KB COMMAND [ARGUMENT]...      descriptor 3: the reaper's pipe
#
# Until it has written its line it holds that pipe open: when the server dies in between, the reaper still gets to read
# it. Enters its control group before there is anything that it could start. Both are empty where there is none.

if [ -n "$1" ]; then
  echo 0 > "$1" || exit 126
fi
if [ -n "$2" ]; then
  ulimit -d "$2" || exit 126
  # What goes over its limit goes down in a way that would leave an image of it.
  ulimit -c 0
fi
shift 2

# A function, because its positional parameters are its own. The reaper may just have been killed: the next one is told
# of this by the server, and to have nobody at the other end must not be the end of the command.
estop_register() {
  [ "$#" -lt 20 ] || shift 19
  trap '' PIPE
  echo "add $$ $1" 2>/dev/null >&3
  trap - PIPE
}
estop_stat=
[ -r /proc/self/stat ] && read -r estop_stat < /proc/self/stat
# From the field behind the program's name: the 20th is the start time. Without `/proc` there is none.
estop_register ${estop_stat##*) }
exec "$@" 3>&-

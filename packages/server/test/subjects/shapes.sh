# What a command may be made of, each part of it a `sleep MARK`, which is how a test finds it.
#
#   sh shapes.sh SHAPE MARK

shape=$1
mark=$2

case $shape in
  # One process.
  plain) ;;
  # A pipeline.
  pipes) sleep "$mark" | sleep "$mark" & ;;
  # Does not go when it is asked to, nor does its child.
  traps) trap '' TERM; sleep "$mark" & ;;
  # A child that has left the group.
  setsid) setsid sleep "$mark" & ;;
  # A child whose parent has ended, in the group.
  orphan) sh -c 'sleep "$0" &' "$mark" ;;
  # A child that has left the group and has lost its parent.
  daemon) setsid sh -c 'sleep "$0" &' "$mark" ;;
  # The same, and deaf.
  deaf) setsid sh -c 'trap "" TERM; sleep "$0" &' "$mark" ;;
  # Nobody stays in front: the command itself has ended.
  headless) sleep "$mark" & exit 0 ;;
  # Some of each.
  tree)
    sh -c 'sleep "$0" & setsid sh -c "sleep $0 & sleep $0" & sleep "$0"' "$mark" &
    (trap '' TERM; setsid sleep "$mark") &
    ;;
  *) exit 64 ;;
esac
exec sleep "$mark"

#!/bin/sh
# What `make demo` shows: a sample logdir, listed, exported and queried with the commands a user would type.
set -eu
show() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  "$@"
}

show tbq demo demo --force
show tbq ls demo
show tbq export demo --layout wide --run 'sweep/lr0.01*' --steps 0:40
show tbq export demo --tag loss/train --steps 100: -o demo/loss.csv --force
show head -5 demo/loss.csv
show tbq sql demo "select run, min(value) as best from scalars where tag = 'loss/val' group by run order by best limit 5"
show tbq doctor demo || true

#!/bin/sh
# What `make demo` shows: a sample logdir, listed, exported, queried and plotted with the commands a user would type.
set -eu
show() {
  printf '\n\033[1m$ tbq'
  for word; do
    case $word in *\'*) printf ' "%s"' "$word" ;; *[!A-Za-z0-9_/.:=,{}-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\033[0m\n'
  tbq "$@"
}

rm -rf demo
show demo demo
show ls demo
show export demo --layout wide --run 'lr=0.01/*' --steps 15:20
show export demo --tag 'val/*' --run 'lr=*' -o demo/val.csv
head -4 demo/val.csv
show summary demo --best val/loss:min
show sql demo "select run, min(value) as best from scalars where tag = 'val/loss' group by run order by best limit 3"
show plot demo --tag train/loss --run 'lr=*' --by 're:(.*)/seed=.*' --band minmax --log-y
show doctor demo || true

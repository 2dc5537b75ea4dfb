#!/usr/bin/env bash
# Removes what up.sh made under the same prefix, with whatever still runs in it.
set -uo pipefail
lab=${1:?the prefix that up.sh was given}
for name in $(ip netns list | awk '{print $1}' | grep "^$lab-"); do
  for pid in $(ip netns pids "$name"); do kill -KILL "$pid"; done
  ip netns del "$name"
done

#!/bin/sh
# Made the frozen home of format 1 once, with the program of that format. It is never made again: later versions must
# read and write this home. Usage: make.sh <new home> <substrat's bin/run.js>
set -eu
SUBSTRAT_HOME=$1 HOME=$(mktemp -d)
export SUBSTRAT_HOME HOME XDG_CACHE_HOME="$HOME/cache"
substrat() { node "$run" "$@" </dev/null; }
run=$2
cd /

substrat spawn --name completed --workspace / --system 'You are frozen.' 'first question'
substrat send completed 'second question' --key 2026-01
substrat spawn --name blob --workspace / "$(head -c 70000 /dev/zero | tr '\0' x)"
substrat spawn --name failed --workspace / --provider exec --option command='echo "no oil" >&2; exit 3' 'light up' || [ $? -eq 9 ]
substrat spawn --name terminated --workspace / 'goodbye'
substrat terminate terminated
substrat spawn --name queued --workspace /
substrat suspend queued --hold
substrat send queued 'for later' --if-busy queue --key 2026-02
substrat spawn --workspace / 'without a name'

# A turn killed midway: one is marked by recovery, the other is left as it was.
for name in interrupted open; do
  rm -f "$HOME/ready"
  substrat spawn --name $name --workspace / --provider exec --option command=": > $HOME/ready; exec sleep 600" 'work' &
  while [ ! -e "$HOME/ready" ]; do sleep 0.1; done
  agent=$(dirname "$(grep -l "\"name\":\"$name\"" "$SUBSTRAT_HOME"/agents/*/events.jsonl)")
  holder=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).pid' "$agent/lock")
  kill -9 "$holder"
  wait || true
  [ $name = open ] || substrat recover --all --continue none || [ $? -eq 6 ]
done
# Kills the process group that the turn of `open` left running, found in its log.
kill -9 "-$(grep -o '"process_group":[0-9]*' "$agent/events.jsonl" | cut -d: -f2)"
rm -rf "$HOME"

#!/bin/sh
# Made the fourth frozen home of format 1 once, with the program of commit 68dc667: keys, pending mail, a child and a turn
# killed before its reply, all with the provider that echoes (home-lab). The scenarios of stress/scenarios/upgrade.ts start
# from it. Like the others, it is never made again. Needs strace. Usage: make-lab.sh <new home> <substrat's bin/run.js>
set -eu
SUBSTRAT_HOME=$1 HOME=$(mktemp -d)
export SUBSTRAT_HOME HOME XDG_CACHE_HOME="$HOME/cache"
substrat() { node "$run" "$@" </dev/null; }
run=$2
cd /

agent() { name=$1; shift; substrat spawn --name "$name" --workspace / --provider scripted "$@"; }
agent a
for n in 1 2 3 4; do substrat send a "question $n" --key "key $n"; done
agent pending
substrat send pending 'earlier'
substrat send pending 'for later' --queue --no-drain --key 'key later'
agent cut
substrat send cut 'earlier'
log=$(grep -l '"name":"cut"' "$SUBSTRAT_HOME"/agents/*/events.jsonl)
# The second write to the log would be the reply.
strace -f -qq -o /dev/null -P "$log" -e trace=write,pwrite64,writev,pwritev \
  -e inject=write,pwrite64,writev,pwritev:signal=KILL:when=2 \
  node "$run" send cut 'cut short' --key 'key cut' </dev/null || [ $? -eq 137 ]
tail -1 "$log" | grep -q '"kind":"model.requested"'
agent lead --allow tree
agent kid --parent lead
substrat send lead/kid 'request' --from lead --no-drain
rm -rf "$HOME"

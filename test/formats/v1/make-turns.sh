#!/bin/sh
# Made the second frozen home of format 1 once: tools, waits, tokens, compaction (home-turns). Like the first one, it
# is never made again. Usage: make-turns.sh <new home> <substrat's bin/run.js>
set -eu
SUBSTRAT_HOME=$1 HOME=$(mktemp -d)
export SUBSTRAT_HOME HOME XDG_CACHE_HOME="$HOME/cache" SUBSTRAT_TOKEN_LIFETIME=24d SUBSTRAT_RETRY_DELAYS=1s
substrat() { node "$run" "$@" </dev/null; }
exits() { want=$1; shift; got=0; substrat "$@" || got=$?; [ "$got" -eq "$want" ]; }
run=$2
cd "$HOME"

scenario() { printf '{"responses":[%s]}' "$2" >"$HOME/$1.json"; }
agent() { name=$1; shift; substrat spawn --name "$name" --workspace "$HOME" --option "scenario=$name.json" "$@"; }
write='{"say":"I will write it.","tools":[{"name":"write_file","input":{"path":"out.txt","content":"written"}}]},{"say":"Written, or not."}'

scenario tools '{"tools":[{"name":"shell","input":{"command":"echo hi; yes | head -c 100000"}},{"name":"read_file","input":{"path":"tools.json"}},{"name":"teleport","input":{}}]},{"say":"Done."}'
agent tools
substrat send tools 'use them' --allow shell
for name in parked approved denied rotated superseded cancelled; do
  scenario $name "$write"
  agent $name
  exits 5 send $name 'write it' --key "$name-1"
done
substrat approve approved
substrat deny denied --reason 'not there'
substrat token rotate rotated
substrat send superseded 'something else'
substrat cancel cancelled
scenario asked '{"tools":[{"name":"ask_operator","input":{"question":"Which one?"}}]},{"say":"That one."}'
agent asked
exits 5 send asked 'choose'
scenario limited '{"fail":{"type":"rate_limit","retry_after_ms":3600000,"attempts":9}},{"say":"At last."}'
agent limited
exits 7 send limited 'hurry'
scenario retried '{"fail":{"type":"overloaded","attempts":1},"say":"Now."}'
agent retried
substrat send retried 'answer me'
scenario compacted '{"say":"one"},{"say":"two"},{"say":"three"},{"fail":{"type":"overflow"},"say":"four"}'
agent compacted
for n in 1 2 3 4; do substrat send compacted "question $n"; done
printf 'You are frozen.' >"$HOME/AGENTS.md"
scenario prompted '{"say":"So I am."}'
agent prompted 'who are you?'

# A tool and its process are killed midway, and left as they were.
scenario killed '{"tools":[{"name":"shell","input":{"command":": > ready; exec sleep 600"}}]},{"say":"It was killed."}'
agent killed
substrat send killed 'work' --allow all &
while [ ! -e "$HOME/ready" ]; do sleep 0.1; done
agent=$(dirname "$(grep -l '"name":"killed"' "$SUBSTRAT_HOME"/agents/*/events.jsonl)")
kill -9 "$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).pid' "$agent/lock")"
wait || true
kill -9 "-$(grep -o '"process_group":[0-9]*' "$agent/events.jsonl" | tail -1 | cut -d: -f2)"
rm -rf "$HOME"

#!/bin/sh
# Made the third frozen home of format 1 once: children, and mail between agents (home-tree). Like the others, it is
# never made again. Usage: make-tree.sh <new home> <substrat's bin/run.js>
set -eu
SUBSTRAT_HOME=$1 HOME=$(mktemp -d)
export SUBSTRAT_HOME HOME XDG_CACHE_HOME="$HOME/cache"
substrat() { node "$run" "$@" </dev/null; }
exits() { want=$1; shift; got=0; substrat "$@" || got=$?; [ "$got" -eq "$want" ]; }
id() { substrat show "$1" --json | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).agent.id'; }
run=$2
cd "$HOME"

scenario() { printf '{"responses":[%s]}' "$2" >"$HOME/$1.json"; }
agent() { name=$1; shift; substrat spawn --name "$name" --workspace "$HOME" --option "scenario=$name.json" "$@"; }

# Every tool of the tree that writes to a log.
scenario made '{"say":"I was made."},{"say":"I heard."}'
scenario top '
{"tools":[{"name":"spawn_agent","input":{"name":"made","prompt":"who are you?","wait":true,"options":{"scenario":"made.json"}}}]},
{"tools":[{"name":"subscribe","input":{"agent":"made","on":["idle","interrupted"],"once":true}},
  {"name":"set_metadata","input":{"metadata":{"progress":"half","link":"none yet"}}},
  {"name":"set_metadata","input":{"metadata":{"link":null}}},
  {"name":"remind_me","input":{"content":"look again","not_before":"2030-01-01T00:00:00Z","every_seconds":86400}},
  {"name":"remind_me","input":{"content":"never","not_before":"2031-01-01T00:00:00Z"}},
  {"name":"broadcast","input":{"content":"hear this"}}]},
{"say":"The tree stands."},{"say":"It is idle, then."}'
agent top 'make a tree' --allow all

# One request is answered, one fails with an error to its sender and to the parent, and one stays pending.
scenario quick '{"say":"quickly"}'
agent quick --parent top
substrat spawn --name broken --parent top --workspace "$HOME" --provider exec --option command='echo "no oil" >&2; exit 3'
substrat send top/quick 'how fast?' --from top/made
substrat send top/broken 'light up' --from top/quick
substrat deliver --all || true
substrat send top/broken 'light up, for me' --queue || true
substrat gate top/quick
substrat send top/quick 'when you may' --from top --queue
substrat send top/quick 'at its time' --kind notification --not-before 2032-01-01T00:00:00Z
substrat inbox --take >/dev/null

# One agent has completed its task; one was terminated while its mail was pending.
scenario done '{"tools":[{"name":"complete","input":{"result":"all done"}}]}'
agent done --parent top --allow tree
substrat send top/done 'finish' --no-drain
substrat spawn --name gone --parent top --workspace "$HOME"
substrat gate top/gone
substrat send top/gone 'too late' --queue
substrat terminate top/gone
substrat ungate top/quick --no-drain

# A parent acts on a child without a turn of the child.
scenario lead '{"tools":[{"name":"gate","input":{"agent":"worker"}},{"name":"permit_turn","input":{"agent":"worker"}},
  {"name":"subscribe","input":{"agent":"worker","on":["waiting"]}},{"name":"unsubscribe","input":{"agent":"worker"}},
  {"name":"subscribe","input":{"agent":"worker"}},{"name":"poke","input":{"agent":"worker"}}]},{"say":"Led."}'
scenario worker '{"fail":{"type":"invalid","attempts":9}}'
agent lead --allow tree
agent worker --parent lead
exits 9 send lead/worker 'try' || true
substrat send lead 'lead it'

# A root is killed while its turn waits for a working child: two open runs and the wait edge between them.
scenario slow '{"delay_ms":600000,"say":"at last"}'
scenario waiting '{"tools":[{"name":"send_message","input":{"to":"slow","content":"hurry","wait":true}}]},{"say":"It came."}'
agent waiting --allow all
agent slow --parent waiting
substrat send waiting 'ask it' &
holder=$!
slow=$(id waiting/slow)
while ! grep -q '"kind":"model.requested"' "$SUBSTRAT_HOME/agents/$slow/events.jsonl"; do sleep 0.1; done
kill -9 "$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).pid' "$SUBSTRAT_HOME/agents/$slow/lock")"
wait "$holder" || true
rm -rf "$HOME"

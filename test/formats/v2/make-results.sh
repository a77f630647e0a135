#!/bin/sh
# Made the frozen home of format 2 with results from elsewhere once: a deferred call that waits and one that got its result,
# reasoning items, a service that refused them, and usage with all its parts (home-results). Like the others, it is never made
# again. Usage: make-results.sh <new home> <substrat's bin/run.js>
set -eu
SUBSTRAT_HOME=$1 HOME=$(mktemp -d)
export SUBSTRAT_HOME HOME XDG_CACHE_HOME="$HOME/cache" SUBSTRAT_TOKEN_LIFETIME=24d
run=$2
substrat() { node "$run" "$@" </dev/null; }
exits() { want=$1; shift; got=0; substrat "$@" || got=$?; [ "$got" -eq "$want" ]; }
cd "$HOME"

mkdir reasons
printf '{"name":"reasons","version":"1.0.0","type":"module","oclif":{},"substrat":{"providers":{"reasons":"./index.js"}}}' >reasons/package.json
cat >reasons/index.js <<'PROVIDER'
const usage = { input_tokens: 100, output_tokens: 20, cache_read_tokens: 70, cache_write_tokens: 10, reasoning_tokens: 5, cost_usd: 0.25 }
export default {
  kind: 'model',
  description: 'reasons',
  options: {},
  async *complete({ messages, tools, prompt }) {
    const isDone = messages().at(-1).role === 'tool'
    if (prompt === 'again') yield { type: 'items_refused' }
    yield { type: 'item', item: { reasoning: isDone ? 'it is built' : 'it takes a while', signature: 's' } }
    if (isDone || prompt === 'again') yield { type: 'text', text: 'It is built.' }
    else yield { type: 'tool_call', call: { call_id: 'c1', name: 'await_external', input: { what: 'the build' } } }
    yield { type: 'usage', usage, model: 'reasons-1' }
    yield { type: 'stop', reason: isDone || prompt === 'again' ? 'end' : 'tool_calls' }
  },
}
PROVIDER
substrat plugins link "$HOME/reasons"
printf 'build 7 passed' >result.txt
for name in awaiting given; do
  substrat spawn --name $name --provider reasons --workspace /
  exits 5 send $name 'build it' --key "$name-1"
done
substrat token rotate given >token
node "$run" resume given --token - --result result.txt <token
substrat send given again
rm -rf "$HOME"

#!/bin/sh
':' //; SUBSTRAT_TRAPPED=; trap 'SUBSTRAT_TRAPPED=1' HUP; kill -HUP $$; [ "$SUBSTRAT_TRAPPED" ] || SUBSTRAT_HANGUP=ignored; unset SUBSTRAT_TRAPPED; export SUBSTRAT_HANGUP="${SUBSTRAT_HANGUP:-default}"; exec node "$0" "$@"
// The line above is for the shell alone. `nohup` protects by having SIGHUP ignored, which a shell cannot trap then; Node
// sets every signal to its default before any script runs, so that only what starts it can tell.

// First of all: SIGUSR1 opens Node's inspector on a port of this machine, through which every local user could read the
// environment, and the keys in it. A listener keeps it shut; a signal that came before it may have opened it, and
// src/start/run.ts refuses that.
process.on('SIGUSR1', () => undefined)

const { existsSync } = require('node:fs')
const path = require('node:path')

const root = path.dirname(__dirname)
const built = ['start.cjs', 'substrat.cjs'].map((file) => path.join(root, 'dist', file))
const missing = built.find((file) => !existsSync(file))
if (missing !== undefined) {
  console.error(`substrat is not built: ${missing} is missing. Run: npm run build`)
  process.exit(1)
}
require(built[0]).run(root)

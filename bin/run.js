#!/bin/sh
':' //; SUBSTRAT_TRAPPED=; trap 'SUBSTRAT_TRAPPED=1' HUP; kill -HUP $$; [ "$SUBSTRAT_TRAPPED" ] || SUBSTRAT_HANGUP=ignored; unset SUBSTRAT_TRAPPED; export SUBSTRAT_HANGUP="${SUBSTRAT_HANGUP:-default}"; exec node "$0" "$@"
// Only the shell runs the line above. `nohup` starts a command with SIGHUP ignored, and a shell cannot trap an ignored signal.
// Node resets every signal to its default before a script runs, so only the shell that starts it can detect this.

// Must come first. SIGUSR1 opens Node's inspector on a local port, where every local user could read the environment and the
// API keys in it. A listener prevents that. If a signal came earlier, src/start/run.ts refuses to run.
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

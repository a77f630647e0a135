/**
 * The model server as a separate process, for tests that kill clients:
 * node model-server.mjs [SCENARIO.json] [--port N] [--end-with-stdin]
 * Its first line is its address: `{"url":"http://127.0.0.1:40001","port":40001}`. `GET /__requests` lists the requests
 * so far. It ends on SIGTERM; with `--end-with-stdin` also when its parent is gone.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Scenario } from './scenario.js'
import { startModelServer } from './server.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string' }, 'end-with-stdin': { type: 'boolean' } },
})
const [file] = positionals
const scenario = file === undefined ? { responses: [] } : (JSON.parse(readFileSync(file, 'utf8')) as Scenario)
const { url, port } = await startModelServer(scenario, { port: Number(values.port ?? 0) })
process.stdout.write(`${JSON.stringify({ url, port })}\n`)
if (values['end-with-stdin'] === true) process.stdin.resume().on('end', () => process.exit(0))

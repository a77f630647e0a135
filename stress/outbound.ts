// npm run stress:outbound -- [--only notify,channel,telegram,email] [--messages 1000] [--seed 1]
// Runs the tests of notifications and channels, with many messages. Exits 1 if one of them fails.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { repository } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const FILES: Record<string, string> = {
  notify: 'test/outbound/storm.test.ts',
  channel: 'test/channel/killed.test.ts',
  telegram: 'test/plugins/telegram/killed.test.ts',
  email: 'test/servers/email-killed.test.ts',
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(FILES).join(',') },
    messages: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const { messages, seed } = values

/** Whether the test passed. It prints its counts. */
async function passes(file: string): Promise<boolean> {
  const child = spawn('npx', ['vitest', 'run', '--testTimeout=0', file], {
    cwd: repository,
    env: { ...process.env, EVENTS: messages, MESSAGES: messages, SEED: seed },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return (await new Promise((resolve) => child.once('close', resolve))) === 0
}

const names = values.only.split(',')
let failures = 0
for (const name of names) {
  const file = FILES[name]
  if (file === undefined) throw new Error(`--only takes ${Object.keys(FILES).join(', ')}, not ${name}`)
  if (await passes(file)) continue
  failures += 1
  const options = `--only ${name} --messages ${messages} --seed ${seed}`
  console.log(`FAILED: ${name}. Repeat it: npm run stress:outbound -- ${options}`)
}
recordResult({
  lab: 'outbound',
  sample: `${messages} messages through each target of ${values.only}, seed ${seed}`,
  cases: names.length * Number(messages),
  violations: failures,
})
if (failures > 0) process.exitCode = 1

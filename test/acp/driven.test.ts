/** An agent of substrat with the provider `acp`, whose agent program is `substrat acp` of another home. Both are killed at random. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { KillRun } from '../support/kill-run.js'
import { killIfAlive, processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'
import { userOf } from './shell-path.js'

const run = new KillRun('driven', 3)
const { random } = run

/** A house whose agents have the provider `acp`, and the house that they drive. */
function twoHouses(): { outer: House; inner: House; command: string } {
  const inner = new House()
  const outer = House.ofProcesses({ PATH: userOf(inner).PATH as string, SUBSTRAT_PROVIDER: 'acp' })
  const data = path.join(outer.env.XDG_DATA_HOME as string, 'substrat')
  mkdirSync(data, { recursive: true })
  const root = path.join(import.meta.dirname, '..', '..', 'plugins', 'provider-acp')
  const plugins = [{ name: 'substrat-provider-acp', type: 'link', root }]
  writeFileSync(path.join(data, 'package.json'), JSON.stringify({ oclif: { schema: 1, plugins } }))
  const { SUBSTRAT_HOME = '', SUBSTRAT_CACHE_DIR = '' } = inner.env
  const words = [`SUBSTRAT_HOME=${SUBSTRAT_HOME}`, `SUBSTRAT_CACHE_DIR=${SUBSTRAT_CACHE_DIR}`]
  const command = `env ${words.join(' ')} SUBSTRAT_PROVIDER=scripted substrat acp`
  return { outer, inner, command }
}

async function onlyAgent(house: House): Promise<string> {
  return (await house.ok('list', '--json')).json.agents[0].id
}

test('an agent of another home is driven over ACP, and continues its session in each turn', async () => {
  const { outer, inner, command } = twoHouses()
  await outer.spawn('lead', '--option', `command=${command}`)
  expect((await outer.ok('send', 'lead', 'hello')).stdout).toBe('echo: hello\n')
  expect((await outer.ok('send', 'lead', 'again')).stdout).toBe('echo: again\n')
  const id = await onlyAgent(inner)
  expect(inner.count(id, 'message.user')).toBe(2)
})

test('an approval goes through both homes', async () => {
  const { outer, inner, command } = twoHouses()
  const call = { name: 'shell', input: { command: 'touch touched' } }
  const asks = { say: 'Let me.', tools: [call] }
  writeFileSync(
    path.join(outer.workspace, 'many.json'),
    JSON.stringify({ responses: [asks, asks, { say: 'Done.' }, { say: 'Done.' }] }),
  )
  await outer.spawn('lead', '--option', `command=${command} --option scenario=many.json`)
  expect((await outer.run(['send', 'lead', 'touch'])).exit).toBe(5)
  let approved = await outer.run(['approve', 'lead'])
  // On a slow machine the program is killed before it has cancelled its turn, which then asks once more.
  if (approved.exit === 5) approved = await outer.run(['approve', 'lead'])
  expect([approved.exit, approved.stdout]).toEqual([0, 'Done.\n'])
  expect(inner.count(await onlyAgent(inner), 'tool.started')).toBeGreaterThan(0)
})

test('no message is lost or delivered twice while both sides are killed at random', {
  timeout: run.timeoutMs,
}, async () => {
  run.begin()
  const { outer, inner, command } = twoHouses()
  const slow = { delay_ms: 40, say: 'Done.' }
  writeFileSync(
    path.join(outer.workspace, 'many.json'),
    JSON.stringify({ responses: Array.from({ length: run.kills * 8 }, () => slow) }),
  )
  const lead = await outer.spawn('lead', '--option', `command=${command} --option scenario=many.json`)
  let [killed, sent] = [0, 0]
  while (killed < run.kills) {
    const args = ['send', lead, `message ${sent}`, '--key', `k${sent}`]
    for (;;) {
      const running = outer.start(args)
      const isLast = killed >= run.kills
      if (!isLast) {
        await Promise.race([running.result, sleep(random.between(200, 2700))])
        if (running.child.exitCode === null) {
          // Both sides at once: the sender, and everything that it started in the other home.
          for (const pid of [running.child.pid as number, ...processesWith(`SUBSTRAT_HOME=${inner.home}`)]) {
            if (random.chance(0.8)) killIfAlive(pid)
          }
          killed += 1
        }
      }
      const { exit } = await running.result
      if (exit === 0) break
      // After three kills without progress, only a person continues a turn.
      if (exit === 6) await outer.run(['resume', lead])
    }
    sent += 1
  }
  const messages = Array.from({ length: sent }, (_, number) => `message ${number}`)
  const asked = outer
    .records(lead)
    .flatMap((record) =>
      record.kind === 'message.user' && record.origin === 'operator' ? [record.content] : [],
    )
  expect(asked).toEqual(messages)
  expect(outer.records(lead).filter(({ kind }) => kind === 'run.completed')).toHaveLength(sent)
  // A session whose creation was killed before its id was recorded has no prompt.
  const ids: string[] = (await inner.ok('list', '--json')).json.agents.map(({ id }: { id: string }) => id)
  await waitFor(
    async () =>
      (await inner.ok('list', '--json')).json.agents.every(
        ({ status }: { status: string }) => status !== 'running',
      ),
    'the last turns',
  )
  const delivered = ids.flatMap((id) =>
    inner
      .records(id)
      .flatMap((record) =>
        (record.kind === 'message.user' && record.origin === 'operator') || record.kind === 'mail.delivered'
          ? [String(record.content)]
          : [],
      ),
  )
  for (const message of messages) {
    expect(delivered.filter((text) => text === message).length).toBeLessThanOrEqual(1)
    expect(delivered.some((text) => text.includes(message))).toBe(true)
  }
  expect([...outer.findings(true), ...inner.findings(true)]).toEqual([])
  run.report({ kills: killed, messages: sent, sessions: ids.length })
})

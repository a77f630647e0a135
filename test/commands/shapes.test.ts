/** Each command prints JSON of its schema, which `House.run` checks, with no other field. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OUTPUTS } from '../../src/schema/outputs.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { checkedCommands, checkPrinted, checkShape } from '../support/output-shapes.js'
import { linkChannelPlugin, newPlatform } from '../support/platform.js'
import { writePlugin } from '../support/plugin.js'

test('the JSON of every command has the shape of src/schema', async () => {
  // npm gets no registry: 127.0.0.1:9 refuses connections.
  const house = new House({ npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' })
  const json = (...args: string[]) => house.ok(...args, '--json')
  await json('spawn', 'hello', '--name', 'a')
  await json('send', 'a', 'hello', '--key', 'k')
  const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'npm test' } }] })
  for (const name of ['c', 'd', 'e']) {
    await house.spawn(name, '--option', option)
    expect((await house.run(['send', name, 'hello', '--json'])).json.wait).not.toBe(null)
  }
  const question = { name: 'ask_operator', input: { question: 'Which?' } }
  await house.spawn('q', '--option', house.scenario('q.json', { tools: [question] }, { say: 'done' }))
  expect((await house.run(['send', 'q', 'hello', '--json'])).exit).toBe(5)
  await json('answer', 'q', 'this one')
  await house.run(['approve', 'c', '--json'])
  await house.run(['deny', 'd', '--json'])
  await json('token', 'rotate', 'e')
  await json('cancel', 'e')
  await house.run(['retry', 'e', '--json'])
  await house.run(['resume', 'a', '--json'])
  await json('set', 'a', '--title', 'T')
  await json('schedule', 'add', 'a', '0 7 * * *', 'go', '--name', 'daily', '--until', '2100-01-01')
  await json('schedule', 'add', 'a', '0 7 * * *', 'go', '--name', 'daily', '--jitter', '1m')
  await json('schedule', 'run-now', 'a', 'daily')
  await json('schedule', 'pause', 'a', 'daily')
  await json('schedule', 'resume', 'a', 'daily')
  await json('schedule', 'show', 'a', 'daily')
  await json('schedule', 'list')
  for (const command of [
    'show',
    'export',
    'log',
    'fork',
    'compact',
    'gate',
    'ungate',
    'suspend',
    'recover',
    'check',
    'deliver',
    'wait',
  ])
    await house.run([command, 'a', '--json'])
  await json('export', 'a', '-o', 'a.json')
  await json('export', 'a', '--bundle', 'a.bundle')
  await json('import', '--trust', 'a.bundle', '--name', 'a-copy')
  for (const command of ['list', 'tree', 'usage', 'inbox', 'outbox', 'doctor', 'providers', 'schema'])
    await json(command)
  await json('search', 'hello')
  await json('serve', 'token', 'add', 'phone', '--may', 'answer')
  await json('serve', 'token', 'list')
  await json('serve', 'token', 'revoke', 'phone')
  await json('config', 'set', 'notify', JSON.stringify([{ name: 'n', on: ['failed'], run: ['true'] }]))
  await json('notify', 'test')
  const workspace = linkChannelPlugin(house)
  const platform = await newPlatform()
  const channel = { name: 'chat', type: 'loopback', senders: ['ann'], options: { url: platform.url } }
  await json('config', 'set', 'channels', JSON.stringify([{ ...channel, agent: { workspace } }]))
  await json('channel', 'run', 'chat', '--once')
  await json('schedule', 'remove', 'a', 'daily')
  await json('unlock', 'a')
  // Files in memory do not survive a power cut.
  expect([0, 11]).toContain((await house.run(['selftest', '--kills', '1', '--json'])).exit)
  await json('config', 'list')
  await json('config', 'get', 'timeout')
  await json('config', 'set', 'timeout', '1m')
  await json('config', 'unset', 'timeout')
  await json('config', 'path')
  await house.run(['config', 'edit', '--json'], { env: { VISUAL: '', EDITOR: 'true' } })
  const goes = await house.spawn('goes')
  await json('terminate', 'goes')
  await json('remove', goes)
  await json('prune', '--older-than', '0s')
  const lists = `{ kind: 'model', description: 'x', options: {}, async *complete() {}, models: async () => [{ id: 'm' }] }`
  const written = (letter: string) =>
    writePlugin(house.root, {
      name: `substrat-provider-${letter}`,
      providers: { [letter]: `export default ${lists}` },
    })
  await json('plugins', 'add', written('x'))
  const models = await House.ofProcesses(house.env as Record<string, string>).run(['models', 'x', '--json'])
  expect(models).toMatchObject({ exit: 0, stderr: '' })
  await json('plugins', 'link', written('y'))
  await json('plugins', 'install', written('z'))
  await json('plugins')
  await json('plugins', 'inspect', 'substrat-provider-y')
  await json('plugins', 'uninstall', 'substrat-provider-z')
  await json('plugins', 'update')
  await json('plugins', 'reset')
  await json('migrate', '--from', house.home, '--to', join(house.root, 'moved'))
  expect(Object.keys(OUTPUTS).filter((name) => !checkedCommands.has(name))).toEqual([])
})

test('a held and a damaged agent, a broken log and an error have their shapes, too', async () => {
  const house = new House()
  const gate = new Gate(house, 'g')
  await house.spawn('b', ...gate.flags)
  const id = await house.spawn('damaged')
  await house.ok('send', 'damaged', 'hello')
  house.damage(id, (log) => log.replace('hello', 'jello'))
  writeFileSync(house.agentFile(id, 'session.json'), '')
  const sender = house.start(['send', 'b', 'hello'])
  await gate.isReached()
  expect((await house.ok('show', 'b', '--json')).json.holder).toMatchObject({ pid: expect.any(Number) })
  const { agents } = (await house.run(['list', '--json'])).json
  expect(agents.map(({ status }: { status: string }) => status).sort()).toEqual(['corrupt', 'running'])
  expect((await house.run(['tree', '--json'])).json.stray).toHaveLength(1)
  expect((await house.run(['doctor', '--json'])).json.findings.length).toBeGreaterThan(0)
  expect((await house.run(['wait', 'damaged', '--json'])).exit).toBe(10)
  expect((await house.run(['show', 'nobody', '--json'])).json.error.code).toBe('AGENT_NOT_FOUND')
  expect((await house.run(['send', 'nobody', 'x', '--json'])).exit).toBe(3)
  gate.open()
  await sender.result
})

test('a line of --stream has its shape', async () => {
  const house = new House()
  await house.spawn('a')
  expect((await house.ok('send', 'a', 'hello', '--stream')).stdout).toContain('"kind":"run.completed"')
})

test('a field that no schema names, a missing field and a wrong type are noticed', () => {
  const good = { key: 'timeout', value: '1m' }
  expect(() => checkPrinted(['config', 'set', '--json'], JSON.stringify(good))).not.toThrow()
  for (const bad of [{ ...good, more: 1 }, { key: 'timeout' }, { key: 'timeout', value: 1 }])
    expect(() => checkPrinted(['config', 'set', '--json'], JSON.stringify(bad))).toThrow('its shape')
  const error = { error: { code: 'NO_SUCH_CODE', message: 'm', hint: null } }
  expect(() => checkPrinted(['list', '--json'], JSON.stringify(error))).toThrow('its shape')
  expect(() => checkShape(OUTPUTS.list, {}, 'list')).toThrow('its shape')
})

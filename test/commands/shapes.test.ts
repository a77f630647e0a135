/** The JSON of the commands has exactly the fields that docs/commands.md shows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { examplesOf } from '../support/markdown.js'

const examples = examplesOf(readFileSync('docs/commands.md', 'utf8'))
const printed: Record<string, unknown> = {}

beforeAll(async () => {
  const house = new House()
  const gate = new Gate(house, 'g')
  const id = await house.spawn('a')
  const sent = await house.ok('send', 'a', 'hello', '--json')
  await house.ok('send', 'a', 'hello', '--queue')
  await house.ok('set', 'a', '--title', 'T')
  await house.spawn('b', ...gate.flags)
  const sender = house.start(['send', 'b', 'hello'])
  await gate.isReached()
  house.mark(id)
  const commands = {
    show: ['show', 'b'],
    tree: ['tree', 'a'],
    fork: ['fork', 'a', '--name', 'forked'],
    'gate, ungate': ['gate', 'gated'],
    inbox: ['inbox'],
    deliver: ['deliver', 'a'],
    'wait AGENT': ['wait', 'a'],
    list: ['list'],
    recover: ['recover', 'a'],
    export: ['export', 'a'],
    config: ['config', 'list'],
    providers: ['providers'],
    unlock: ['unlock', 'a'],
  }
  const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'npm test' } }] })
  await house.spawn('c', '--option', option)
  printed['spawn, send, resume, approve, deny, retry'] = sent.json
  printed.wait = (await house.run(['send', 'c', 'hello', '--json'])).json.wait
  printed.cancel = (await house.ok('cancel', 'c', '--json')).json
  const [stays = ''] = await Promise.all(['stays', 'goes', 'gated'].map((name) => house.spawn(name)))
  await Promise.all(['stays', 'goes'].map((name) => house.ok('terminate', name)))
  writeFileSync(house.agentFile(stays, 'inbox/00000000-0000-4000-8000-000000000000.json'), 'half a mess')
  printed.prune = (await house.ok('prune', '--older-than', '0s', '--json')).json
  const results = await Promise.all(
    Object.entries(commands).map(async ([name, args]) => [name, (await house.ok(...args, '--json')).json]),
  )
  Object.assign(printed, Object.fromEntries(results))
  // A truncated message, so that an agent cannot be removed.
  printed.doctor = (await house.run(['doctor', '--json'])).json
  gate.open()
  await sender.result
})

test('docs/commands.md and this file name the same shapes', () => {
  expect(Object.keys(printed).sort()).toEqual(Object.keys(examples).sort())
})

test.each(Object.keys(examples))('%s', (name) => {
  expect(fieldsOf(printed[name], examples[name])).toEqual(fieldsOf(examples[name], examples[name]))
})

/** The fields of an object in order, nested; for an array those of its first element. `{}` in an example matches any object. */
function fieldsOf(value: unknown, example: unknown): unknown {
  if (Array.isArray(value)) return [fieldsOf(value[0], (example as unknown[] | undefined)?.[0])]
  if (typeof value !== 'object' || value === null) return null
  if (typeof example !== 'object' || example === null || Object.keys(example).length === 0) return null
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      fieldsOf(field, (example as Record<string, unknown>)[key]),
    ]),
  )
}

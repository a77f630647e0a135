/** The options of a message reach its turn: through each face, at once and through the inbox. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { optionsBody } from '../../plugins/serve/page/src/model/message-options.js'
import { rowsWithFlag } from '../../src/schema/message.js'
import { Outsider } from '../operator/support.js'
import { House } from '../support/cli.js'
import { Served } from './support.js'

/** A value of each type: in words, in JSON, and as its record has it. */
const VALUES = {
  text: { word: 'x', json: 'x', recorded: 'x' },
  switch: { word: 'true', json: true, recorded: true },
  duration: { word: '1d', json: '1d', recorded: 86_400_000 },
  count: { word: '7', json: 7, recorded: 7 },
  tools: {
    word: 'write_file,shell(npm test*)',
    json: ['write_file', 'shell(npm test*)'],
    recorded: ['write_file', 'shell(npm test*)'],
  },
}

interface Asked {
  /** With its value. */
  flag: string
  /** For HTTP and MCP. */
  field: string
  value: (typeof VALUES)[keyof typeof VALUES]
}

const OPTIONS = rowsWithFlag().map(([name, { flag, type }]) => {
  const value = VALUES[type]
  const word = type === 'switch' ? `--${flag}` : `--${flag}=${value.word}`
  const asked: Asked = { flag: word, field: flag.replaceAll('-', '_'), value }
  return [name, asked] as const
})

interface Home {
  house: House
  agentId: string
}

type Face = (home: Home, asked: Asked) => Promise<unknown>

async function overHttp({ house }: Home, body: object): Promise<void> {
  const served = await Served.start(house)
  const sent = await served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'hi', ...body } })
  expect(sent.status, JSON.stringify(sent.problem)).toBe(202)
  await served.stop()
}

/** The rows of the table in docs/turns.md whose options are "all". */
const FACES: Record<string, Face> = {
  '`send`': ({ house }, { flag }) => house.ok('send', 'a', 'hi', '--if-busy', 'queue', flag),
  '`send --from`': async ({ house }, { flag }) => {
    await house.ok('spawn', '--name', 'kid', '--parent', 'a')
    await house.ok('send', 'a', 'hi', '--from', 'a/kid', flag)
  },
  HTTP: (home, { field, value }) => overHttp(home, { [field]: value.json }),
  'the page': (home, { field, value }) => overHttp(home, optionsBody({ [field]: ` ${value.word} ` })),
  MCP: async ({ house }, { field, value }) => {
    const outsider = await Outsider.open(house, '--allow-decisions')
    await outsider.call('send', { agent: 'a', message: 'hi', key: 'k', [field]: value.json })
    await outsider.close()
  },
}

const CASES = Object.keys(FACES).flatMap((face) => OPTIONS.map(([name, asked]) => ({ face, name, asked })))

describe.concurrent('a message', () => {
  test.each(CASES)('through $face gives $name to its turn', async ({ face, name, asked }) => {
    const house = new House()
    const agentId = await house.spawn('a')
    await FACES[face]?.({ house, agentId }, asked)
    await house.ok('deliver', '--all')
    expect(house.records(agentId).find(({ kind }) => kind === 'run.started')).toMatchObject({
      [name]: asked.value.recorded,
    })
  })

  test.each(CASES)('through $face and the inbox gives $name to its turn', async ({ face, name, asked }) => {
    const house = new House()
    const agentId = await house.spawn('a')
    await house.ok('gate', 'a')
    await FACES[face]?.({ house, agentId }, asked)
    expect(house.records(agentId).filter(({ kind }) => kind === 'run.started')).toEqual([])
    await house.ok('ungate', 'a')
    await house.ok('deliver', '--all')
    expect(house.records(agentId).find(({ kind }) => kind === 'run.started')).toMatchObject({
      [name]: asked.value.recorded,
    })
  })

  test.each(OPTIONS)(
    'of spawn gives %s to its turn, from a shell and over HTTP',
    async (name, { flag, field, value }) => {
      const house = new House()
      await house.ok('spawn', '--name', 'a', flag, 'hi')
      const served = await Served.start(house)
      const spawned = await served.call('spawnAgent', {
        body: { name: 'b', prompt: 'hi', [field]: value.json },
      })
      expect(spawned.status).toBe(202)
      await served.stop()
      await house.ok('deliver', '--all')
      const begun = house.ids().map((id) => house.records(id).find(({ kind }) => kind === 'run.started'))
      expect(begun).toEqual(Array(2).fill(expect.objectContaining({ [name]: value.recorded })))
    },
  )
})

test('the table of the docs names each option, and for each face all of them or why it has none', () => {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'turns.md'), 'utf8')
  const [options = [], faces = []] = [...page.matchAll(/(?:^\|.*\|\n)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) => row.slice(2, -2).split(' | ')),
  )
  expect(options.map(([flag, field]) => [flag, field])).toEqual(
    OPTIONS.map(([, { flag, field }]) => [`\`${flag.split('=')[0]}\``, `\`${field}\``]),
  )
  const withAll = faces.flatMap(([face = '', what = '']) => (what.startsWith('all') ? face.split(', ') : []))
  expect(withAll.sort()).toEqual([...Object.keys(FACES), '`spawn`'].sort())
  for (const [face, what = ''] of faces) expect(what, face).toMatch(/^all|^none: .{20,}/)
})

test('an option of one message does not apply to another: each has a turn of its own', async () => {
  const house = new House()
  const agentId = await house.spawn('a')
  for (const more of [[], ['--allow', 'shell'], []])
    await house.ok('send', 'a', 'hi', '--kind', 'notification', ...more)
  await house.ok('deliver', '--all')
  const begun = house.records(agentId).filter((record) => record.kind === 'run.started')
  expect(begun.map(({ allow }) => allow)).toEqual([undefined, ['shell'], undefined])
})

test('a tool that does not exist is refused before the message is stored, also for the inbox', async () => {
  const house = new House()
  const agentId = await house.spawn('a')
  for (const how of [['--queue'], ['--kind', 'notification'], []]) {
    const refused = await house.run(['send', 'a', 'hi', '--allow', 'shel', ...how])
    expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('shell')])
  }
  expect(house.inbox(agentId)).toEqual([])
})

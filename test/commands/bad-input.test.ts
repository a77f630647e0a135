/** Wrong input from people, scripts and broken disks: an exit code, one sentence with the next step, and no lost data. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { FORMAT } from '../../src/format.js'
import { frame, unframe } from '../../src/storage/log/frame.js'
import { NOBODY, whyNoOtherUser } from '../support/another-user.js'
import { House, type Result, type RunOptions } from '../support/cli.js'

/** A home with an agent `a` after two turns. The tests copy it and never change it. */
const template = new House()
let a = ''
beforeAll(async () => {
  a = await template.spawn('a')
  for (const message of ['one', 'two']) await template.ok('send', 'a', message)
})

function expectRefusal(result: Result, exit: number, why: RegExp): void {
  expect(result.exit, result.stderr).toBe(exit)
  expect(result.stdout).toBe('')
  expect(result.stderr).toMatch(why)
  expectSentence(result)
}

/** One line: the problem, and in parentheses the next step. No stack. */
function expectSentence({ stderr }: Result): void {
  expect(stderr).toMatch(/^substrat: [^\n]+ \([^\n]+\)\n$/)
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+|node:internal|dist\/substrat/)
}

const long = 'n'.repeat(300)
const wrongWords: [string, string[], number, RegExp, RunOptions?][] = [
  ['an unknown agent', ['send', 'nobody', 'hello'], 3, /no agent "nobody"/],
  ['an unknown uuid', ['show', '00000000-0000-4000-8000-000000000000'], 3, /no agent "0000/],
  ['a bad uuid', ['log', '0000-zzzz'], 3, /no agent/],
  ['an id that walks out of the home', ['show', '../../../etc/passwd'], 3, /no agent/],
  ['an id that is a path in the home', ['export', '../agents/x'], 3, /no agent/],
  ['an id of dots', ['terminate', '..'], 3, /no agent/],
  ['an id with a NUL byte in its place', ['show', 'a%00'], 3, /no agent/],
  ['an empty id', ['show', ''], 3, /no agent ""/],
  ['a name with a slash', ['spawn', '--name', 'a/b'], 2, /it has a slash/],
  ['a name that walks out of the home', ['spawn', '--name', '../x'], 2, /it has a slash/],
  ['a name with a control character', ['spawn', '--name', 'a\u0007b'], 2, /"a\\u0007b" .* control character/],
  ['a name with a newline', ['spawn', '--name', 'a\nb'], 2, /control character/],
  ['a name of 300 characters', ['spawn', '--name', long], 2, /longer than 64 characters/],
  ['an empty name', ['spawn', '--name', ''], 2, /it is empty/],
  ['a name that is a uuid', ['spawn', '--name', '00000000-0000-4000-8000-000000000000'], 2, /it is a UUID/],
  ['a name that a living agent has', ['spawn', '--name', 'A'], 13, /the name "A" is taken by agent/],
  ['a lookup of 300 characters', ['show', long], 3, /no agent "n{80}…"/],
  ['an empty message', ['send', 'a', ''], 2, /the message is empty/],
  ['a blank message', ['send', 'a', ' \n\t '], 2, /the message is empty/],
  ['an empty stdin', ['send', 'a'], 2, /the message is empty/],
  ['an empty stdin for -', ['send', 'a', '-'], 2, /the message is empty/],
  [
    '50 MB on stdin',
    ['send', 'a', '-'],
    2,
    /larger than 10485760 bytes/,
    { stdin: Buffer.alloc(50_000_000, 'x') },
  ],
  ['stdin that is no UTF-8', ['send', 'a', '-'], 2, /not UTF-8/, { stdin: Buffer.from([0x61, 0xff, 0xfe]) }],
  [
    'half a UTF-8 character at the end',
    ['send', 'a'],
    2,
    /not UTF-8/,
    { stdin: Buffer.from([0x61, 0xe2, 0x82]) },
  ],
  ['too many words', ['send', 'a', 'one', 'two'], 2, /one argument too many: "two"/],
  ['an unknown provider', ['spawn', '--provider', 'nonsense'], 3, /no provider "nonsense"/],
  ['an option that is none', ['spawn', '--option', 'x=1'], 2, /no option "x"/],
  ['an option without a value', ['spawn', '--option', 'x'], 2, /not name=value/],
  ['exec without a command', ['spawn', '--provider', 'exec'], 8, /needs a command/],
  ['a scenario that is not there', ['spawn', '-o', 'scenario=no.json'], 8, /no\.json cannot be read/],
  ['a workspace that is not there', ['spawn', '--workspace', '/no/such'], 2, /is not a directory/],
  [
    'a duration without a unit',
    ['send', 'a', 'x', '--timeout', '5'],
    2,
    /^substrat: --timeout: "5" is not a duration \(write/,
  ],
  ['a negative duration', ['send', 'a', 'x', '--timeout=-1s'], 2, /"-1s" is not a duration/],
  ['a duration of years', ['send', 'a', 'x', '--turn-timeout', '900d'], 2, /"900d" is not a duration/],
  ['an empty key', ['send', 'a', 'x', '--key', ''], 2, /the key "" cannot be used/],
  ['a key of 300 characters', ['send', 'a', 'x', '--key', long], 2, /cannot be used/],
  ['--retry without --key', ['send', 'a', 'x', '--retry'], 2, /--retry needs --key/],
  [
    'an unknown flag',
    ['send', 'a', 'x', '--nonsense'],
    2,
    /there is no flag --nonsense \(substrat send --help\)/,
  ],
  [
    'an unknown choice',
    ['send', 'a', 'x', '--if-busy', 'maybe'],
    2,
    /--if-busy must be one of wait, queue, fail, not maybe/,
  ],
  [
    'a missing argument',
    ['config', 'set', 'timeout'],
    2,
    /missing argument VALUE: .* \(substrat config set --help\)/,
  ],
  ['a number that is none', ['log', 'a', '-n', '0'], 2, /greater than or equal to 1/],
  ['an unknown setting', ['config', 'get', 'nonsense'], 2, /no setting "nonsense"/],
]

describe.concurrent('wrong arguments', () => {
  test.each(wrongWords)(
    '%s: the command is refused and stores nothing',
    async (_, args, exit, why, options) => {
      const house = template.copy()
      const logs = house.logs()
      const result = await house.run(args, options)
      if (args.includes('--json')) expect(result.json.error.code).toBe('USAGE')
      else expectRefusal(result, exit, why)
      expect(house.logs()).toEqual(logs)
      expect(house.findings(true)).toEqual([])
    },
  )

  test('an argument that is not UTF-8 is refused, not changed', async () => {
    const house = template.copy()
    const run = house.command('send', 'a').map((word) => `'${word}'`)
    const sent = await house.launch(['sh', '-c', `${run.join(' ')} "$(printf 'a\\377')"`]).result
    expectRefusal(sent, 2, /the message is not UTF-8/)
    expect((await house.run(['send', 'a', 'a\ufffd'])).stdout).toBe('echo: a\ufffd\n')
  })

  test('an ambiguous UUID prefix names the agents that match', async () => {
    const house = template.copy()
    const twin = `${a.slice(0, 8)}-0000-4000-8000-000000000000`
    cpSync(house.agentFile(a, '.'), house.agentFile(twin, '.'), { recursive: true })
    const refused = await house.run(['send', a.slice(0, 8), 'hello'])
    expectRefusal(refused, 3, /is the beginning of the id of 2 agents/)
    for (const id of [a, twin]) expect(refused.stderr).toContain(id)
  })

  test('a stack is printed with DEBUG, and only then', async () => {
    const house = template.copy()
    const refused = await house.run(['show', 'nobody'], { env: { DEBUG: '1' } })
    expect(refused.exit).toBe(3)
    expect(refused.stderr).toMatch(/\n +at /)
  })
})

describe.concurrent('a home that cannot be used', () => {
  const commands = [['list'], ['show', 'a'], ['spawn'], ['send', 'a', 'hello'], ['recover', '--all']]

  test('because it is a file: exit 11, and the file does not change', async () => {
    const house = new House()
    writeFileSync(house.home, 'precious')
    for (const args of commands) expectRefusal(await house.run(args), 11, /is not a directory/)
    expect(readFileSync(house.home, 'utf8')).toBe('precious')
  })

  test('because it has other files: exit 11, also for commands that only read, and nothing is added', async () => {
    const house = new House()
    mkdirSync(`${house.home}/agents`, { recursive: true })
    for (const name of ['README.md', 'agents/helper.md']) writeFileSync(`${house.home}/${name}`, 'precious')
    const more = [
      ['doctor'],
      ['doctor', '--rebuild'],
      ['config', 'list'],
      ['config', 'set', 'model', 'm'],
      ['inbox'],
    ]
    for (const args of [...commands, ...more])
      expectRefusal(
        await house.run(args),
        11,
        /is not a substrat home, and has other files, such as README\.md/,
      )
    expect(readdirSync(house.home, { recursive: true }).sort()).toEqual([
      'README.md',
      'agents',
      'agents/helper.md',
    ])
    for (const args of [['--version'], ['help', 'send'], ['schema']]) await house.ok(...args)
  })

  const isRoot = process.getuid?.() === 0
  const why = whyNoOtherUser()

  test.skipIf(!isRoot)("because it is another user's (needs root): exit 11", async () => {
    const house = template.copy()
    chownSync(house.home, NOBODY, NOBODY)
    for (const args of commands.slice(2)) expectRefusal(await house.run(args), 11, /belongs to user 65534/)
    expect(house.logs()).toEqual(template.logs())
  })

  test.skipIf(why !== undefined)(
    `because it is read-only (${why ?? 'as another user'}): exit 11, and reading works`,
    async () => {
      const house = template.copy()
      expect(spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, house.root]).status).toBe(0)
      for (const file of readdirSync(house.home, { recursive: true, encoding: 'utf8' })) {
        const path = `${house.home}/${file}`
        chmodSync(path, statSync(path).isDirectory() ? 0o500 : 0o400)
      }
      chmodSync(house.home, 0o500)
      const as = { uid: NOBODY }
      expect((await house.run(['list'], as)).stdout).toContain('idle')
      expect((await house.run(['log', 'a'], as)).stdout).toContain('echo: two')
      const refused = [
        ['send', 'a', 'hello'],
        ['spawn', '--provider', 'scripted'],
        ['terminate', 'a'],
        ['config', 'set', 'model', 'm'],
      ]
      for (const args of refused)
        expectRefusal(await house.run(args, as), 11, /is closed to its owner: its mode is 0500/)
      expect(house.logs()).toEqual(template.logs())
    },
  )

  test('because a newer program made it: exit 10', async () => {
    const house = template.copy()
    const file = `${house.home}/home.json`
    const { crc: _, ...facts } = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, frame({ ...facts, format: FORMAT + 1 }))
    for (const args of commands)
      expectRefusal(
        await house.run(args),
        10,
        new RegExp(`has format ${FORMAT + 1}; this version of substrat reads formats 1 to ${FORMAT}`),
      )
    expect(house.logs()).toEqual(template.logs())
  })

  test('because home.json is damaged: exit 10', async () => {
    const house = template.copy()
    writeFileSync(`${house.home}/home.json`, '{"format":1')
    for (const args of commands) expectRefusal(await house.run(args), 10, /home\.json is damaged/)
  })
})

const path = (house: House, name = 'events.jsonl'): string => house.agentFile(a, name)
const withoutSnapshot = (house: House): void => rmSync(path(house, 'session.json'))

function reframed(log: string, change: (record: Record<string, unknown>) => object): string {
  const [first = '', ...rest] = log.split('\n')
  const line = unframe(Buffer.from(first)) as { object: Record<string, unknown> }
  const { crc: _, ...record } = line.object
  return [frame(change(record)).toString().trimEnd(), ...rest].join('\n')
}

const damages: [string, (house: House) => void, RegExp][] = [
  [
    'a flipped byte in the middle of the log',
    (house) => {
      house.damage(a, (log) => log.replace('"echo: one"', '"echo: onf"'))
      withoutSnapshot(house)
    },
    /events\.jsonl is damaged at byte \d+, record \d+: its checksum is wrong/,
  ],
  [
    'a record that is missing in the middle',
    (house) => {
      house.damage(a, (log) => log.split('\n').toSpliced(3, 1).join('\n'))
      withoutSnapshot(house)
    },
    /is damaged at byte \d+, record 2: its seq is 5, not 4/,
  ],
  [
    'the log of another agent',
    (house) => {
      house.damage(a, (log) =>
        reframed(log, (record) => ({ ...record, agent_id: a.replace(/.$/, a.endsWith('0') ? '1' : '0') })),
      )
      withoutSnapshot(house)
    },
    /it is the log of agent/,
  ],
  [
    'a log of an unknown format',
    (house) => {
      house.damage(a, (log) => reframed(log, (record) => ({ ...record, format: FORMAT + 1 })))
      withoutSnapshot(house)
    },
    new RegExp(`record 1: this program does not know format ${FORMAT + 1}`),
  ],
  [
    'a record of an unknown kind',
    (house) => {
      house.damage(a, (log) => reframed(log, (record) => ({ ...record, kind: 'session.dreamt' })))
      withoutSnapshot(house)
    },
    /does not know kind "session\.dreamt"/,
  ],
  [
    'a snapshot ahead of its log',
    (house) => truncateSync(path(house), Math.floor(house.log(a).length / 2)),
    /its snapshot covers 21 records .* acknowledged records are missing/,
  ],
  [
    'an empty log',
    (house) => {
      truncateSync(path(house), 0)
      withoutSnapshot(house)
    },
    /it is empty/,
  ],
]

describe.concurrent('a damaged session', () => {
  test.each(damages)(
    '%s: commands that read or write exit 10, and no byte changes',
    async (_, damage, why) => {
      const house = template.copy()
      damage(house)
      const log = house.log(a)
      const commands = [
        ['send', 'a', 'hello'],
        ['show', 'a'],
        ['resume', 'a'],
        ['terminate', a],
      ]
      for (const args of commands) expectRefusal(await house.run(args), 10, why)
      expect((await house.ok('list')).stdout).toContain('corrupt')
      expect(house.log(a)).toBe(log)
    },
  )

  test('a missing log: exit 10', async () => {
    const house = template.copy()
    rmSync(path(house))
    for (const args of [
      ['send', 'a', 'hello'],
      ['show', 'a'],
      ['log', 'a'],
    ])
      expectRefusal(await house.run(args), 10, /events\.jsonl/)
    expect(existsSync(path(house))).toBe(false)
  })
})

const leftovers: [string, (house: House) => void][] = [
  ['half a line at the end', (house) => appendFileSync(path(house), '{"seq":22,"ts":"2026-')],
  ['a NUL tail', (house) => appendFileSync(path(house), Buffer.alloc(4096))],
  [
    'half a batch',
    (house) => {
      const ts = '2026-11-20T10:00:00.000Z'
      appendFileSync(
        path(house),
        frame({ seq: 22, ts, kind: 'session.activated', batch: [22, 24], boot_id: 'x' }),
      )
    },
  ],
  ['a missing snapshot', withoutSnapshot],
  ['a damaged snapshot', (house) => writeFileSync(path(house, 'session.json'), '{"format":1')],
  ['an empty snapshot', (house) => writeFileSync(path(house, 'session.json'), '')],
  [
    'temps of writers that died',
    (house) => {
      writeFileSync(path(house, 'session.json.4711-1abc.tmp'), 'half')
      // A young temporary file may belong to a living sender.
      const mail = path(house, 'inbox/00000000-0000-4000-8000-000000000000.json.4711-2abc.tmp')
      writeFileSync(mail, 'half')
      utimesSync(mail, 0, 0)
      const cradle = `${house.home}/agents/.spawn-00000000-0000-4000-8000-000000000000`
      mkdirSync(cradle)
      writeFileSync(`${cradle}/lock`, '')
      writeFileSync(`${house.home}/unclean/00000000-0000-4000-8000-000000000000`, '')
    },
  ],
  ['no name index', (house) => rmSync(`${house.home}/roots`, { recursive: true })],
  [
    'no inbox, blobs and requests',
    (house) => {
      for (const name of ['inbox', 'blobs', 'requests']) rmSync(path(house, name), { recursive: true })
    },
  ],
]

describe.concurrent('leftovers of a crash or a person', () => {
  test.each(leftovers)(
    '%s: shown without a write, repaired by the next send, and nothing is lost',
    async (_, leave) => {
      const house = template.copy()
      leave(house)
      const before = house.logBytes(a)
      expect((await house.ok('show', 'a')).stdout).toMatch(/^reply +echo: two$/m)
      expect(house.logBytes(a).equals(before)).toBe(true)
      expect((await house.ok('send', 'a', 'three')).stdout).toBe('echo: three\n')
      expect(house.log(a).startsWith(template.log(a))).toBe(true)
      expect(existsSync(path(house, 'session.json'))).toBe(true)
      await house.ok('recover', '--all')
      expect(house.findings(true)).toEqual([])
      expect(readdirSync(`${house.home}/unclean`)).toEqual([])
    },
  )
})

test('an agent whose provider was uninstalled keeps its session: exit 3, and only the refusal is stored', async () => {
  const house = new House()
  house.plugin(
    'gone',
    `
    export default { kind: 'model', description: 'd', options: {}, async *complete() { yield { type: 'stop', reason: 'end' } } }`,
  )
  const id = await house.spawn('a', '--provider', 'gone')
  rmSync(`${house.root}/data`, { recursive: true })
  const log = house.log(id)
  expectRefusal(await house.run(['send', 'a', 'hello']), 3, /no provider "gone"/)
  expect((await house.ok('show', 'a')).stdout).toContain('gone')
  expect(house.records(id).at(-1)).toMatchObject({ kind: 'turn.refused', cause: 'not_installed' })
  expect(house.log(id).split('\n')).toHaveLength(log.split('\n').length + 1)
  expect(house.log(id)).toContain(log)
  expect(house.findings(true)).toEqual([])
})

test('show and send name the command that continues from the undamaged part of a damaged log, and it does', async () => {
  const house = new House()
  const id = await house.spawn('a')
  for (const text of ['one', 'two']) await house.ok('send', 'a', text)
  house.damage(id, (log) => log.replace('"echo: one"', '"echo: onf"'))
  rmSync(house.agentFile(id, 'session.json'))
  for (const args of [
    ['show', id],
    ['send', id, 'three'],
  ])
    expectRefusal(
      await house.run(args),
      10,
      /from its undamaged part, before that byte: substrat doctor --all --rebuild;/,
    )
  await house.ok('doctor', '--all', '--rebuild')
  await house.ok('resume', id)
  expect((await house.ok('send', id, 'two')).stdout).toBe('echo: two\n')
})

test('show and send name the command that accepts the loss of records that the snapshot covers, and it does', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('send', 'a', 'one')
  house.damage(id, (log) => `${log.split('\n').slice(0, 2).join('\n')}\n`)
  for (const args of [
    ['show', id],
    ['send', id, 'two'],
  ])
    expectRefusal(await house.run(args), 10, /or accept the loss: substrat doctor --all --rebuild;/)
  await house.ok('doctor', '--all', '--rebuild')
  await house.ok('resume', id)
  expect((await house.ok('send', id, 'two')).stdout).toBe('echo: two\n')
})

test('show and send name the command that continues from the snapshot of a missing log, and it does', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('send', 'a', 'one')
  rmSync(house.agentFile(id, 'events.jsonl'))
  for (const args of [
    ['show', id],
    ['send', id, 'two'],
  ])
    expectRefusal(
      await house.run(args),
      10,
      /or continue from its snapshot: substrat doctor --all --rebuild;/,
    )
  await house.ok('doctor', '--all', '--rebuild')
  await house.ok('resume', id)
  expect((await house.ok('send', id, 'two')).stdout).toBe('echo: two\n')
})

test('send names a missing blob of the conversation, and claims only that this file was not changed', async () => {
  const house = new House()
  const id = await house.spawn('a', '--option', house.scenario('s.json', { say: 'one' }, { say: 'two' }))
  await house.ok('send', 'a', 'long '.repeat(40_000))
  const [blob] = readdirSync(house.agentFile(id, 'blobs'))
  rmSync(house.agentFile(id, `blobs/${blob}`))
  const before = house.records(id).length
  const sent = await house.run(['send', 'a', 'next', '--json'])
  expect(sent).toMatchObject({ exit: 10, json: { error: { code: 'CORRUPT' } } })
  expect(sent.json.error.message).toContain(`${blob} is missing`)
  expect(sent.json.error.hint).toBe(
    'the file was not changed; restore it from a backup; to find all damage: substrat doctor --all; continue its turn: substrat resume a; do not send the message again',
  )
  // The message is in the log, and its turn stays interrupted.
  expect(house.records(id).length).toBeGreaterThan(before)
})

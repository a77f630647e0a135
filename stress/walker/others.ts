/** Errors that need another process, a signal, or a limit of the process. */
import { chmodSync } from 'node:fs'
import { limits } from '../../src/limits.js'
import { House } from '../../test/support/cli.js'
import { modelProvider } from '../../test/support/plugin.js'
import {
  begin,
  begun,
  busy,
  deadly,
  givingBack,
  interrupted,
  patient,
  pluginList,
  release,
  row,
  slow,
  taking,
  takingNames,
  veteran,
  WORKS,
  worker,
} from './setups.js'
import type { History } from './walk.js'

const stopped = (
  title: string,
  line: string,
  when: (house: House) => boolean,
  rest: Partial<History>,
): History[] =>
  (['SIGHUP', 'SIGINT', 'SIGTERM'] as const).map((name) =>
    row(`STOPPED_${name}`, `${name} comes ${title}`, line, {
      env: { SUBSTRAT_SHUTDOWN_GRACE: '1ms' },
      signal: { name, when },
      ...rest,
    }),
  )
const hasBegun = (house: House): boolean => house.read('begun') !== undefined

/** A model whose first summary never comes. */
const SUMMARIES = modelProvider(
  `if (request.prompt.startsWith('Summarise') && !existsSync(request.workspace + '/begun')) {
     writeFileSync(request.workspace + '/begun', '')
     FIRST
   }
   yield { type: 'text', text: 'ok' }
   yield { type: 'stop', reason: 'end' }`,
  "import { existsSync, writeFileSync } from 'node:fs'",
)
const HANGS = `await new Promise((_, reject) => {
  const alive = setInterval(() => undefined, 1000)
  signal.addEventListener('abort', () => reject(clearInterval(alive) ?? signal.reason))
})`

const summarising =
  (first: string) =>
  async (house: House): Promise<void> => {
    house.plugin('hears', SUMMARIES.replace('FIRST', first))
    await house.spawn('a', '--provider', 'hears')
    for (const message of ['one', 'two']) await house.ok('send', 'a', message)
  }

/** Its first turn kills the process of the command. How that ended it tells the second time it is asked. */
const FORGETS = `
  import { existsSync, writeFileSync } from 'node:fs'
  const session = (settings, host) => ({
    async *send(prompt, options) {
      const isFirst = !existsSync(settings.workspace + '/begun')
      writeFileSync(settings.workspace + '/begun', '')
      const command = isFirst ? 'kill -9 $PPID; sleep 3600' : 'true'
      const program = await host.launch({ argv: ['/bin/sh', '-c', command], cwd: settings.workspace }, options)
      await program.exited
      yield { type: 'done', reply: 'ok' }
    },
    async suspend() { return null },
    async stop() {},
  })
  export default {
    kind: 'agent', description: 'x', options: {},
    create: async (settings, host) => session(settings, host),
    restore: async (_, settings, host) => session(settings, host),
    inspect: (_, { workspace }) => {
      if (existsSync(workspace + '/asked')) return { outcome: 'unfinished' }
      writeFileSync(workspace + '/asked', '')
      return new Promise(() => undefined)
    },
  }`

/** Another agent has the only slot. */
const withoutSlot = async (house: House): Promise<void> => {
  await house.ok('config', 'set', 'slots_max', '1')
  await busy(house)
  await house.spawn('b', ...WORKS)
}

const held = (title: string, line: string, rest: Partial<History> = {}): History =>
  row('LOCKED', title, line, { prepare: busy, meanwhile: release, ...rest })

const DEADLY = { newHouse: () => House.ofProcesses() }

const exhausted = async (house: House): Promise<void> => {
  await deadly(house, limits.barrenAttemptsMax + 1)
  await house.run(['send', 'a', 'first', '--key', 'k'])
  for (let attempt = 1; attempt <= limits.barrenAttemptsMax; attempt++) await house.run(['recover', 'a'])
}

/** Reports of workers. Each agent is damaged. */
const crowd = async (house: House): Promise<void> => {
  for (let n = 0; n < 16; n++) {
    const id = await house.spawn(`a${n}`)
    await house.ok('send', `a${n}`, 'hi')
    await house.ok('send', `a${n}`, 'later', '--queue', '--no-drain')
    house.damage(id, (log) => log.replace('"session', '"sessioN'))
  }
}

export const OTHERS: History[] = [
  held('another command holds the agent', 'send a second --timeout 1ms'),
  held('another command holds the agent, and --if-busy fails', 'send a second --if-busy fail'),
  held('another command holds the agent that is to be set', 'set a --allow shell --timeout 1ms'),
  held('the turn of another command does not stop', 'suspend a --timeout 1ms', {
    prepare: async (house) => {
      await house.spawn(
        'a',
        '--provider',
        'exec',
        '--option',
        "command=trap '' TERM; : > begun; until [ -e go ]; do sleep 0.05; done",
      )
      await begin(house, 'send', 'a', 'first')
    },
  }),
  held('the lock of another command is to be removed', 'unlock a'),
  row('TIMED_OUT', 'a wait takes too long', 'wait a --timeout 1ms', { prepare: busy, meanwhile: release }),
  row('NO_SLOT', 'another agent has the only slot', 'send b hi --timeout 1ms', {
    prepare: withoutSlot,
    meanwhile: release,
    corrected: ['send', 'b', 'hi'],
  }),
  row('INTERRUPTED', 'the turn is suspended', 'send a first', {
    prepare: (house) => patient(house),
    during: async (house) => [await begun(house), await house.ok('suspend', 'a')],
    meanwhile: release,
  }),
  row('INTERRUPTED', 'the earlier turn is suspended', 'send a second', {
    ...DEADLY,
    prepare: async (house) => [await deadly(house, 1), await house.run(['send', 'a', 'first'])],
    during: async (house) => [await begun(house), await house.ok('suspend', 'a')],
    meanwhile: release,
  }),
  row('INTERRUPTED', 'the turn made no progress', 'wait a', {
    ...DEADLY,
    prepare: exhausted,
    meanwhile: release,
  }),
  row('INTERRUPTED', 'an interrupted turn is on hold', 'wait a', {
    prepare: (house) => interrupted(house, '--hold'),
    meanwhile: release,
  }),
  row('INTERRUPTED', 'a message followed the interrupted turn of the key', 'send a first --key k', {
    ...DEADLY,
    prepare: async (house) => {
      await exhausted(house)
      await release(house)
      await house.ok('send', 'a', 'second')
    },
  }),
  row('CANCELLED', 'the turn is cancelled', 'send a first', {
    prepare: (house) => patient(house),
    during: async (house) => [await begun(house), await house.ok('cancel', 'a')],
    meanwhile: release,
  }),
  row('TIMED_OUT', 'the summary does not come', 'compact a', {
    prepare: summarising(HANGS),
    env: { SUBSTRAT_TURN_TIMEOUT: '100ms' },
  }),
  row('PROVIDER_MISCONFIGURED', 'the summary fails', 'compact a', {
    prepare: summarising("throw Object.assign(new Error('no'), { failure: { type: 'authentication' } })"),
  }),
  ...stopped('during a turn', 'send a hi', hasBegun, { prepare: slow }),
  ...stopped('during the earlier turn', 'send a second', hasBegun, {
    ...DEADLY,
    prepare: async (house) => [await deadly(house, 1), await house.run(['send', 'a', 'first'])],
    meanwhile: release,
  }),
  ...stopped('before a slot is free', 'send b hi', () => true, {
    prepare: withoutSlot,
    meanwhile: release,
  }),
  ...stopped('during a wait', 'wait a', () => true, { prepare: busy, meanwhile: release }),
  ...stopped('before the summary', 'compact a', hasBegun, { prepare: summarising(HANGS) }),
  row('STORAGE_FAILED', 'stdout is full', 'show a', { under: 'exec "$@" > /dev/full' }),
  row('STORAGE_FAILED', 'the reply cannot be printed', 'send a hi', { under: 'exec "$@" > /dev/full' }),
  row('LOCKED', 'another command changes the settings', 'config set slots_max 3', {
    prepare: async (house) => [await worker(house), await taking('config')(house)],
    meanwhile: givingBack,
  }),
  row('HOME_EXPOSED', 'others may write to the list of plugins', 'list', {
    prepare: async (house) => {
      await veteran(house)
      house.plugin('p', modelProvider(''))
      chmodSync(pluginList(house), 0o666)
    },
    under: 'exec "$@"',
    byHand: (house) => chmodSync(pluginList(house), 0o600),
  }),
  row('CORRUPT', 'a worker of deliver meets damage', 'deliver --all', { prepare: crowd, under: 'exec "$@"' }),
  row('LOCKED', 'another command changes the names', 'spawn --name b', {
    prepare: async (house) => [await worker(house), await takingNames(house)],
    meanwhile: givingBack,
  }),
  row('TIMED_OUT', 'a provider does not tell how a turn ended', 'resume a --timeout 1s', {
    ...DEADLY,
    prepare: async (house) => {
      house.plugin('forgets', FORGETS)
      await house.spawn('a', '--provider', 'forgets')
      await house.run(['send', 'a', 'hi'])
    },
  }),
]

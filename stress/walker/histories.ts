/** Small histories, each of which ends in one error. The agent `a` writes each prompt to the file `work`. */
import type { House } from '../../test/support/cli.js'
import { MARKS } from '../../test/support/parked.js'
import type { History } from './walk.js'

const WORKS = ['--provider', 'exec', '--option', 'command=cat >> work; echo >> work; echo done']

const worker = (house: House, ...flags: string[]): Promise<string> => house.spawn('a', ...WORKS, ...flags)

/** `a` is parked by a call of shell. */
async function waiting(house: House, tools: object[] = [MARKS]): Promise<void> {
  await house.spawn('a', '--option', house.scenario('s.json', { tools }, { say: 'finished' }))
  await house.run(['send', 'a', 'go'])
}

const asking = (house: House): Promise<void> =>
  waiting(house, [{ name: 'ask_operator', input: { question: 'Which colour?' } }])

async function family(house: House): Promise<void> {
  await worker(house)
  await house.spawn('kid', '--parent', 'a', ...WORKS)
}

const ended = async (house: House): Promise<unknown> => {
  await worker(house)
  return house.ok('terminate', 'a')
}

/** The only turn of `a` fails in this way; the next one succeeds. */
const failing =
  (type: string) =>
  (house: House): Promise<string> => {
    const scenario = house.scenario('s.json', { fail: { type }, say: 'ok' }, { say: 'ok' })
    return house.spawn('a', '--option', scenario)
  }

const failure = (type: string, code: History['code'], rest: Partial<History> = {}): History => ({
  title: `the turn failed: ${type}`,
  prepare: failing(type),
  args: ['send', 'a', 'go'],
  code,
  ...rest,
})

const usage = (title: string, args: string[], corrected: string[], rest: Partial<History> = {}): History => ({
  ...{ title, prepare: worker, args, corrected, code: 'USAGE' },
  ...rest,
})

export const HISTORIES: History[] = [
  { title: 'no agent has the name', prepare: worker, args: ['send', 'b', 'hi'], code: 'AGENT_NOT_FOUND' },
  {
    title: 'two agents have the name',
    prepare: async (house) => {
      await family(house)
      const other = await house.spawn('b', ...WORKS)
      await house.spawn('kid', '--parent', other, ...WORKS)
    },
    args: ['show', 'kid'],
    code: 'AGENT_AMBIGUOUS',
  },
  {
    title: 'a provider is unknown',
    args: ['spawn', '--provider', 'nonsense'],
    code: 'PROVIDER_NOT_FOUND',
    corrected: ['spawn', '--provider', 'scripted'],
  },
  {
    title: 'no provider is configured',
    args: ['spawn', '--name', 'b'],
    env: { SUBSTRAT_PROVIDER: '' },
    code: 'PROVIDER_MISCONFIGURED',
    fill: { NAME: 'scripted' },
  },
  {
    title: 'an official provider is not installed',
    args: ['providers', 'add', 'nonsense'],
    code: 'PROVIDER_NOT_FOUND',
    corrected: ['providers'],
  },
  usage('an option is unknown', ['spawn', '--option', 'x=1'], ['providers']),
  usage('an option has no value', ['spawn', '--option', 'x'], ['spawn', '--name', 'b', ...WORKS]),
  usage('a name has a slash', ['spawn', '--name', 'x/y'], ['spawn', '--name', 'x-y']),
  usage('a message is empty', ['send', 'a', ''], ['send', 'a', 'hi']),
  usage('there are too many arguments', ['send', 'a', 'one', 'two'], ['send', 'a', 'one two']),
  usage('a key is empty', ['send', 'a', 'x', '--key', ''], ['send', 'a', 'x', '--key', 'k']),
  usage(
    'a duration has no unit',
    ['send', 'a', 'x', '--timeout', '5'],
    ['send', 'a', 'x', '--timeout', '5s'],
  ),
  usage('a list of tools is none', ['set', 'a', '--allow', ','], ['set', 'a', '--allow', 'all']),
  usage('a tool is unknown', ['spawn', '--allow', 'nonsense'], ['spawn', '--allow', 'shell']),
  usage('an age is none', ['purge', '--older', 'x'], ['purge', '--older', '30d']),
  usage(
    'a pattern is none',
    ['spawn', '--allow', 'shell(a; b)', '--name', 'b'],
    ['spawn', '--allow', 'shell(a)', '--name', 'b'],
  ),
  usage('a setting is unknown', ['config', 'get', 'nonsense'], ['config', 'list']),
  usage('a flag is unknown', ['send', 'a', 'x', '--nonsense'], ['send', 'a', 'x']),
  usage('nothing is to change', ['set', 'a'], ['set', 'a', '--allow', 'shell']),
  usage('cancel names no agent', ['cancel'], ['cancel', 'a']),
  usage('cancel names too much', ['cancel', 'a', '--all'], ['cancel', 'a']),
  usage('deliver names too much', ['deliver', 'a', '--all'], ['deliver', '--all']),
  usage('recover names too much', ['recover', 'a', '--all'], ['recover', '--all']),
  usage('a workspace does not exist', ['spawn', '--workspace', 'no'], ['spawn', '--workspace', '.']),
  usage('no target is configured', ['notify', 'test'], ['config', 'list']),
  usage('the text to search for is empty', ['search', ''], ['search', 'text']),
  usage('--host-gone names this home', ['recover', '--host-gone', 'no'], ['recover', '--all']),
  usage('a log has no such record', ['log', 'a', '--since', '99'], ['log', 'a']),
  usage('--watch has no terminal', ['list', '--watch'], ['list']),
  usage('a decision has no token', ['resume', 'a', '--approve'], ['approve', 'a'], {
    prepare: (h) => waiting(h),
  }),
  usage('a decision is of another kind', ['answer', 'a', 'red'], ['approve', 'a'], {
    prepare: (h) => waiting(h),
  }),
  usage('an agent needs no host', ['spawn', '--here', '--name', 'b'], ['spawn', '--name', 'b']),
  { title: 'the agent is gated', prepare: (h) => gated(h), args: ['send', 'a', 'hi'], code: 'GATED' },
  {
    title: 'a terminated agent gets a message',
    prepare: ended,
    args: ['send', 'a', 'hi'],
    code: 'SESSION_STATE',
  },
  ...['send ID hi', 'resume ID', 'retry ID', 'set ID --allow all', 'suspend ID'].map(
    (line): History => ({
      title: `${line} after terminate`,
      prepare: ended,
      args: line.split(' '),
      code: 'SESSION_STATE',
    }),
  ),
  { title: 'there is nothing to retry', prepare: worker, args: ['retry', 'a'], code: 'SESSION_STATE' },
  { title: 'there is nothing to approve', prepare: worker, args: ['approve', 'a'], code: 'SESSION_STATE' },
  { title: 'there is no conversation to fork', prepare: worker, args: ['fork', 'a'], code: 'SESSION_STATE' },
  {
    title: 'there is no session to reseed',
    prepare: (h) => h.spawn('a'),
    args: ['resume', 'a', '--reseed'],
    code: 'SESSION_STATE',
  },
  {
    title: 'the turn waits for approval',
    prepare: (h) => ready(h),
    args: ['send', 'a', 'go'],
    code: 'WAITING',
  },
  { title: 'the turn still waits', prepare: (h) => waiting(h), args: ['resume', 'a'], code: 'WAITING' },
  { title: 'the turn waits for an answer', prepare: asking, args: ['resume', 'a'], code: 'WAITING' },
  {
    title: 'a token is none',
    prepare: (h) => waiting(h),
    args: ['resume', 'a', '--approve', '--token', 'x'],
    code: 'TOKEN_MALFORMED',
  },
  {
    title: 'a name is taken',
    prepare: worker,
    args: ['spawn', '--name', 'a', 'hi'],
    code: 'NAME_TAKEN',
    corrected: ['spawn', '--name', 'b'],
  },
  { title: 'an agent has children', prepare: family, args: ['terminate', 'a'], code: 'HAS_CHILDREN' },
  {
    title: 'a child has the name of a role',
    prepare: worker,
    args: ['spawn', '--parent', 'a', '--name', 'parent'],
    code: 'USAGE',
    corrected: ['spawn', '--parent', 'a', '--name', 'b'],
  },
  {
    title: 'a key belongs to another message',
    prepare: async (house) => {
      await worker(house)
      await house.ok('send', 'a', 'one', '--key', 'k')
    },
    args: ['send', 'a', 'two', '--key', 'k'],
    code: 'KEY_CONFLICT',
    corrected: ['send', 'a', 'two', '--key', 'k2'],
  },
  {
    title: 'the tree is full',
    prepare: async (house) => {
      await family(house)
      await house.ok('config', 'set', 'children_max', '1')
    },
    args: ['spawn', '--parent', 'a', '--name', 'b'],
    code: 'TREE_FULL',
    fill: { AGENT: 'kid' },
    isMended: true,
  },
  {
    title: 'no pending message has the id',
    prepare: worker,
    args: ['inbox', '--take', 'abcdef'],
    code: 'MESSAGE_NOT_FOUND',
  },
  {
    title: 'the parent is terminated',
    prepare: ended,
    args: ['spawn', '--parent', 'ID'],
    code: 'SESSION_STATE',
  },
  failure('authentication', 'PROVIDER_MISCONFIGURED'),
  failure('misconfigured', 'PROVIDER_MISCONFIGURED', { fill: { 'NAME=VALUE': 'scenario=s.json' } }),
  failure('refused', 'PROVIDER_FAILED'),
  failure('overflow', 'PROVIDER_FAILED'),
  failure('busy', 'LOCKED'),
  failure('crashed', 'PROVIDER_FAILED'),
  {
    title: 'the settings are invalid',
    prepare: async (house) => {
      await worker(house)
      house.writeHome('config.json', '{')
    },
    args: ['send', 'a', 'hi'],
    code: 'CONFIG_INVALID',
    env: { EDITOR: 'echo {} >' },
    isMended: true,
  },
  {
    title: 'a log is damaged',
    prepare: async (house) => {
      const id = await worker(house)
      await house.ok('send', 'a', 'hi')
      house.damage(id, (log) => log.replace('"session', '"sessioN'))
    },
    args: ['doctor', '--all'],
    code: 'CORRUPT',
  },
]

async function gated(house: House): Promise<void> {
  await worker(house)
  await house.ok('gate', 'a')
}

/** The next turn of `a` will wait. */
function ready(house: House): Promise<string> {
  return house.spawn('a', '--option', house.scenario('s.json', { tools: [MARKS] }, { say: 'finished' }))
}

/** Errors of one agent and its turns. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../src/limits.js'
import type { FileStore } from '../../src/storage/file-store.js'
import type { House } from '../../test/support/cli.js'
import { forged } from '../../test/support/mail.js'
import { NativeHouse } from '../../test/support/native.js'
import { storeAt } from '../../test/support/postgres-homes.js'
import {
  asking,
  cutShort,
  ended,
  failing,
  family,
  gated,
  inProgram,
  NOTHING,
  ready,
  removeFrom,
  row,
  slow,
  veteran,
  WORKS,
  waiting,
  worker,
} from './setups.js'
import { firstId, type History } from './walk.js'

const failure = (type: string, code: History['code'], rest: Partial<History> = {}): History =>
  row(code, `the turn failed: ${type}`, 'send a go', { prepare: failing({ type }), ...rest })

const keyed = async (house: House): Promise<void> => {
  await worker(house)
  await house.ok('send', 'a', 'one', '--key', 'k')
}

/** Between two turns of `a`. */
const damaged = async (house: House): Promise<void> => {
  house.damage(await veteran(house), (log) => log.replace('"session', '"sessioN'))
}

/** No list can do without the log. */
const unreadable = async (house: House): Promise<void> => {
  house.damage(await veteran(house), (log) => log.replace('"run.started', '"run.sTarted'))
  removeFrom(house.home, `agents/${firstId(house)}/session.json`)
}

const childless = async (house: House): Promise<void> => {
  await family(house)
  removeFrom(house.home, `agents/${house.read('kid')}/events.jsonl`)
}

/** `kid` fails each turn, and sends an error to its parent. */
const failingKid = async (house: House): Promise<void> => {
  await worker(house)
  await house.spawn('kid', '--parent', 'a', '--provider', 'exec', '--option', 'command=false')
}

const full = async (house: House): Promise<void> => {
  await worker(house)
  const store = storeAt(house.home) as FileStore
  const id = firstId(house)
  for (let n = 0; n < limits.inboxMessagesMax; n++)
    forged(store, id, `m${n}`, { sequence: n + 1, kind: 'notification' })
}

const AS_KID = { SUBSTRAT_AGENT: '$kid' }
const AS_A = { SUBSTRAT_AGENT: 'ID' }

export const AGENTS: History[] = [
  row('AGENT_NOT_FOUND', 'no agent has the name', 'send b hi'),
  row('AGENT_AMBIGUOUS', 'two agents have the name', 'show kid', {
    prepare: async (house) => {
      await family(house)
      await house.spawn('kid', '--parent', await house.spawn('b', ...WORKS), ...WORKS)
    },
  }),
  row('AGENT_NOT_FOUND', 'the agent of the tool was removed', 'send a hi', {
    env: { SUBSTRAT_AGENT: '018f0000-0000-7000-8000-000000000001', SUBSTRAT_LOG: '$SUBSTRAT_HOME/agents/x' },
    correctedEnv: { SUBSTRAT_AGENT: '' },
  }),
  row('GATED', 'the agent is gated', 'send a hi', { prepare: gated }),
  row('GATED', 'mail waits for a gated agent', 'wait a', {
    prepare: async (house) => [
      await gated(house),
      await house.run(['send', 'a', 'hi', '--queue', '--no-drain']),
    ],
  }),
  row('ON_HOLD', 'the agent is on hold', 'send a hi', {
    prepare: async (house) => [await worker(house), await house.ok('suspend', 'a', '--hold')],
  }),
  row('OUTCOME_UNKNOWN', 'the outcome of a call is unknown', 'send a hi', { prepare: cutShort }),
  row('SESSION_STATE', 'a terminated agent gets a message', 'send a hi', { prepare: ended }),
  ...['send ID hi', 'resume ID', 'retry ID', 'set ID --allow all', 'suspend ID', 'wait ID --for waiting'].map(
    (line) => row('SESSION_STATE', `${line} after terminate`, line, { prepare: ended }),
  ),
  row('UNDELIVERABLE', 'a terminated agent is to be gated', 'gate ID', { prepare: ended }),
  row('SESSION_STATE', 'the parent is terminated', 'spawn --parent ID', { prepare: ended }),
  row('SESSION_STATE', 'there is nothing to retry', 'retry a'),
  row('SESSION_STATE', 'there is nothing to approve', 'approve a'),
  row('SESSION_STATE', 'there is no conversation to fork', 'fork a'),
  row('SESSION_STATE', 'there is no conversation to compact', 'compact a', { prepare: (h) => h.spawn('a') }),
  row('SESSION_STATE', 'a living agent is to be removed', 'remove ID', { isMended: true }),
  row('HAS_CHILDREN', 'an agent with a child is to be removed', 'remove ID', {
    prepare: async (house) => [await family(house), await house.ok('terminate', 'a', '--recursive')],
  }),
  row('SESSION_STATE', 'there is no session to reseed', 'resume a --reseed', {
    prepare: (h) => h.spawn('a'),
  }),
  row('SESSION_STATE', 'a waiting agent is to be reseeded', 'resume a --reseed', {
    newHouse: () => new NativeHouse(),
    prepare: inProgram,
  }),
  row('WAITING', 'the turn waits for approval', 'send a go', { prepare: ready }),
  row('WAITING', 'the turn still waits', 'resume a', { prepare: (h) => waiting(h) }),
  row('WAITING', 'the turn waits for an answer', 'resume a', { prepare: asking }),
  row('NAME_TAKEN', 'a name is taken', 'spawn --name a hi', { corrected: ['spawn', '--name', 'b'] }),
  row('HAS_CHILDREN', 'an agent has children', 'terminate a', { prepare: family }),
  row('TREE_FULL', 'the tree is full', 'spawn --parent a --name b', {
    prepare: async (house) => [await family(house), await house.ok('config', 'set', 'children_max', '1')],
    fill: { AGENT: 'kid' },
    isMended: true,
  }),
  row('KEY_CONFLICT', 'a key belongs to another message', 'send a two --key k', {
    prepare: keyed,
    corrected: ['send', 'a', 'two', '--key', 'k2'],
  }),
  row('MESSAGE_NOT_FOUND', 'no pending message has the id', 'inbox --take abcdef'),
  row('MESSAGE_NOT_FOUND', 'has no turn or message', 'fork a --at 9'),
  row('QUEUE_FULL', 'the inbox is full', 'send a hi --queue --no-drain', { prepare: full }),
  failure('authentication', 'PROVIDER_MISCONFIGURED'),
  failure('misconfigured', 'PROVIDER_MISCONFIGURED', { fill: { 'NAME=VALUE': 'scenario=s.json' } }),
  failure('refused', 'PROVIDER_FAILED'),
  failure('overflow', 'PROVIDER_FAILED'),
  failure('busy', 'LOCKED'),
  failure('crashed', 'PROVIDER_FAILED'),
  row('NOT_BEFORE', 'the provider limits the rate', 'send a go', {
    env: { SUBSTRAT_RETRY_DELAYS: 'none' },
    prepare: failing({ type: 'rate_limit', retry_after_ms: 1 }),
    meanwhile: (house) => house.waitForTime(firstId(house)),
  }),
  row('TIMED_OUT', 'a turn takes too long', 'send a go --turn-timeout 1s', { prepare: slow }),
  row('TIMED_OUT', 'a turn with a key takes too long', 'send a go --turn-timeout 1s --key k', {
    prepare: slow,
  }),
  row('TIMED_OUT', 'a turn with a key took too long', 'send a go --key k', {
    prepare: async (house) => [
      await slow(house),
      await house.run(['send', 'a', 'go', '--turn-timeout', '1s', '--key', 'k']),
    ],
  }),

  row('TREE_RULES', 'a tool changes a setting', 'config set slots_max 3', {
    env: AS_A,
    decider: 'a root asks a person with ask_operator',
  }),
  row('TREE_RULES', 'a tool stops its parent', 'suspend a', { prepare: family, env: AS_KID }),
  row('TREE_RULES', 'a tool reads your inbox', 'inbox operator', { env: AS_A }),
  row('TREE_RULES', 'a root writes to a root', 'send b hi --from a', {
    prepare: async (house) => [await worker(house), await house.spawn('b', ...WORKS)],
  }),
  row('SESSION_STATE', 'a terminated agent sends a message', 'send kid hi --from ID', {
    prepare: async (house) => [await family(house), await house.ok('terminate', 'a', '--recursive')],
    args: ['send', '$kid', 'hi', '--from', 'ID'],
  }),
  row('PROVIDER_FAILED', 'a child fails', 'send kid hi', { prepare: failingKid, env: AS_A }),
  row('WAITING', 'a child does not answer', 'send kid hi', {
    prepare: async (house) => [await family(house), await house.ok('gate', 'kid')],
    env: AS_A,
  }),
  row('DEADLOCK', 'an agent waits for itself', 'wait a', {
    env: AS_A,
    corrected: ['send', 'kid', 'hi', '--queue'],
    prepare: family,
  }),

  row('CORRUPT', 'a log is damaged', 'doctor --all', { prepare: damaged }),
  row('CORRUPT', 'a message for a damaged agent', 'send ID hi', { prepare: damaged }),
  row('CORRUPT', 'a damaged agent has no place in the tree', 'tree', { prepare: unreadable }),
  row('CORRUPT', 'the usage of a damaged agent', 'usage', { prepare: unreadable }),
  row('CORRUPT', 'the log of a child is missing', 'terminate a --recursive', {
    prepare: childless,
    byHand: (house) => removeFrom(house.home, `agents/${house.read('kid')}`),
  }),
  row('CORRUPT', 'a message in your inbox is damaged', 'inbox', {
    prepare: async (house) => [
      await worker(house),
      house.writeHome('operator/inbox/018f0000-0000-7000-8000-000000000001.json', '{'),
    ],
    byHand: (house) => removeFrom(house.home, 'operator/inbox/018f0000-0000-7000-8000-000000000001.json'),
  }),
  row('CORRUPT', 'no batch of a log is intact', 'doctor --all --rebuild', {
    prepare: async (house) => {
      const id = await veteran(house)
      house.damage(id, () => 'x\n')
      removeFrom(house.home, `agents/${id}/session.json`)
    },
    byHand: (house) => removeFrom(house.home, `agents/${firstId(house)}`),
  }),
  row('CORRUPT', 'the log with a key was damaged', 'send a one --key k', {
    prepare: async (house) => {
      await keyed(house)
      house.damage(firstId(house), (log) => log.replace('"run.started', '"run.sTarted'))
      await house.run(['doctor', '--all', '--rebuild'])
      await house.run(['resume', 'a'])
    },
    corrected: ['send', 'a', 'two', '--key', 'k2'],
  }),
  row('CORRUPT', 'a log vanishes during a turn', 'send a hi', {
    prepare: (house) =>
      house.spawn(
        'a',
        '--provider',
        'exec',
        '--option',
        'command=set "$SUBSTRAT_HOME"/agents/*/events.jsonl; if mkdir once; then cp "$1" log; rm "$1"; fi; echo done',
      ),
    corrected: ['show', 'a'],
    byHand: (house) =>
      renameSync(join(house.workspace, 'log'), house.agentFile(firstId(house), 'events.jsonl')),
  }),
  row('CONFIG_INVALID', 'the settings are invalid', 'send a hi', {
    prepare: async (house) => [await worker(house), house.writeHome('config.json', '{')],
    env: { EDITOR: 'echo {} >' },
    isMended: true,
  }),
  row('CONFIG_INVALID', 'the edited settings are invalid', 'config edit', {
    prepare: (house) => house.write('tmp', house.root),
    env: { EDITOR: 'echo { >', TMPDIR: '$tmp' },
    byHand: (_, told) => writeFileSync(told.match(/your text is in (\S+)/)?.[1] as string, '{}\n'),
  }),
  row('UNDELIVERABLE', 'a target does not accept an event', 'notify test', {
    prepare: (house) =>
      house.ok('config', 'set', 'notify', '[{"name": "me", "on": ["failed"], "run": ["false"]}]'),
  }),
  row('PROVIDER_NOT_FOUND', 'a provider is unknown', 'spawn --provider nonsense', {
    prepare: NOTHING,
    corrected: ['spawn', '--provider', 'scripted'],
  }),
  row('PROVIDER_NOT_FOUND', 'an official plugin is mistyped', 'plugins add opnai', {
    corrected: ['providers'],
  }),
  row('PROVIDER_MISCONFIGURED', 'no provider is configured', 'spawn --name b', {
    prepare: NOTHING,
    env: { SUBSTRAT_PROVIDER: '' },
    fill: { NAME: 'scripted' },
  }),
  row('PROVIDER_MISCONFIGURED', 'a provider lacks an option', 'spawn --provider exec', { prepare: NOTHING }),
  row('PROVIDER_MISCONFIGURED', 'a provider cannot list models', 'models scripted', { prepare: NOTHING }),
]

import { describe, expect, test } from 'vitest'
import { type CommandFacts, candidatesFor } from '../../../src/command/completion/candidates.js'

const agent = { name: 'agent', description: 'name' }
const COMMANDS: Record<string, CommandFacts> = {
  send: {
    summary: 'Send a message.',
    args: { agent, message: { name: 'message' } },
    flags: {
      from: { name: 'from', type: 'option', description: 'the sender' },
      'if-busy': { name: 'if-busy', type: 'option', options: ['wait', 'queue', 'fail'] },
      drain: { name: 'drain', type: 'boolean', allowNo: true },
      queue: { name: 'queue', type: 'boolean' },
      secret: { name: 'secret', type: 'boolean', hidden: true },
      option: { name: 'option', char: 'o', type: 'option', multiple: true },
    },
  },
  wait: { summary: 'Wait for agents.', strict: false, args: { agent }, flags: {} },
  spawn: {
    args: {},
    flags: { provider: { name: 'provider', char: 'p', type: 'option' } },
  },
  complete: { hidden: true, args: {}, flags: {} },
  'config:get': { summary: 'Print a setting.', args: { key: { name: 'key' } }, flags: {} },
  schema: { summary: 'Print a schema.', args: { schema: { name: 'schema' } }, flags: {} },
  'config:list': { summary: 'List settings.', args: {}, flags: {} },
}

function words(...line: string[]): string[] {
  return candidatesFor(line, {
    commands: COMMANDS,
    agents: () => ['notes', 'lead/tests'].map((word) => ({ word, description: 'idle' })),
    providers: () => [{ word: 'scripted', description: 'built-in' }],
    schemas: () => [{ word: 'record', description: 'a line of a log' }],
    settings: () => [{ word: 'model', description: 'a setting' }],
  }).map(({ word }) => word)
}

describe('the first word', () => {
  test('is a command or a topic, but not a hidden command', () => {
    expect(words('')).toEqual(['send', 'wait', 'spawn', 'config', 'schema'])
    expect(words('s')).toEqual(['send', 'spawn', 'schema'])
  })

  test('is followed by the commands of a topic', () => {
    expect(words('config', '')).toEqual(['get', 'list'])
    expect(words('config', 'g')).toEqual(['get'])
  })

  test('has no candidates after it if it is not a command', () => {
    expect(words('nonsense', '')).toEqual([])
  })
})

describe('an argument', () => {
  test('AGENT is an agent', () => {
    expect(words('send', '')).toEqual(['notes', 'lead/tests'])
    expect(words('send', 'lead/')).toEqual(['lead/tests'])
  })

  test('AGENT is an agent behind flags and their values', () => {
    expect(words('send', '--queue', '--if-busy', 'wait', 'n')).toEqual(['notes'])
    expect(words('send', '--if-busy=wait', 'n')).toEqual(['notes'])
  })

  test('AGENT... is an agent that the line does not have yet', () => {
    expect(words('wait', 'notes', '')).toEqual(['lead/tests'])
  })

  test('MESSAGE has no candidates', () => {
    expect(words('send', 'notes', '')).toEqual([])
  })

  test('KEY is a setting', () => {
    expect(words('config', 'get', '')).toEqual(['model'])
  })

  test('of schema is the name of a schema', () => {
    expect(words('schema', '')).toEqual(['record'])
  })

  test('after -- has no candidates', () => {
    expect(words('send', '--', '')).toEqual([])
  })
})

describe('a flag', () => {
  test('is a flag of the command that the line does not have yet, before and after AGENT', () => {
    expect(words('send', '--')).toEqual([
      '--from',
      '--if-busy',
      '--drain',
      '--no-drain',
      '--queue',
      '--option',
    ])
    expect(words('send', 'notes', '--queue', '--no-drain', '-o', 'a=b', '--')).toEqual([
      '--from',
      '--if-busy',
      '--option',
    ])
  })

  test('has its options as values', () => {
    expect(words('send', 'notes', '--if-busy', '')).toEqual(['wait', 'queue', 'fail'])
    expect(words('send', 'notes', '--if-busy=q')).toEqual(['--if-busy=queue'])
    // bash splits `--flag=value` into these words.
    expect(words('send', 'notes', '--if-busy', '=', 'q')).toEqual(['--if-busy=queue'])
  })

  test('has an agent or a provider as its value', () => {
    expect(words('send', 'notes', '--from', 'l')).toEqual(['lead/tests'])
    expect(words('spawn', '-p', '')).toEqual(['scripted'])
    expect(words('send', 'notes', '--option', '')).toEqual([])
  })
})

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
      allow: { name: 'allow', type: 'option' },
    },
  },
  wait: { summary: 'Wait for agents.', strict: false, args: { agent }, flags: {} },
  spawn: {
    args: {},
    flags: {
      provider: { name: 'provider', char: 'p', type: 'option' },
      model: { name: 'model', type: 'option' },
      context: { name: 'context', type: 'option' },
    },
  },
  set: {
    args: { agent },
    flags: {
      title: { name: 'title', type: 'option' },
      disallow: { name: 'disallow', type: 'option', multiple: true },
    },
  },
  usage: { args: {}, flags: { tree: { name: 'tree', type: 'option', helpValue: 'AGENT' } } },
  complete: { hidden: true, args: {}, flags: {} },
  'config:get': { summary: 'Print a setting.', args: { key: { name: 'key' } }, flags: {} },
  'config:set': {
    summary: 'Change it.',
    args: { key: { name: 'key' }, value: { name: 'value' } },
    flags: {},
  },
  providers: { summary: 'List.', args: { provider: { name: 'provider' } }, flags: {} },
  'plugins:uninstall': { summary: 'Remove.', strict: false, args: { plugin: { name: 'plugin' } }, flags: {} },
  schema: { summary: 'Print a schema.', args: { schema: { name: 'schema' } }, flags: {} },
  serve: { summary: 'Serve.', args: {}, flags: {} },
  'serve:token:add': {
    summary: 'Add.',
    args: { name: { name: 'name' } },
    flags: { may: { name: 'may', type: 'option', options: ['read', 'answer', 'all'] } },
  },
  'serve:token:revoke': { summary: 'Revoke.', args: { name: { name: 'name' } }, flags: {} },
  'config:list': { summary: 'List settings.', args: {}, flags: {} },
}

const asWord = (word: string) => ({ word, description: '' })

async function words(...line: string[]): Promise<string[]> {
  const found = await candidatesFor(line, {
    commands: COMMANDS,
    agents: () => ['notes', 'lead/tests'].map((word) => ({ word, description: 'idle' })),
    providers: () => [{ word: 'scripted', description: 'built-in' }],
    plugins: () => ['shout', 'loop'].map((word) => ({ word, description: 'link' })),
    serveTokens: () => [{ word: 'phone', description: 'may answer' }],
    schemas: () => [{ word: 'record', description: 'a line of a log' }],
    settings: async () => [{ word: 'model', description: 'a setting' }],
    valuesOf: (setting) => (setting === 'ask' ? ['on', 'off'] : []),
    models: async (provider) => [{ word: `${provider ?? 'default'}-large`, description: '' }],
    tools: async () => ['all', 'shell', 'write_file'].map((word) => ({ word, description: '' })),
    grants: (name) => (name === 'notes' ? ['shell(git status)', 'write_file'] : []).map(asWord),
  })
  return found.map(({ word }) => word)
}

describe('the first word', () => {
  test('is a command or a topic, but not a hidden command', async () => {
    expect(await words('')).toEqual([
      'send',
      'wait',
      'spawn',
      'set',
      'usage',
      'config',
      'providers',
      'plugins',
      'schema',
      'serve',
    ])
    expect(await words('s')).toEqual(['send', 'spawn', 'set', 'schema', 'serve'])
  })

  test('is followed by the commands of a topic', async () => {
    expect(await words('config', '')).toEqual(['get', 'set', 'list'])
    expect(await words('config', 'g')).toEqual(['get'])
  })

  test('has no candidates after it if it is not a command', async () => {
    expect(await words('nonsense', '')).toEqual([])
  })
})

describe('an argument', () => {
  test('AGENT is an agent', async () => {
    expect(await words('send', '')).toEqual(['notes', 'lead/tests'])
    expect(await words('send', 'lead/')).toEqual(['lead/tests'])
  })

  test('AGENT is an agent behind flags and their values', async () => {
    expect(await words('send', '--queue', '--if-busy', 'wait', 'n')).toEqual(['notes'])
    expect(await words('send', '--if-busy=wait', 'n')).toEqual(['notes'])
  })

  test('AGENT... is an agent that the line does not have yet', async () => {
    expect(await words('wait', 'notes', '')).toEqual(['lead/tests'])
  })

  test('MESSAGE has no candidates', async () => {
    expect(await words('send', 'notes', '')).toEqual([])
  })

  test('KEY is a setting', async () => {
    expect(await words('config', 'get', '')).toEqual(['model'])
    expect(await words('config', 'set', 'provider', '')).toEqual(['scripted'])
    expect(await words('config', 'set', 'slots_max', '')).toEqual([])
  })

  test('VALUE of the setting of a model is a model', async () => {
    expect(await words('config', 'set', 'model', '')).toEqual(['default-large'])
    expect(await words('config', 'set', 'codex.model', '')).toEqual(['codex-large'])
  })

  test('VALUE of a setting with few values is one of them, and that of allow a tool', async () => {
    expect(await words('config', 'set', 'ask', '')).toEqual(['on', 'off'])
    expect(await words('config', 'set', 'allow', 'shell,w')).toEqual(['shell,write_file'])
  })

  test('after a command that is also a topic is one of its words or its argument', async () => {
    expect(await words('providers', '')).toEqual(['scripted'])
    expect(await words('plugins', '')).toEqual(['uninstall'])
    expect(await words('plugins', 'uninstall', 'loop', '')).toEqual(['shout'])
  })

  test('after a command that begins others is their next word', async () => {
    expect(await words('serve', '')).toEqual(['token'])
    expect(await words('serve', 'token', '')).toEqual(['add', 'revoke'])
    expect(await words('serve', 'token', 'add', 'x', '--may', '')).toEqual(['read', 'answer', 'all'])
    expect(await words('serve', 'token', 'revoke', '')).toEqual(['phone'])
  })

  test('of schema is the name of a schema', async () => {
    expect(await words('schema', '')).toEqual(['record'])
  })

  test('after -- has no candidates', async () => {
    expect(await words('send', '--', '')).toEqual([])
  })
})

describe('a flag', () => {
  test('is a flag of the command that the line does not have yet, before and after AGENT', async () => {
    expect(await words('send', '--')).toEqual([
      '--from',
      '--if-busy',
      '--drain',
      '--no-drain',
      '--queue',
      '--option',
      '--allow',
    ])
    expect(await words('send', 'notes', '--queue', '--no-drain', '-o', 'a=b', '--')).toEqual([
      '--from',
      '--if-busy',
      '--option',
      '--allow',
    ])
  })

  test('has its options as values', async () => {
    expect(await words('send', 'notes', '--if-busy', '')).toEqual(['wait', 'queue', 'fail'])
    expect(await words('send', 'notes', '--if-busy=q')).toEqual(['--if-busy=queue'])
    // bash splits `--flag=value` into these words.
    expect(await words('send', 'notes', '--if-busy', '=', 'q')).toEqual(['--if-busy=queue'])
  })

  test('has an agent or a provider as its value', async () => {
    expect(await words('send', 'notes', '--from', 'l')).toEqual(['lead/tests'])
    expect(await words('spawn', '-p', '')).toEqual(['scripted'])
    expect(await words('send', 'notes', '--option', '')).toEqual([])
  })

  test('that needs an AGENT has an agent as its value', async () => {
    expect(await words('usage', '--tree', 'n')).toEqual(['notes'])
  })

  test('has the models of the provider that the line names', async () => {
    expect(await words('spawn', '--model', '')).toEqual(['default-large'])
    expect(await words('spawn', '-p', 'codex', '--model', '')).toEqual(['codex-large'])
    expect(await words('spawn', '--provider=codex', '--model=')).toEqual(['--model=codex-large'])
  })

  test('--context has its words, and so has the setting', async () => {
    expect(await words('spawn', '--context', '')).toEqual(['all', 'turn', 'last:1'])
    expect(await words('config', 'set', 'context', 't')).toEqual(['turn'])
  })

  test('--allow has the tools that its list does not have yet', async () => {
    expect(await words('send', 'notes', '--allow', 's')).toEqual(['shell'])
    expect(await words('send', 'notes', '--allow=shell,')).toEqual([
      '--allow=shell,all',
      '--allow=shell,write_file',
    ])
  })

  test('--disallow has what the agent of the line may use, once', async () => {
    expect(await words('set', 'notes', '--disallow', '')).toEqual(['shell(git status)', 'write_file'])
    expect(await words('set', '--title', 'x', 'notes', '--disallow=w')).toEqual(['--disallow=write_file'])
    expect(await words('set', 'notes', '--disallow', 'write_file', '--disallow', '')).toEqual([
      'shell(git status)',
    ])
    expect(await words('set', '--disallow', '')).toEqual([])
  })
})

/** Errors of providers and channels that are plugins. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { House } from '../../test/support/cli.js'
import { modelProvider, writePlugin } from '../../test/support/plugin.js'
import { givingBack, pluginList, row, taking, usage } from './setups.js'
import type { History } from './walk.js'

const models = (type: string): string =>
  modelProvider('').replace(
    "kind: 'model',",
    `kind: 'model', models() { throw Object.assign(new Error('no'), { failure: { type: '${type}' } }) },`,
  )

/** The file `other` has the settings without a mistake. */
const channel =
  (source: string, type = 'loop', options = {}) =>
  async (house: House): Promise<void> => {
    const root = join(house.root, 'loop')
    mkdirSync(root)
    const manifest = { name: 'channel-loop', version: '1.0.0', type: 'module', oclif: {} }
    const substrat = { channels: { loop: './index.cjs' } }
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, substrat }))
    writeFileSync(join(root, 'index.cjs'), source)
    const plugins = [{ name: 'channel-loop', type: 'link', root }]
    mkdirSync(dirname(pluginList(house)), { recursive: true })
    writeFileSync(pluginList(house), JSON.stringify({ oclif: { schema: 1, plugins } }))
    const chat = { name: 'chat', type, senders: ['ann'], options, agent: { workspace: house.workspace } }
    await house.ok('config', 'set', 'channels', JSON.stringify([chat]))
    house.write('good.json', JSON.stringify({ channels: [{ ...chat, type: 'loop', options: {} }] }))
  }

/** One file of modules is loaded once in this process, so `broken` marks the mistake. */
const opens = (open: string): string => `
  const { existsSync, unlinkSync } = require('node:fs')
  module.exports = {
    textCharactersMax: 1000, options: {}, secrets: [],
    async open() {
      ${open}
      return {
        async receive() { return { messages: [], cursor: 'c' } },
        async send() { return {} },
        async close() {},
      }
    },
  }`
const once = (failure: string): string =>
  opens(`if (!globalThis.failed?.has(__filename)) {
    globalThis.failed = (globalThis.failed ?? new Set()).add(__filename)
    throw Object.assign(new Error('no'), { failure: ${failure} })
  }`)

const RUNS = 'channel run chat --once'
const EDITED = { env: { EDITOR: 'cp good.json' }, isMended: true } as const

export const PLUGINS: History[] = [
  usage('no channel is configured', [RUNS], {
    prepare: async (house) => [
      await channel(opens(''))(house),
      await house.ok('config', 'unset', 'channels'),
    ],
    ...EDITED,
  }),
  usage('a channel is unknown', ['channel run nonsense --once', RUNS], { prepare: channel(opens('')) }),
  usage('a type of channel is unknown', [RUNS, RUNS], {
    prepare: channel(opens(''), 'nonsense'),
    byHand: (house) =>
      house.ok(
        'config',
        'set',
        'channels',
        JSON.stringify(JSON.parse(house.read('good.json') as string).channels),
      ),
  }),
  row('CONFIG_INVALID', 'an option of a channel is unknown', RUNS, {
    prepare: channel(opens(''), 'loop', { x: '1' }),
    byHand: (house) =>
      house.ok(
        'config',
        'set',
        'channels',
        JSON.stringify(JSON.parse(house.read('good.json') as string).channels),
      ),
  }),
  row('PROVIDER_MISCONFIGURED', 'a channel refuses its settings', RUNS, {
    prepare: channel(once('{ permanent: true }')),
    ...EDITED,
  }),
  row('PROVIDER_FAILED', 'a channel cannot be reached', RUNS, { prepare: channel(once('{}')) }),
  row('NAME_TAKEN', 'an agent has the name of a channel', RUNS, {
    prepare: async (house) => [await channel(opens(''))(house), await house.spawn('chat')],
    env: { EDITOR: 'sed -i s/chat/talk/' },
  }),
  row('LOCKED', 'another process runs the channel', RUNS, {
    prepare: async (house) => {
      await channel(opens(''))(house)
      await house.ok(...RUNS.split(' '))
      await taking('channel-chat')(house)
    },
    meanwhile: givingBack,
  }),
  row('PROVIDER_MISCONFIGURED', 'a provider refuses to list its models', 'models p', {
    prepare: (house) => house.plugin('p', models('authentication')),
  }),
  row('PROVIDER_FAILED', 'a provider cannot list its models', 'models p', {
    prepare: (house) => house.plugin('p', models('unreachable')),
  }),
  row('CONFIG_INVALID', 'the list of plugins is damaged', 'plugins add ./x', {
    prepare: (house) => {
      writePlugin(house.workspace, { name: 'x', providers: { x: modelProvider('') } })
      mkdirSync(dirname(pluginList(house)), { recursive: true })
      writeFileSync(pluginList(house), '{')
    },
    isMended: true,
  }),
  usage('a plugin is installed otherwise', ['plugins add ./x'], {
    prepare: (house) => {
      writePlugin(house.workspace, { name: 'x', providers: { x: modelProvider('') } })
      house.plugin('x', modelProvider(''))
    },
  }),
  row('PROVIDER_MISCONFIGURED', 'two plugins have the same provider', 'spawn --name b --provider p', {
    prepare: (house) => {
      const names = ['p', 'q']
      const plugins = names.map((name) => {
        const root = writePlugin(house.root, { name, providers: { p: modelProvider('') } })
        return { name, type: 'link', root }
      })
      mkdirSync(dirname(pluginList(house)), { recursive: true })
      writeFileSync(pluginList(house), JSON.stringify({ oclif: { schema: 1, plugins } }))
    },
    isMended: true,
  }),
]

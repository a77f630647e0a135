import { readdirSync } from 'node:fs'
import path from 'node:path'

/**
 * The commands of official plugins, with the module of each, relative to dist/. The bundle does not contain them: it loads them when
 * they run.
 */
export const PLUGIN_COMMANDS = {
  serve: '../plugins/serve/dist/index.cjs',
  'store:init': '../plugins/store-postgres/dist/commands.cjs',
}

/** The source of the bundle's entry: one getter per file in commands/, so that a start evaluates only the command it runs. */
export function entrySource(root) {
  const getters = readdirSync(path.join(root, 'commands'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => file.slice(0, -'.ts'.length).split(path.sep))
    .map(
      (parts) => `get '${parts.join(':')}'() { return require('./commands/${parts.join('/')}.ts').default },`,
    )
  const ofPlugins = Object.entries(PLUGIN_COMMANDS).map(
    ([id, module]) => `get '${id}'() { return require('${module}').COMMANDS['${id}'] },`,
  )
  return [
    `import { start } from './src/command/entry.ts'`,
    `import type { Starter } from './src/start/starter.ts'`,
    `export const COMMANDS = {`,
    ...getters,
    ...ofPlugins,
    `}`,
    `export const main = (root: string, starter: Starter) => start(root, COMMANDS, starter)`,
  ].join('\n')
}

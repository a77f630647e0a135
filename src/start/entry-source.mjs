import { readdirSync } from 'node:fs'
import path from 'node:path'

/** The source of the bundle's entry: one getter per file in commands/, so that a start evaluates only the command it runs. */
export function entrySource(root) {
  const getters = readdirSync(path.join(root, 'commands'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => file.slice(0, -'.ts'.length).split(path.sep))
    .map(
      (parts) => `get '${parts.join(':')}'() { return require('./commands/${parts.join('/')}.ts').default },`,
    )
  return [
    `import { start } from './src/command/entry.ts'`,
    `import type { Starter } from './src/start/starter.ts'`,
    `export const COMMANDS = {`,
    ...getters,
    `}`,
    `export const main = (root: string, starter: Starter) => start(root, COMMANDS, starter)`,
  ].join('\n')
}

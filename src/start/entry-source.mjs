import { readdirSync } from 'node:fs'
import path from 'node:path'

/** One getter per file of commands/, so that a start evaluates the one command it runs. */
export function entrySource(root) {
  const getters = readdirSync(path.join(root, 'commands'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => file.slice(0, -'.ts'.length).split(path.sep))
    .map(
      (parts) => `get '${parts.join(':')}'() { return require('./commands/${parts.join('/')}.ts').default },`,
    )
  return [
    `import { type Starter, start } from './src/command/entry.ts'`,
    `export const COMMANDS = {`,
    ...getters,
    `}`,
    `export const main = (root: string, starter: Starter) => start(root, COMMANDS, starter)`,
  ].join('\n')
}

/** Builds the plugins as they are published. */
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import type { AgentProvider, ModelProvider } from '../../src/provider/contract.js'

const run = promisify(execFile)
const PLUGINS = join(import.meta.dirname, '../../plugins')
/** Directory of this test file, removed after its tests. */
export const folder = realpathSync(mkdtempSync(join(tmpdir(), 'substrat-plugins-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Builds a plugin, and returns the path of its file. */
export async function buildPlugin(name: string): Promise<string> {
  const file = join(folder, `${name}.cjs`)
  await run(process.execPath, [join(PLUGINS, 'shared/build.mjs'), join(PLUGINS, name), file])
  return file
}

export async function builtProvider<P extends AgentProvider | ModelProvider = AgentProvider>(
  name: string,
): Promise<P> {
  const file = await buildPlugin(name)
  return ((await import(/* @vite-ignore */ file)) as { default: P }).default
}

/**
 * Loads one module of a plugin, for tests that the provider does not expose. The compiler does not see it as part of
 * this project.
 */
import { join } from 'node:path'
import { build } from 'esbuild'

/** `path`: below plugins/, without its extension. */
export async function pluginPart<T>(path: string): Promise<T> {
  const url = `data:text/javascript;base64,${Buffer.from(await sourceOf(path)).toString('base64')}`
  return (await import(/* @vite-ignore */ url)) as T
}

/** Bundles the module, so that it needs no other. */
export async function sourceOf(path: string): Promise<string> {
  const source = join(import.meta.dirname, '../../plugins', `${path}.ts`)
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  return outputFiles.map(({ text }) => text).join('')
}

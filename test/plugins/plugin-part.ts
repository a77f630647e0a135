/** One module of a plugin, for what is not seen through the provider. Not a part of this project for the compiler. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

/** `path`: below plugins/, without its extension. */
export async function pluginPart<T>(path: string): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'substrat-part-'))
  try {
    const outfile = join(folder, 'part.mjs')
    const source = join(import.meta.dirname, '../../plugins', `${path}.ts`)
    await build({ entryPoints: [source], outfile, bundle: true, platform: 'node', format: 'esm' })
    return (await import(/* @vite-ignore */ outfile)) as T
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

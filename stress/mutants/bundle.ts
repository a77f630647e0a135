/**
 * Bundles a suite with all its imports into one file, with one mutant applied. Many such bundles run in one process,
 * one after the other, each with its own modules. Separate processes would take ten times as long.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { sourcesIn } from './code.js'
import { type Mutant, mutate } from './mutant.js'

export async function bundleSuite(
  root: string,
  suite: string,
  mutant: Mutant | undefined,
  outfile: string,
): Promise<string | undefined> {
  const [file = '', title = ''] = suite.split('#')
  try {
    await build({
      entryPoints: [join(root, 'test', `${file}.test.ts`)],
      outfile,
      bundle: true,
      packages: 'external',
      platform: 'node',
      target: 'node20.19',
      format: 'esm',
      logLevel: 'silent',
      banner: { js: banner(title) },
      plugins: [mutantPlugin(root, mutant)],
    })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** The sources report their original location. */
function mutantPlugin(root: string, mutant: Mutant | undefined): Plugin {
  const changed = mutant === undefined ? undefined : mutate(sourcesIn(root), mutant)
  return {
    name: 'mutant',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const isChanged = changed !== undefined && path === join(root, 'src', changed.file)
        const source = isChanged ? changed.source : readFileSync(path, 'utf8')
        const contents = source
          .replaceAll(/(?<!')import\.meta\.dirname\b/g, JSON.stringify(dirname(path)))
          .replaceAll(/(?<!')import\.meta\.url\b/g, JSON.stringify(pathToFileURL(path).href))
        return { contents, loader: 'ts' }
      })
    },
  }
}

/** Ends at the first failing test, and resets what an earlier suite has set. */
function banner(title: string): string {
  return `
import { beforeEach as __before, vi as __vi } from 'vitest'
__vi.useRealTimers(); __vi.restoreAllMocks()
let __failed = false
const __name = (task) => (task === undefined || task.type === undefined ? '' : __name(task.suite) + ' ' + task.name)
__before((context) => {
  if (__failed || !__name(context.task).includes(${JSON.stringify(title)})) context.skip()
  context.onTestFailed(() => { __failed = true })
})
`
}

// The bundle's entry: everything a start pays for, whatever the command. Imports here are evaluated every time.
import type { Interfaces } from '@oclif/core'
import { flush } from '@oclif/core/flush'
import { handle } from '@oclif/core/handle'
import { run } from '@oclif/core/run'
import { settings } from '@oclif/core/settings'
import packageJson from '../../package.json' with { type: 'json' }

/** Runs the command line. `commandIds` are our own commands (`config:get`), without those of plugins. */
export async function start(root: string, commandIds: string[]): Promise<void> {
  const argv = process.argv.slice(2)
  // What runs is what was compiled. Otherwise oclif looks for a TypeScript compiler where NODE_ENV is test or
  // development, and warns at every start while an ESM plugin is linked.
  settings.enableAutoTranspile = false
  const ours = commandIds.some((id) => id.split(':')[0] === argv[0])
  process.once('beforeExit', failUnfinished)
  try {
    await run(argv, { root, pjson: ours ? withoutOclifPlugins() : pjson })
    // From here on only the output is left, and nobody may be reading it.
    process.off('beforeExit', failUnfinished)
    await flush()
  } catch (error) {
    await handle(error as Error)
  }
}

/** Node would leave with status 0 (done) or 13 (which we call refused) when a promise can never settle. */
function failUnfinished(): void {
  console.error('substrat ended before its command did. This is a bug; what was acknowledged is on disk.')
  process.exitCode = 1
}

const pjson = packageJson as unknown as Interfaces.PJSON

/** Our own commands need none of help, plugins and autocomplete; loading them takes 5 ms. User plugins stay. */
function withoutOclifPlugins(): Interfaces.PJSON {
  return { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }
}

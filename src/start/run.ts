// Runs before the bundle is compiled, so it is built into its own file, dist/start.cjs. bin/run.js calls it.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { loadBundle } from './code-cache.js'
import { keepHangup } from './hangup.js'
import { refuseInspector } from './inspector.js'
import { requireSaved } from './saved-module.js'
import { bootThread } from './thread.js'
import { whyUntrusted } from './trust.js'

/**
 * In a container, a user may have neither HOME nor an entry in the password database: Node then throws wherever it is asked for the
 * home directory. As with `docker run --user`, it is `/` then.
 *
 * A HOME that is empty or relative counts as missing: the home, and the list of plugins, would be those of the working directory.
 */
function nameHomeDirectory(): void {
  if (isAbsolute(process.env.HOME ?? '')) return
  delete process.env.HOME
  try {
    homedir()
  } catch {
    process.env.HOME = '/'
  }
}

/** `root` is the directory of the package. */
export function run(root: string): void {
  refuseInspector()
  nameHomeDirectory()
  keepHangup()
  // An agent program waits for `substrat mcp` at the start of each turn. The bridge needs no oclif.
  if (process.argv.length === 3 && process.argv[2] === 'mcp') {
    const bridge = join(root, 'dist', 'mcp.cjs')
    createRequire(bridge)(bridge)
    refuseInspector()
    return
  }
  const thread = bootThread(root)
  const bundle = loadBundle(join(root, 'dist', 'substrat.cjs'))
  // By now, a signal that came before the listener of bin/run.js has taken effect.
  refuseInspector()
  const untrusted = (files: string[]) => whyUntrusted(files.filter((file) => existsSync(file)))
  bundle.main(root, { whyUntrusted: untrusted, requireSaved, thread })
}

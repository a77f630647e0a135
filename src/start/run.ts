// Runs before the bundle is compiled, and so is built into a file of its own: dist/start.cjs. bin/run.js calls it.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadBundle } from './code-cache.js'
import { keepHangup } from './hangup.js'
import { refuseInspector } from './inspector.js'
import { whyUntrusted } from './trust.js'

/** `root`: the directory of the package. */
export function run(root: string): void {
  refuseInspector()
  keepHangup()
  // An agent's program waits for `substrat mcp` at the start of each of its turns; to carry bytes takes no oclif.
  if (process.argv.length === 3 && process.argv[2] === 'mcp') {
    const bridge = join(root, 'dist', 'mcp.cjs')
    createRequire(bridge)(bridge)
    refuseInspector()
    return
  }
  const bundle = loadBundle(join(root, 'dist', 'substrat.cjs'))
  // A signal that came before the listener of bin/run.js has had its effect by now.
  refuseInspector()
  bundle.main(root, { whyUntrusted: (files) => whyUntrusted(files.filter((file) => existsSync(file))) })
}

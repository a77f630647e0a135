// Builds dist/substrat.cjs (oclif, every command and all they use, in one file), what is rarely used apart from it,
// dist/conformance.js and oclif.manifest.json. One CommonJS file, because only that can start from V8's compiled code: see src/start/code-cache.ts.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Plugin } from '@oclif/core'
import { build } from 'esbuild'
import { apart } from './src/start/apart.mjs'
import { scriptSource } from './src/start/bundle-script.mjs'
import { entrySource } from './src/start/entry-source.mjs'
import { quickOclif } from './src/start/quick-oclif.mjs'

const root = import.meta.dirname

const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  legalComments: 'inline',
  logLevel: 'warning',
  write: false,
}

// `--broken FILE`: only the CLI, into another file and with the sources that stdin has, for a lab that breaks the program.
const [brokenFile] = process.argv[2] === '--broken' ? process.argv.slice(3) : []
if (brokenFile !== undefined) {
  const { replacing } = await import('./stress/support/replacing.mjs')
  const sources = new Map(JSON.parse(readFileSync(0, 'utf8')))
  writeFileSync(brokenFile, await buildCli(replacing(root, sources)))
  process.exit()
}
const start = await build({ ...shared, entryPoints: ['src/start/run.ts'], format: 'cjs' })
replace('dist/start.cjs', start.outputFiles[0].text)
// Half the bytes to read, and a third less to restore from V8's code.
replace('dist/substrat.cjs', await buildCli())

// Whoever uses these has this package and need not have what it was built from. cross-spawn and ajv call require.
const asModule = {
  ...shared,
  format: 'esm',
  banner: {
    js: `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`,
  },
}
await buildModule('@modelcontextprotocol/sdk/client/index.js', 'dist/mcp-client.js')
await buildModule('src/turn/tools/mcp-server.ts', 'dist/mcp-server.js')
const bridge = await build({ ...shared, entryPoints: ['src/command/mcp-entry.ts'], format: 'cjs' })
replace('dist/mcp.cjs', bridge.outputFiles[0].text)
await buildModule('src/provider/conformance/conformance.ts', 'dist/conformance.js')

await writeManifest()

async function buildCli(...plugins) {
  const cli = await build({
    ...shared,
    minify: true,
    stdin: { contents: entrySource(root), resolveDir: root, sourcefile: 'entry.ts', loader: 'ts' },
    format: 'cjs',
    // A native addon finds its binary beside itself; oclif asks for TypeScript only in plugins under development.
    external: ['fs-native-extensions', 'typescript'],
    plugins: [apart(), quickOclif(), ...plugins],
    // CommonJS has no import.meta; execa reads its url.
    define: { 'import.meta.url': 'bundleUrl' },
  })
  return scriptSource(cli.outputFiles[0].text)
}

async function buildModule(entry, file) {
  const { outputFiles } = await build({ ...asModule, entryPoints: [entry] })
  replace(file, outputFiles[0].text)
}

/** What oclif knows of the commands without loading them. */
async function writeManifest() {
  const require = createRequire(import.meta.url)
  const target = require.resolve('./dist/substrat.cjs')
  delete require.cache[target]
  const plugin = new Plugin({
    root,
    isRoot: true,
    ignoreManifest: true,
    errorOnManifestCreate: true,
    respectNoCacheDefault: true,
  })
  await plugin.load()
  replace('oclif.manifest.json', `${JSON.stringify(plugin.manifest, null, 2)}\n`)
}

/** Whole or not at all: tests may be running the bundle that is being replaced. */
function replace(name, contents) {
  const file = path.join(root, name)
  const temporary = `${file}.${process.pid}.tmp`
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(temporary, contents)
  renameSync(temporary, file)
}

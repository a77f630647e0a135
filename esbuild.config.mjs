// Builds dist/substrat.cjs (oclif, every command and their modules in one file), the code of threads and of other
// programs as separate files, dist/conformance.js and oclif.manifest.json. The bundle is one CommonJS file, because only that form can start from V8's
// compiled code (src/start/code-cache.ts).
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Plugin } from '@oclif/core'
import { build } from 'esbuild'
import { writeManPages } from './man/pages.mjs'
import { generate } from './src/schema/generate.mjs'
import { scriptSource } from './src/start/bundle-script.mjs'
import { entrySource, PLUGIN_COMMANDS } from './src/start/entry-source.mjs'
import { lazyModules } from './src/start/lazy-modules.mjs'
import { quickOclif } from './src/start/quick-oclif.mjs'

const root = import.meta.dirname

await generate(path.join(root, 'dist', 'schemas'))

const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  legalComments: 'inline',
  logLevel: 'warning',
  write: false,
}

const officialCommands = {
  name: 'official-commands',
  setup(building) {
    building.onResolve({ filter: /^\.\.\/plugins\// }, ({ path: module }) =>
      Object.values(PLUGIN_COMMANDS).includes(module) ? { path: module, external: true } : undefined,
    )
  },
}

// `--broken FILE` builds only the CLI into FILE, with replaced sources from stdin. A lab uses it to test mutants.
const [brokenFile] = process.argv[2] === '--broken' ? process.argv.slice(3) : []
if (brokenFile !== undefined) {
  const { replacing } = await import('./stress/support/replacing.mjs')
  const sources = new Map(JSON.parse(readFileSync(0, 'utf8')))
  writeFileSync(brokenFile, await buildCli(lazyModules(root, sources), replacing(root, sources)))
  process.exit()
}
const start = await build({ ...shared, entryPoints: ['src/start/run.ts'], minify: true, format: 'cjs' })
replace('dist/start.cjs', start.outputFiles[0].text)
const second = await build({
  ...shared,
  entryPoints: ['src/start/thread-main.ts'],
  minify: true,
  format: 'cjs',
})
replace('dist/thread.cjs', second.outputFiles[0].text)
// Minifying halves the bytes to read, and a start restores a third less from V8's compiled code.
replace('dist/substrat.cjs', await buildCli(lazyModules(root)))

// Self-contained, because users of the package do not have our development dependencies. cross-spawn and ajv call require.
const asModule = {
  ...shared,
  minify: true,
  format: 'esm',
  banner: {
    js: `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`,
  },
}
const bridge = await build({ ...shared, entryPoints: ['src/command/mcp-entry.ts'], format: 'cjs' })
replace('dist/mcp.cjs', bridge.outputFiles[0].text)
// For the plugin substrat-serve.
const reading = await build({
  ...shared,
  entryPoints: ['src/command/reading.ts'],
  minify: true,
  format: 'cjs',
  external: ['fs-native-extensions'],
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: `const bundleUrl = require('node:url').pathToFileURL(__filename).href` },
})
replace('dist/reading.cjs', reading.outputFiles[0].text)
await buildModule('src/provider/conformance/conformance.ts', 'dist/conformance.js')
await buildModule('src/storage/conformance/conformance.ts', 'dist/store-conformance.js')
await buildModule('src/channel/conformance/conformance.ts', 'dist/channel-conformance.js')

await writeManifest()
await writeManPages(root)

async function buildCli(...plugins) {
  const cli = await build({
    ...shared,
    minify: true,
    stdin: { contents: entrySource(root), resolveDir: root, sourcefile: 'entry.ts', loader: 'ts' },
    format: 'cjs',
    // A native add-on finds its binary beside itself. oclif loads TypeScript only for plugins under development.
    external: ['fs-native-extensions', 'typescript'],
    plugins: [quickOclif(), officialCommands, ...plugins],
    // execa reads import.meta.url, which CommonJS does not have.
    define: { 'import.meta.url': 'bundleUrl' },
  })
  return scriptSource(cli.outputFiles[0].text)
}

async function buildModule(entry, file) {
  const { outputFiles } = await build({ ...asModule, entryPoints: [entry] })
  replace(file, outputFiles[0].text)
}

/** Writes oclif's manifest: the facts about commands that oclif needs without loading them. */
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
  replace('oclif.manifest.json', `${JSON.stringify(plugin.manifest)}\n`)
}

/** Replaces the file atomically: tests may be running the old bundle. */
function replace(name, contents) {
  const file = path.join(root, name)
  const temporary = `${file}.${process.pid}.tmp`
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(temporary, contents)
  renameSync(temporary, file)
}

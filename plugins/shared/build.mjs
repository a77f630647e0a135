// Bundles each entry of a plugin into one file: node build.mjs <plugin directory> [<output file>].
// Bundled packages keep their licences, which are put at its head.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { lazyBuiltin } from '../../src/start/lazy-builtin.mjs'

const root = path.resolve(process.argv[2] ?? '.')
const output = path.resolve(process.argv[3] ?? path.join(root, 'dist/index.cjs'))
const { name, version, oclif } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))

/** imapflow has tables for the texts of mail. Here it converts only the names of folders, which need none. */
const withoutTables = {
  name: 'without-tables',
  setup(building) {
    const filter = /\/iconv-lite\/.*\/(shiftjis|eucjp|cp949|cp950|big5-added)\.json$|\/encoding-japanese\//
    building.onLoad({ filter }, () => ({ contents: '[]', loader: 'json' }))
  },
}

/** The SDK of MCP has a validator of JSON Schema for questions to the client, which we do not ask. zod has error texts in 50 languages. */
const withoutUnused = {
  name: 'without-unused',
  setup(building) {
    building.onLoad({ filter: /\/validation\/ajv-provider\.js$/ }, () => ({
      contents: 'export class AjvJsonSchemaValidator {}',
    }))
    building.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js'`,
    }))
  },
}

/** Plugins of the build, by plugin. */
const CHANGES = {
  'substrat-operator': [withoutUnused],
}

const isChannel = name.startsWith('substrat-channel-')
await buildEntry('index', output)
// A plugin may have a thread of its own, and commands that only oclif loads.
for (const entry of ['worker', 'commands'])
  if (existsSync(path.join(root, `src/${entry}.ts`)) && process.argv[3] === undefined)
    await buildEntry(entry, path.join(root, `dist/${entry}.cjs`))
if (oclif?.commands !== undefined && process.argv[3] === undefined) await writeManifest()

async function buildEntry(entry, file) {
  const contents =
    entry === 'worker'
      ? `export { start } from './src/worker.ts'`
      : `import provider from './src/${entry}.ts'\nmodule.exports = provider`
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: root },
    bundle: true,
    // The package of substrat has a limit of its size.
    minify: true,
    plugins: isChannel ? [withoutTables] : (CHANGES[name] ?? []),
    platform: 'node',
    target: 'node20.19',
    // Node loads CommonJS in a quarter of the time of an ES module.
    format: 'cjs',
    loader: { '.sql': 'text' },
    // The entry has both forms on purpose: `module.exports` is the provider.
    logOverride: { 'commonjs-variable-in-esm': 'silent' },
    // The options of a message and the shapes of substrat's JSON, for the plugins that serve them.
    alias: { 'substrat/message': schema('message'), 'substrat/outputs': schema('outputs') },
    // oclif loads typescript only for plugins under development; pg loads the others only elsewhere.
    external: ['typescript', 'pg-native', 'pg-cloudflare'],
    define: {
      USER_AGENT: JSON.stringify(`${name}/${version}`),
      // pg looks at this global to recognize another runtime. In Node, the look loads undici, which takes 25 ms.
      ...(entry === 'worker' ? { Response: 'undefined' } : {}),
    },
    logLevel: 'warning',
    metafile: true,
    write: false,
  })
  replace(file, licences(Object.keys(metafile.inputs)) + lazily(outputFiles[0].text))
}

function schema(name) {
  return path.resolve(import.meta.dirname, `../../src/schema/${name}.ts`)
}

/** Replaces the file atomically: a session can be loading it. */
function replace(file, text) {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(`${file}.${process.pid}.tmp`, text)
  renameSync(`${file}.${process.pid}.tmp`, file)
}

/** With oclif's manifest, `help` and other commands know the plugin's commands without loading its code. */
async function writeManifest() {
  const { Plugin } = await import('@oclif/core')
  const plugin = new Plugin({
    root,
    ignoreManifest: true,
    errorOnManifestCreate: true,
    respectNoCacheDefault: true,
  })
  await plugin.load()
  replace(path.join(root, 'oclif.manifest.json'), `${JSON.stringify(plugin.manifest, null, 2)}\n`)
}

/** Loads a built-in module of Node at its first use: many turns never use it. */
function lazily(text) {
  const lazy = text.replaceAll(
    /\brequire\("((?:node:(?:child_process|crypto|http|https|net|tls|worker_threads))|dns)"\)/g,
    (_, name) => `lazyBuiltin(() => require(${JSON.stringify(name)}))`,
  )
  return `const lazyBuiltin = ${lazyBuiltin}\n${lazy}`
}

/** A package without the file names its licence in package.json. */
function licenceIn(folder) {
  const file = ['LICENSE', 'LICENSE.md', 'license'].map((name) => path.join(folder, name)).find(existsSync)
  if (file !== undefined) return readFileSync(file, 'utf8').trim()
  const { license, author } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return `${license}, ${author?.name ?? author}`
}

function licences(inputs) {
  const folders = inputs.flatMap((input) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [])
  return [...new Set(folders)]
    .map((folder) => {
      const text = licenceIn(path.resolve(root, folder))
      return `/*! ${path.basename(folder)}\n\n${text}\n*/\n`
    })
    .join('')
}

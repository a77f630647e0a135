// Builds dist/substrat.cjs (oclif, every command and all they use, in one file), what is rarely used apart from it,
// dist/conformance.js and oclif.manifest.json. One CommonJS file, because only that can start from V8's compiled code: see bin/run.js.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Plugin } from '@oclif/core'
import { build } from 'esbuild'

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

/** As TypeScript writes one: its name is used for nothing but its members. */
const IMPORT = /^const (?<name>\w+) = (?<module>(?:__import(?:Star|Default)\()?require\("[^"]+"\)\)?);$/gm

/** With names and lines as they were written: for a lab that changes the program, and for a person who reads it. */
const [readableFile] = process.argv[2] === '--readable' ? process.argv.slice(3) : []
if (readableFile !== undefined) {
  writeFileSync(readableFile, await buildCli({ minify: false }))
  process.exit()
}
// Half the bytes to read, and a third less to restore from V8's code: 2 ms of every start.
replace('dist/substrat.cjs', await buildCli({ minify: true }))

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

async function buildCli(options) {
  const cli = await build({
    ...shared,
    ...options,
    stdin: { contents: entrySource(), resolveDir: root, sourcefile: 'entry.ts', loader: 'ts' },
    format: 'cjs',
    // A native addon finds its binary beside itself; oclif asks for TypeScript only in plugins under development.
    external: ['fs-native-extensions', 'typescript'],
    plugins: [apart(), quickOclif()],
    // CommonJS has no import.meta; execa reads its url.
    define: { 'import.meta.url': 'bundleUrl' },
  })
  return scriptSource(cli.outputFiles[0].text)
}

async function buildModule(entry, file) {
  const { outputFiles } = await build({ ...asModule, entryPoints: [entry] })
  replace(file, outputFiles[0].text)
}

/**
 * Leaves out of the bundle what is large and for few: tool servers, and agents' programs that call tools. By paths that
 * hold from bin/ and from dist/.
 */
function apart() {
  const files = {
    '@modelcontextprotocol/sdk/client/index.js': '../dist/mcp-client.js',
    './mcp-server.js': '../dist/mcp-server.js',
  }
  return {
    name: 'apart',
    setup({ onResolve }) {
      onResolve({ filter: /mcp-server\.js$|client\/index\.js$/ }, ({ path: wanted }) =>
        Object.hasOwn(files, wanted) ? { path: files[wanted], external: true } : undefined,
      )
    },
  }
}

/**
 * What oclif does at every start in a way that costs milliseconds, done otherwise with the same result: a manifest read
 * through the thread pool, ids compared by the rules of a language (which V8 loads for it), a helper for Windows
 * loaded to learn that this is none. Fails where oclif has changed there.
 */
function quickOclif() {
  const changes = {
    'util/fs.js': [
      [`await (0, promises_1.readFile)(path, 'utf8')`, `(0, node_fs_1.readFileSync)(path, 'utf8')`],
    ],
    // Without DEBUG nothing of it is shown.
    'logger.js': [
      [
        `(0, debug_1.default)(namespace)`,
        `process.env.DEBUG ? (0, debug_1.default)(namespace) : Object.assign(() => {}, { enabled: false })`,
      ],
    ],
    'config/plugin.js': [[`a.id.localeCompare(b.id)`, `(a.id < b.id ? -1 : 1)`]],
    'util/os.js': [[`(await import('wsl-utils')).isWsl`, `(await import('is-wsl')).default`]],
  }
  return {
    name: 'quick-oclif',
    setup({ onLoad }) {
      onLoad({ filter: /@oclif\/core\/lib\/.+\.js$/ }, ({ path: file }) => {
        const [, name] = /@oclif\/core\/lib\/(.+)$/.exec(file)
        const contents = (changes[name] ?? []).reduce(
          (text, [before, after]) => {
            if (!text.includes(before)) throw new Error(`${name} of @oclif/core is not as it was: ${before}`)
            return text.replace(before, after)
          },
          readFileSync(file, 'utf8'),
        )
        return {
          contents: contents.replaceAll(IMPORT, 'const $<name> = lazyBuiltin(() => $<module>);'),
          loader: 'js',
        }
      })
    },
  }
}

/** One getter per file of commands/, so that a start evaluates the one command it runs. */
function entrySource() {
  const getters = readdirSync(path.join(root, 'commands'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => file.slice(0, -'.ts'.length).split(path.sep))
    .map(
      (parts) => `get '${parts.join(':')}'() { return require('./commands/${parts.join('/')}.ts').default },`,
    )
  return [
    `import { type Starter, start } from './src/command/entry.ts'`,
    `export const COMMANDS = {`,
    ...getters,
    `}`,
    `export const main = (root: string, starter: Starter) => start(root, COMMANDS, starter)`,
  ].join('\n')
}

/** The bundle as bin/run.js needs it. */
function scriptSource(text) {
  const prelude = [
    `const bundleUrl = require('node:url').pathToFileURL(__filename).href`,
    `const importModule = module.importModule ?? ((specifier) => import(specifier))`,
    `const lazyBuiltin = ${lazyBuiltin}`,
  ]
  const body = text
    // Libraries name at their top what they may never use; each of these costs a start a millisecond or more.
    .replaceAll(
      /\brequire\("((?:node:)?(?:child_process|crypto|readline|perf_hooks|net|worker_threads|stream\/promises|fs\/promises|string_decoder|tty|os|assert|zlib))"\)/g,
      (_, name) => `lazyBuiltin(() => require(${JSON.stringify(name)}))`,
    )
    // In code that V8 restores, import() fails on Node 20 and warns later on: run.js lends its own.
    .replaceAll(/(?<![.\w$])import\((?!\))/g, 'importModule(')
    // Plain ASCII is read four times as fast. Only regular expressions hold anything else; esbuild escapes the rest.
    .replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `${prelude.join('\n')}\n${body}`
}

/** A built-in module of Node that is loaded when the first of its members is asked for. Runs in the bundle. */
function lazyBuiltin(load) {
  let loaded
  const target = () => {
    loaded ??= load()
    return loaded
  }
  return new Proxy(
    {},
    {
      get: (_, name) => target()[name],
      has: (_, name) => name in target(),
      ownKeys: () => Reflect.ownKeys(target()),
      getOwnPropertyDescriptor: (_, name) => {
        const found = Reflect.getOwnPropertyDescriptor(target(), name)
        return found && { ...found, configurable: true }
      },
    },
  )
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

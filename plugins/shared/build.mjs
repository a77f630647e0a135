// Bundles the provider of a plugin into one file: node build.mjs <plugin directory> [<output file>].
// Bundled packages keep their licences, which are put at its head.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { lazyBuiltin } from '../../src/start/lazy-builtin.mjs'

const root = path.resolve(process.argv[2] ?? '.')
const output = path.resolve(process.argv[3] ?? path.join(root, 'dist/index.cjs'))
const { name, version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  stdin: { contents: `import provider from './src/index.ts'\nmodule.exports = provider`, resolveDir: root },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // Node loads CommonJS in a quarter of the time of an ES module.
  format: 'cjs',
  // The entry has both forms on purpose: `module.exports` is the provider.
  logOverride: { 'commonjs-variable-in-esm': 'silent' },
  define: { USER_AGENT: JSON.stringify(`${name}/${version}`) },
  logLevel: 'warning',
  metafile: true,
  write: false,
})

// Replace the file atomically: a session can be loading it.
mkdirSync(path.dirname(output), { recursive: true })
writeFileSync(
  `${output}.${process.pid}.tmp`,
  licences(Object.keys(metafile.inputs)) + lazily(outputFiles[0].text),
)
renameSync(`${output}.${process.pid}.tmp`, output)

/** Loads a built-in module of Node at its first use: many turns never use it. */
function lazily(text) {
  const lazy = text.replaceAll(
    /\brequire\("(node:(?:child_process|crypto|http|https|net|tls))"\)/g,
    (_, name) => `lazyBuiltin(() => require(${JSON.stringify(name)}))`,
  )
  return `const lazyBuiltin = ${lazyBuiltin}\n${lazy}`
}

function licences(inputs) {
  const folders = inputs.flatMap((input) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [])
  return [...new Set(folders)]
    .map((folder) => {
      const text = readFileSync(path.resolve(root, folder, 'LICENSE'), 'utf8').trim()
      return `/*! ${path.basename(folder)}\n\n${text}\n*/\n`
    })
    .join('')
}

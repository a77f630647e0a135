// Runs a lab of this folder (README.md lists them): node stress/run.mjs LAB [OPTION…]
// The lab is bundled with the parts of src/ that it uses, so its generators and oracles are the product's own code.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const [name] = process.argv.splice(2, 1)
const programs = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ts'))
if (!programs.includes(`${name}.ts`)) {
  console.error(`usage: node stress/run.mjs ${programs.map((file) => file.slice(0, -3)).join('|')} [OPTION…]`)
  process.exit(2)
}
const canary = process.argv.includes('--canary')
  ? canaryNamed(process.argv[process.argv.indexOf('--canary') + 1])
  : undefined
const source = path.join(import.meta.dirname, `${name}.ts`)
const directory = mkdtempSync(path.join(tmpdir(), 'substrat-stress-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
// What is not bundled is looked for from where the bundle is.
symlinkSync(
  path.join(path.dirname(import.meta.dirname), 'node_modules'),
  path.join(directory, 'node_modules'),
)
const outfile = path.join(directory, `${name}.mjs`)
await build({
  entryPoints: [source],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  logLevel: 'warning',
  // The native lock is looked for from there.
  define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
  // oclif is CommonJS.
  banner: {
    js: `import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(${JSON.stringify(source)})`,
  },
  plugins: canary === undefined ? [] : [changing(canary)],
  external: ['proper-lockfile', 'fs-native-extensions', 'oxc-parser', 'typescript', 'vitest', 'esbuild'],
})
await import(pathToFileURL(outfile).href)

/** Programs that have a canaries.json are bundled with one of its changes; others take --canary themselves. */
function canaryNamed(wanted) {
  const file = path.join(import.meta.dirname, name, 'canaries.json')
  if (!existsSync(file)) return undefined
  const canaries = JSON.parse(readFileSync(file, 'utf8'))
  const found = canaries.find((each) => each.name === wanted)
  if (found !== undefined) return found
  console.error(`--canary is one of: ${canaries.map((each) => each.name).join(', ')}`)
  process.exit(2)
}

/** Throws where the place is not there, or not once: then the canary has to follow the program. */
function changing({ file, from, to }) {
  const changed = path.resolve(import.meta.dirname, '..', file)
  return {
    name: 'canary',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, (loaded) => {
        if (loaded.path !== changed) return undefined
        const parts = readFileSync(changed, 'utf8').split(from)
        if (parts.length !== 2)
          throw new Error(`the canary finds its place in ${file} ${parts.length - 1} times`)
        return { contents: parts.join(to), loader: 'ts' }
      })
    },
  }
}

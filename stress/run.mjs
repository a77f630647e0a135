// Runs a lab of this folder (README.md lists them): node stress/run.mjs LAB [OPTION…]
// The lab is bundled with the parts of src/ that it uses, so its generators and oracles are the product's own code.
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { replacing } from './support/replacing.mjs'

const [name] = process.argv.splice(2, 1)
const programs = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.ts'))
if (!programs.includes(`${name}.ts`)) {
  console.error(`usage: node stress/run.mjs ${programs.map((file) => file.slice(0, -3)).join('|')} [OPTION…]`)
  process.exit(2)
}
const directory = mkdtempSync(path.join(tmpdir(), 'substrat-stress-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
// Node resolves external packages from the place of the bundle.
symlinkSync(
  path.join(path.dirname(import.meta.dirname), 'node_modules'),
  path.join(directory, 'node_modules'),
)
// `--canary NAME` breaks the sources that the lab is bundled with. The labs of real processes take `--canary` alone.
const canary = process.argv.includes('--canary')
  ? process.argv[process.argv.indexOf('--canary') + 1]
  : undefined
await run(name, canary === undefined || canary.startsWith('--') ? [] : [await breaking(canary)])

async function breaking(canary) {
  const { brokenSources } = await run('mutants/canaries')
  return replacing(path.dirname(import.meta.dirname), brokenSources({ name: canary }))
}

async function run(program, plugins = []) {
  const source = path.join(import.meta.dirname, `${program}.ts`)
  const outfile = path.join(directory, `${path.basename(program)}.mjs`)
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    logLevel: 'warning',
    // The native lock is resolved relative to this URL.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
    // oclif is CommonJS.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(${JSON.stringify(source)})`,
    },
    plugins,
    external: [
      'proper-lockfile',
      'fs-native-extensions',
      'oxc-parser',
      'typescript',
      'vitest',
      'esbuild',
      'playwright-core',
    ],
  })
  return import(pathToFileURL(outfile).href)
}

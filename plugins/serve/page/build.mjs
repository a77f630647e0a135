// Bundles the page into dist/page/: one HTML, one script, one style sheet and one icon. The server sends these files as they are.
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'

const root = import.meta.dirname
const output = path.join(root, '..', 'dist', 'page')
const preact = path.dirname(createRequire(import.meta.url).resolve('preact/package.json'))

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: { page: 'src/main.tsx', style: 'style/main.css' },
  outdir: output,
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  alias: Object.fromEntries(
    ['schema/message', 'schema/reasons', 'schema/words', 'session/entries'].map((file) => [
      `substrat/${path.basename(file)}`,
      path.resolve(root, `../../../src/${file}.ts`),
    ]),
  ),
  legalComments: 'inline',
  banner: { js: `/*! preact\n\n${readFileSync(path.join(preact, 'LICENSE'), 'utf8').trim()}\n*/` },
  logLevel: 'warning',
  write: false,
})

mkdirSync(output, { recursive: true })
for (const { path: file, contents } of outputFiles) replace(file, contents)
for (const name of ['index.html', 'icon.svg']) copyFileSync(path.join(root, name), path.join(output, name))

/** Replaces the file atomically: a server may be reading it. */
function replace(file, contents) {
  writeFileSync(`${file}.${process.pid}.tmp`, contents)
  renameSync(`${file}.${process.pid}.tmp`, file)
}

// Bundles the page into dist/page/: one HTML, one script, one style sheet and one icon. The server sends these files as they are.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

const root = import.meta.dirname
const output = path.join(root, '..', 'dist', 'page')

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: { page: 'src/main.tsx', style: 'style/main.css' },
  outdir: output,
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  alias: {
    entities: path.join(root, 'src/parts/entities.ts'),
    ...Object.fromEntries(
      [
        'schema/actors',
        'schema/message',
        'schema/questions',
        'schema/reasons',
        'schema/words',
        'session/entries',
      ].map((file) => [`substrat/${path.basename(file)}`, path.resolve(root, `../../../src/${file}.ts`)]),
    ),
  },
  legalComments: 'inline',
  metafile: true,
  logLevel: 'warning',
  write: false,
})

mkdirSync(output, { recursive: true })
for (const { path: file, contents } of outputFiles)
  replace(file, file.endsWith('.js') ? Buffer.concat([licences(metafile), contents]) : contents)
for (const name of ['index.html', 'icon.svg']) copyFileSync(path.join(root, name), path.join(output, name))

/** The licence of each package in the bundle, as a comment. */
function licences({ inputs }) {
  const folders = Object.keys(inputs).map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
  const texts = [...new Set(folders.filter((folder) => folder !== undefined))].map((folder) => {
    const packaged = path.resolve(root, folder)
    const name = readdirSync(packaged).find((file) => /^licen[cs]e/i.test(file))
    if (name === undefined) throw new Error(`${packaged} has no file with its licence`)
    return `/*! ${path.basename(folder)}\n\n${readFileSync(path.join(packaged, name), 'utf8').trim()}\n*/\n`
  })
  return Buffer.from(texts.join(''))
}

/** Replaces the file atomically: a server may be reading it. */
function replace(file, contents) {
  writeFileSync(`${file}.${process.pid}.tmp`, contents)
  renameSync(`${file}.${process.pid}.tmp`, file)
}

// Makes src/schema/generated/ from the zod schemas: the predicates that check data at run time. The build, the type check and
// the tests run it first; zod itself is in no program. The build also writes the JSON Schemas of the package.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { predicateModule } from './predicates.mjs'

const folder = import.meta.dirname
const MODULES = ['bundle', 'config', 'files', 'mail', 'records', 'schemas', 'snapshot']

/** `packaged`: the directory for the JSON Schemas. Without it, none are written. */
export async function generate(packaged) {
  const schemas = await definitions()
  const {
    z,
    RECORDS,
    place,
    message,
    snapshot,
    home,
    nameEntry,
    serverFile,
    holder,
    kinds,
    plugin,
    bundle,
    namedToken,
  } = schemas
  // The reader of the log checks `batch`.
  const { seq, ts } = place
  writePredicates('record', { '': z.object({ seq, ts }), ...RECORDS })
  writePredicates('mail', { message })
  writePredicates('bundle', { bundle })
  const { snapshot: _, log_crc: __, crc: ___, ...state } = snapshot.shape
  writePredicates('snapshot', { state: z.object(state) })
  // Only the fields that decide something at run time: every start reads this module.
  writePredicates('file', {
    home: home.pick({ lock: true }),
    nameEntry,
    serverFile: serverFile.pick({ handle: true }),
    holder: z.object(holder.shape).pick({ pid: true, since: true }),
  })
  writePredicates('config', { kinds: z.object(kinds) })
  writePredicates('plugin', { plugin })
  writePredicates('serve', { namedToken })
  if (packaged !== undefined) writeJsonSchemas(packaged, schemas)

  function writePredicates(name, objects) {
    const schemas = Object.entries(objects).map(([key, schema]) => [
      key,
      z.toJSONSchema(schema, { io: 'input' }),
    ])
    const exported = `${name.toUpperCase()}_PREDICATES`
    const keys = schemas.map(([key]) => JSON.stringify(key)).join(' | ')
    write(path.join(folder, 'generated', `${name}-predicates.js`), predicateModule(exported, schemas))
    write(
      path.join(folder, 'generated', `${name}-predicates.d.ts`),
      `/** A predicate for each field of each object. */
export declare const ${exported}: Record<${keys}, Record<string, (value: unknown) => boolean>>
`,
    )
  }
}

/** One file per schema. They allow fields that they do not name, because a new version may add fields. */
function writeJsonSchemas(directory, { z, SCHEMAS }) {
  const schemas = Object.entries(SCHEMAS).map(([name, { description = '' }]) => ({
    name,
    description: withoutLinks(description),
  }))
  write(path.join(directory, 'index.json'), `${JSON.stringify({ schemas }, null, 2)}\n`)
  const files = Object.entries(SCHEMAS).map(([name, schema]) => {
    const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input' })
    const json = { $schema, $id: `urn:substrat:schema:${name}`, ...rest }
    write(path.join(directory, `${name}.json`), withoutLinks(`${JSON.stringify(json)}\n`))
    return `${name}.json`
  })
  for (const file of readdirSync(directory))
    if (file !== 'index.json' && !files.includes(file)) rmSync(path.join(directory, file), { force: true })
}

/** The descriptions are also docs, whose links lead nowhere in a terminal. A link in parentheses is only a pointer. */
function withoutLinks(text) {
  const link = String.raw`\[([^\][]+)\]\([a-z]*(?:\.md)?(?:#[a-z-]+)?\)`
  return text.replace(new RegExp(String.raw` \(${link}\)`, 'g'), '').replace(new RegExp(link, 'g'), '$1')
}

/** The definitions, with the zod that made them. */
async function definitions() {
  const { outputFiles } = await build({
    stdin: {
      contents: `${MODULES.map((name) => `export * from './${name}.js'`).join('\n')}\nexport { z } from 'zod'`,
      resolveDir: folder,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  })
  // A file, and not a data: URL, because an error of a definition would print that URL.
  const file = path.join(folder, 'generated', `.definitions.${process.pid}.mjs`)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, outputFiles[0].contents)
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    rmSync(file, { force: true })
  }
}

/** Replaces the file only if it differs, so that watchers and parallel runs see no change. */
function write(file, text) {
  mkdirSync(path.dirname(file), { recursive: true })
  if (contentsOf(file) === text) return
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, text)
  renameSync(temporary, file)
}

function contentsOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await generate()

// Makes src/schema/generated/ from the zod schemas: the predicates that check records. The build, the type check and the tests
// run it first; zod itself is in no program.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { predicateModule } from './predicates.mjs'

const folder = import.meta.dirname
const MODULES = ['records', 'mail', 'snapshot']

export async function generate() {
  const { z, RECORDS, place, message, snapshot } = await schemas()
  const jsonSchema = (schema) => z.toJSONSchema(schema, { io: 'input' })
  // The reader of the log checks `batch`.
  const { seq, ts } = place
  writePredicates('record', { '': z.object({ seq, ts }), ...RECORDS })
  writePredicates('mail', { message })
  const { snapshot: _, crc: __, ...state } = snapshot.shape
  writePredicates('snapshot', { state: z.object(state) })

  function writePredicates(name, objects) {
    const schemas = Object.entries(objects).map(([key, schema]) => [key, jsonSchema(schema)])
    const exported = `${name.toUpperCase()}_PREDICATES`
    const keys = schemas.map(([key]) => JSON.stringify(key)).join(' | ')
    write(`${name}-predicates.js`, predicateModule(exported, schemas))
    write(
      `${name}-predicates.d.ts`,
      `/** A predicate for each field of each object. */
export declare const ${exported}: Record<${keys}, Record<string, (value: unknown) => boolean>>
`,
    )
  }
}

/** The definitions, with the zod that made them. */
async function schemas() {
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
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

/** Replaces the file only if it differs, so that watchers and parallel runs see no change. */
function write(name, text) {
  const file = path.join(folder, 'generated', name)
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

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LAYERS } from './support/layers.js'

const root = join(import.meta.dirname, '..')

interface Import {
  specifier: string
  /** The file within the repository; undefined for packages and built-in modules. */
  file: string | undefined
  isType: boolean
}

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('generated/'))
    .map((name) => join(folder, name))
}

const FROM =
  /^\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|getBuiltinModule\(\s*['"]([^'"]+)['"]|require\(\s*['"]([^'"]+)['"]/gm

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(FROM)].map(([, type, from, bare, dynamic, builtin, required]) => {
    const specifier = (from ?? bare ?? dynamic ?? builtin ?? required) as string
    const path = specifier.startsWith('.') ? resolve(root, dirname(file), specifier) : undefined
    return {
      specifier,
      file:
        path === undefined
          ? undefined
          : relative(root, path.includes('/generated/') ? path : path.replace(/\.js$/, '.ts')),
      isType: type !== undefined,
    }
  })
}

const files = ['src', 'commands'].flatMap(sourcesIn)
const imports = new Map(files.map((file) => [file, importsOf(file)]))
const plugins = readdirSync(join(root, 'plugins')).filter((name) =>
  existsSync(join(root, 'plugins', name, 'src')),
)
const pluginImports = importsIn(plugins.map((name) => `plugins/${name}/src`))
const labImports = importsIn(['stress'])

function importsIn(folders: string[]): Map<string, Import[]> {
  return new Map(folders.flatMap(sourcesIn).map((file) => [file, importsOf(file)]))
}

function layerOf(file: string): number {
  // A folder within a layer belongs to that layer.
  const folder = file.startsWith('commands/') ? 'commands' : dirname(file).split('/').slice(0, 2).join('/')
  return LAYERS.indexOf(folder)
}

test('the sources and their imports are found', () => {
  expect(files.length).toBeGreaterThan(60)
  expect([...imports.values()].flat().length).toBeGreaterThan(300)
  for (const file of files) expect(layerOf(file), `${file} is in a layer`).toBeGreaterThanOrEqual(0)
  expect(importsOf('src/turn/drive.ts').map(({ file }) => file)).toContain('src/turn/step/step.ts')
  expect(importsOf('src/provider/registry.ts').map(({ file }) => file)).toContain('src/provider/exec.ts')
})

test('a file imports only from its own layer and lower layers', () => {
  const upward = [...imports].flatMap(([file, found]) =>
    found
      .filter((target) => target.file?.startsWith('src/') || target.file?.startsWith('commands/'))
      .filter((target) => layerOf(target.file as string) > layerOf(file))
      .map((target) => `${file} imports ${target.file}`),
  )
  expect(upward).toEqual([])
})

test('every import within the repository names an existing file', () => {
  for (const [file, found] of imports)
    for (const target of found)
      if (target.file !== undefined)
        expect(statSync(join(root, target.file)).isFile(), `${file}: ${target.file}`).toBe(true)
})

test('only src/host/disk imports node:fs, and src/start, which uses no home', () => {
  const users = [...imports].filter(([, found]) =>
    found.some(({ specifier }) => /^(node:)?fs(\/promises)?$/.test(specifier)),
  )
  const outside = users.map(([file]) => file).filter((file) => !file.startsWith('src/start/'))
  const disk = ['facts', 'io', 'operation', 'outside', 'watch']
  expect(outside).toEqual(disk.map((name) => `src/host/disk/${name}.ts`))
})

test('no layer above storage imports parts of the store or the disk', () => {
  const above = [...imports].filter(([file]) => layerOf(file) > layerOf('src/storage/store.ts'))
  const isPast = (file: string | undefined): boolean =>
    file !== 'src/storage/store.ts' &&
    file !== 'src/storage/open.ts' &&
    /^src\/(storage|host\/disk)\//.test(file ?? '')
  const past = above.flatMap(([file, found]) =>
    found.filter(({ file: target }) => isPast(target)).map(({ file: target }) => `${file} imports ${target}`),
  )
  expect(above.length).toBeGreaterThan(150)
  expect(past).toEqual([])
})

test('no layer above storage names a file of the home', () => {
  const names = /events\.jsonl|session\.json\b|home\.json|unclean\/|(?<!\w)\.closing|\/inbox\//
  const above = files.filter((file) => layerOf(file) > layerOf('src/storage/store.ts'))
  const found = above.filter((file) => names.test(withoutComments(readFileSync(join(root, file), 'utf8'))))
  expect(found.filter((file) => !MESSAGES.includes(file))).toEqual([])
})

/** Allowed: messages that name a file for the user. */
const MESSAGES = [
  'src/session/snapshot.ts',
  'src/operations/list-and-show.ts',
  'src/operations/doctor.ts',
  'src/audit/invariants.ts',
]

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

/** `spawn` delivers its prompt to an agent that exists, and `terminate` cancels. The others share a rule or a message. */
const WITHIN_OPERATIONS = [
  'add-plugin exclusively',
  'answer inbox',
  'change-config exclusively',
  'check list-and-show',
  'check-allow-setting list-and-show',
  'configure spawn',
  'decide approved-calls',
  'decide decided-elsewhere',
  'decided-elsewhere pending-calls',
  'deliver stuck',
  'list-rows list-and-show',
  'move-agents stop-agent',
  'npm-plugins add-plugin',
  'npm-plugins exclusively',
  'npm-plugins list-plugins',
  'plugin-source add-plugin',
  'plugin-source npm-plugins',
  'prune removable',
  'reclaim move-agents',
  'recover host-gone',
  'recover recovery-text',
  'remove removable',
  'search list-and-show',
  'search text-pattern',
  'serve-tokens exclusively',
  'spawn deliver-message',
  'spawn request',
  'terminate cancel',
  'terminate stop-agent',
  'wait stuck',
  'wait wait-failures',
]

test('operations import one another only in listed cases', () => {
  const name = (file: string): string => basename(file, '.ts')
  const isOperation = (file: string | undefined): file is string =>
    file?.startsWith('src/operations/') === true
  // A folder is one subject.
  const isOneFolder = (file: string, target: string): boolean =>
    dirname(file) !== 'src/operations' && dirname(file) === dirname(target)
  const found = [...imports].flatMap(([file, targets]) =>
    targets.flatMap(({ file: target }) =>
      isOperation(file) && isOperation(target) && !isOneFolder(file, target)
        ? [`${name(file)} ${name(target)}`]
        : [],
    ),
  )
  expect(found.sort()).toEqual(WITHIN_OPERATIONS)
})

describe('plugins', () => {
  const named = [...pluginImports].flatMap(([file, found]) =>
    found.map(({ file: target, specifier, isType }) => ({
      file,
      plugin: file.split('/')[1],
      target,
      specifier,
      isType,
    })),
  )

  test('are found', () => {
    expect(plugins).toContain('shared')
    expect(named.length).toBeGreaterThan(200)
  })

  test('import only their own files and plugins/shared, which imports none of theirs', () => {
    const own = ({ plugin, target }: (typeof named)[number]): boolean =>
      target === undefined ||
      target.startsWith(`plugins/${plugin}/src/`) ||
      target.startsWith('plugins/shared/src/')
    expect(named.filter((found) => !own(found))).toEqual([])
  })

  test('import only types of substrat; the servers also those of reading, the shapes of its JSON, and what a message can ask', () => {
    const substrat = named.filter(({ specifier }) => /^substrat(\/|$)/.test(specifier))
    expect(substrat.length).toBeGreaterThan(10)
    const mayImport = ({ plugin, specifier, isType }: (typeof named)[number]): boolean =>
      plugin === 'serve'
        ? specifier === 'substrat/outputs' || (specifier === 'substrat/reading' && isType)
        : (plugin === 'shared' && specifier === 'substrat/message') ||
          (isType &&
            (specifier ===
              (plugin?.startsWith('channel-') === true ? 'substrat/channel' : 'substrat/provider') ||
              (plugin === 'shared' && specifier === 'substrat/reading') ||
              (plugin === 'store-postgres' && ['substrat/store', 'substrat/reading'].includes(specifier))))
    expect(substrat.filter((found) => !mayImport(found))).toEqual([])
  })
})

test('the labs import only the product, test/support and themselves; the product imports neither', () => {
  const strays = (graph: Map<string, Import[]>, allowed: RegExp): string[] =>
    [...graph].flatMap(([file, found]) =>
      found
        .filter(({ file: target }) => target !== undefined && !allowed.test(target))
        .map(({ file: target }) => `${file} imports ${target}`),
    )
  expect(strays(labImports, /^(src|commands|stress|test\/support)\//)).toEqual([])
  expect(strays(imports, /^(src|commands)\/|^package\.json$/)).toEqual([])
})

test('no program loads zod or ajv: outside src/schema a schema is imported as a type', () => {
  const isSchema = (file: string | undefined): boolean =>
    /^src\/schema\/(?!actors\.ts|words\.ts|settings\.ts|message\.ts|questions\.ts|reasons\.ts|generated\/)/.test(
      file ?? '',
    )
  const users = [...imports]
    .filter(([file]) => !isSchema(file))
    .flatMap(([file, found]) =>
      found
        .filter(
          ({ specifier, file: target, isType }) =>
            !isType && (isSchema(target) || /^(zod|ajv)$/.test(specifier)),
        )
        .map(({ specifier }) => `${file}: ${specifier}`),
    )
  expect(users).toEqual([])
})

test('the provider contract imports only types', () => {
  expect(importsOf('src/provider/contract.ts').filter(({ isType }) => !isType)).toEqual([])
})

describe('cycles', () => {
  test('do not exist between files', () => {
    expect(cyclesIn(new Map([...imports, ...pluginImports, ...labImports]))).toEqual([])
  })

  test('would be detected', () => {
    const to = (file: string): Import => ({ specifier: './x.js', file, isType: false })
    const looped = new Map([
      ['a', [to('b')]],
      ['b', [to('c')]],
      ['c', [to('b')]],
    ])
    expect(cyclesIn(looped)).toEqual(['b -> c -> b'])
  })
})

/** Type imports count too: a file that needs the types of another depends on it. */
function cyclesIn(graph: Map<string, Import[]>): string[] {
  const found = new Set<string>()
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    const index = path.indexOf(file)
    if (index !== -1) found.add([...path.slice(index), file].join(' -> '))
    if (index !== -1 || done.has(file)) return
    for (const target of graph.get(file) ?? [])
      if (target.file !== undefined) visit(target.file, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return [...found]
}

test('no file uses AbortSignal.timeout, which may never fire (src/timeout-signal.ts)', () => {
  const code = [...imports.keys(), ...pluginImports.keys()]
  const users = code.filter((file) =>
    withoutComments(readFileSync(join(root, file), 'utf8')).includes('AbortSignal.timeout'),
  )
  expect(users).toEqual([])
})

test('built-in modules are imported with node:', () => {
  const bare = [...imports].flatMap(([file, found]) =>
    found
      .filter(({ specifier }) => builtinModules.includes(specifier))
      .map(({ specifier }) => `${file}: ${specifier}`),
  )
  expect(bare).toEqual([])
})

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

const NAMESPACE = 'lazy'
const require = createRequire(import.meta.url)
const MAKERS = ['@babel/core', '@babel/plugin-transform-modules-commonjs', 'esbuild']
/** The output for a module depends on these versions and on this file. */
const VERSION = JSON.stringify([
  ...MAKERS.map((name) => require(`${name}/package.json`).version),
  readFileSync(fileURLToPath(import.meta.url), 'utf8'),
])
/** esbuild removes the unused parts of this package only from ES modules. Its importers run when a module that needs one runs. */
const USES_ZOD = /from 'zod(\/\w+)?'/
/** `bundleUrl`: as in bundle-script.mjs. */
const TYPESCRIPT = { target: 'node20.19', define: { 'import.meta.url': 'bundleUrl' } }
const IS_OURS = /^\.\.?\/.+\.js$/

/**
 * Runs each module of ours at its first use. As ES modules, all would run at the start. Also esbuild would move their functions to
 * the top of the bundle, and V8 restores something for each of these, even if it never runs.
 *
 * `replaced`: texts for some files of src/, by their paths there.
 */
export function lazyModules(root, replaced = new Map()) {
  const made = new Made(path.join(root, 'node_modules', '.cache', 'substrat-modules.json'))
  return {
    name: 'lazy-modules',
    setup({ onResolve, onLoad, onEnd }) {
      onResolve({ filter: /^\.\.?\/.+\.[jt]s$/ }, ({ path: wanted, resolveDir }) => {
        const file = path.resolve(resolveDir, wanted.replace(/\.js$/, '.ts'))
        const isOurs = !resolveDir.includes(`${path.sep}node_modules${path.sep}`) && existsSync(file)
        return isOurs && !USES_ZOD.test(readFileSync(file, 'utf8'))
          ? { path: file, namespace: NAMESPACE }
          : undefined
      })
      onLoad({ filter: /./, namespace: NAMESPACE }, async ({ path: file }) => {
        const text = replaced.get(path.relative(path.join(root, 'src'), file)) ?? readFileSync(file, 'utf8')
        return { contents: await made.of(text, file), loader: 'js', resolveDir: path.dirname(file) }
      })
      onEnd(() => made.save())
    },
  }
}

/** The modules of the last build, in a file: Babel takes 7 s for all of them. */
class Made {
  constructor(file) {
    this.file = file
    this.before = read(file)
    this.now = {}
  }

  async of(text, name) {
    const key = createHash('sha256')
      .update(JSON.stringify([VERSION, text]))
      .digest('hex')
    this.now[key] = this.before[key] ?? (await commonJs(text, name))
    return this.now[key]
  }

  save() {
    if (Object.keys(this.now).every((key) => Object.hasOwn(this.before, key))) return
    try {
      mkdirSync(path.dirname(this.file), { recursive: true })
      writeFileSync(`${this.file}.${process.pid}`, JSON.stringify(this.now))
      renameSync(`${this.file}.${process.pid}`, this.file)
    } catch {
      // The next build makes them again.
    }
  }
}

/** A file that was not written whole is not JSON. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

async function commonJs(text, filename) {
  const { transformAsync } = require('@babel/core')
  const { code } = await transform(text, { ...TYPESCRIPT, loader: 'ts' })
  const options = {
    strict: true,
    lazy: (wanted) => IS_OURS.test(wanted),
    importInterop: (wanted) => (IS_OURS.test(wanted) ? 'none' : 'babel'),
  }
  const made = await transformAsync(code, {
    filename,
    configFile: false,
    babelrc: false,
    plugins: [[require('@babel/plugin-transform-modules-commonjs'), options], withVariables],
  })
  return made.code
}

/** A module asks for another one each time it uses it. A variable answers faster than Babel's function, which V8 rarely inlines. */
function withVariables({ types }) {
  const exit = (program) => {
    program.scope.crawl()
    program.traverse({ Scopable: renameRequire })
    for (const statement of program.get('body')) {
      const required = requiredBy(statement)
      if (required === undefined) continue
      const { id } = statement.node
      const value = types.assignmentExpression('??=', id, required)
      for (const use of program.scope.getBinding(id.name).referencePaths) {
        if (use.key !== 'callee') throw use.buildCodeFrameError('import either names or all as one name')
        use.parentPath.replaceWith(types.cloneNode(value))
      }
      statement.replaceWith(types.variableDeclaration('let', [types.variableDeclarator(id)]))
    }
  }
  return { visitor: { Program: { exit } } }
}

/** For a local variable of this name, so that `require` is that of the module wherever it is used. */
function renameRequire({ scope }) {
  if (scope.hasOwnBinding('require')) scope.rename('require')
}

/** `require(…)`, if the statement is Babel's function for an import that is evaluated at its first use. */
function requiredBy(statement) {
  if (!statement.isFunctionDeclaration()) return undefined
  const { id, body } = statement.node
  const [first, second] = body.body
  const { init } = first?.declarations?.[0] ?? {}
  if (second?.expression?.left?.name !== id.name) return undefined
  return init?.type === 'CallExpression' && init.callee.name === 'require' ? init : undefined
}

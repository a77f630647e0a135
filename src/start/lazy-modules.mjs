import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformAsync, version } from '@babel/core'
import toCommonJs from '@babel/plugin-transform-modules-commonjs'
import { transform } from 'esbuild'

const NAMESPACE = 'lazy'
const ownCode = readFileSync(fileURLToPath(import.meta.url), 'utf8')
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
  const cache = path.join(root, 'node_modules', '.cache', 'substrat')
  mkdirSync(cache, { recursive: true })
  return {
    name: 'lazy-modules',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\.?\/.+\.[jt]s$/ }, ({ path: wanted, resolveDir }) => {
        const file = path.resolve(resolveDir, wanted.replace(/\.js$/, '.ts'))
        const isOurs = !resolveDir.includes(`${path.sep}node_modules${path.sep}`) && existsSync(file)
        return isOurs && !USES_ZOD.test(readFileSync(file, 'utf8'))
          ? { path: file, namespace: NAMESPACE }
          : undefined
      })
      onLoad({ filter: /./, namespace: NAMESPACE }, async ({ path: file }) => {
        const text = replaced.get(path.relative(path.join(root, 'src'), file)) ?? readFileSync(file, 'utf8')
        return { contents: await lazily(text, cache), loader: 'js', resolveDir: path.dirname(file) }
      })
    },
  }
}

/** Babel takes 7 s for all modules, so its output is kept. */
async function lazily(text, cache) {
  const key = createHash('sha256')
    .update(JSON.stringify([ownCode, version, text]))
    .digest('hex')
  const file = path.join(cache, `${key}.js`)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  const made = await commonJs(text)
  writeFileSync(`${file}.${process.pid}.tmp`, made)
  renameSync(`${file}.${process.pid}.tmp`, file)
  return made
}

async function commonJs(text) {
  const { code } = await transform(text, { ...TYPESCRIPT, loader: 'ts' })
  const options = {
    strict: true,
    lazy: (wanted) => IS_OURS.test(wanted),
    importInterop: (wanted) => (IS_OURS.test(wanted) ? 'none' : 'babel'),
  }
  const made = await transformAsync(code, {
    configFile: false,
    babelrc: false,
    plugins: [[toCommonJs, options], withVariables],
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

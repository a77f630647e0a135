import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { lazyModules } from '../../src/start/lazy-modules.mjs'
import { tempDirectory } from '../support/temp.js'

/** The exported `main` of a bundle of these modules. `said` has the names of those that ran. */
async function bundled(modules: Record<string, string>, replaced?: Map<string, string>) {
  const root = tempDirectory()
  mkdirSync(join(root, 'src'))
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(root, 'src', name), text)
  const { outputFiles } = await build({
    stdin: { contents: `export { main } from './src/main.ts'`, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    plugins: [lazyModules(root, replaced)],
  })
  const said: string[] = []
  const module = { exports: {} as { main(): unknown } }
  const script = new Script(`(function (module, exports, said, require) {${outputFiles[0]?.text}})`)
  script.runInThisContext()(module, module.exports, said, require)
  return { said, main: module.exports.main }
}

const say = (name: string) => `declare const said: string[]\nsaid.push('${name}')\n`

test('a module runs at its first use, and once', async () => {
  const { said, main } = await bundled({
    'main.ts': `import { one, two } from './numbers.js'\nexport const main = () => one + two()`,
    'numbers.ts': `${say('numbers')}export const one = 1\nexport { two } from './two.js'`,
    'two.ts': `${say('two')}export function two(): number { return 2 }`,
  })
  expect(said).toEqual([])
  expect([main(), main()]).toEqual([3, 3])
  expect(said).toEqual(['numbers', 'two'])
})

test('an import is also itself where a variable is called require', async () => {
  const { main } = await bundled({
    'main.ts': `import { one } from './one.js'\nexport function main() { const require = (n: number) => n + 1\nreturn require(one) }`,
    'one.ts': `export const one = 1`,
  })
  expect(main()).toBe(2)
})

test('a variable that is assigned later, a namespace and a default keep their meaning', async () => {
  const { main } = await bundled({
    'main.ts': `import * as counter from './counter.js'\nimport Named from './named.js'
      export const main = () => { counter.add(); return [counter.count, new Named().name, Object.keys(counter)] }`,
    'counter.ts': `export let count = 0\nexport function add() { count++ }`,
    'named.ts': `export default class { name = 'named' }`,
  })
  expect(main()).toEqual([1, 'named', expect.arrayContaining(['add', 'count'])])
})

test('a replaced module has the new text', async () => {
  const modules = { 'main.ts': `export const main = () => 1` }
  const { main } = await bundled(modules, new Map([['main.ts', `export const main = () => 2`]]))
  expect(main()).toBe(2)
})

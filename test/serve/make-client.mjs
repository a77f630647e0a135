// Makes generated/api.d.ts, the types of the API, from the OpenAPI document of `serve`. The page, and the client of the tests, are
// checked against them. The type check runs it first.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = path.join(import.meta.dirname, '..', '..')
const plugin = path.join(root, 'plugins', 'serve')
const folder = path.join(import.meta.dirname, 'generated')

const { outputFiles } = await build({
  stdin: {
    contents: `export { openApi } from './src/openapi.ts'\nexport { ROUTES } from './src/routes.ts'`,
    resolveDir: plugin,
  },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  alias: Object.fromEntries(
    ['message', 'outputs'].map((name) => [
      `substrat/${name}`,
      path.join(root, 'src', 'schema', `${name}.ts`),
    ]),
  ),
  write: false,
})
const bundled = { exports: {} }
new Function('module', 'exports', 'require', outputFiles[0].text)(
  bundled,
  bundled.exports,
  createRequire(path.join(plugin, 'package.json')),
)
const { openApi, ROUTES } = bundled.exports
const maker = createRequire(path.join(plugin, 'package.json')).resolve('openapi-typescript')
const { default: made } = await import(pathToFileURL(maker).href)
const { default: typesOf = made, astToString } = made
const types = astToString(await typesOf(openApi(ROUTES, '0')))
mkdirSync(folder, { recursive: true })
const file = path.join(folder, 'api.d.ts')
writeFileSync(`${file}.${process.pid}.tmp`, types)
renameSync(`${file}.${process.pid}.tmp`, file)

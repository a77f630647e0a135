/** Measures one call as a whole process: node, the plugin's file, and a model that answers at once. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startServerProcess } from '../support/model-server/process.js'
import { buildPlugin } from './built.js'
import { KEY, requestFor, VARIANTS } from './support.js'

const server = await startServerProcess()
afterAll(() => server.stop())
const ROUNDS = 5
/** Ends a script: prints the microseconds of CPU that its process has used. */
const TELL = `;{ const { user, system } = process.cpuUsage(); process.stdout.write('|' + (user + system)) }`

test.each(VARIANTS)(
  '$api: one call needs less than five times the CPU of a bare node',
  async ({ api, options }) => {
    const file = await buildPlugin(api === 'messages' ? 'provider-anthropic' : 'provider-openai')
    const request = requestFor(options(server.url))
    const script = `
    const { default: provider } = await import(${JSON.stringify(file)})
    const request = { ...${JSON.stringify({ ...request, messages: undefined })}, messages: () => [{ role: 'user', content: 'hello' }] }
    for await (const event of provider.complete(request, { signal: new AbortController().signal })) {
      if (event.type === 'text') process.stdout.write(event.text)
    }`
    const times = { bare: [] as number[], call: [] as number[] }
    for (let round = 0; round < ROUNDS; round += 1) {
      times.bare.push(used('', '-e', TELL))
      times.call.push(used('echo: hello', '--input-type=module', '-e', script + TELL))
    }
    // The minimum of several runs, because other load only adds.
    const [bare, call] = [Math.min(...times.bare), Math.min(...times.call)]
    expect(call / bare).toBeLessThan(5)
  },
)

test.each(['provider-anthropic', 'provider-openai'])('%s is one file that needs only node', async (name) => {
  const text = readFileSync(await buildPlugin(name), 'utf8')
  const imports = [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, specifier]) => specifier as string)
  expect(imports.length).toBeGreaterThan(3)
  expect(imports.filter((specifier) => !specifier.startsWith('node:'))).toEqual([])
  // The licence requires its notice in every copy.
  expect(text).toContain('Espen Hovlandsdal')
  const root = join(import.meta.dirname, '../../plugins', name)
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(Object.values(manifest.substrat.providers)).toEqual(['./dist/index.cjs'])
  expect(manifest.oclif).toEqual({})
  expect(Object.keys(manifest.scripts).filter((script) => script.includes('install'))).toEqual([])
  expect(existsSync(join(root, 'README.md'))).toBe(true)
})

function run(...args: string[]): string {
  const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY }
  return execFileSync(process.execPath, args, { env, encoding: 'utf8' })
}

/** CPU time, because other load changes wall-clock time. */
function used(said: string, ...args: string[]): number {
  const [answer, microseconds] = run(...args).split('|')
  expect(answer).toBe(said)
  return Number(microseconds)
}

/** Packages that npm cannot install, or that substrat refuses: one line each, and nothing is half-installed. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { House } from '../support/cli.js'
import { type Package, pack, serveRegistry } from '../support/npm.js'
import { modelProvider, writePlugin } from '../support/plugin.js'

const SHOUT = modelProvider(`yield { type: 'text', text: 'HI' }; yield { type: 'stop', reason: 'end' }`)
// npm gets no registry but the test's: 127.0.0.1:9 refuses connections.
const NO_REGISTRY = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' }
const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-plugins-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Each failure of npm or of the registry is one line, and the list is as before. */
describe('nothing is half-installed', () => {
  const hostile = (answer: (response: ServerResponse) => void): Promise<string> =>
    new Promise((resolve) => {
      const server = createServer((_, response) => answer(response))
      onTestFinished(() => {
        server.closeAllConnections()
        server.close()
      })
      server.listen(0, '127.0.0.1', () =>
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
      )
    })
  const refuses = async (house: House, source: string, why: RegExp): Promise<void> => {
    const { exit, stdout, stderr } = await house.run(['plugins', 'install', source])
    expect([exit, stdout, stderr]).toEqual([2, '', expect.stringMatching(why)])
    expect(stderr.split('\n')).toHaveLength(2)
    expect((await house.ok('plugins', '--json')).json.plugins).toEqual([])
    const data = path.join(house.env.XDG_DATA_HOME as string, 'substrat')
    const left = existsSync(path.join(data, 'node_modules'))
      ? readdirSync(path.join(data, 'node_modules'))
      : []
    expect(left.filter((name) => !name.startsWith('.'))).toEqual([])
  }

  test('from a registry that cannot be reached, or answers with a page', async () => {
    await refuses(new House(NO_REGISTRY), 'shout', /^substrat: shout was not installed: ECONNREFUSED: /)
    const house = new House({ npm_config_fetch_retries: '0' })
    house.env.npm_config_registry = await hostile((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>'),
    )
    await refuses(house, 'shout', /^substrat: shout was not installed: \S+: invalid json response body/)
  })

  test('from a package that is not a plugin, or needs a newer substrat', async () => {
    const house = new House()
    const change = async (name: string, change: object): Promise<Package> => {
      const directory = writePlugin(scratch, { name, providers: { shout: SHOUT } })
      const file = path.join(directory, 'package.json')
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }))
      return { name, version: '1.0.0', tarball: await pack(directory, scratch) }
    }
    const packages = [
      await change('plain', { oclif: undefined }),
      await change('newer', { engines: { substrat: '>=9' } }),
    ]
    house.env.npm_config_registry = await serveRegistry(packages)
    await refuses(
      house,
      'plain',
      /^substrat: plain is not the package of a plugin: its package.json has no section/,
    )
    await refuses(house, 'newer', /^substrat: newer needs substrat >=9, and this is /)
    await refuses(house, `file:${packages[1]?.tarball}`, /needs substrat >=9/)
  })

  test('without npm, which is said with the way without it', async () => {
    const house = House.ofProcesses()
    const bin = path.join(house.root, 'bin')
    mkdirSync(bin)
    symlinkSync(process.execPath, path.join(bin, 'node'))
    house.env.PATH = bin
    const why =
      /^substrat: plugins install needs npm, and there is no npm in PATH that can be executed \(install npm; or /
    await refuses(house, 'shout', why)
    // Not executable.
    writeFileSync(path.join(bin, 'npm'), '', { mode: 0o644 })
    await refuses(house, 'shout', why)
  })
})

/** The list of plugins while `plugins link`, `uninstall` and `install` are killed at their steps on it, and while they run. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { readPlugins } from '../../src/command/plugin-code.js'
import { listPlugin } from '../../src/files/plugin-list.js'
import { House } from '../support/cli.js'
import { pack } from '../support/npm.js'
import { linkPlugin, modelProvider, writePlugin } from '../support/plugin.js'

const ROOT = path.join(import.meta.dirname, '../..')
const PRELOAD = path.join(import.meta.dirname, '../support/kill-at-list.mjs')
const SHOUT = modelProvider(`yield { type: 'text', text: 'hi' }; yield { type: 'stop', reason: 'end' }`)
/** Kills at every n-th step. KILL_EVERY=1 kills at all of them. */
const EVERY = Number(process.env.KILL_EVERY ?? 6)

class Site {
  readonly house = House.ofProcesses({
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
  })
  readonly list = path.join(this.house.env.XDG_DATA_HOME as string, 'substrat', 'package.json')

  constructor(...more: string[]) {
    linkPlugin(this.house, { name: 'first', providers: { first: SHOUT } })
    for (const name of more) this.install(name)
  }

  /** As `providers add`. */
  install(name: string): void {
    listPlugin(this.list, { name, type: 'link', root: this.write(name) })
  }

  write(name: string): string {
    return writePlugin(this.house.root, { name, providers: { [name]: SHOUT } })
  }

  /** The plugins that a command would load. */
  loadable(): string[] {
    const { providers = [], damage } = readPlugins(this.list, ROOT)
    expect(damage).toBe(undefined)
    return providers.map(({ name }) => name)
  }

  names(): string[] {
    return JSON.parse(readFileSync(this.list, 'utf8')).oclif.plugins.map(({ name }: { name: string }) => name)
  }

  env(at: number, more: Record<string, string> = {}): Record<string, string> {
    return { NODE_OPTIONS: `--import=${PRELOAD}`, KILL_LIST: this.list, KILL_AT: String(at), ...more }
  }

  async stepsOf(args: string[]): Promise<number> {
    const counts = path.join(this.house.root, 'counts')
    const { exit, stderr } = await this.house.run(args, { env: this.env(0, { KILL_COUNTS: counts }) })
    expect(exit, stderr).toBe(0)
    return Number(readFileSync(counts, 'utf8').split('\n').at(-2))
  }
}

/** Kills the command before each of its steps. Then the next command must know every plugin that was installed before. */
async function sweep(
  commandOf: (site: Site) => string[] | Promise<string[]>,
  before: string[],
  after: string[],
): Promise<number> {
  const rehearsal = new Site(...before.slice(1))
  const steps = await rehearsal.stepsOf(await commandOf(rehearsal))
  expect(rehearsal.names()).toEqual(after)
  let kills = 0
  for (let at = 1; at <= steps; at += EVERY) {
    const site = new Site(...before.slice(1))
    const command = await commandOf(site)
    const { exit } = await site.house.run(command, { env: site.env(at) })
    expect([at, exit]).toEqual([at, 137])
    const found = site.loadable()
    expect([before, after], `killed before step ${at} of ${steps}`).toContainEqual(found)
    // The same command completes the work, or says that it is done.
    const again = await site.house.run(command, {})
    expect(site.loadable(), again.stderr).toEqual(after)
    expect(await temporaries(site)).toEqual([])
    kills += 1
  }
  return kills
}

async function link(site: Site, name: string): Promise<void> {
  await site.house.ok('plugins', 'link', '--no-install', site.write(name))
}

/** The temporary directories among the copies after the next command has changed the list. */
async function temporaries(site: Site): Promise<string[]> {
  await site.house.ok('plugins', 'add', site.write('next'))
  const copies = path.join(path.dirname(site.list), 'providers')
  return readdirSync(copies).filter((name) => name.endsWith('.tmp'))
}

describe.concurrent('the list of plugins', () => {
  test('is the old or the new one after plugins link is killed at a step, and no plugin is forgotten', async () => {
    const kills = await sweep(
      (site) => ['plugins', 'link', '--no-install', site.write('second')],
      ['first'],
      ['first', 'second'],
    )
    expect(kills).toBeGreaterThan(1)
  })

  test('is the old or the new one after plugins uninstall is killed at a step', async () => {
    const kills = await sweep(() => ['plugins', 'uninstall', 'second'], ['first', 'second'], ['first'])
    expect(kills).toBeGreaterThan(1)
  })

  test('is the old or the new one after plugins install is killed at a step, or while npm runs', async () => {
    const packed = async (site: Site): Promise<string[]> => {
      const tarball = await pack(site.write('packed'), site.house.root)
      return ['plugins', 'install', `file:${tarball}`]
    }
    const kills = await sweep(packed, ['first'], ['first', 'packed'])
    expect(kills).toBeGreaterThan(1)
  })

  test('names no plugin without its files after plugins uninstall of one that npm installed is killed at a step', async () => {
    const kills = await sweep(
      async (site) => {
        const tarball = await pack(site.write('second'), site.house.root)
        await site.house.ok('plugins', 'uninstall', 'second')
        await site.house.ok('plugins', 'install', `file:${tarball}`)
        return ['plugins', 'uninstall', 'second']
      },
      ['first', 'second'],
      ['first'],
    )
    expect(kills).toBeGreaterThan(1)
  })

  test('is whole for a reader at any moment of plugins link and uninstall', async () => {
    const site = new Site()
    const second = site.write('second')
    let reads = 0
    for (const args of [
      ['link', '--no-install', second],
      ['uninstall', 'second'],
    ]) {
      const running = site.house.start(['plugins', ...args], { env: site.env(0) })
      let isOver = false
      const result = running.result.finally(() => {
        isOver = true
      })
      while (!isOver) {
        expect(site.names()[0]).toBe('first')
        reads += 1
        await new Promise(setImmediate)
      }
      expect((await result).exit).toBe(0)
    }
    expect(reads).toBeGreaterThan(100)
  })

  test('keeps the plugins of commands that change it at the same time', async () => {
    const site = new Site()
    const names = ['a', 'b']
    await Promise.all(names.map((name) => link(site, name)))
    expect(site.names().sort()).toEqual([...names, 'first'])
  })

  test('that is damaged without a copy is named with the way back, and no command writes it anew', async () => {
    const site = new Site()
    writeFileSync(site.list, '{"oclif":{"plug')
    const read = await site.house.ok('list')
    expect(read.stderr).toMatch(
      /^substrat: warning: the list of plugins (\S+) cannot be read: [^\n]+, so no plugin is loaded; move it away, then install the plugins again: mv \1 \1\.damaged\n$/,
    )
    for (const args of [
      ['plugins', 'link', '--no-install', site.write('second')],
      ['plugins', 'uninstall', 'first'],
      ['providers', 'add', site.write('third')],
    ]) {
      const { exit, stderr } = await site.house.run(args)
      expect([exit, stderr]).toEqual([2, expect.stringContaining(`mv ${site.list} ${site.list}.damaged`)])
      expect(readFileSync(site.list, 'utf8')).toBe('{"oclif":{"plug')
    }
  })
})

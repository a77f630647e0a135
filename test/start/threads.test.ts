import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { crc32 } from '../../src/start/crc32.js'
import { bootThread } from '../../src/start/thread.js'
import { startThread } from '../../src/start/threads.js'
import { tempDirectory } from '../support/temp.js'

const MODULE = `
exports.start = ({ port, word }, saveCode) => {
  saveCode()
  port.postMessage(word + ' from ' + __filename)
}`

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a module in the second thread', () => {
  let file: string
  let cache: string
  beforeEach(() => {
    file = join(tempDirectory(), 'module.cjs')
    cache = tempDirectory()
    writeFileSync(file, MODULE)
    vi.stubEnv('SUBSTRAT_CACHE_DIR', cache)
  })

  const run = async (): Promise<unknown> => {
    const { port1, port2 } = new MessageChannel()
    const said = new Promise((resolve) => port1.once('message', resolve))
    startThread(file, { port: port2, word: 'hello' }, [port2])
    const word = await said
    port1.close()
    return word
  }
  const codeFile = (): string => join(cache, readdirSync(cache)[0] as string)
  /** A code file that is written again is another file. */
  const written = (): number => statSync(codeFile()).ino
  const saysHello = async (): Promise<void> => expect(await run()).toBe(`hello from ${file}`)

  test('is compiled once, and starts from the saved code after that', async () => {
    await saysHello()
    const first = written()
    await saysHello()
    expect([readdirSync(cache).length, written()]).toEqual([1, first])
  })

  test('is compiled again after a change of its source', async () => {
    await saysHello()
    writeFileSync(file, MODULE.replace('from', 'out of'))
    expect(await run()).toBe(`hello out of ${file}`)
  })

  test.each([
    ['damaged', (code: Buffer) => code.fill(0, code.length / 2), false],
    // V8 compares a checksum of its version and flags at the beginning.
    ['of another V8', (code: Buffer) => code.fill(0xff, 4, 8), true],
  ])('is compiled again if its code is %s', async (_kind, change, isSealed) => {
    await saysHello()
    const bytes = readFileSync(codeFile())
    const end = bytes.indexOf('\n')
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const code = Buffer.from(change(Buffer.from(bytes.subarray(end + 1))))
    const head = { ...header, code: isSealed ? crc32(code) : header.code }
    writeFileSync(codeFile(), Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), code]))
    const [before, changed] = [written(), readFileSync(codeFile())]
    await saysHello()
    expect(written()).not.toBe(before)
    expect(readFileSync(codeFile()).equals(changed)).toBe(false)
  })
})

test('the stderr of a thread goes through the stream of the process', async () => {
  const file = join(tempDirectory(), 'module.cjs')
  writeFileSync(file, `exports.start = () => process.stderr.write('a warning')`)
  vi.stubEnv('SUBSTRAT_CACHE_DIR', tempDirectory())
  const said = new Promise((resolve) => {
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      resolve(`${text}`)
      return true
    })
  })
  startThread(file, {}, [])
  expect(await said).toBe('a warning')
})

describe('the second thread boots early', () => {
  test.each([
    ['for a home on another machine', 'postgres://me@host/home', ['send'], true],
    ['for a home on a port of this one', 'postgres://127.0.0.1:5433/home', ['send'], true],
    ['not for a home on a socket', 'postgres:///home?host=/run/postgresql', ['send'], false],
    ['not for a home on a socket in the place of the host', 'postgres://me@%2Frun/home', ['send'], false],
    ['not for a home in files', '/home/me/postgres://', ['send'], false],
    ['not without a command', 'postgres://me@host/home', ['--version'], false],
  ])('%s', async (_, home, words, boots) => {
    vi.stubEnv('SUBSTRAT_HOME', home)
    vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', 'substrat', ...words])
    const thread = bootThread(tempDirectory())
    thread?.on('error', () => undefined)
    await thread?.terminate()
    expect(thread !== undefined).toBe(boots)
  })
})

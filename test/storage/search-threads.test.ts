/** The threads of a search: they find the same, and their errors are those of the first thread. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import * as io from '../../src/host/disk/io.js'
import type { Section } from '../../src/storage/search/sections.js'
import { SearchThreads } from '../../src/storage/search/threads.js'
import { House } from '../support/cli.js'
import { withFaults } from '../support/faults.js'
import { tempDirectory } from '../support/temp.js'

const MB = 1024 * 1024
const needle = { text: 'needle', ignoresCase: true }
const open: SearchThreads[] = []

function threadsAfter(aloneBytesMax: number): SearchThreads {
  const threads = new SearchThreads(needle, aloneBytesMax)
  open.push(threads)
  return threads
}

afterEach(async () => {
  for (const threads of open.splice(0)) await threads.close()
})

function logOf(lines: number): { file: io.OpenFile; sections: Section[] } {
  const name = path.join(tempDirectory(), 'log')
  const bytes = Buffer.from(
    Array.from({ length: lines }, (_, index) => `${index % 97 === 0 ? 'Needle' : 'hay'} ${index}\n`).join(''),
  )
  writeFileSync(name, bytes)
  const step = 64 * 1024
  const sections = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => ({
    isLog: true,
    from: index * step,
    to: Math.min(bytes.length, (index + 1) * step),
  }))
  return { file: io.open('test.open', name, 'read'), sections }
}

describe('the threads of a search', () => {
  test('find what the first thread finds', async () => {
    const { file, sections } = logOf(200_000)
    const searchAll = (threads: SearchThreads): Promise<unknown[]> =>
      Promise.all(sections.map((section) => threads.search(file, section)))
    const alone = await searchAll(threadsAfter(Number.POSITIVE_INFINITY))
    expect(alone.flatMap((found) => (found as { places: unknown[] }).places)).toHaveLength(2062)
    const threads = threadsAfter(0)
    expect(threads.search(file, sections[0] as Section)).toBeInstanceOf(Promise)
    expect(await searchAll(threads)).toEqual(alone)
    io.close(file)
  })

  test('leave an error to the first thread, which names the file', async () => {
    const directory = path.join(tempDirectory(), 'directory')
    mkdirSync(directory)
    const file = io.open('test.open', directory, 'read')
    const section = { isLog: true, from: 0, to: MB }
    await expect(threadsAfter(0).search(file, section)).rejects.toThrow(directory)
    io.close(file)
  })

  test('do not start under a fault hook, which sees only the steps of the first thread', () => {
    const { file, sections } = logOf(20_000)
    withFaults(() => undefined)
    expect(threadsAfter(0).search(file, sections[0] as Section)).not.toBeInstanceOf(Promise)
    io.close(file)
  })

  test('end with answers to all calls', async () => {
    const { file, sections } = logOf(100_000)
    const threads = threadsAfter(0)
    const answers = sections.map((section) => threads.search(file, section))
    await threads.close()
    expect(await Promise.all(answers)).toHaveLength(sections.length)
    io.close(file)
  })
})

test('a search of a large home prints the records in order, and ends when its reader does', async () => {
  const house = new House()
  for (const name of ['a', 'b']) {
    await house.spawn(name)
    for (const part of [1, 2, 3])
      await house.run(['send', name, '-'], { stdin: `${'x'.repeat(8 * MB)} the needle ${part} of ${name}` })
  }
  const { exit, stdout } = await house.start(['search', 'needle']).result
  expect(exit).toBe(0)
  expect(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.slice(24)),
  ).toEqual(
    ['b', 'a'].flatMap((name) =>
      [1, 2, 3].flatMap((part) => [
        expect.stringMatching(new RegExp(`^you: x+ the needle ${part} of ${name}$`)),
        expect.stringMatching(new RegExp(`^agent: x+ the needle ${part} of ${name}$`)),
      ]),
    ),
  )
  const cut = await house.launch(['sh', '-c', `${house.command('search', 'needle').join(' ')} | head -n 1`])
    .result
  expect(cut).toMatchObject({ exit: 0, stdout: 'b\n', stderr: '' })
})

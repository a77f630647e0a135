import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readBlob, writeBlob } from '../../../src/storage/log/blobs.js'
import { AgentPaths } from '../../../src/storage/paths.js'
import { clearFaults, failStep, operationsOf, unsyncedAfter } from '../../support/operations.js'
import { tempDirectory } from '../../support/temp.js'

const CONTENT = Buffer.from('a long output\n'.repeat(1000))
const SHA256 = createHash('sha256').update(CONTENT).digest('hex')

function newAgent(): AgentPaths {
  const agent = new AgentPaths(tempDirectory())
  mkdirSync(agent.blobs)
  return agent
}

describe('a blob', () => {
  test('is named by its hash, reads back unchanged, and is readable only by its owner', () => {
    const agent = newAgent()
    const reference = writeBlob(agent, CONTENT)
    expect(reference).toEqual({ blob: SHA256, bytes: CONTENT.length })
    expect(readBlob(agent, reference)).toEqual(CONTENT)
    expect(readdirSync(agent.blobs)).toEqual([SHA256])
    expect(statSync(agent.blob(SHA256)).mode & 0o777).toBe(0o600)
  })

  test('is durable with its name after the write, even if a person deleted its directory', () => {
    const agent = newAgent()
    expect(unsyncedAfter(operationsOf(() => writeBlob(agent, CONTENT)))).toEqual([])
    rmSync(agent.blobs, { recursive: true })
    expect(unsyncedAfter(operationsOf(() => writeBlob(agent, CONTENT)))).toEqual([])
    expect(readBlob(agent, { blob: SHA256, bytes: CONTENT.length })).toEqual(CONTENT)
  })

  test('that exists already stays unchanged, and its name is fsynced again', () => {
    const agent = newAgent()
    writeBlob(agent, CONTENT)
    const { ino } = statSync(agent.blob(SHA256))
    const operations = operationsOf(() => writeBlob(agent, CONTENT))
    expect(operations.at(-1)).toMatchObject({ name: 'sync_directory', path: agent.blobs })
    expect(statSync(agent.blob(SHA256)).ino).toBe(ino)
  })

  test('exists whole or not at all after any failed step, and can be written again', () => {
    const steps = operationsOf(() => writeBlob(newAgent(), CONTENT)).length
    for (let index = 0; index < steps; index++) {
      const agent = newAgent()
      failStep(index, 'ENOSPC')
      try {
        writeBlob(agent, CONTENT)
      } catch {}
      clearFaults()
      const names = readdirSync(agent.blobs).filter((name) => name === SHA256)
      for (const name of names) expect(readFileSync(agent.blob(name))).toEqual(CONTENT)
      writeBlob(agent, CONTENT)
      expect(readBlob(agent, { blob: SHA256, bytes: CONTENT.length })).toEqual(CONTENT)
    }
    expect(steps).toBeGreaterThan(5)
  })

  test.each([
    ['missing', undefined],
    ['damaged', Buffer.concat([CONTENT.subarray(0, 20), Buffer.from('X'), CONTENT.subarray(21)])],
    ['damaged', CONTENT.subarray(0, 1000)],
  ])('is corrupt if %s, and the error names it', (word, bytes) => {
    const agent = newAgent()
    if (bytes !== undefined) writeFileSync(agent.blob(SHA256), bytes)
    expect(() => readBlob(agent, { blob: SHA256, bytes: CONTENT.length })).toThrow(
      expect.objectContaining({
        code: 'CORRUPT',
        message: `the stored conversation is damaged: the blob ${agent.blob(SHA256)} is ${word}`,
        facts: { path: agent.blob(SHA256), blob: SHA256 },
      }),
    )
  })
})

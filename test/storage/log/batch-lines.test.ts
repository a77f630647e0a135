import { expect, test } from 'vitest'
import { BatchLines } from '../../../src/storage/log/batch-lines.js'
import { frame } from '../../../src/storage/log/frame.js'

test('adding a record to a batch returns the place of its line in the log', () => {
  const records = [{ seq: 1 }, { seq: 2, text: 'x' }, { seq: 3, text: '' }]
  const lines = new BatchLines(100)
  const places = records.map((record) => lines.add(record))
  const log = Buffer.concat([Buffer.alloc(100), lines.bytes])
  expect(places.map(({ offset, end }) => log.subarray(offset, end))).toEqual(records.map(frame))
  expect(log.length).toBe(places.at(-1)?.end)
})

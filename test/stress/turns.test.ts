/** A sample of `npm run stress:turns`. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoStrace } from '../../stress/kill/strace.js'
import { Lab } from '../../stress/support/lab.js'
import { killedConversation } from '../../stress/turns/conversation.js'
import { killedTools } from '../../stress/turns/orphans.js'
import { killedRows, rowsPage } from '../../stress/turns/rows.js'
import { racedTokens } from '../../stress/turns/tokens.js'

const why = whyNoStrace()
if (why !== undefined) console.log(`skipped: turns killed before they write (${why})`)
const unless = why === undefined ? '' : ` (skipped: ${why})`

let lab: Lab
beforeAll(() => {
  lab = Lab.open()
  lab.runInProcess()
})
afterAll(() => lab.close())

describe.skipIf(why !== undefined)(`a turn killed before it writes${unless}`, () => {
  test('leaves the expected row of the recovery table, and ends as test/stress/recovery-rows.md shows', async () => {
    const reports = await killedRows(lab)
    for (const { row, found } of reports) if (row !== 'K') expect(found ?? row).toBe(row)
    expect(rowsPage(reports)).toBe(readFileSync('test/stress/recovery-rows.md', 'utf8'))
  })
})

test('a tool process never outlives its substrat process', async () => {
  const { running, orphans } = await killedTools(lab, 2)
  expect(running).toBeGreaterThan(8)
  expect(orphans).toBe(0)
})

test('many processes consume a token only once', async () => {
  const { differences, answered, refused } = await racedTokens(lab, 2, 6)
  expect(differences).toEqual([])
  expect(answered + refused).toBe(12)
})

// Runs last: after the plugin of this model is linked, every command of the lab is a separate process.
describe.skipIf(why !== undefined)(`a turn killed again and again before it writes${unless}`, () => {
  test.each(['stop', 'continue'] as const)(
    'has the same conversation as an undisturbed run, with unknown_tool %s',
    async (unknownTool) => {
      const report = await killedConversation(lab, unknownTool, 3, 'openai')
      expect(report.differences).toEqual([])
      expect(report.stepsKilled).toBe(3)
    },
  )
})

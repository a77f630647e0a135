/** Questions of an agent on the page: their choices, an answer that is missing, and the answer in the conversation. */
import { describe, expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

/** So long that the record of the wait has only its beginning. */
const LONG = `Which database? ${'It matters for years. '.repeat(400)}end`

async function asking(input: object): Promise<{ house: House; id: string; served: Served }> {
  const house = new House()
  const tools = [{ name: 'ask_operator', input }]
  const id = await house.spawn('asker', '-o', house.scenario('q.json', { tools }, { say: 'Thanks.' }))
  await house.run(['send', 'asker', 'go'])
  return { house, id, served: await Served.start(house) }
}

function answersIn(house: House, id: string): unknown[] {
  return house.records(id).flatMap((record) => (record.kind === 'tool.finished' ? [record.content] : []))
}

describe('questions with choices', () => {
  const questions = [
    {
      question: LONG,
      options: [{ label: 'PostgreSQL', description: 'A server.' }, { label: 'SQLite' }],
    },
    { question: 'Which checks?', options: [{ label: 'Lint' }, { label: 'Tests' }], multiSelect: true },
  ]

  test('are answered with a choice, several choices, and own words', async () => {
    const { house, id, served } = await asking({ questions })
    const { page, troubles } = await openPage(served)
    const first = page.getByRole('group', { name: 'Which database?' })
    const second = page.getByRole('group', { name: 'Which checks?' })
    await first.getByRole('radio', { name: 'SQLite' }).waitFor()
    expect(await page.getByText('"question"').count()).toBe(0)
    await expectAccessible(page, 'questions')
    await first.getByRole('radio', { name: 'PostgreSQL A server.' }).check()
    await page.getByRole('button', button('Answer')).click()
    await page.getByRole('alert').getByText('Choose an answer or write one, for each question.').waitFor()
    const missing = second.getByRole('textbox')
    expect(await missing.getAttribute('aria-invalid')).toBe('true')
    expect(await missing.evaluate('document.activeElement.id')).toBe(await missing.getAttribute('id'))
    await second.getByRole('checkbox', { name: 'Lint' }).check()
    await second.getByRole('checkbox', { name: 'Tests' }).check()
    await missing.fill('and the spelling')
    await page.getByRole('button', button('Answer')).click()
    await house.waitForRecord(id, 'run.completed')
    expect(answersIn(house, id)).toEqual([`${LONG} PostgreSQL\nWhich checks? Lint, Tests, and the spelling`])
    await goTo(page, `#/agents/${id}`)
    const answer = page.getByRole('article', { name: /^you/ }).filter({ hasText: 'Lint, Tests' })
    await answer.waitFor()
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('are named in lists with their choices', async () => {
    const { house, served } = await asking({ question: 'Which branch?', choices: ['main', 'next'] })
    const { page } = await openPage(served, '#/agents')
    await page.getByText('asks: Which branch? (main, next)').waitFor()
    expect((await house.ok('show', 'asker')).stdout).toContain('Which branch? (main, next)')
    await served.stop()
  })
})

test('an answer without text is refused with a sentence, and the next one is shown in the conversation and the timeline', async () => {
  const { house, id, served } = await asking({ question: 'Which branch?' })
  const { page, troubles } = await openPage(served)
  await page.getByRole('button', button('Answer')).click()
  await page.getByText('Write an answer first.').waitFor()
  await page.getByLabel('Your answer').fill('next')
  expect(await page.getByText('Write an answer first.').count()).toBe(0)
  await page.getByRole('button', button('Answer')).click()
  await house.waitForRecord(id, 'run.completed')
  expect(answersIn(house, id)).toEqual(['next'])
  await goTo(page, `#/agents/${id}`)
  await page.getByRole('article', { name: /^you/ }).getByText('next', { exact: true }).waitFor()
  await goTo(page, `#/agents/${id}/timeline`)
  await page.getByText('The same as a table').click()
  await page.getByRole('cell', { name: /^question, answered: next, / }).waitFor()
  expect(troubles).toEqual([])
  await served.stop()
})

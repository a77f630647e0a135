/** From view to view on the page: the place at which each begins, and the focus. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { openPage } from './page-support.js'

const LINES = Array.from({ length: 200 }, (_, index) => `line ${index}`).join('\n\n')

/** Many agents that need a person, and one with a long conversation. */
async function longHouse(): Promise<{ house: House; id: string }> {
  const house = new House()
  const id = await house.spawn('talking', '-o', house.scenario('t.json', { say: LINES }))
  await house.run(['send', 'talking', 'go'])
  const ask = house.scenario('q.json', { tools: [{ name: 'ask_operator', input: { question: LINES } }] })
  await house.spawn('asking', '-o', ask)
  await house.run(['send', 'asking', 'go'])
  return { house, id }
}

const top = (page: Page) => page.evaluate<number>('Math.round(scrollY)')
const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent')
const isAtEnd = 'scrollY > 0 && document.documentElement.scrollHeight - innerHeight - scrollY < 2'

test('a view begins at its top, and one that the reader goes back to is where it was', async () => {
  const { house, id } = await longHouse()
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, '#/')
  await page.getByText('line 199').first().waitFor()
  await page.evaluate('scrollTo(0, 700)')
  await page.locator('nav[aria-label=Views]').getByRole('link', { name: 'Usage' }).click()
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  expect(await top(page)).toBe(0)
  await page.goBack()
  await page.getByText('line 199').first().waitFor()
  await waitFor(() => page.evaluate<boolean>('Math.round(scrollY) === 700'), 'Math.round(scrollY) === 700')
  // A conversation begins at its end.
  await page.evaluate(`location.hash = '#/agents/${id}'`)
  await page.getByText('line 199').first().waitFor()
  await waitFor(() => page.evaluate<boolean>(isAtEnd), isAtEnd)
  await page.getByRole('link', { name: 'Timeline' }).click()
  await page.getByText('The same as a table').waitFor()
  expect(await top(page)).toBe(0)
  await page.getByRole('link', { name: 'Conversation' }).click()
  await waitFor(() => page.evaluate<boolean>(isAtEnd), isAtEnd)
  expect(troubles).toEqual([])
  await served.stop()
})

test('the heading of a new view has the focus, and a tab of the same view keeps it', async () => {
  const { house } = await longHouse()
  const served = await Served.start(house)
  const { page } = await openPage(served, '#/')
  await page.getByRole('heading', { name: 'asking' }).waitFor()
  // Nothing takes the focus when the page opens.
  expect(await page.evaluate('document.activeElement === document.body')).toBe(true)
  await page.keyboard.press('g')
  await page.keyboard.press('u')
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  expect(await focused(page)).toBe('Usage')
  await page.goBack()
  const link = page.getByRole('heading', { name: 'asking' }).getByRole('link')
  await link.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'asking', level: 1 }).waitFor()
  await waitFor(
    () => page.evaluate<boolean>("document.activeElement.matches('h1')"),
    "document.activeElement.matches('h1')",
  )
  expect(await focused(page)).toBe('asking')
  await page.getByRole('link', { name: 'Timeline' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('The same as a table').waitFor()
  expect(await focused(page)).toBe('Timeline')
  await served.stop()
})

/** The page with many agents, and its pictures by wheel, keys and buttons. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { goTo, openPage } from './page-support.js'

const AGENTS = 10_000

test('a list of 10,000 agents draws only the rows in sight, wherever it is scrolled', async () => {
  const house = new House()
  await house.spawn('a-00000')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, '#/')
  await page.getByText('No agent waits for you').waitFor()
  const [first] = (await served.call('listAgents')).data.agents
  const agents = Array.from({ length: AGENTS }, (_, index) => {
    const number = String(index).padStart(5, '0')
    return { ...first, id: first?.id.replace(/^.{5}/, number), path: `a-${number}`, name: `a-${number}` }
  })
  const data = JSON.stringify({ agents })
  const body = `event: snapshot\ndata: ${data}\n\n`
  await page.route('**/v1/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }))
  await page.reload()
  await goTo(page, '#/agents')
  await page.getByText(`${AGENTS} shown`).waitFor()
  const rows = page.getByRole('treeitem')
  expect(await rows.count()).toBeLessThan(60)
  await page.evaluate('document.querySelector(".virtual").scrollTop = 300_000')
  await page.getByText('a-05001', { exact: true }).waitFor()
  expect(await rows.count()).toBeLessThan(60)
  await page.getByRole('tree').press('End')
  await page.getByText('a-09999', { exact: true }).waitFor()
  expect(await rows.last().getAttribute('aria-setsize')).toBe(String(AGENTS))
  await page.getByLabel('Filter by name').fill('a-0777')
  await page.getByText('10 shown').waitFor()
  await page.getByLabel('Status').selectOption('failed')
  await page.getByText('No agent matches').waitFor()
  expect(troubles).toEqual([])
  await served.stop()
})

test('a timeline is zoomed and moved by buttons, keys and the wheel', async () => {
  const house = new House()
  // A turn shorter than the narrowest window of the picture leaves nothing to zoom.
  const response = { delay_ms: 200, say: 'Done.' }
  const id = await house.spawn('a', '-o', house.scenario('s.json', response, response))
  for (const word of ['one', 'two']) await house.ok('send', 'a', word)
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}/timeline`)
  const picture = page.getByRole('group', { name: 'Picture of the turns' })
  await picture.getByRole('img', { name: '2 runs, 2 requests, 0 tool calls, 0 waits, 0 kills' }).waitFor()
  const changes = async (act: () => Promise<unknown>): Promise<void> => {
    const before = await drawing(page)
    await act()
    await waitFor(async () => (await drawing(page)) !== before, 'another drawing')
  }
  for (const name of ['All', 'Zoom in', 'Later', 'Earlier', 'Zoom out', 'Latest turn'])
    await changes(() => page.getByRole('button', { name, exact: true }).click())
  await picture.focus()
  for (const key of ['0', '+', 'ArrowLeft', 'ArrowRight', '-']) await changes(() => picture.press(key))
  await picture.hover()
  await changes(() => page.mouse.wheel(0, -400))
  await changes(async () => {
    await page.mouse.down()
    await page.mouse.move(300, 300, { steps: 3 })
    await page.mouse.up()
  })
  await page.getByText('The same as a table').click()
  await page.getByRole('cell', { name: 'Turns' }).nth(1).waitFor()
  expect(troubles).toEqual([])
  await served.stop()
})

function drawing(page: Page): Promise<string> {
  return page.evaluate<string>('document.querySelector("svg.timeline").innerHTML')
}

test('the usage is shown for each period', async () => {
  const house = new House()
  await house.spawn('a')
  await house.ok('send', 'a', 'one two three')
  const served = await Served.start(house)
  const { page } = await openPage(served, '#/usage')
  for (const period of ['7 days', '90 days', 'All', '30 days']) {
    await page.getByLabel(period, { exact: true }).check()
    await page.getByRole('img', { name: /Tokens of \d+ days, 1 of them with usage/ }).waitFor()
  }
  await page.getByRole('link', { name: 'a', exact: true }).click()
  await page.getByRole('heading', { name: 'a', exact: true }).waitFor()
  await served.stop()
})

test('an open page shows each record once and in order, although the server is killed again and again', async () => {
  const house = new House()
  const id = await house.spawn('a')
  let served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  await page.getByText('Created with the provider').waitFor()
  for (let turn = 0; turn < 3; turn += 1) {
    await served.running.kill('SIGKILL')
    await house.ok('send', 'a', `while down ${turn}`)
    served = await Served.start(house, '--listen', `127.0.0.1:${served.port}`)
    await house.ok('send', 'a', `while up ${turn}`)
    await page.getByText(`echo: while up ${turn}`).waitFor()
  }
  const texts = await page.locator('.message.from-agent p').allTextContents()
  expect(texts).toEqual([0, 1, 2].flatMap((turn) => [`echo: while down ${turn}`, `echo: while up ${turn}`]))
  expect(troubles).toEqual([])
  await served.stop()
})

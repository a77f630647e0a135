/** The page of a named token offers what the token may do, and nothing else. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { newPage } from '../support/browser.js'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const shell = (command: string) => ({ tools: [{ name: 'shell', input: { command } }] })
const button = (name: string) => ({ name, exact: true })

/** Agents that ask for approval, ask a question, and are interrupted; and a message to the operator. */
async function needy(): Promise<{ house: House; id: string }> {
  const house = new House()
  const question = { tools: [{ name: 'ask_operator', input: { question: 'Which colour?' } }] }
  const id = await house.spawn(
    'deploy',
    '-o',
    house.scenario('d.json', shell('echo ran >> ran'), { say: 'done' }),
  )
  await house.run(['send', 'deploy', 'go'])
  await house.spawn('asks', '-o', house.scenario('a.json', question, { say: 'thanks' }))
  await house.run(['send', 'asks', 'go'])
  const slow = await house.spawn('slow', '-o', house.scenario('s.json', { delay_ms: 3_600_000 }))
  const sending = house.start(['send', 'slow', 'go'])
  await house.waitForRecord(slow, 'model.requested')
  await sending.kill('SIGKILL')
  return { house, id }
}

async function openWith(served: Served, house: House, may: string): Promise<Page> {
  const { json } = await house.ok('serve', 'token', 'add', may, '--may', may, '--url', served.url, '--json')
  const page = await newPage({})
  await page.goto(json.link)
  return page
}

/** The names of the buttons, fields and links by which the page changes something. */
async function offered(page: Page): Promise<string[]> {
  const names = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main button, main textarea, main a.button')].map((each) =>
       each.labels?.[0]?.textContent ?? each.textContent)`,
  )
  return names.map((name) => name.trim())
}

test('read offers nothing that changes something, and shows what agents ask', async () => {
  const { house, id } = await needy()
  const served = await Served.start(house)
  const page = await openWith(served, house, 'read')
  await page.getByText('This link may only read.', { exact: true }).waitFor()
  await page.getByText('echo ran >> ran').waitFor()
  await page.getByText('Which colour?').waitFor()
  await page.getByText('The turn was interrupted').waitFor()
  expect(await offered(page)).toEqual([])
  await expectAccessible(page, 'needs, to read')
  await goTo(page, '#/agents')
  await page.getByText('3 shown').waitFor()
  expect(await offered(page)).toEqual([])
  await goTo(page, `#/agents/${id}`)
  await page.getByRole('heading', { name: 'deploy' }).waitFor()
  expect(await offered(page)).toEqual(['Copy'])
  await goTo(page, '#/new')
  await page.getByText('3 shown').waitFor()
  await served.stop()
})

test('answer approves, denies and answers, and offers neither messages nor controls', async () => {
  const { house, id } = await needy()
  const served = await Served.start(house)
  const page = await openWith(served, house, 'answer')
  await page.getByText('This link may only read and answer.').waitFor()
  await page.getByText('Which colour?').waitFor()
  await page.getByText('The turn was interrupted').waitFor()
  expect((await offered(page)).sort()).toEqual(['Answer', 'Approve', 'Deny…', 'Your answer'])
  await expectAccessible(page, 'needs, to answer')
  await page.getByRole('button', button('Approve')).click()
  await waitFor(() => house.read('ran') === 'ran\n', 'the call')
  await page.getByLabel('Your answer').fill('Blue')
  await page.getByRole('button', button('Answer')).click()
  await waitFor(async () => (await page.getByText('Which colour?').count()) === 0, 'the end of the question')
  await goTo(page, '#/agents')
  await page.getByText('3 shown').waitFor()
  expect(await page.getByRole('link', { name: 'New agent' }).count()).toBe(0)
  // The reader's own decision, and the same one for another reader.
  await goTo(page, `#/agents/${id}`)
  await page.getByText('Decision: approved', { exact: true }).waitFor()
  const { page: desk } = await openPage(served, `#/agents/${id}`)
  await desk.getByText('Decision: approved, by token answer', { exact: true }).waitFor()
  await served.stop()
})

test('all offers everything, and a revoked link leads to the form for a token', async () => {
  const { house } = await needy()
  const served = await Served.start(house)
  const page = await openWith(served, house, 'all')
  await page.getByRole('button', button('Always allow')).waitFor()
  await page.getByRole('button', button('Cancel the turn')).waitFor()
  expect(await page.getByRole('note').count()).toBe(0)
  await house.ok('serve', 'token', 'revoke', 'all')
  await page.getByText('The server refuses this token. It was replaced or revoked').waitFor()
  await page.getByLabel('Token').fill(served.token)
  await page.getByRole('button', button('Open')).click()
  await page.getByRole('button', button('Approve')).waitFor()
  await served.stop()
})

test('the page of a server that only reads says so, until another start of the server allows more', async () => {
  const { house } = await needy()
  const first = await Served.start(house, '--read-only')
  const page = await newPage({})
  await page.goto(`${first.url}/#token=${first.token}`)
  await page.getByText('This server only reads.').waitFor()
  await page.getByText('echo ran >> ran').waitFor()
  expect(await offered(page)).toEqual([])
  await first.stop()
  const second = await Served.start(house, '--listen', `127.0.0.1:${first.port}`)
  await page.getByRole('button', button('Approve')).waitFor()
  expect(await page.getByText('This server only reads.').count()).toBe(0)
  await second.stop()
})

test('a phone in both colours', async () => {
  const { house } = await needy()
  const served = await Served.start(house)
  const page = await openWith(served, house, 'answer')
  await page.setViewportSize({ width: 360, height: 740 })
  await page.getByText('This link may only read and answer.').waitFor()
  const isWhole = await page.evaluate(
    "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('[role=note]'))",
  )
  expect(isWhole).toBe(true)
  await goTo(page, '#/agents')
  await page.getByText('3 shown').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectAccessible(page, colorScheme)
  }
  expect(await page.evaluate('document.documentElement.scrollHeight <= innerHeight')).toBe(true)
  const shots = process.env.SHOTS
  if (shots !== undefined) {
    mkdirSync(shots, { recursive: true })
    await goTo(page, '#/')
    await page.getByText('Which colour?').waitFor()
    await page.screenshot({ path: path.join(shots, 'answer.png') })
  }
  await served.stop()
})

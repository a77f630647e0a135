/** Messages that are pending, a cancelled turn and a failure, on the page. */
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

test('messages to you are cleared, one or all, and a new one appears by itself', async () => {
  const house = new House()
  const send = (content: string) => ({ name: 'send_message', input: { to: 'operator', content } })
  const scenario = house.scenario(
    's.json',
    { tools: [send('first'), send('second'), send('third')] },
    { say: 'ok' },
  )
  await house.spawn('a', '-o', scenario, '--allow', 'tree')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served)
  await page.getByText('No agent waits for you').waitFor()
  await house.ok('send', 'a', 'go')
  const messages = page.getByRole('region', { name: 'Messages to you' })
  await messages.getByText('third').waitFor()
  await expectAccessible(page, 'messages')
  const first = messages.getByRole('article').filter({ hasText: 'first' })
  await first.getByRole('button', { name: 'Clear the message from a' }).click()
  await first.waitFor({ state: 'detached' })
  expect(await messages.getByRole('article').count()).toBe(2)
  await page.getByRole('button', button('Clear all')).click()
  await page.getByRole('dialog').getByRole('button', button('Clear all')).click()
  await messages.waitFor({ state: 'detached' })
  expect((await house.ok('inbox', '--json')).json.messages).toEqual([])
  expect(troubles).toEqual([])
  await served.stop()
})

test('a pending message is shown with its text, and delivered once its time has come', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('send', 'a', '--not-before', '3s', 'Look at **it**')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  const pending = page.getByRole('article', { name: 'Pending message from you' })
  await pending.getByText('Look at it').waitFor()
  await expectAccessible(page, 'pending messages')
  await page.getByRole('button', button('Deliver')).click()
  await page.getByText('echo: Look at it').waitFor()
  await pending.waitFor({ state: 'detached' })
  expect(troubles).toEqual([])
  await served.stop()
})

test('a message that cannot be delivered yet says why', async () => {
  const house = new House()
  await house.spawn('held')
  await house.ok('suspend', 'held', '--hold')
  await house.ok('send', 'held', '--queue', 'hello')
  await house.spawn('later')
  await house.ok('send', 'later', '--not-before', '5h', 'hello')
  const served = await Served.start(house)
  const { page } = await openPage(served, '#/agents/held')
  await page.getByText('Delivered after the agent is resumed: it is on hold.').waitFor()
  await goTo(page, '#/agents/later')
  await page.getByText(/Not before .* \(in 5 hr/).waitFor()
  await page.getByText('Delivered by the first substrat deliver after its time.').waitFor()
  expect(await page.getByRole('button', button('Deliver')).count()).toBe(0)
  await served.stop()
})

test('a cancelled turn runs again with Retry, and the stack of a failure is folded', async () => {
  const house = new House()
  const shell = { name: 'shell', input: { command: 'ls' } }
  const id = await house.spawn('a', '-o', house.scenario('s.json', { tools: [shell] }, { say: 'done' }))
  await house.run(['send', 'a', 'go'])
  await house.ok('cancel', 'a')
  await house.spawn('failing', '--provider', 'exec', '-o', 'command=echo oops >&2; exit 3')
  await house.run(['send', 'failing', 'go'])
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  await page.getByText('The turn was cancelled.', { exact: true }).waitFor()
  await expectAccessible(page, 'a cancelled turn')
  await page.getByRole('link', button('Write to it')).click()
  expect(await page.evaluate('document.activeElement.id')).toBe('composer')
  await page.getByRole('button', button('Retry')).click()
  await house.waitForRecord(id, 'run.completed')
  await page.getByRole('button', button('Retry')).waitFor({ state: 'detached' })
  await goTo(page, '#/agents/failing')
  const details = page.getByText('Details for a report')
  await details.waitFor()
  const stack = page.getByText(/^\s+at .*substrat/m).first()
  expect(await stack.isVisible()).toBe(false)
  await details.click()
  await stack.waitFor()
  await expectAccessible(page, 'a failure')
  expect(troubles).toEqual([])
  await served.stop()
})

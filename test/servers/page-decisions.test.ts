/** A decision belongs to the request that the reader sees, and a refusal of the server is shown as one. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { linked, Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { parked } from '../support/parked.js'
import { waitFor } from '../support/wait.js'
import { expectAccessible, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })
const shell = (command: string) => ({ tools: [{ name: 'shell', input: { command } }] })

test.each([
  ['denied', 'Deny…', 'Deny'],
  ['edited', 'Edit…', 'Approve these arguments'],
])(
  'the request after one that was %s begins with all its buttons, and none of them has the focus',
  async (_, open, confirm) => {
    const house = new House()
    const { id } = await parked(house)
    house.scenario('s.json', shell('not asked again'), shell('echo second >> ran'), { say: 'done' })
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served)
    await page.getByRole('button', button(open)).click()
    if (open === 'Deny…') await page.getByLabel('Reason').fill('Not this one')
    await page.getByRole('button', button(confirm)).click()
    await page.getByText('echo second >> ran').waitFor()
    await page.getByRole('button', button('Approve')).waitFor()
    expect(await page.getByRole('button', button(confirm)).count()).toBe(0)
    // The page may draw the agent without a card before its next request. Then its heading has the focus.
    await waitFor(
      () => page.evaluate('document.activeElement?.matches("[data-card], main h1")'),
      'the focus on the card or the heading',
    )
    await page.keyboard.press('Enter')
    await page.getByRole('button', button('Deny…')).click()
    expect(await page.getByLabel('Reason').inputValue()).toBe('')
    expect(house.read('ran')).toBe(open === 'Deny…' ? undefined : 'ran\n')
    expect(house.count(id, 'run.completed')).toBe(0)
    expect(troubles).toEqual([])
    await served.stop()
  },
)

test('the focus goes to the next card, and to the heading after the last one', async () => {
  const house = new House()
  for (const name of ['one', 'two']) {
    await house.spawn(name, '-o', house.scenario(`${name}.json`, shell(`touch ${name}`), { say: 'done' }))
    await house.run(['send', name, 'go'])
  }
  const served = await Served.start(house)
  const { page } = await openPage(served)
  const card = (name: string) =>
    page.getByRole('article').filter({ has: page.getByRole('link', button(name)) })
  const focused = () =>
    page.evaluate<string>(
      'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
    )
  await card('two').getByRole('button', button('Approve')).click()
  await waitFor(async () => (await focused()) === 'one: approval', 'the next card')
  await card('one').getByRole('button', button('Approve')).click()
  await waitFor(async () => (await focused()) === 'Needs you', 'the heading')
  await served.stop()
})

test('a message whose provider has no key is refused once, keeps its text, and is sent again when the reader says so', async () => {
  const house = new House()
  house.plugin(
    'keyed',
    `import { existsSync } from 'node:fs'
    export default {
      kind: 'model', description: 'needs a key', options: {},
      check({ workspace }) {
        if (existsSync(workspace + '/key')) return
        throw Object.assign(new Error('no API key: set NIGHT_KEY'), { failure: { type: 'authentication' } })
      },
      async *complete() { yield { type: 'text', text: 'slept well' }; yield { type: 'stop', reason: 'end' } },
    }`,
  )
  house.write('key', '')
  const id = await house.spawn('night', '--provider', 'keyed')
  rmSync(path.join(house.workspace, 'key'))
  const env = linked(house)
  const list = path.join(env.XDG_DATA_HOME as string, 'substrat', 'package.json')
  const { oclif } = JSON.parse(readFileSync(list, 'utf8'))
  oclif.plugins.push({ name: 'keyed', type: 'link', root: path.join(house.root, 'keyed') })
  writeFileSync(list, JSON.stringify({ oclif }))
  const served = await Served.of(house, house.start(['serve', '--listen', '127.0.0.1:0'], { env }))
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  const requests: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/messages')) requests.push(request.headers()['idempotency-key'] ?? '')
  })
  const field = page.getByLabel('Message to the agent')
  await field.fill('Go')
  await page.getByText('Ctrl+Enter sends it').waitFor()
  await page.getByRole('button', button('Send')).click()
  await page.getByText(/Not sent: .*No API key: set NIGHT_KEY/).waitFor()
  await expectAccessible(page, 'a refused message')
  await page.reload()
  await page.getByText(/Not sent: .*No API key: set NIGHT_KEY/).waitFor()
  expect(await field.inputValue()).toBe('Go')
  expect(requests.length).toBe(1)
  house.write('key', '')
  await page.getByRole('button', button('Send again')).click()
  await page.getByText('slept well').waitFor()
  expect(requests.length).toBe(2)
  expect(new Set(requests).size).toBe(1)
  expect(house.count(id, 'run.completed')).toBe(1)
  expect(troubles).toEqual([])
  await served.stop()
})

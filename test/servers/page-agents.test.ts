/** The agents on the page: their words and counts, a new agent, and the right to run tools without approval. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { parked } from '../support/parked.js'
import { waitFor } from '../support/wait.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

/** Four agents that need a person, and three that do not. */
async function houseOfNeeds(): Promise<House> {
  const house = new House()
  const scripted = async (name: string, response: object): Promise<void> => {
    await house.spawn(name, '-o', house.scenario(`${name}.json`, response))
    await house.run(['send', name, `Begin ${name}`])
  }
  await scripted('approval', { tools: [{ name: 'shell', input: { command: 'git push' } }] })
  await scripted('question', { tools: [{ name: 'ask_operator', input: { question: 'Which branch?' } }] })
  await scripted('failed', { fail: { type: 'invalid' } })
  await scripted('limited', { fail: { type: 'rate_limit', retry_after_ms: 3_600_000 } })
  await scripted('done', { say: 'All is done.' })
  await house.spawn('held')
  await house.run(['suspend', 'held', '--hold'])
  await house.spawn('slow', '-o', house.scenario('slow.json', { delay_ms: 600_000 }))
  await house.run(['send', 'slow', 'go', '--turn-timeout', '1s'])
  return house
}

test('the badge, the cards, the list and its filter count the same agents, with the words of the command', async () => {
  const house = await houseOfNeeds()
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served)
  const needy = (await house.ok('list', '--status', 'needs_you', '--json')).json.agents as { path: string }[]
  expect(needy.map(({ path }) => path)).toEqual(['approval', 'question', 'failed', 'slow'])
  await page.getByRole('article').nth(3).waitFor()
  const cards = page.locator('.card.need')
  expect(await cards.count()).toBe(4)
  expect(await page.locator('nav .count.alert').textContent()).toBe('4')
  expect(await page.title()).toBe('(4) Needs you · substrat')
  await goTo(page, '#/agents')
  await page.getByRole('treeitem').nth(6).waitFor()
  const all = (await house.ok('list', '--json')).json.agents as { path: string; shown_status: string }[]
  for (const { path, shown_status: status } of all) {
    const row = page.getByRole('treeitem').filter({ has: page.getByText(path, { exact: true }) })
    expect(await row.locator('.badge').textContent(), path).toBe(status.replace('_', ' '))
  }
  const words = [...new Set(all.map(({ shown_status: status }) => status))]
  for (const word of words) {
    await page.getByLabel('Status').selectOption(word.replace('_', ' '))
    const count = all.filter(({ shown_status: status }) => status === word).length
    await page.getByText(`${count} shown`, { exact: true }).waitFor()
  }
  expect(troubles).toEqual([])
  await served.stop()
})

test('a row has the topic of its agent, and what it waits for, why it stopped or what it said last', async () => {
  const served = await Served.start(await houseOfNeeds())
  const { page } = await openPage(served, '#/agents')
  for (const [topic, preview] of [
    ['Begin approval', 'asks to run: shell: git push'],
    ['Begin question', 'asks: Which branch?'],
    ['Begin failed', 'its AI provider rejected the request'],
    ['Begin done', 'All is done.'],
  ]) {
    const row = page.getByRole('treeitem').filter({ hasText: topic as string })
    await row.getByText(preview as string).waitFor()
  }
  await page.getByLabel('Filter by name').fill('begin quest')
  await page.getByText('1 shown', { exact: true }).waitFor()
  await served.stop()
})

test('the title of an agent has its name, its status, and the count of agents that need a person', async () => {
  const house = await houseOfNeeds()
  const served = await Served.start(house)
  const { page } = await openPage(served, '#/agents/question')
  const titled = (title: string) => waitFor(async () => (await page.title()) === title, title)
  await titled('(4) question, waiting · substrat')
  await house.run(['answer', 'question', 'main'])
  await titled('(3) question, idle · substrat')
  await served.stop()
})

test('the filter opens its first match with Enter, and is there when the reader comes back', async () => {
  const served = await Served.start(await houseOfNeeds())
  const { page, troubles } = await openPage(served, '#/agents')
  const field = page.getByLabel('Filter by name')
  await page.getByRole('treeitem').nth(6).waitFor()
  for (const name of ['approval', 'question', 'failed', 'limited', 'done'])
    await page.getByText(`Begin ${name}`, { exact: true }).waitFor()
  await field.fill('begin')
  await page.getByText('5 shown').waitFor()
  await field.press('ArrowDown')
  const focused = 'document.activeElement.getAttribute("role")'
  expect(await page.evaluate(focused)).toBe('tree')
  await field.fill('begin quest')
  await field.press('Enter')
  await page.getByRole('heading', { name: 'question', level: 1 }).waitFor()
  await page.goBack()
  await page.getByText('1 shown').waitFor()
  expect(await field.inputValue()).toBe('begin quest')
  expect(troubles).toEqual([])
  await served.stop()
})

test('a card has the message that led to it, and the workspace', async () => {
  const served = await Served.start(await houseOfNeeds())
  const { page } = await openPage(served)
  const card = page.getByRole('article', { name: 'approval: approval' })
  await card.getByText('Begin approval').waitFor()
  await card.getByText(served.house.workspace).waitFor()
  await served.stop()
})

test('a card shows the change of a file as a diff', async () => {
  const house = new House()
  house.write('notes.md', 'one\ntwo\n')
  const input = { path: 'notes.md', content: 'one\n\u202Ethree\n' }
  const { id } = await parked(house, { tools: [{ name: 'write_file', input }] })
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served)
  const diff = page.getByRole('figure', { name: 'Change of the file' })
  await diff.locator('.added').waitFor()
  expect(await diff.locator('.diff > span').allTextContents()).toEqual([
    ...['@@ -1,2 +1,2 @@', ' one', '-two', '+⟨202e⟩three'],
  ])
  await expectAccessible(page, 'a diff')
  await page.getByRole('button', button('Approve')).click()
  await house.waitForRecord(id, 'run.completed')
  expect(house.read('notes.md')).toBe(input.content)
  expect(troubles).toEqual([])
  await served.stop()
})

test('an agent is created on the page, and an error is at its field', async () => {
  const house = new House()
  await house.spawn('taken')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, '#/agents')
  await page.getByRole('link', button('New agent')).click()
  const create = () => page.getByRole('button', button('Create the agent')).click()
  const errorAt = async (label: string): Promise<string> => {
    const field = page.getByLabel(label, { exact: true })
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.evaluate('document.activeElement.id')).toBe(await field.getAttribute('id'))
    const [id] = ((await field.getAttribute('aria-describedby')) ?? '').split(' ')
    return (await page.locator(`#${id}`).textContent()) ?? ''
  }
  await page.getByLabel('Name', { exact: true }).fill('taken')
  await page.getByLabel('Provider').selectOption('scripted')
  await create()
  expect(await errorAt('Name')).toContain('taken')
  await expectAccessible(page, 'an error of a new agent')
  await page.getByLabel('Name', { exact: true }).fill('made')
  await page.getByLabel('Workspace').fill('not/absolute')
  await create()
  await page.getByText('Workspace must begin with "/".').waitFor()
  expect(await errorAt('Workspace')).toBe('Workspace must begin with "/".')
  await page.getByLabel('Workspace').fill('/no/such/directory')
  await create()
  await page.getByText('/no/such/directory').first().waitFor()
  expect(await errorAt('Workspace')).toBe(
    'The workspace /no/such/directory does not exist or is not a directory.Create it first, or choose another.',
  )
  await page.getByLabel('Workspace').fill(house.workspace)
  await page.getByLabel('Runs without approval').fill('write_file, shell(npm test*)')
  await page.getByLabel('First message').fill('hello\nthere')
  await create()
  await page.getByText('echo: hello').waitFor()
  const { agent, prompt, instructions } = (await house.ok('show', 'made', '--json')).json
  expect([agent.allow, prompt, instructions, agent.workspace]).toEqual([
    ['write_file', 'shell(npm test*)'],
    'hello\nthere',
    null,
    house.workspace,
  ])
  expect(troubles).toEqual([])
  await served.stop()
})

test('the schedules of an agent have their next slot, and are run and paused', async () => {
  const house = new House()
  const id = await house.spawn('report')
  await house.ok('schedule', 'add', 'report', '0 7 * * *', 'Report.', '--name', 'daily')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  await page.getByText('Schedules: 1').click()
  await page.getByText('daily (0 7 * * *, UTC)').waitFor()
  await page.getByText(/^Next .* \(in /).waitFor()
  await page.getByRole('button', button('Run now: daily')).click()
  await page.getByText('echo: [schedule daily').waitFor()
  await page.getByRole('button', button('Pause daily')).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await page.getByRole('button', button('Resume daily')).waitFor()
  await expectAccessible(page, 'the schedules of an agent')
  expect((await house.ok('schedule', 'list', '--json')).json.schedules).toMatchObject([{ state: 'paused' }])
  expect(troubles).toEqual([])
  await served.stop()
})

test('a tool that runs without approval is shown with the source of the right, and the right is revoked', async () => {
  const house = new House()
  const { id } = await parked(house, { tools: [{ name: 'shell', input: { command: 'touch made' } }] })
  await house.ok('set', id, '--allow', 'write_file,read_file')
  await house.ok('approve', id, '--always')
  await house.ok('config', 'set', 'allow', 'write_file')
  const served = await Served.start(house)
  const { page } = await openPage(served, `#/agents/${id}`)
  await page.getByText('Runs without approval: 4').click()
  await page.getByText('approve --always').waitFor()
  await page.getByText('setting allow').waitFor()
  await page.getByRole('button', button('Revoke write_file')).click()
  await page.getByText('Runs without approval: 3').waitFor()
  // No agent can give back the right of the setting.
  expect(await page.getByRole('button', button('Revoke write_file')).count()).toBe(0)
  expect((await house.ok('show', id, '--json')).json.agent.allow).toEqual(['read_file', 'shell(touch made)'])
  await served.stop()
})

test.each([360, 1280])(
  'a message of the page covers neither the composer nor the views, %i px wide',
  async (width) => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const { page } = await openPage(served, `#/agents/${id}`, { viewport: { width, height: 640 } })
    await page.getByLabel('Message to the agent').fill('hello')
    await served.stop()
    await page.getByRole('button', button('Gate')).click()
    await page.getByRole('dialog').getByRole('button', button('Gate')).click()
    const log = page.getByRole('log', { name: 'Messages' })
    await log.getByText('The server does not answer.').waitFor()
    expect(await log.getAttribute('aria-live')).toBe('polite')
    expect(await page.getByLabel('Message to the agent').inputValue()).toBe('hello')
    const note = await boxOf(page, '.note')
    for (const part of ['.composer', '.top nav']) {
      const other = await boxOf(page, part)
      const isApart =
        note.x + note.width <= other.x ||
        other.x + other.width <= note.x ||
        note.y + note.height <= other.y ||
        other.y + other.height <= note.y
      expect(isApart, `${part} ${JSON.stringify([note, other])}`).toBe(true)
    }
    await expectAccessible(page, 'a message')
    await page.getByRole('button', button('Dismiss')).click()
    expect(await page.locator('.note').count()).toBe(0)
  },
)

async function boxOf(
  page: Page,
  part: string,
): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await page.locator(part).boundingBox()
  if (box === null) throw new Error(`${part} is not shown`)
  return box
}

/** Each button of the page, in Chromium, against a real server and a real home. */
import { describe, expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { parked } from '../support/parked.js'
import { waitFor } from '../support/wait.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

describe('the link', () => {
  test('gives the token to the tab, and leaves the address at once', async () => {
    const served = await Served.start(new House())
    const { page, troubles } = await openPage(served)
    await page.getByText('No agent waits for you').waitFor()
    expect(page.url()).not.toContain(served.token)
    await page.reload()
    await page.getByText('No agent waits for you').waitFor()
    expect(await page.context().cookies()).toEqual([])
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('is needed once per tab; the page otherwise asks for the token', async () => {
    const served = await Served.start(new House())
    const { page } = await openPage(served)
    await page.evaluate('sessionStorage.clear()')
    await page.goto(`${served.url}/`)
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', button('Open')).click()
    await page.getByText('The server refuses this token').waitFor()
    await page.getByLabel('Token').fill(served.token)
    await page.getByRole('button', button('Open')).click()
    await page.getByText('No agent waits for you').waitFor()
    await served.stop()
  })
})

describe('an approval', () => {
  test('is given once with Approve, and the card goes away', async () => {
    const house = new House()
    const { id } = await parked(house)
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served)
    await page.getByText('echo ran >> ran').waitFor()
    await page.getByRole('button', button('Approve')).dblclick()
    await house.waitForRecord(id, 'run.completed')
    await page.getByText('No agent waits for you').waitFor()
    expect(house.read('ran')).toBe('ran\n')
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('is given for good with Always allow', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [{ name: 'shell', input: { command: 'touch made' } }] })
    const served = await Served.start(house)
    const { page } = await openPage(served)
    await page.getByRole('button', button('Always allow')).click()
    await house.waitForRecord(id, 'run.completed')
    const allowed = house.records(id).filter((record) => record.kind === 'session.configured')
    expect(allowed).toMatchObject([{ allow: [expect.stringContaining('touch made')] }])
    await served.stop()
  })

  test('is given with other arguments, which the reader sees whole', async () => {
    const house = new House()
    const long = `: ${'x'.repeat(9000)}\necho ran >> ran`
    const { id } = await parked(house, { tools: [{ name: 'shell', input: { command: long } }] })
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served)
    await page.getByText('echo ran >> ran').waitFor()
    await page.getByRole('button', button('Edit…')).click()
    expect(await page.getByLabel('command').inputValue()).toBe(long)
    await expectAccessible(page, 'the arguments')
    await page.getByLabel('command').fill('echo edited >> ran\necho twice >> ran')
    await page.getByRole('button', button('Approve these arguments')).click()
    await house.waitForRecord(id, 'run.completed')
    expect(house.read('ran')).toBe('edited\ntwice\n')
    expect(house.count(id, 'tool.edited')).toBe(1)
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('is denied with a reason', async () => {
    const house = new House()
    const { id } = await parked(house)
    const served = await Served.start(house)
    const { page } = await openPage(served)
    await page.getByRole('button', button('Deny…')).click()
    await page.getByRole('button', button('Go back')).click()
    await page.getByRole('button', button('Deny…')).click()
    await page.getByLabel('Reason').fill('Not on a Friday')
    await page.getByRole('button', button('Deny')).click()
    await house.waitForRecord(id, 'run.completed')
    expect(house.log(id)).toContain('Not on a Friday')
    expect(house.read('ran')).toBeUndefined()
    await served.stop()
  })

  test('is given after a reboot: everything was killed, and the server started again', async () => {
    const house = House.ofProcesses()
    const { id } = await parked(house)
    const first = await Served.start(house)
    const { page } = await openPage(first)
    await page.getByText('echo ran >> ran').waitFor()
    await first.running.kill('SIGKILL')
    const second = await Served.start(house, '--listen', `127.0.0.1:${first.port}`)
    await page.getByRole('button', button('Approve')).click()
    await house.waitForRecord(id, 'run.completed')
    await page.getByText('No agent waits for you').waitFor()
    expect(house.read('ran')).toBe('ran\n')
    await second.stop()
  })
})

describe('the agents that need a person', () => {
  test('are answered, retried, resumed and cancelled', async () => {
    const house = House.ofProcesses()
    const question = { name: 'ask_operator', input: { question: 'Which branch?' } }
    const asker = await house.spawn('asker', '-o', house.scenario('q.json', { tools: [question] }))
    await house.run(['send', 'asker', 'go'])
    const failing = await house.spawn(
      'failing',
      '-o',
      house.scenario('f.json', { fail: { type: 'invalid' } }),
    )
    await house.run(['send', 'failing', 'go'])
    const cut = await house.spawn('cut', '-o', house.scenario('c.json', { after_file: 'go', say: 'whole' }))
    const sent = house.start(['send', 'cut', 'go'])
    await house.waitForRecord(cut, 'model.requested')
    await sent.kill()
    const limited = await house.spawn(
      'limited',
      '-o',
      house.scenario('l.json', { fail: { type: 'rate_limit', retry_after_ms: 3_600_000 } }),
    )
    await house.run(['send', 'limited', 'go'])
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served)
    const card = (name: string) =>
      page.getByRole('article').filter({ has: page.getByRole('link', button(name)) })

    await card('asker').getByText('Which branch?').waitFor()
    await card('asker').getByLabel('Your answer').fill('main')
    await card('asker').getByRole('button', button('Answer')).click()
    await house.waitForRecord(asker, 'run.completed')

    house.scenario('f.json', { say: 'now it works' })
    await card('failing').getByRole('button', button('Retry')).click()
    await house.waitForRecord(failing, 'run.completed')

    house.write('go', '')
    await card('cut').getByRole('button', button('Resume')).click()
    await house.waitForRecord(cut, 'run.completed')

    // A limit ends by itself, so it asks nothing of a person. The view of its agent can still cancel the turn.
    await page.getByText('No agent waits for you').waitFor()
    await page.evaluate(`location.hash = '#/agents/${limited}'`)
    const limit = page.getByRole('region', { name: 'Waits' })
    await limit.getByText('It can continue').waitFor()
    await limit.getByRole('button', button('Cancel the turn')).click()
    await page.getByRole('dialog').getByRole('button', button('Cancel the turn')).click()
    await house.waitForRecord(limited, 'run.cancelled')
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('get the result of a call from elsewhere with the resume token', async () => {
    const house = new House()
    const tools = [{ name: 'await_external', input: { what: 'the build' } }]
    const { id, token } = await parked(house, { tools })
    const served = await Served.start(house)
    const { page } = await openPage(served)
    await page.getByLabel('Resume token').fill(token)
    await page.getByLabel('Result', { exact: true }).fill('build 7 is green')
    await page.getByRole('button', button('Give the result')).click()
    await house.waitForRecord(id, 'run.completed')
    expect(house.log(id)).toContain('build 7 is green')
    await served.stop()
  })
})

describe('the view of an agent', () => {
  test('sends a message and shows the reply', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served, `#/agents/${id}`)
    await page.getByLabel('Message to the agent').fill('hello')
    await page.keyboard.press('Control+Enter')
    await page.getByText('echo: hello').waitFor()
    await waitFor(
      async () => (await page.getByLabel('Message to the agent').inputValue()) === '',
      'the field',
    )
    expect(house.count(id, 'run.started')).toBe(1)
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('sends a message once, although the server died before it answered', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const first = await Served.start(house)
    const { page } = await openPage(first, `#/agents/${id}`)
    // The request arrives, and its answer does not.
    await page.route(
      '**/messages',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByLabel('Message to the agent').fill('hello')
    await page.getByRole('button', button('Send')).click()
    await page.getByText('The server does not answer').waitFor()
    await first.running.kill('SIGKILL')
    const second = await Served.start(house, '--listen', `127.0.0.1:${first.port}`)
    await page.getByText('echo: hello').waitFor()
    await waitFor(
      async () => (await page.getByLabel('Message to the agent').inputValue()) === '',
      'the field',
    )
    expect(house.count(id, 'message.user')).toBe(1)
    await second.stop()
  })

  test('cancels, suspends, holds, resumes, gates and terminates, each after a question', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served, `#/agents/${id}`)
    const act = async (word: string): Promise<void> => {
      await page.getByRole('button', button(word)).click()
      await page.getByRole('dialog').getByRole('button', button(word)).click()
    }
    await page.getByLabel('Message to the agent').fill('go')
    await page.getByRole('button', button('Send')).click()
    await gate.isReached()
    await page.getByRole('button', button('Cancel the turn')).click()
    await page.getByRole('button', button('Go back')).click()
    expect(house.kinds(id)).not.toContain('run.cancelled')
    await act('Cancel the turn')
    await house.waitForRecord(id, 'run.cancelled')

    await page.getByRole('button', button('Suspend')).click()
    await page.getByLabel('Hold it').check()
    await page.getByRole('dialog').getByRole('button', button('Suspend')).click()
    await page.getByText('held', { exact: true }).waitFor()
    await act('Resume')
    await page.getByText('held', { exact: true }).waitFor({ state: 'detached' })

    await act('Gate')
    await page.getByText('gated', { exact: true }).waitFor()
    await act('Ungate')
    await page.getByText('gated', { exact: true }).waitFor({ state: 'detached' })

    await act('Terminate')
    await page.getByText('terminated', { exact: true }).waitFor()
    expect(await page.getByLabel('Message to the agent').count()).toBe(0)
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('says that an agent does not exist', async () => {
    const served = await Served.start(new House())
    const { page } = await openPage(served, '#/agents/nobody')
    await page.getByText('there is no agent "nobody"').waitFor()
    await page.getByRole('link', button('All agents')).click()
    await page.getByText('This home has no agents yet').waitFor()
    await served.stop()
  })
})

test('two tabs show the same: a decision in one is seen in the other', async () => {
  const house = new House()
  await parked(house)
  const served = await Served.start(house)
  const [one, two] = await Promise.all([openPage(served), openPage(served)])
  await two.page.getByRole('button', button('Approve')).waitFor()
  await one.page.getByRole('button', button('Approve')).click()
  await two.page.getByText('No agent waits for you').waitFor()
  await goTo(two.page, '#/agents')
  await two.page.getByRole('treeitem').getByText('idle').waitFor()
  await served.stop()
})

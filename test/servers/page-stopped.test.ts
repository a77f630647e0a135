/** A turn whose process is stopped, on the page. */
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

const button = (name: string) => ({ name, exact: true })

test('a turn whose process is stopped says so without a reload, and can be cancelled by force', async () => {
  const house = House.ofProcesses()
  const gate = new Gate(house, 'g')
  const id = await house.spawn('a', ...gate.flags)
  const sent = house.start(['send', 'a', 'go'])
  await gate.isReached()
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  await page.getByRole('button', button('Cancel the turn')).waitFor()
  const { pid } = (await house.ok('show', 'a', '--json')).json.holder
  process.kill(pid, 'SIGSTOP')
  await page.getByText(`its process, pid ${pid}, is stopped`).waitFor()
  await page.getByText(`kill -CONT ${pid}`).waitFor()
  expect(await page.getByRole('button', button('Cancel the turn')).count()).toBe(0)
  await expectAccessible(page, 'a stopped process')
  await goTo(page, '#/agents')
  await page.getByRole('treeitem').getByText(`its process, pid ${pid}, is stopped`).waitFor()
  await goTo(page, `#/agents/${id}`)
  await page.getByRole('button', button('Force cancel')).click()
  await page.getByRole('dialog').getByRole('button', button('Force cancel')).click()
  await house.waitForRecord(id, 'run.cancelled')
  await page.getByText('is stopped').waitFor({ state: 'detached' })
  await sent.result
  expect(troubles).toEqual([])
  await served.stop()
})

test('the list of agents says that the process of a turn is stopped, and until it goes on', async () => {
  const house = House.ofProcesses()
  const gate = new Gate(house, 'g')
  await house.spawn('a', ...gate.flags)
  const sent = house.start(['send', 'a', 'go'])
  await gate.isReached()
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, '#/agents')
  const row = page.getByRole('treeitem')
  await row.getByText('running', { exact: true }).waitFor()
  const { pid } = (await house.ok('show', 'a', '--json')).json.holder
  process.kill(pid, 'SIGSTOP')
  await row.getByText('running, process stopped').waitFor()
  await row.getByText(`its process, pid ${pid}, is stopped (its last record is of `).waitFor()
  await expectAccessible(page, 'a stopped process in the list')
  process.kill(pid, 'SIGCONT')
  await row.getByText('running', { exact: true }).waitFor()
  gate.open()
  await sent.result
  expect(troubles).toEqual([])
  await served.stop()
})

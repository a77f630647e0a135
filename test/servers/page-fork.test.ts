/** *Try again from here* on the page. */
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { expectAccessible, openPage } from './page-support.js'

test('a copy of the conversation before a message opens with the text of the message', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('send', 'a', 'first')
  await house.ok('send', 'a', 'second try')
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`)
  const message = page.getByRole('article').filter({ hasText: 'second try' }).first()
  await message.getByRole('button', { name: 'Try again from here' }).waitFor()
  await expectAccessible(page, 'a conversation with a button to try again')
  await message.getByRole('button', { name: 'Try again from here' }).click()
  const composer = page.getByRole('textbox', { name: 'Message to the agent' })
  await page.waitForURL((url) => !url.hash.includes(id))
  await page.getByText(`Begins with the conversation of agent ${id.slice(0, 8)}`).waitFor()
  expect(await composer.inputValue()).toBe('second try')
  await composer.fill('second, in other words')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('echo: second, in other words').waitFor()
  const copy = house.ids().find((each) => each !== id) as string
  const [, seed] = house.records(copy)
  expect(seed).toMatchObject({ kind: 'session.seeded', from: id })
  expect(String((seed as { content: unknown }).content)).not.toContain('second')
  expect(troubles).toEqual([])
  await served.stop()
})

/** Each view of the page in light and dark, on a phone, by keyboard, and with hostile text. */
import { describe, expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { expectAccessible, goTo, openPage } from './page-support.js'

/** Markup, script, Markdown with targets that run or load something, bidirectional controls, a very long word, and control characters. */
const HOSTILE = `<img src=x onerror="window.hit=1"><script>window.hit=1</script> [l](javascript:window.hit=1) ![i](data:image/svg+xml,%3Csvg%20onload=window.hit=1%3E) ![j](https://evil.example/j.png) <a href="javascript:window.hit=1">k</a> [m]: javascript:window.hit=1
\u202Eevil\u202C \u0000\u0007 ${'w'.repeat(3000)} \`\`\`<b>x`

const TALK =
  '# Files\n\nUse `ls`, see [the manual](https://example.org/ls).\n```\nls -l\n```\n> quoted\n\n|a|b|\n|-|-|\n|1|2|\n\n1. one\n2. two'

const question = { name: 'ask_operator', input: { question: 'Which branch?' } }

const RUNS = '[href^="javascript:"], [href^="data:"], [onload], [onerror]'

/** An agent in each of the states that the views show differently. */
async function houseOfStates(): Promise<{ house: House; id: string }> {
  const house = new House()
  const shell = { name: 'shell', input: { command: 'git push' } }
  await house.spawn('approval', '-o', house.scenario('a.json', { tools: [shell] }))
  await house.spawn('question', '-o', house.scenario('q.json', { tools: [question] }))
  await house.spawn('failed', '-o', house.scenario('f.json', { fail: { type: 'invalid' } }))
  const limit = { type: 'rate_limit', retry_after_ms: 3_600_000 }
  await house.spawn('limited', '-o', house.scenario('l.json', { fail: limit }))
  const items = [{ type: 'thinking', thinking: 'first the files' }]
  const tool = { name: 'shell', input: { command: 'echo found' } }
  const talking = house.scenario('t.json', { items, tools: [tool] }, { say: TALK })
  const id = await house.spawn('talking', '-o', talking, '--allow', 'shell')
  for (const name of ['approval', 'question', 'failed', 'limited', 'talking'])
    await house.run(['send', name, 'go'])
  return { house, id }
}

describe('every view', () => {
  test.each(['light', 'dark'] as const)('meets WCAG AA as far as axe can tell, %s', async (colorScheme) => {
    const { house, id } = await houseOfStates()
    const served = await Served.start(house)
    const { page, troubles } = await openPage(served, '#/', { colorScheme })
    await page.getByRole('button', { name: 'Deny…' }).click()
    await page.getByRole('article').nth(3).waitFor()
    await expectAccessible(page, 'needs you')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await expectAccessible(page, 'help')
    await page.keyboard.press('Escape')
    await goTo(page, '#/agents')
    await page.getByRole('treeitem').nth(4).waitFor()
    await expectAccessible(page, 'agents')
    await goTo(page, `#/agents/${id}`)
    await page.getByText('ls -l').waitFor()
    for (const fold of await page.locator('.fold summary').all()) await fold.click()
    await page.getByText('first the files').waitFor()
    await expectAccessible(page, 'agent')
    await goTo(page, `#/agents/${id}/timeline`)
    await page.getByText('The same as a table').click()
    await expectAccessible(page, 'timeline')
    await goTo(page, '#/usage')
    await page.getByText('The same as a table').first().click()
    await expectAccessible(page, 'usage')
    await goTo(page, '#/search/ls')
    await page.locator('mark').first().waitFor()
    await expectAccessible(page, 'search')
    await page.evaluate('sessionStorage.clear()')
    await page.goto(`${served.url}/`)
    await page.getByLabel('Token').waitFor()
    await expectAccessible(page, 'sign in')
    expect(troubles).toEqual([])
    await served.stop()
  })

  test('fits a phone: nothing is wider than the screen', async () => {
    const { house, id } = await houseOfStates()
    const served = await Served.start(house)
    const { page } = await openPage(served, '#/', { viewport: { width: 360, height: 700 }, hasTouch: true })
    for (const view of [
      '#/',
      '#/agents',
      `#/agents/${id}`,
      `#/agents/${id}/timeline`,
      '#/usage',
      '#/search/go',
    ]) {
      await goTo(page, view)
      await page.locator('h1').first().waitFor()
      expect(await widthOf(page), view).toBeLessThanOrEqual(360)
    }
    await served.stop()
  })

  test('shows on a phone the label of each tab beside a count of three digits', async () => {
    const house = new House()
    for (let number = 0; number < 101; number++) await house.spawn(`a${number}`)
    const served = await Served.start(house)
    const { page } = await openPage(served, '#/agents', { viewport: { width: 375, height: 700 } })
    const tab = page.locator('nav[aria-label=Views] a').nth(1)
    await tab.locator('.count').getByText('101').waitFor()
    const box = async (part: string) => {
      const found = await tab.locator(part).boundingBox()
      if (found === null) throw new Error(`${part} is not shown`)
      return found
    }
    const [label, count] = [await box('span:not(.count)'), await box('.count')]
    const isApart = (one: typeof label, other: typeof label): boolean =>
      one.x + one.width <= other.x ||
      other.x + other.width <= one.x ||
      one.y + one.height <= other.y ||
      other.y + other.height <= one.y
    expect(isApart(label, count), JSON.stringify({ label, count })).toBe(true)
    await served.stop()
  })

  test('is reached by keyboard alone', async () => {
    const { house } = await houseOfStates()
    const served = await Served.start(house)
    const { page } = await openPage(served)
    await page.getByRole('article').nth(3).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    await page.keyboard.press('j')
    const card = 'document.activeElement.getAttribute("aria-label")'
    expect(await page.evaluate(card)).toBe('approval: approval')
    await page.keyboard.press('j')
    expect(await page.evaluate(card)).toBe('question: question')
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('tree').focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'question' }).waitFor()
    await page.keyboard.press('c')
    await page.keyboard.type('hello?')
    expect(await page.getByLabel('Message to the agent').inputValue()).toBe('hello?')
    await page.goBack()
    await page.getByRole('tree').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    // The view of the agents has a search box too, so a wait for one proves nothing.
    await page.keyboard.type('git push')
    await page.keyboard.press('Enter')
    await page.getByText('1 record has the text.').waitFor()
    expect(await page.locator('mark').textContent()).toBe('git push')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'approval' }).waitFor()
    await page.goBack()
    await page.getByText('1 record has the text.').waitFor()
    await page.getByRole('button', { name: 'Search', exact: true }).focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Close a dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('t')
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('light')
    await served.stop()
  })
})

describe('a key that follows at once', () => {
  test('goes to the field or the dialog that a shortcut shows', async () => {
    const served = await Served.start(new House())
    const { page } = await openPage(served, '#/')
    await page.getByRole('heading', { name: 'Needs you' }).waitFor()
    expect(await focusAfter(page, 'g', 's')).toBe('search')
    await page.evaluate('document.activeElement.blur()')
    expect(await focusAfter(page, '/')).toBe('filter')
    await page.evaluate('document.activeElement.blur()')
    await focusAfter(page, '?')
    expect(await page.evaluate('document.querySelector("dialog:modal") !== null')).toBe(true)
    await served.stop()
  })

  test('ends a sequence of two keys, if it goes to a field', async () => {
    const served = await Served.start(new House())
    const { page } = await openPage(served, '#/agents')
    await page.getByLabel('Filter by name').waitFor()
    await page.keyboard.press('g')
    await page.getByLabel('Filter by name').press('x')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('s')
    expect(new URL(page.url()).hash).toBe('#/agents')
    await served.stop()
  })

  test('goes to the reason, each time that a person is about to deny', async () => {
    const { house } = await houseOfStates()
    const served = await Served.start(house)
    const { page } = await openPage(served, '#/')
    for (const time of ['first', 'second']) {
      await page.getByRole('button', { name: 'Deny…' }).click()
      await page.keyboard.type(time)
      expect(await page.getByLabel('Reason').inputValue()).toBe(time)
      await page.getByRole('button', { name: 'Go back' }).click()
    }
    await served.stop()
  })
})

/** Presses the keys without a pause: the browser does nothing between them except what they cause. Returns the id of the focused element. */
function focusAfter(page: { evaluate<T>(script: string): Promise<T> }, ...keys: string[]): Promise<string> {
  return page.evaluate(`(async () => {
    for (const key of ${JSON.stringify(keys)}) {
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      for (let left = 20; left > 0; left--) await null
    }
    return document.activeElement.id
  })()`)
}

const widthOf = (page: { evaluate<T>(script: string): Promise<T> }): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth')

test('hostile text runs no script and breaks no layout', async () => {
  const house = new House()
  const tools = [{ name: 'shell', input: { command: HOSTILE } }]
  const id = await house.spawn('hostile', '-o', house.scenario('h.json', { say: HOSTILE }, { tools }))
  await house.run(['configure', 'hostile', '--title', HOSTILE.replaceAll('\u0000', '').slice(0, 120)])
  await house.run(['send', 'hostile', '-'], { stdin: HOSTILE.replaceAll('\u0000', '') })
  await house.run(['send', 'hostile', 'again'])
  const asked = [{ name: 'ask_operator', input: { question: HOSTILE } }]
  await house.spawn('asking', '-o', house.scenario('q.json', { tools: asked }))
  await house.run(['send', 'asking', 'go'])
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, '#/', { viewport: { width: 390, height: 800 } })
  const expectCalm = async (view: string): Promise<void> => {
    expect(await page.evaluate('window.hit'), view).toBeUndefined()
    expect(
      await page.locator(`#page main :is(img, script, iframe, b:text("x")), ${RUNS}`).count(),
      view,
    ).toBe(0)
    expect(await widthOf(page), view).toBeLessThanOrEqual(390)
    const text = await page.evaluate<string>('document.body.textContent')
    expect([text.includes('\u202E'), text.includes('\u0007')], view).toEqual([false, false])
  }
  await page.getByText('onerror').nth(1).waitFor()
  await expectCalm('needs you')
  await goTo(page, '#/agents')
  await page.getByRole('treeitem').nth(1).waitFor()
  await expectCalm('agents')
  await goTo(page, `#/agents/${id}`)
  await page.locator('.message').nth(1).waitFor()
  for (const fold of await page.locator('.fold summary').all()) await fold.click()
  await expectCalm('agent')
  await goTo(page, `#/search/${encodeURIComponent('onerror="window.hit=1"')}`)
  await page.locator('mark').first().waitFor()
  await expectCalm('search')
  await goTo(page, `#/search/${encodeURIComponent(HOSTILE.slice(0, 900))}`)
  await page.getByText('a field has a NUL character').waitFor()
  await goTo(page, `#/search/${encodeURIComponent(HOSTILE.replaceAll('\u0000', '').slice(0, 900))}`)
  await page
    .getByRole('status')
    .getByText(/ha(s|ve) the text\./)
    .waitFor()
  await expectCalm('search for hostile text')
  await goTo(page, `#/agents/${id}/timeline`)
  await page.getByText('The same as a table').click()
  await expectCalm('timeline')
  expect(troubles).toEqual([])
  await served.stop()
})

// npm run screenshots [-- --only needs] -- Writes the pictures of docs/serve.md from a real server and a real Chromium.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../test/support/chromium.js'
import { DemoHome, fillHome } from './page/demo-home.js'
import { VIEWS } from './page/views.js'

const { values } = parseArgs({ options: { only: { type: 'string' }, out: { type: 'string' } } })
const output = path.resolve(values.out ?? 'docs/images')

/** Shows a tool call. */
const unfold: Record<string, (page: Page) => Promise<unknown>> = {
  agent: (page) => page.locator('.fold summary').first().click(),
}

const LOOKS = [
  { suffix: '', colorScheme: 'light', viewport: { width: 1200, height: 780 } },
  { suffix: '-dark', colorScheme: 'dark', viewport: { width: 1200, height: 780 } },
  { suffix: '-phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const

const home = new DemoHome()
const browser = await launchBrowser()
try {
  await fillHome(home)
  const link = await home.serve()
  mkdirSync(output, { recursive: true })
  for (const { suffix, ...look } of LOOKS) {
    const context = await browser.newContext({ ...look, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(link)
    for (const [name, { hash, ready }] of Object.entries(VIEWS)) {
      if (values.only?.split(',').includes(name) === false) continue
      await page.goto(link.replace(/#.*/, hash))
      await page.locator(ready).first().waitFor()
      await unfold[name]?.(page)
      await page.waitForTimeout(400)
      const file = path.join(output, `page-${name}${suffix}.png`)
      await page.screenshot({ path: file })
      console.log(file)
    }
    await context.close()
  }
} finally {
  await browser.close()
  home.close()
}

/** Chromium for the tests of the page. One browser serves all tests of a file; each page has its own profile. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll } from 'vitest'
import { launchBrowser } from './chromium.js'

let browser: Promise<Browser> | undefined

afterAll(async () => {
  await (await browser)?.close()
})

/**
 * A tab of a new profile. A limit in time would make a test depend on speed, so there is none. While you write a test, PAGE_MS makes
 * a missing element fail soon.
 */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  browser ??= launchBrowser()
  const context = await (await browser).newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(Number(process.env.PAGE_MS ?? 0))
  return context.newPage()
}

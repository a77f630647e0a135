/** The page of a served house in Chromium. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Served } from '../serve/support.js'
import { newPage } from '../support/browser.js'

export interface Opened {
  page: Page
  /** Exceptions, refused scripts and errors on the console of the page. */
  troubles: string[]
}

/** Opens the link that the server printed, with `view` as the fragment afterwards. */
export async function openPage(
  served: Served,
  view = '#/',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const page = await newPage(options)
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('console', (message) => {
    // A request that the server refuses, or does not answer, is also logged by the browser.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(message.text())
  })
  await page.goto(`${served.url}/#token=${served.token}`)
  await goTo(page, view)
  return { page, troubles }
}

/** Follows a link of the page. */
export async function goTo(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`)
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/** Expects that the view, as it is now, meets WCAG 2.2 AA as far as axe can tell. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  )
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
  expect(found, view).toEqual([])
}

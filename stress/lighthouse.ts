// npm run stress:lighthouse
// Lets Lighthouse judge each view of the page on a desktop and on a phone: accessibility and best practices, and the performance of the
// first load. Exits 1 if an audit of the first two fails.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { CHROMIUM, FLAGS } from '../test/support/chromium.js'
import { DemoHome, fillHome } from './page/demo-home.js'
import { VIEWS } from './page/views.js'
import { install } from './real/install.js'
import { recordResult } from './support/result.mjs'

const PACKAGES = { lighthouse: '13.5.0' }
const JUDGED = ['accessibility', 'best-practices']

interface Report {
  gatherMode: string
  categories: Record<string, { score: number | null; auditRefs: { id: string }[] }>
  audits: Record<string, { score: number | null; title: string }>
}

interface Flow {
  navigate(url: string): Promise<void>
  snapshot(): Promise<void>
  createFlowResult(): Promise<{ steps: { lhr: Report }[] }>
}

interface Page {
  goto(url: string): Promise<unknown>
  waitForSelector(selector: string): Promise<unknown>
  evaluate(script: string): Promise<unknown>
}

interface Browser {
  newPage(): Promise<Page>
  close(): Promise<void>
}

/** The modules of the installed packages. */
async function load(): Promise<{
  launch(options: object): Promise<Browser>
  startFlow(page: Page, options: object): Promise<Flow>
  desktop: object
}> {
  const program = await install({ packages: PACKAGES, executable: 'lighthouse' })
  const modules = path.dirname(path.dirname(program))
  const from = (...parts: string[]) => import(pathToFileURL(path.join(modules, ...parts)).href)
  const { startFlow, desktopConfig } = await from('lighthouse', 'core', 'index.js')
  const { launch } = await from('puppeteer-core', 'lib', 'puppeteer', 'puppeteer-core.js')
  return { launch, startFlow, desktop: desktopConfig }
}

/** The scores in percent, and the audits of the judged categories that failed. Only a first load has a performance. */
function judge({ gatherMode, categories, audits }: Report): {
  scores: Record<string, number>
  failed: string[]
} {
  const scores: Record<string, number> = {}
  const failed: string[] = []
  for (const [name, { score, auditRefs }] of Object.entries(categories)) {
    const isJudged = JUDGED.includes(name)
    if (score !== null && (isJudged || gatherMode === 'navigation')) scores[name] = Math.round(score * 100)
    if (!isJudged) continue
    for (const { id } of auditRefs) {
      const audit = audits[id]
      if (audit?.score !== null && audit !== undefined && audit.score < 1) failed.push(audit.title)
    }
  }
  return { scores, failed: [...new Set(failed)] }
}

const { launch, startFlow, desktop } = await load()
const home = new DemoHome()
const found: Record<string, ReturnType<typeof judge>> = {}
try {
  await fillHome(home)
  const link = await home.serve()
  for (const [look, config] of [
    ['desktop', desktop],
    ['phone', undefined],
  ] as const) {
    const browser = await launch({ executablePath: CHROMIUM, headless: true, args: FLAGS })
    try {
      const page = await browser.newPage()
      const flags = { onlyCategories: ['performance', ...JUDGED] }
      const flow = await startFlow(page, { config, flags })
      await flow.navigate(link)
      for (const { hash, ready } of Object.values(VIEWS)) {
        await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
        await page.waitForSelector(ready)
        await flow.snapshot()
      }
      const { steps } = await flow.createFlowResult()
      const names = ['first load', ...Object.keys(VIEWS)]
      for (const [index, { lhr }] of steps.entries()) found[`${look}, ${names[index]}`] = judge(lhr)
    } finally {
      await browser.close()
    }
  }
} finally {
  home.close()
}
console.log(JSON.stringify(found, null, 2))
const violations = Object.values(found).flatMap(({ failed }) => failed).length
recordResult({
  lab: 'lighthouse',
  sample: 'each view of the page, on a desktop and on a phone',
  cases: Object.keys(found).length,
  violations,
  details: found,
})
if (violations > 0) process.exitCode = 1

// npm run stress:page -- [--agents 10000] [--limit 50]
// Opens the page on a home of many agents in Chromium and scrolls the list from its beginning to its end. Exits 1 if a frame needs
// more CPU time than the limit in milliseconds. On an idle machine, no task is then longer. It prints the long tasks too.
import { parseArgs } from 'node:util'
import type { CDPSession } from 'playwright-core'
import { launchBrowser } from '../test/support/chromium.js'
import { homeOf } from './bench/homes.js'
import { DemoHome } from './page/demo-home.js'
import { Lab } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '10000' },
    limit: { type: 'string', default: '50' },
    steps: { type: 'string', default: '300' },
  },
})
const agents = Number(values.agents)

interface Measured {
  /** Milliseconds of each task that the browser calls long (over 50 ms). */
  tasks: number[]
  /** Milliseconds between two drawn frames. */
  frames: number[]
  rows: number
}

/** Scrolls by one step per frame, as a person who drags the scroll bar. */
const SCROLL = `(async () => {
  const tasks = [], frames = []
  const watcher = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
  watcher.observe({ type: 'longtask' })
  const list = document.querySelector('.virtual')
  let rows = 0
  let last = performance.now()
  for (let step = 0; step <= ${values.steps}; step++) {
    list.scrollTop = (list.scrollHeight - list.clientHeight) * step / ${values.steps}
    await new Promise(requestAnimationFrame)
    frames.push(performance.now() - last)
    last = performance.now()
    rows = Math.max(rows, document.querySelectorAll('[role=treeitem]').length)
  }
  await new Promise((resolve) => setTimeout(resolve, 200))
  watcher.disconnect()
  return { tasks, frames, rows }
})()`

async function cpuSeconds(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}

const lab = Lab.open()
const browser = await launchBrowser()
let server: DemoHome | undefined
try {
  await lab.warm()
  server = new DemoHome(await homeOf(lab, agents))
  const link = await server.serve()
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
  const begin = performance.now()
  await page.goto(link)
  await page.evaluate('location.hash = "#/agents"')
  await page.getByText(`${agents} shown`).waitFor()
  const shownMs = Math.round(performance.now() - begin)
  // Once without measuring: the code is compiled.
  await page.evaluate(SCROLL)
  const devtools = await page.context().newCDPSession(page)
  // The CPU time of the page's thread does not depend on what else the machine does.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpuBefore = await cpuSeconds(devtools)
  const { tasks, frames, rows } = await page.evaluate<Measured>(SCROLL)
  const cpuMs = ((await cpuSeconds(devtools)) - cpuBefore) * 1000
  frames.sort((a, b) => a - b)
  const at = (part: number): number => Math.round(frames[Math.floor((frames.length - 1) * part)] as number)
  const details = {
    agents,
    list_shown_ms: shownMs,
    rows_drawn: rows,
    tasks_over_50_ms: tasks.length,
    longest_task_ms: Math.round(Math.max(0, ...tasks)),
    cpu_ms_per_frame: Math.round((cpuMs / frames.length) * 10) / 10,
    frame_ms: { median: at(0.5), p95: at(0.95), longest: at(1) },
  }
  console.log(JSON.stringify(details, null, 2))
  recordResult({
    lab: 'page',
    sample: `the list of ${agents} agents, scrolled in ${values.steps} frames`,
    cases: Number(values.steps),
    violations: cpuMs / frames.length > Number(values.limit) ? 1 : 0,
    details,
  })
  if (cpuMs / frames.length > Number(values.limit)) process.exitCode = 1
} finally {
  await browser.close()
  server?.close()
  lab.close()
}

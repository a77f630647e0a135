/** Runs suites with vitest: as bundles in one process, or in a copy of the repository if they start the CLI. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node'
import { bundleSuite } from './bundle.js'
import type { Copy } from './copy.js'
import type { Mutant } from './mutant.js'

export interface Run {
  /** `broken`: the tests could not be loaded, or the changed program is invalid. `timed_out`: no verdict. */
  verdict: 'passed' | 'failed' | 'broken' | 'timed_out'
  suite: string
  /** The first failing test, and its error. */
  title: string | null
  error: string | null
  seconds: number
}

/** One suite with one program; without a mutant it is the unchanged program. */
export interface Trial {
  suite: string
  mutant: Mutant | undefined
}

/** A trial that takes longer hangs: vitest is then restarted. */
const RUN_MS_MAX = 300_000
/** The limit of one test. It is long, so that load on the machine does not count as a noticed mutant. */
const TEST_MS_MAX = 60_000

export class Suites {
  private vitest: Vitest | undefined
  private bundles = 0

  constructor(private readonly copy: Copy) {}

  /** Runs all of them in one process. */
  async runTogether(trials: Trial[]): Promise<Run[]> {
    const files = await Promise.all(trials.map((trial) => this.bundle(trial)))
    const whole = files.filter((file) => !('broken' in file)).map(({ path }) => path)
    const modules = await this.modulesOf(whole)
    return trials.map(({ suite }, index) => {
      const file = files[index] as { path: string; broken?: string }
      if (file.broken !== undefined) return brokenRun(suite, file.broken)
      const module = modules?.find(({ moduleId }) => moduleId === file.path)
      return module === undefined ? timedOut(suite) : verdictOf(suite, module)
    })
  }

  /** Changes the sources in the copy; with `isBuilt` also the copy's CLI. */
  async runInCopy({ suite, mutant }: Trial, isBuilt: boolean): Promise<Run> {
    const [file = '', title = ''] = suite.split('#')
    // vitest keeps what it has loaded, also if the file changes.
    if (mutant !== undefined) await this.close()
    try {
      if (mutant !== undefined) this.copy.apply(mutant)
      if (isBuilt) this.copy.build()
      const path = this.copy.suitePath(file)
      const module = (await this.modulesOf([path], title))?.find(({ moduleId }) => moduleId === path)
      return module === undefined ? timedOut(suite) : verdictOf(suite, module)
    } catch (error) {
      return brokenRun(suite, (error as Error).message)
    } finally {
      this.copy.restore()
      if (mutant !== undefined) await this.close()
    }
  }

  async close(): Promise<void> {
    const { vitest } = this
    this.vitest = undefined
    if (vitest !== undefined) await withinLimit(vitest.close(), 20_000)
  }

  private async bundle({ suite, mutant }: Trial): Promise<{ path: string; broken?: string }> {
    this.bundles += 1
    const path = join(this.copy.root, 'test', `bundle-${this.bundles}.test.js`)
    const bundle = path.replace('.test.js', '.bundle.mjs')
    const why = await bundleSuite(this.copy.root, suite, mutant, bundle)
    // An import of its own makes node load the bundle instead of vitest.
    writeFileSync(path, `import ${JSON.stringify(bundle)}\n`)
    return why === undefined ? { path } : { path, broken: why }
  }

  /** Undefined if they hang. */
  private async modulesOf(paths: string[], title = ''): Promise<readonly TestModule[] | undefined> {
    this.vitest ??= await open(this.copy.root)
    const { vitest } = this
    vitest.setGlobalTestNamePattern(new RegExp(escapePattern(title)))
    const project = vitest.getRootProject()
    // Discards the earlier result of the suite.
    vitest.state.clearFiles(project, paths)
    const specifications = paths.map((path) => project.createSpecification(path))
    const result = await withinLimit(vitest.runTestSpecifications(specifications), RUN_MS_MAX)
    if (result === undefined) await this.close()
    return result?.testModules
  }
}

async function open(root: string): Promise<Vitest> {
  const vitest = await createVitest(
    'test',
    {
      root,
      watch: false,
      isolate: false,
      fileParallelism: false,
      testTimeout: TEST_MS_MAX,
      hookTimeout: TEST_MS_MAX,
      // Only the verdict matters, so nothing is printed.
      reporters: [{}],
      silent: true,
      dangerouslyIgnoreUnhandledErrors: true,
    },
    { test: { server: { deps: { external: [/\.bundle\.mjs$/] } } } },
  )
  await vitest.standalone()
  return vitest
}

function verdictOf(suite: string, module: TestModule): Run {
  const seconds = module.diagnostic().duration / 1000
  const failed = [...module.children.allTests('failed')][0]
  if (failed !== undefined) return { ...ofTest(suite, failed), seconds }
  const [error] = [...module.children.allSuites()].flatMap((each) => each.errors())
  if (error !== undefined)
    return { verdict: 'failed', suite, title: '(before or after its tests)', error: error.message, seconds }
  if (module.ok() && [...module.children.allTests('passed')].length > 0)
    return { verdict: 'passed', suite, title: null, error: null, seconds }
  return brokenRun(suite, module.errors()[0]?.message ?? 'no test ran')
}

function ofTest(suite: string, test: TestCase): Omit<Run, 'seconds'> {
  const [error] = test.result().errors ?? []
  const message = (error?.message ?? '').split('\n')[0] ?? ''
  const facts = { suite, title: test.fullName.replaceAll(' > ', ' '), error: message }
  if (error?.name === 'ReferenceError' || error?.name === 'SyntaxError')
    return { verdict: 'broken', ...facts }
  return { verdict: /timed out in \d+ms/.test(message) ? 'timed_out' : 'failed', ...facts }
}

function brokenRun(suite: string, error: string): Run {
  return { verdict: 'broken', suite, title: null, error: error.slice(0, 500), seconds: 0 }
}

function timedOut(suite: string): Run {
  return { verdict: 'timed_out', suite, title: null, error: 'it hangs', seconds: 0 }
}

/** Undefined after the limit. */
async function withinLimit<T>(work: Promise<T>, limitMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

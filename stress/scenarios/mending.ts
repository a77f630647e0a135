/** `doctor --rebuild` on homes with each kind of repairable damage. */
import { chmodSync, existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { audit, type HomeView } from '../support/home-view.js'
import { type Broken, takenOnce } from '../support/promises.js'
import { calls, logOf, stateOf, withAgent, withScript } from './homes.js'
import { effect, exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const REBUILD = ['doctor', '--all', '--rebuild']
const LOG = 'events.jsonl'
const HOUR_MS = 3_600_000

export const MENDING: Scenario[] = [
  {
    ...rebuildScenario('rebuild-log', threeTurns, (stage, folder) =>
      spoil(stage, join(folder, LOG), 'damaged'),
    ),
    finally: (home) => takenOnce(home.agent('a'), 'whole', 'echo: whole'),
  },
  rebuildScenario('rebuild-log-asked', withMailAndWait, (stage, folder) =>
    spoil(stage, join(folder, LOG), 'may I'),
  ),
  rebuildScenario('rebuild-log-first', threeTurns, (stage, folder) =>
    spoil(stage, join(folder, LOG), 'session.created'),
  ),
  rebuildScenario('rebuild-log-gone', threeTurns, (stage, folder) => stage.put(join(folder, LOG), undefined)),
  rebuildScenario('rebuild-snapshot', threeTurns, (stage, folder) =>
    spoil(stage, join(folder, 'session.json'), '"last_seq"'),
  ),
  rebuildScenario('rebuild-visit', torn, () => undefined),
  rebuildScenario('rebuild-names', withKid, spoilNames),
  rebuildScenario('rebuild-marker', withKid, (stage) => {
    for (const file of filesIn(join(stage.home, 'unclean'))) stage.put(file, undefined)
  }),
  rebuildScenario('rebuild-mail', withKid, (stage) => {
    for (const folder of foldersOf(stage.home))
      for (const file of filesIn(join(folder, 'inbox'))) spoil(stage, file, 'for the')
  }),
  {
    ...rebuildScenario('rebuild-sweep', withKid, (stage, folder) => {
      for (const path of leftoversIn(stage.home, folder)) stage.put(path, Buffer.from('x'))
    }),
    restore: (home, { id }) => leftoversIn(home, folderOf(home, id)).forEach(makeOld),
  },
  {
    ...rebuildScenario('rebuild-mode', withKid, () => undefined),
    not: { powercut: 'the disk model has no file modes' },
    restore(home, { id }) {
      chmodSync(join(home, 'agents'), 0o755)
      chmodSync(join(folderOf(home, id), LOG), 0o644)
    },
  },
]

function rebuildScenario(
  name: string,
  make: (stage: Stage) => Promise<void>,
  damage: (stage: Stage, folder: string) => void,
): Scenario {
  return {
    name,
    argv: REBUILD,
    isDamaged: true,
    faults: { isKilled: true },
    async prepare(stage) {
      await make(stage)
      const { id } = stateOf(stage.home, 'a')
      damage(stage, join(stage.home, 'agents', id))
      // No command acknowledged the truncated tail.
      return { id, logs: make === torn ? '[]' : JSON.stringify(textsOfLogs(stage.home)) }
    },
    *checkAcknowledged({ status, isLater }, home) {
      if (status === 0 && isLater !== true) yield* audit(home.path, false)
    },
    next: { argv: REBUILD, check: (ended) => exits(ended, 0) },
    always: (home, { logs }) => areKept(home, JSON.parse(logs as string) as string[]),
    finally: (_home: HomeView) => [],
  }
}

/** Every log still exists, possibly moved, and has only grown. */
function* areKept(home: string, texts: string[]): Broken {
  const logs = textsOfLogs(home)
  for (const text of texts) {
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    if (!logs.some((log) => log === text || log.startsWith(whole)))
      yield `all ${text.length} bytes of a damaged log still exist`
  }
}

function textsOfLogs(home: string): string[] {
  const logs = foldersOf(home).flatMap((folder) =>
    filesIn(folder).filter((file) => /\/events\.jsonl[^/]*$/.test(file)),
  )
  return logs.map((file) => readFileSync(file, 'latin1'))
}

async function threeTurns(stage: Stage): Promise<void> {
  await withAgent(stage)
  for (const text of ['whole', 'damaged', 'after']) await stage.do('send', 'a', text)
}

/** The lost agent has sent requests, has a request to answer, and waits for a decision. */
async function withMailAndWait(stage: Stage): Promise<void> {
  const asks = calls(['send_message', { to: 'kid', content: 'a question' }])
  const parks = { ...calls(['shell', { command: effect() }]), say: 'may I?' }
  await withScript(stage, [asks, { say: 'asked' }, parks], '--allow', 'tree')
  await stage.do('spawn', '--parent', 'a', '--name', 'kid', '--provider', 'scripted')
  await stage.do('send', 'a', 'first')
  await stage.do('send', 'a', '--queue', '--no-drain', 'by mail')
  await stage.run(['send', 'a', 'then'])
}

async function withKid(stage: Stage): Promise<void> {
  await withAgent(stage)
  await stage.do('spawn', '--parent', 'a', '--name', 'kid', '--provider', 'scripted')
  await stage.do('send', 'a/kid', '--queue', '--no-drain', 'for the kid')
  await stage.do('send', 'a', '--kind', 'notification', '--no-drain', 'for the parent')
}

async function torn(stage: Stage): Promise<void> {
  await withAgent(stage)
  await stage.killedBefore('log.sync', 1, ['send', 'a', 'hello'])
  const log = logOf(stage.home, 'a')
  stage.put(log, readFileSync(log).subarray(0, -20))
}

/** Changes the last occurrence of the word. */
function spoil(stage: Stage, path: string, word: string): void {
  const bytes = readFileSync(path)
  const at = bytes.lastIndexOf(word)
  if (at === -1) throw new Error(`${path} has no ${word}`)
  bytes[at + 1] = (bytes[at + 1] as number) ^ 1
  stage.put(path, bytes)
}

function spoilNames(stage: Stage, agent: string): void {
  for (const folder of [join(stage.home, 'roots'), join(agent, 'children')])
    for (const file of filesIn(folder)) if (/\/[0-9a-f]{64}$/.test(file)) stage.put(file, Buffer.from('x'))
}

function leftoversIn(home: string, folder: string): string[] {
  return [
    join(folder, 'session.json.1-1.tmp'),
    join(home, 'roots', 'complete.1-1.tmp'),
    join(home, 'home.json.1-1.tmp'),
  ]
}

function makeOld(path: string): void {
  const then = (Date.now() - HOUR_MS) / 1000
  if (existsSync(path)) utimesSync(path, then, then)
}

function folderOf(home: string, id: string | undefined): string {
  return join(home, 'agents', id as string)
}

/** The folders of complete agents, without those being created or removed. */
function foldersOf(home: string): string[] {
  const names = readdirSync(join(home, 'agents')).filter((name) => !name.startsWith('.'))
  return names.map((name) => join(home, 'agents', name))
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return entries.map(({ name }) => join(folder, name))
}

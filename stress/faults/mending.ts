/** `doctor --rebuild` on homes with each thing that it makes again, and the settings, which another library writes. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineLab } from '../machine/lab.js'
import { type FaultScenario, killedAt, type Prepared, SHELL, withAgent, withModel } from './scenario.js'

const REBUILD = ['doctor', '--all', '--rebuild']
const HOUR_MS = 3_600_000

export const MENDING: FaultScenario[] = [
  {
    name: 'config-set',
    async prepare(lab) {
      await withAgent(lab, 'a')
      await lab.do('config', 'set', 'slots_max', '2')
      const argv = ['config', 'set', 'slots_max', '3']
      return { argv, next: argv, isKilled: true }
    },
  },
  {
    name: 'config-set-first',
    async prepare(lab) {
      await withAgent(lab, 'a')
      const argv = ['config', 'set', 'slots_max', '3']
      return { argv, next: argv, isKilled: true }
    },
  },
  rebuilding('rebuild-log', threeTurns, (lab) => spoil(logOf(lab), 'damaged')),
  rebuilding('rebuild-log-asked', withMailAndWait, (lab) => spoil(logOf(lab), 'may I')),
  rebuilding('rebuild-log-first', threeTurns, (lab) => spoil(logOf(lab), 'session.created')),
  rebuilding('rebuild-log-gone', threeTurns, (lab) => rmSync(logOf(lab))),
  rebuilding('rebuild-snapshot', threeTurns, (lab) => spoil(snapshotOf(lab), '"last_seq"')),
  rebuilding('rebuild-visit', torn, () => undefined),
  rebuilding('rebuild-names', withKid, spoilNames),
  rebuilding('rebuild-marker', withKid, (lab) => {
    for (const name of readdirSync(join(lab.home, 'unclean'))) rmSync(join(lab.home, 'unclean', name))
  }),
  rebuilding('rebuild-mail', withKid, (lab) => {
    for (const folder of inboxesOf(lab))
      for (const name of readdirSync(folder)) spoil(join(folder, name), 'for the')
  }),
  rebuilding('rebuild-sweep', withKid, plantLeftovers, (lab) => {
    for (const path of leftoversIn(lab)) if (existsSync(path)) makeOld(path)
  }),
  rebuilding(
    'rebuild-mode',
    withKid,
    () => undefined,
    (lab) => {
      chmodSync(join(lab.home, 'agents'), 0o755)
      chmodSync(logOf(lab), 0o644)
    },
  ),
]

/** `restored` after each copy of the home: what a copy of bytes has not. */
function rebuilding(
  name: string,
  make: (lab: MachineLab) => Promise<void>,
  damage: (lab: MachineLab) => void,
  restored?: (lab: MachineLab) => void,
): FaultScenario {
  return {
    name,
    async prepare(lab): Promise<Prepared> {
      await make(lab)
      damage(lab)
      restored?.(lab)
      const { status } = await lab.run(['doctor', '--all'])
      // A torn tail was nobody's yet.
      const damaged = make === torn ? [] : [...readAll(lab)]
      return {
        argv: REBUILD,
        next: REBUILD,
        isDamaged: true,
        damagedStatus: status as number,
        isKilled: true,
        ...(restored === undefined ? {} : { restored: () => restored(lab) }),
        *kept() {
          const logs = new Set([...readAll(lab)].map(([, text]) => text))
          for (const [path, text] of damaged)
            if (!logs.has(text) && !isBegun(logs, text)) yield `the bytes of ${path} are kept`
        },
      }
    },
  }
}

/** A log that was only gone on with. */
function isBegun(logs: Set<string>, text: string): boolean {
  return [...logs].some((log) => log.startsWith(text.slice(0, text.lastIndexOf('\n') + 1)))
}

/** Every log, wherever it was put. */
function* readAll({ home }: MachineLab): Iterable<[string, string]> {
  for (const agent of readdirSync(join(home, 'agents'))) {
    if (agent.startsWith('.')) continue
    const folder = join(home, 'agents', agent)
    const logs = readdirSync(folder).filter((name) => name.startsWith('events.jsonl'))
    for (const name of logs) yield [join(folder, name), readFileSync(join(folder, name), 'latin1')]
  }
}

async function threeTurns(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  for (const text of ['whole', 'damaged', 'after']) await lab.do('send', 'a', text)
}

/** What is lost has asked others, was asked by mail, and waits for a person. */
async function withMailAndWait(lab: MachineLab): Promise<void> {
  const asks = { name: 'send_message', input: { to: 'kid', content: 'a question' } }
  const parks = { say: 'may I?', tools: [SHELL] }
  await withModel(lab, 'a', [{ tools: [asks] }, { say: 'asked' }, parks], '--allow', 'tree')
  await lab.do('spawn', '--parent', 'a', '--name', 'kid')
  await lab.do('send', 'a', 'first')
  await lab.do('send', 'a', '--queue', '--no-drain', 'by mail')
  await lab.run(['send', 'a', 'then'])
}

async function withKid(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await lab.do('spawn', '--parent', 'a', '--name', 'kid')
  await lab.do('send', 'a/kid', '--queue', '--no-drain', 'for the kid')
  await lab.do('send', 'a', '--kind', 'notification', '--no-drain', 'for the parent')
}

async function torn(lab: MachineLab): Promise<void> {
  await withAgent(lab, 'a')
  await killedAt(lab, ['send', 'a', 'hello'], 'log.sync', 1)
  const log = logOf(lab)
  const bytes = readFileSync(log)
  writeFileSync(log, bytes.subarray(0, bytes.length - 20))
}

function agentOf({ home }: MachineLab): string {
  const folders = readdirSync(join(home, 'agents')).map((name) => join(home, 'agents', name))
  return folders.find((folder) =>
    /"name":"a"/.test(readFileSync(join(folder, 'session.json'), 'utf8')),
  ) as string
}

function logOf(lab: MachineLab): string {
  return join(agentOf(lab), 'events.jsonl')
}

function snapshotOf(lab: MachineLab): string {
  return join(agentOf(lab), 'session.json')
}

function inboxesOf({ home }: MachineLab): string[] {
  return readdirSync(join(home, 'agents'))
    .map((name) => join(home, 'agents', name, 'inbox'))
    .filter((folder) => existsSync(folder))
}

/** The last place where it stands. */
function spoil(path: string, word: string): void {
  const bytes = readFileSync(path)
  const at = bytes.lastIndexOf(word)
  if (at === -1) throw new Error(`${path} has no ${word}`)
  bytes[at + 1] = (bytes[at + 1] as number) ^ 1
  writeFileSync(path, bytes)
}

function spoilNames(lab: MachineLab): void {
  const folders = [join(lab.home, 'roots'), join(agentOf(lab), 'children')].filter((each) => existsSync(each))
  for (const folder of folders) {
    for (const name of readdirSync(folder))
      if (/^[0-9a-f]{64}$/.test(name)) writeFileSync(join(folder, name), 'x')
  }
}

function leftoversIn(lab: MachineLab): string[] {
  return [
    join(agentOf(lab), 'session.json.1-1.tmp'),
    join(lab.home, 'roots', 'complete.1-1.tmp'),
    join(lab.home, 'home.json.1-1.tmp'),
  ]
}

function plantLeftovers(lab: MachineLab): void {
  for (const path of leftoversIn(lab)) writeFileSync(path, 'x', { mode: 0o600 })
}

function makeOld(path: string): void {
  const then = (Date.now() - HOUR_MS) / 1000
  utimesSync(path, then, then)
}

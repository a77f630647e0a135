/** What the tree and its mail cost: single commands, one delivery of very many messages, and a home of very many agents. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { post } from '../../src/mail/post.js'
import { OPERATOR } from '../../src/storage/mailboxes.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Lab } from '../support/lab.js'
import { addFamilies } from './homes.js'
import { median, type Subject, sampleInTurn } from './measure.js'

export interface TreeTimes {
  /** Wall clock, to that of `node -e 0` in the same rounds. */
  toNode: { what: string; ms: number; nodeMs: number }[]
  /** Wall clock in the home of many, to that in a home of ten. */
  toTen: { what: string; ms: number; tenMs: number }[]
  drained: { messages: number; agents: number; seconds: number; syncsPerSecond: number }
}

const CHILDREN_EACH = 100

export async function treeTimes(lab: Lab, rounds: number, agents: number): Promise<TreeTimes> {
  const tree = await homeOf(lab, 2, 99)
  const ten = await homeOf(lab, 2, 4)
  console.error(`making a tree of ${agents} agents`)
  const many = await homeOf(lab, Math.round(agents / (CHILDREN_EACH + 1)), CHILDREN_EACH)
  execFileSync('sync')
  const node = { name: 'node', home: tree, argv: ['-e', '0'] }
  const single = commandsIn(lab, tree, 'tree').slice(0, 3)
  const [small, large] = [commandsIn(lab, ten, 'ten'), commandsIn(lab, many, 'many')]
  const samples = sampleInTurn(lab, [node, ...single, ...small, ...large], rounds)
  const wall = ({ name }: Subject): number => median((samples.get(name) ?? []).map(({ wallMs }) => wallMs))
  return {
    toNode: single.map((subject) => ({ what: whatOf(subject), ms: wall(subject), nodeMs: wall(node) })),
    toTen: large.map((subject, index) => ({
      what: whatOf(subject),
      ms: wall(subject),
      tenMs: wall(small[index] as Subject),
    })),
    drained: await drained(lab, 1000, 100),
  }
}

/** Those that are held to the time of a bare start come first. */
function commandsIn(lab: Lab, home: string, where: string): Subject[] {
  const queued = [lab.cli, 'send', 'p0/c2', 'hello', '--queue', '--no-drain']
  const commands: { what: string; argv: string[]; before?: string[] }[] = [
    { what: 'spawn --parent', argv: ['spawn', '--parent', 'p0'] },
    { what: 'send --queue --no-drain', argv: ['send', 'p0/c1', 'hello', '--queue', '--no-drain'] },
    { what: 'deliver, one message', argv: ['deliver', 'p0/c2'], before: queued },
    { what: 'send to a path', argv: ['send', 'p0/c3', 'hello'] },
    { what: 'show of a path', argv: ['show', 'p0/c3'] },
    { what: 'show of a uuid', argv: ['show', idOf(home, 'p0/c3')] },
  ]
  return commands.map(({ what, argv, ...more }) => ({
    name: `${where}: ${what}`,
    home,
    argv: [lab.cli, ...argv],
    ...more,
  }))
}

function whatOf({ name }: Subject): string {
  return name.slice(name.indexOf(': ') + 2)
}

function idOf(home: string, path: string): string {
  return resolveAgent(FileStore.openForRead(home), path)
}

/** Roots with children, and room for those that are measured. */
async function homeOf(lab: Lab, parents: number, childrenEach: number): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, 'config', 'set', 'children_max', '1000')
  await lab.do(home, 'spawn', '--name', 'first')
  addFamilies(home, parents, childrenEach, lab.workspace)
  // As after the first `recover --all`, which looks at each of them once.
  FileStore.openForWrite(home).boots.markScanned()
  return home
}

/** Requests from a person that wait, taken by one `deliver --all`: each gets a turn, and its reply. */
async function drained(lab: Lab, messages: number, agents: number): Promise<TreeTimes['drained']> {
  const home = await homeOf(lab, agents / 10, 9)
  const store = FileStore.openForWrite(home)
  const ids = store.agentIds().slice(0, agents)
  for (let index = 0; index < messages; index++) {
    const to = ids[index % ids.length] as string
    const what = { kind: 'request' as const, content: `What is open, and what is to be done about ${index}?` }
    post(store, { message_id: randomUUID(), from: OPERATOR, from_path: OPERATOR, to, ...what })
  }
  const before = syncsPerSecond(lab)
  const start = performance.now()
  await lab.do(home, 'deliver', '--all')
  const seconds = (performance.now() - start) / 1000
  const replies = store.mail.ids(OPERATOR).length
  if (replies !== messages) throw new Error(`${messages} requests were delivered, and ${replies} answered`)
  return { messages, agents, seconds, syncsPerSecond: (before + syncsPerSecond(lab)) / 2 }
}

const SYNC_MS = 2000

/** What the disk can do: a line appended and synced, again and again. */
function syncsPerSecond(lab: Lab): number {
  const path = join(lab.root, 'raw')
  const file = openSync(path, 'wx')
  const line = Buffer.alloc(500, 'x')
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < SYNC_MS; count++) {
    writeSync(file, line)
    fdatasyncSync(file)
  }
  closeSync(file)
  rmSync(path)
  return count / ((performance.now() - start) / 1000)
}

/**
 * The cost of the tree and its mail: single commands, one delivery of very many messages, and a home of very many
 * agents.
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { OPERATOR } from '../../src/format.js'
import { post } from '../../src/mail/post.js'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Lab } from '../support/lab.js'
import { addFamilies } from './homes.js'
import { answersPerSecond, syncsPerSecond } from './machine.js'
import { type Subject, sampleInTurn } from './measure.js'
import type { Run } from './run.js'
import { type Measured, type Row, ratio, row } from './table.js'

const CHILDREN_EACH = 100
/** Other parts measure larger homes, of roots alone. This part is about the levels below. */
const TREE_MAX = 20_000
/** A message needs two batches for its turn, one for its reply, and the file of that with its directory. */
const SYNCS_EACH = 5
const DELIVERED = { atLeast: 0.6 }
const OF_TEN = { atMost: 1.2, floor: '1' }

export async function treeRows({ lab, rounds, agents }: Run): Promise<Row[]> {
  const size = Math.min(agents, TREE_MAX)
  const tree = await familiesOf(lab, 2, 99)
  const ten = await familiesOf(lab, 2, 4)
  console.error(`making a tree of ${size} agents`)
  const many = await familiesOf(lab, Math.ceil(size / (CHILDREN_EACH + 1)), CHILDREN_EACH)
  execFileSync('sync')
  const node = { name: 'node', home: tree, argv: ['-e', '0'] }
  const single = commandsIn(lab, tree, 'tree').slice(0, 3)
  const [small, large] = [commandsIn(lab, ten, 'ten'), commandsIn(lab, many, 'many')]
  const samples = sampleInTurn(lab, [node, ...single, ...small, ...large], rounds)
  const wall = (subject: Subject): Measured => samples.wallMs(subject)
  return [
    ...single.map((subject) =>
      ratio(`tree of 200, ${whatOf(subject)} / node -e 0`, wall(subject), wall(node), 'ms'),
    ),
    ...(await deliveryRows(lab, 1000, 100)),
    ...large.map((subject, index) => {
      const what = `tree of ${size}, ${whatOf(subject)} / of 10`
      return ratio(what, wall(subject), wall(small[index] as Subject), 'ms', OF_TEN)
    }),
  ]
}

/** The commands with a target relative to a bare start come first. */
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

/** Roots with children, and room for the measured agents. */
async function familiesOf(lab: Lab, parents: number, childrenEach: number): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, 'config', 'set', 'children_max', '1000')
  await lab.do(home, 'spawn', '--name', 'first')
  addFamilies(home, parents, childrenEach, lab.workspace)
  // The state after the first `recover --all`, which scans each of them once.
  FileStore.openForWrite(home).visits.markComplete()
  return home
}

/** One `deliver --all` of pending requests from the operator: each gets a turn and a reply. */
async function deliveryRows(lab: Lab, messages: number, agents: number): Promise<Row[]> {
  const home = await familiesOf(lab, agents / 10, 9)
  const store = FileStore.openForWrite(home)
  const ids = store.agentIds().slice(0, agents)
  for (let index = 0; index < messages; index++) {
    const to = ids[index % ids.length] as string
    const what = { kind: 'request' as const, content: `What is open, and what is to be done about ${index}?` }
    post(store, { message_id: randomUUID(), from: OPERATOR, from_path: OPERATOR, to, ...what })
  }
  const before = syncsPerSecond(lab.root)
  const start = performance.now()
  await lab.do(home, 'deliver', '--all')
  const seconds = (performance.now() - start) / 1000
  const replies = store.mail.ids(OPERATOR).length
  if (replies !== messages) throw new Error(`${messages} requests were delivered, and ${replies} answered`)
  const rate = messages / seconds
  const syncs = (before + syncsPerSecond(lab.root)) / 2
  const share = rate / (syncs / SYNCS_EACH)
  const said = `${share.toFixed(2)}x (${rate.toFixed(0)} a second, where the disk makes ${syncs.toFixed(0)} syncs)`
  const what = `deliver --all of ${messages} requests to ${agents} agents`
  const alone = answersPerSecond(lab.root)
  return [
    row(`${what} / five syncs a message`, share, said, DELIVERED),
    row(
      `${what} / its disk steps alone`,
      rate / alone,
      `${(rate / alone).toFixed(2)}x (${rate.toFixed(0)} : ${alone.toFixed(0)} a second)`,
    ),
  ]
}

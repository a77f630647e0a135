/** The time of a command compared with a bare `node -e 0`. Apart from the send, no command does any work. */
import { homeOf } from './homes.js'
import { countSyncs, type Subject, sampleInTurn } from './measure.js'
import type { Run } from './run.js'
import { type Row, ratio, row, skippedRow } from './table.js'

const IS_NODE_20 = process.versions.node.startsWith('20.')
const START = { atMost: 2.2, floor: '1.0' }
/** The target is defined for Node 20 only. */
const SEND = { ...(IS_NODE_20 ? { atMost: 2.7 } : {}), floor: '1.0 + 2 syncs' }
const SYNCS = { atMost: 3, floor: '2' }
const PEAK = { atMost: 1.5, floor: '1' }

export async function startRows({ lab, rounds }: Run): Promise<Row[]> {
  const home = await homeOf(lab, 10)
  const argv = (...words: string[]): Pick<Subject, 'home' | 'argv'> => ({ home, argv: [lab.cli, ...words] })
  const node: Subject = { name: 'node', home, argv: ['-e', '0'], isWeighed: true }
  const version: Subject = { name: '--version', ...argv('--version') }
  const show: Subject = { name: 'show', ...argv('show', 'a-0000000') }
  const list: Subject = { name: 'list', ...argv('list') }
  const send: Subject = { name: 'send', ...argv('send', 'a-0000000', 'hello'), isWeighed: true }
  const samples = sampleInTurn(lab, [node, version, show, list, send], rounds)
  const toNode = (what: string, subject: Subject, target: typeof START | typeof SEND): Row =>
    ratio(what, samples.wallMs(subject), samples.wallMs(node), 'ms', target)
  const syncs = countSyncs(lab, send)
  const what = 'fsync-class calls of a send'
  return [
    toNode('--version / node -e 0', version, START),
    toNode('show / node -e 0', show, START),
    toNode('list of 10 agents / node -e 0', list, START),
    toNode('send, scripted / node -e 0', send, SEND),
    syncs === undefined ? skippedRow(what, 'no strace', SYNCS) : row(what, syncs, String(syncs), SYNCS),
    ratio('peak memory of send / of node -e 0', samples.peakMb(send), samples.peakMb(node), 'MB', PEAK),
  ]
}

/** `search` compared with rg on the same files: the time, and the memory that must not grow with the home. */
import { execFileSync, spawnSync } from 'node:child_process'
import { homeOf, lengthenLog } from './homes.js'
import { type Subject, sampleInTurn } from './measure.js'
import { fewRounds, type Run } from './run.js'
import { type Row, ratio, skippedRow } from './table.js'

const AGENTS = 16
const LOG_RECORDS = 32_000
const BLOBS_EACH = 10
const BLOB_WORDS = 500_000
const OF_RG = { atMost: 4 }
/** The larger home has 64 times the bytes. */
const OF_SMALL_HOME = { atMost: 1.3, floor: '1' }

/** Cheap and costly texts. */
const SOUGHT: [what: string, text: string][] = [
  ['a word in any case that is nowhere', 'needlestack'],
  ['a word with a capital letter that is nowhere', 'Needlestack'],
  ['a text in any case in one record', 'connection refused by peer'],
  ['Chinese text that is nowhere', '数据库连接'],
  ['a word in each log', 'rarely'],
]

export async function searchRows(run: Run): Promise<Row[]> {
  if (spawnSync('rg', ['--version']).status !== 0)
    return [skippedRow('search / rg on the same files', 'no rg', OF_RG)]
  const [large, small] = [await searchedHome(run, AGENTS, 1), await searchedHome(run, 1, 1 / 4)]
  const rows: Row[] = []
  for (const [what, text] of SOUGHT) {
    const [ours, theirs] = [search(run, large, text), rg(large, text)]
    const little = search(run, small, text)
    const samples = sampleInTurn(run.lab, [ours, theirs, little], fewRounds(run))
    rows.push(
      ratio(`search of 1 GB for ${what} / rg`, samples.wallMs(ours), samples.wallMs(theirs), 'ms', OF_RG),
      ratio(
        `its peak memory / for a home of 1/64`,
        samples.peakMb(ours),
        samples.peakMb(little),
        'MB',
        OF_SMALL_HOME,
      ),
    )
  }
  return rows
}

function search({ lab }: Run, home: string, text: string): Subject {
  return { name: `search ${text} in ${home}`, home, argv: [lab.cli, 'search', text], isWeighed: true }
}

/** With the same rule for capital letters, and without the filters that would leave files out. */
function rg(home: string, text: string): Subject {
  return {
    name: `rg ${text}`,
    home,
    program: 'rg',
    argv: ['-uuu', '--smart-case', '--fixed-strings', text, home],
    status: text === 'rarely' || text.includes('refused') ? 0 : 1,
  }
}

/** Half of the bytes are in logs and half in blobs. `share`: the part of the usual size for each agent. */
async function searchedHome({ lab }: Run, agents: number, share: number): Promise<string> {
  const home = await homeOf(lab, 1)
  console.error(`writing ${agents} agents to search`)
  const words = new Words()
  for (let index = 0; index < agents; index++) {
    const name = `searched-${index}`
    await lab.do(home, 'spawn', '--name', name)
    for (let blob = 0; blob < BLOBS_EACH * share; blob++)
      execFileSync(process.execPath, [lab.cli, 'send', name, '-'], {
        input: words.text(BLOB_WORDS),
        env: lab.environment(home),
        cwd: lab.workspace,
        stdio: ['pipe', 'ignore', 'inherit'],
      })
    const messageOf = (turn: number): string =>
      turn === 7 ? `rarely ${index === 0 ? 'Connection refused by peer' : ''}` : words.text(300)
    lengthenLog(home, name, LOG_RECORDS * share, undefined, messageOf)
    // Folds the log, so that the measured commands need not.
    await lab.do(home, 'send', name, 'hello')
  }
  execFileSync('sync')
  return home
}

/** The same words in each run. */
class Words {
  private state = 1
  private readonly known = Array.from({ length: 5000 }, () => this.word())

  text(count: number): string {
    return Array.from({ length: count }, () => this.known[this.next(this.known.length)]).join(' ')
  }

  private word(): string {
    return Array.from({ length: 2 + this.next(9) }, () => String.fromCharCode(97 + this.next(26))).join('')
  }

  private next(below: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0
    return Math.floor((this.state / 2 ** 32) * below)
  }
}

/**
 * Applies one damage, and runs each command on a copy of the home.
 *
 * A command must either answer as if the home were intact, or report the damage. A report has exit 10 and the name of
 * the file; for a log also the byte and the record. No command gives a third answer, prints a stack trace, or appends
 * to a damaged log.
 */
import { basename } from 'node:path'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import { type Answer, answerOf, DOCTOR, READING, WRITING } from './answers.js'
import type { Damage } from './damages.js'
import type { DamagedHome } from './home.js'
import { type Batch, batchesIn, whatIsNamed } from './named.js'

export type Verdict = 'as before' | 'detected'

export interface Violation {
  damage: Damage
  command: string
  report: string
}

const CORRUPT = 10
const CONFIG_INVALID = 2

export class Trials {
  readonly violations: Violation[] = []
  /** The seed of the home's ids. */
  readonly seed: number
  /** The number of damages and of verdicts, by kind of damage. */
  readonly counts = new Map<string, { damages: number } & Record<Verdict, number>>()
  private readonly before = new Map<string, Answer>()
  private readonly batches = new Map<string, Batch[]>()

  private constructor(
    private readonly lab: MachineLab,
    private readonly home: DamagedHome,
  ) {
    this.seed = home.seed
  }

  static async open(lab: MachineLab, home: DamagedHome): Promise<Trials> {
    const trials = new Trials(lab, home)
    for (const [file, name] of home.files)
      if (file.endsWith('.jsonl')) trials.batches.set(file, batchesIn(home.image.entries.get(name) as Buffer))
    for (const argv of [...READING, ...WRITING]) {
      lab.restore(home.image)
      trials.before.set(argv.join(' '), answerOf(await lab.run(argv), lab))
    }
    return trials
  }

  /** Runs each of these commands on its own copy of the home. */
  async run(damage: Damage, writing: string[][] = WRITING): Promise<void> {
    const image = damage.make()
    this.count(damage.kind, 'damages')
    this.lab.restore(image)
    for (const argv of READING) {
      const ended = await this.lab.run(argv, ({ name, point }) => {
        if (!['open', 'read'].includes(name)) this.report(damage, argv, `it changes nothing, but ${point}`)
        return undefined
      })
      this.judge(damage, argv, ended, answerOf(ended, this.lab, false))
    }
    for (const argv of writing) {
      this.lab.restore(image)
      const ended = await this.lab.run(argv)
      const verdict = this.judge(damage, argv, ended, answerOf(ended, this.lab))
      for (const file of damage.files) this.checkLog({ ...damage, file }, argv, verdict)
    }
  }

  private judge(damage: Damage, argv: string[], ended: LabEnded, answer: Answer): Verdict | undefined {
    // The index claims to be complete, so only the audit of all agents can notice a removed entry.
    if (isTakenAway(damage)) return undefined
    if (isEntryGone(damage)) {
      if (argv !== DOCTOR) return undefined
      if (ended.status === CORRUPT) return this.count(damage.kind, 'detected')
    }
    const before = this.before.get(argv.join(' ')) as Answer
    if (ended.isHung) return this.report(damage, argv, 'it ends')
    if (ended.status === 1 || /\n {4}at /.test(ended.stderr))
      return this.report(damage, argv, `it ends in an expected way: ${ended.stderr.slice(0, 500)}`)
    const isSeen = argv !== DOCTOR || !(this.isTruth(damage) || isIndexDamaged(damage))
    if (
      isSeen &&
      answer.status === before.status &&
      isSameText(damage, argv, answer, before) &&
      isSameFor(damage, answer, before)
    )
      return this.count(damage.kind, 'as before')
    const named = this.isTruth(damage)
      ? whatIsNamed(damage, ended, this.home, this.batches.get(damage.file))
      : undefined
    if (this.isSaid(damage, argv, ended) && named === undefined) return this.count(damage.kind, 'detected')
    const [now = [], then = []] = [answer.view, before.view]
    const differs = [
      ...now.filter((line) => !then.includes(line)).map((line) => `+ ${line}`),
      ...then.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ].join('; ')
    return this.report(
      damage,
      argv,
      `it answers as before (exit ${before.status}), or names ${named ?? 'the file'}; not exit ${answer.status}: ${ended.stderr.trim() || ended.stdout.slice(0, 300)} ${differs}`,
    )
  }

  /** Bytes that are stored nowhere else. The last byte matters only in a log and in a blob. */
  private isTruth({ file, range }: Damage): boolean {
    const { length: end } = this.home.image.entries.get(this.home.files.get(file) as string) as Buffer
    // Bytes after the end of a log are the leftovers of a dead writer.
    if (['.jsonl', '/blobs/'].some((part) => file.includes(part))) return (range?.[0] ?? 0) < end
    return ['/inbox/', 'home.json'].some((part) => file.includes(part)) && (range?.[0] ?? 0) < end - 1
  }

  /** A list continues with the other agents. Recovery ends with the first status that is not 0. */
  private isSaid(damage: Damage, argv: string[], { status, stdout, stderr }: LabEnded): boolean {
    const { file } = damage
    const [command] = argv
    if (file === 'config.json') return status === CONFIG_INVALID
    const name = this.home.files.get(file) as string
    const isNamed = `${stdout}${stderr}`.includes(basename(name))
    // Rebuildable damage is reported, but needs no action.
    if (argv === DOCTOR) {
      if (this.isTruth(damage)) return isNamed && status === CORRUPT
      if (isIndexDamaged(damage)) return stdout.includes('"a key index is intact"')
      return isNamed || stdout.includes(/agents\/([^/]+)/.exec(name)?.[1] ?? ' none')
    }
    if (command === 'list' || command === 'recover' || command === 'deliver') return isNamed
    // A damaged message stays in the inbox and is reported. Its recipient's turns continue without it.
    return isNamed && (status === CORRUPT || file.includes('/inbox/'))
  }

  private checkLog({ kind, file, ...damage }: Damage, argv: string[], verdict: Verdict | undefined): void {
    if (!this.isTruth({ kind, file, ...damage }) || !file.endsWith('.jsonl') || kind === 'removed') return
    const name = this.home.files.get(file) as string
    const damaged = damage.make().entries.get(name) as Buffer
    const now = this.lab.image().entries.get(name) as Buffer
    if (!now.equals(damaged) && verdict !== undefined)
      this.report({ kind, file, ...damage }, argv, 'nothing is appended to a damaged log')
  }

  private report(damage: Damage, argv: string[], broken: string): undefined {
    this.violations.push({ damage, command: argv.join(' '), report: broken })
  }

  private count(kind: string, what: 'damages' | Verdict): Verdict | undefined {
    const count = this.counts.get(kind) ?? { damages: 0, 'as before': 0, detected: 0 }
    count[what] += 1
    this.counts.set(kind, count)
    return what === 'damages' ? undefined : what
  }
}

/** If recovery cannot tell which agents it has scanned, it scans all of them and says so. */
function isSameText({ file }: Damage, [command]: string[], after: Answer, before: Answer): boolean {
  return after.text === before.text || (command === 'recover' && file.startsWith('boots/'))
}

/** A missing message may have been delivered, and a missing marker may have been cleared. No command can tell. */
function isTakenAway({ kind, file }: Damage): boolean {
  return kind === 'removed' && (file.includes('inbox/') || file.startsWith('unclean/'))
}

/** Every byte of the index is checked. A missing or older index is completed from the log. */
function isIndexDamaged({ kind, file, range }: Damage): boolean {
  return file.endsWith('/keys') && kind !== 'removed' && range !== undefined
}

function isEntryGone({ kind, file }: Damage): boolean {
  return kind === 'removed' && /(children|roots)\/hash/.test(file)
}

/** The view lacks the damaged part. The rest must be unchanged. */
function isSameFor({ files }: Damage, { view: after }: Answer, { view: before }: Answer): boolean {
  const hidden = files.flatMap((file) => HIDDEN.find(([beginning]) => file.startsWith(beginning))?.[1] ?? [])
  const visibleLines = (view: string[] | undefined): string[] =>
    (view ?? []).filter((line) => !hidden.some((beginning) => line.startsWith(beginning)))
  const [a, b] = [visibleLines(after), visibleLines(before)]
  return after === undefined || (a.length === b.length && a.every((line, index) => line === b[index]))
}

/** The lines of the view that depend on those files. */
const HIDDEN: [string, string[]][] = [
  ['agents/a', ['a:', 'operator:']],
  ['agents/b', ['b:', 'operator:']],
  ['agents/kid', ['a/kid:']],
  ['agents/t1', ['t1:']],
  ['agents/t2', ['t2:']],
  ['operator', ['operator:']],
  ['config.json', ['settings:']],
]

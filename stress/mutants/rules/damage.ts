/**
 * Rule 5: damage before the end of the snapshot, or before the last batch, is corruption. Only an incomplete last batch
 * is truncated.
 */
import type { Mutant } from '../mutant.js'

export const DAMAGE: Mutant[] = [
  {
    name: "a read error in doctor's second check hides the findings of the first",
    edits: [['known.has(keyOf(finding)) || isUnread(finding)', 'known.has(keyOf(finding))']],
    suites: ['audit/failing-disk'],
  },
  {
    name: "doctor's second check skips the files that the first could not read",
    edits: [['before.some(isUnread) ? look(ids) : before', 'before']],
    suites: ['audit/failing-disk'],
  },
  {
    name: 'a repair that fails on the disk does not fail the command',
    edits: [
      [
        `,
         ...(isDisk ? { failure: error } : {})`,
        '',
      ],
    ],
    suites: ['audit/failing-disk'],
  },
  {
    name: 'doctor reports an unreadable home.json as damaged',
    edits: [["trouble?.code === 'CORRUPT'", 'trouble !== undefined']],
    suites: ['audit/failing-disk'],
  },
  {
    name: 'a tool input reported by a program may be nested to any depth',
    edits: [
      [
        "if (isDeeperThan(input, limits.inputLevelsMax)) throw offContract('an input with too many levels')",
        ';',
      ],
    ],
    suites: ['turn/ask/levels'],
  },
  {
    name: 'the arguments of an MCP call may be nested to any depth',
    edits: [
      [
        `if (isDeeperThan(input, limits.inputLevelsMax))
         throw new RequestError(INVALID_PARAMS, 'The arguments have too many levels.')`,
        ';',
      ],
    ],
    suites: ['turn/ask/levels'],
  },
  {
    name: 'corruption is removed as a truncated tail',
    edits: [["damage?.kind === 'corrupt' || state === undefined", 'state === undefined']],
    suites: ['session/session'],
  },
  {
    name: 'an empty log loads as a session',
    edits: [["damage?.kind === 'corrupt' || state === undefined", "damage?.kind === 'corrupt'"]],
    suites: ['session/session'],
  },
  {
    name: 'the parent of an agent with a damaged log is not read from its snapshot',
    edits: [
      [
        'attempt(() => parentInLog(store, id)) ?? attempt(() => parentInSnapshot(store, id))',
        'attempt(() => parentInLog(store, id))',
      ],
    ],
    suites: ['session/foreign-log'],
  },
  {
    name: 'a log of an unknown format is accepted',
    edits: [
      [
        'if (format !== undefined && !isKnownFormat(format)) throw unknownTo(log, logged, `format ${format}`)',
        ';',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a record of an unknown kind is reported as corruption',
    edits: [['!kindIsKnown(logged.record.kind)', 'logged.record.kind === null']],
    suites: ['session/session'],
  },
  {
    name: 'a record of the wrong shape is accepted',
    edits: [
      [
        'if (wrong === undefined) return logged.record',
        'if (kindIsKnown(logged.record.kind)) return logged.record',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a record of the wrong shape is written',
    edits: [
      [
        "assert(wrong === undefined, `a record is of its kind's shape: ${whole.kind}, ${wrong}`)",
        'void wrong',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a record of any length is written',
    edits: [['if (end - offset > limits.lineBytesMax) this.tooLong ??= whole.kind', ';']],
    suites: ['session/session'],
  },
  {
    name: 'records that contradict each other are not reported as corruption',
    edits: [
      [
        'if (error instanceof SessionStateError) throw corruptError(log, { ...logged, reason: error.message })',
        ';',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a reader of part of a log ignores damage',
    edits: [["damage.kind === 'corrupt' || damage.offset < completeBytes", 'damage.offset < completeBytes']],
    suites: ['session/damaged-log', 'session/session', 'session/past-run'],
  },
  {
    name: 'a reader of part of a log ignores an incomplete batch before its end',
    edits: [["damage.kind === 'corrupt' || damage.offset < completeBytes", "damage.kind === 'corrupt'"]],
    suites: ['session/damaged-log', 'session/session', 'session/past-run'],
  },
  {
    name: 'a reader of some kinds of records ignores damage',
    edits: [['if (step.value !== undefined) throw corruptError(log, step.value)', ';']],
    suites: ['session/damaged-log', 'turn/prompt/history'],
  },
  {
    name: 'the bytes of a truncated tail are not saved before the cut',
    edits: [['if (end < size) parts.logs.keepCutBytes(agentId, end, writer.read(end, size))', ';']],
    suites: ['session/session'],
  },
  {
    name: 'a truncated tail whose bytes cannot be saved is not cut',
    edits: [
      [
        `createWhole('cut', agent.cutBytes(offset, hash), bytes)
         } catch {`,
        `createWhole('cut', agent.cutBytes(offset, hash), bytes)
         } finally {`,
      ],
    ],
    suites: ['storage/store'],
  },
  {
    name: 'timestamps in the log go back when the clock is set back',
    edits: [['state?.updated_at', 'undefined']],
    suites: ['session/session'],
  },
  {
    name: 'a damaged home.json is accepted',
    edits: [
      [
        `const line = unframeFile(bytes)
         if ('damage' in line) {`,
        `const line = unframeFile(bytes)
         if ('damage' in line && line.damage === '') {`,
      ],
    ],
    suites: ['storage/home'],
  },
  {
    name: 'a home of an unknown format is accepted',
    edits: [['if (!isKnownFormat(facts.format)) {', 'if (false) {']],
    suites: ['storage/home'],
  },
  {
    name: 'a home with an unknown kind of lock is accepted',
    edits: [['if (!FILE_PREDICATES.home.lock?.(facts.lock)) {', 'if (false) {']],
    suites: ['storage/home'],
  },
]

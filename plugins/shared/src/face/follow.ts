/** Follows a command that causes a turn, until its request is durable and until its outcome. */
import type { CommandOptions, Commands, Running } from './commands.js'
import type { Core, Store } from './core.js'
import type { StreamLine } from './output.js'

export interface Followed extends Running {
  /** The first record that proves that the request is durable. Never settles if the command ends without one. */
  begun: Promise<StreamLine>
}

/** `isOurs`: whether the record proves that this request is durable. `onLine` then receives it and the lines after it. */
export function follow(
  commands: Commands,
  args: string[],
  { isOurs, onLine, ...options }: CommandOptions & { isOurs(line: StreamLine): boolean },
): Followed {
  let begin: ((line: StreamLine) => void) | undefined
  const begun = new Promise<StreamLine>((resolve) => {
    begin = resolve
  })
  const words = args.indexOf('--')
  const own = words === -1 ? args.length : words
  const running = commands.start([...args.slice(0, own), '--json', '--stream', ...args.slice(own)], {
    ...options,
    onLine: (line) => {
      if (begin !== undefined && !isOurs(line)) return
      begin?.(line)
      begin = undefined
      onLine?.(line)
    },
  })
  return { ...running, begun }
}

/** A run that starts or continues. Without an id: of any agent. */
export function isRun(agentId?: string): (line: StreamLine) => boolean {
  return ({ agent, kind }) => RUNS.has(kind) && (agentId === undefined || agent === agentId)
}

const RUNS = new Set(['run.started', 'run.resumed'])

/** A run of the message with this key. The command may first continue an earlier turn, whose run is another. */
export function isRunOfKey(
  core: Core,
  openStore: () => Store | undefined,
  { agentId, key }: { agentId: string; key: string },
): (line: StreamLine) => boolean {
  const isRunOf = isRun(agentId)
  return (line) => {
    if (!isRunOf(line)) return false
    if (line.key === key.normalize('NFC')) return true
    const store = openStore()
    const runId = store === undefined ? undefined : core.runOfKey(store, agentId, key)
    return runId !== undefined && [line.run_id, line.continues].includes(runId)
  }
}

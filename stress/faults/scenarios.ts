/** The commands that meet faults: each with the home it starts from, and the command that comes next. */
import type { MachineLab } from '../machine/lab.js'
import { MENDING } from './mending.js'
import { RECOVERING } from './recovering.js'
import { type FaultScenario, type Response, SHELL, withAgent, withModel } from './scenario.js'
import { TREE } from './tree-scenarios.js'
import { WAITING } from './waiting.js'

const LARGE = 'large '.repeat(15_000)
const TOOLS: Response[] = [{ say: 'first', tools: [SHELL, SHELL] }, { say: 'done' }]
const EXEC = ['--provider', 'exec', '--option', 'command=cat >/dev/null; echo done']
/** How long another process has its model think: longer than any command here takes. */
const THINKING_MS = 1000

export const SCENARIOS: FaultScenario[] = [
  {
    // The very first command makes the home too.
    name: 'spawn-first',
    prepare: async () => ({
      argv: ['spawn', '--name', 'b', 'hello'],
      next: ['spawn', '--name', 'b', '--if-exists', 'use'],
    }),
  },
  spawning('spawn', [], ['list']),
  spawning('spawn-named', ['--name', 'b'], ['spawn', '--name', 'b', '--if-exists', 'use']),
  spawning('spawn-prompt', ['--name', 'b', 'hello'], ['spawn', '--name', 'b', '--if-exists', 'use']),
  spawning(
    'spawn-child',
    ['--parent', 'a', '--name', 'b', 'hello'],
    ['spawn', '--parent', 'a', '--name', 'b', '--if-exists', 'use'],
  ),
  spawning(
    'spawn-large',
    ['--name', 'b', '--system', LARGE, LARGE],
    ['spawn', '--name', 'b', '--if-exists', 'use'],
  ),
  sending('send', (lab) => withAgent(lab, 'a'), ['hello'], ['send', 'a', 'next']),
  sending('send-key', (lab) => withAgent(lab, 'a'), ['--key', 'k', 'hello']),
  sending('send-blob', (lab) => withAgent(lab, 'a'), ['--key', 'k', LARGE]),
  sending('send-exec', (lab) => withAgent(lab, 'a', ...EXEC), ['--key', 'k', 'hello']),
  sending('send-tools', (lab) => withModel(lab, 'a', TOOLS, '--allow', 'shell'), ['--key', 'k', 'hello']),
  sending('send-wait', (lab) => withModel(lab, 'a', TOOLS), ['--key', 'k', 'hello']),
  sending(
    'send-limited',
    (lab) => withModel(lab, 'a', [{ fail: { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 } }]),
    ['--key', 'k', 'hello'],
  ),
  {
    name: 'suspend',
    async prepare(lab) {
      await withAgent(lab, 'a')
      return { argv: ['suspend', 'a', '--hold'], next: ['suspend', 'a', '--hold'] }
    },
  },
  stopping('suspend-running', ['suspend', 'a'], ['resume', 'a']),
  stopping('cancel-running', ['cancel', 'a'], ['send', 'a', '--key', 'next', 'next']),
  {
    name: 'resume',
    async prepare(lab) {
      await withAgent(lab, 'a')
      await lab.do('suspend', 'a', '--hold')
      await lab.do('send', 'a', '--if-busy', 'queue', 'queued')
      return { argv: ['resume', 'a'], next: ['resume', 'a'] }
    },
  },
  {
    name: 'retry',
    async prepare(lab) {
      await withModel(lab, 'a', [{ fail: { type: 'invalid' } }, { say: 'at last' }])
      await lab.run(['send', 'a', '--key', 'k', 'hello'])
      return { argv: ['retry', 'a'], next: ['send', 'a', '--key', 'k', '--retry', 'hello'] }
    },
  },
  {
    name: 'set',
    async prepare(lab) {
      await withAgent(lab, 'a')
      return {
        argv: ['set', 'a', '--system', LARGE, '--title', 'new'],
        next: ['set', 'a', '--system', LARGE, '--title', 'new'],
      }
    },
  },
  {
    name: 'fork',
    async prepare(lab) {
      await withAgent(lab, 'a')
      await lab.do('send', 'a', LARGE)
      return { argv: ['fork', 'a', '--name', 'b'], next: ['spawn', '--name', 'b', '--if-exists', 'use'] }
    },
  },
  ...WAITING,
  ...TREE,
  ...RECOVERING,
  ...MENDING,
]

function spawning(name: string, words: string[], next: string[]): FaultScenario {
  return {
    name,
    async prepare(lab) {
      await withAgent(lab, 'a')
      return { argv: ['spawn', ...words], next }
    },
  }
}

function sending(
  name: string,
  make: (lab: MachineLab) => Promise<void>,
  words: string[],
  next?: string[],
): FaultScenario {
  return {
    name,
    async prepare(lab) {
      await make(lab)
      const argv = ['send', 'a', ...words]
      return { argv, next: next ?? argv }
    },
  }
}

/** Another process asks the model meanwhile; where nobody stops it, it goes on to its end. */
function stopping(name: string, argv: string[], next: string[]): FaultScenario {
  return {
    name,
    async prepare(lab) {
      await withModel(lab, 'a', [{ delay_ms: THINKING_MS, say: 'late' }])
      return {
        argv,
        next,
        async meanwhile() {
          let isAsked = (): void => undefined
          const asked = new Promise<void>((resolve) => {
            isAsked = resolve
          })
          let syncs = 0
          const turn = lab.start(['send', 'a', 'slow'], ({ point }) => {
            if (point === 'request.list' && syncs > 0) isAsked()
            if (point === 'log.sync') syncs += 1
            return undefined
          })
          await Promise.race([asked, turn.ended])
          return async () => void (await turn.ended)
        },
      }
    },
  }
}

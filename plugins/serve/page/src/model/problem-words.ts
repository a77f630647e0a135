/** An error as a person on the page reads it: a sentence, and the next step here. The commands of a hint are for a terminal. */
import { Problem } from '../api/problem.js'
import { OPTION_FIELDS } from './message-options.js'
import { withLocalTimes } from './time.js'

export interface Told {
  text: string
  /** Parts in turn: words, a command, words, … */
  next: string[]
}

/** The next step on this page, where it is another one than at a terminal. */
const STEPS: Record<string, string> = {
  NO_ANSWER: 'The page connects again by itself. If the server has ended, start it: substrat serve',
  FOREIGN_ANSWER: 'Something between this page and the server answered. Reload the page.',
  UNEXPECTED: 'The server printed the details. Reload the page, and report it if it happens again.',
  NO_SUCH_PATH: 'The server is older than this page, or newer. Reload the page.',
  METHOD_REFUSED: 'The server is older than this page, or newer. Reload the page.',
  INSUFFICIENT_SCOPE: 'This link may not do that. Ask the operator of the server.',
  NAME_TAKEN: 'Choose another name.',
  MESSAGE_NOT_FOUND: 'The inbox no longer has it.',
  LOCKED: 'Another command works with this agent now. Try again in a moment.',
  NO_SLOT: 'As many turns run as the settings allow. Try again in a moment.',
  SERVER_BUSY: 'Try again in a moment.',
  TIMED_OUT: 'Look at the agent: the turn may still run.',
  CHILD_DIED: 'Look at the agent before you repeat this: part of it may have happened.',
  TOKEN_CONSUMED: 'Another person has decided already. The page shows the result.',
  TOKEN_REVOKED: 'The turn no longer waits for this decision. The page shows the agent as it is now.',
  TOKEN_EXPIRED: 'The time for this decision has passed. Write to the agent to begin again.',
  SESSION_STATE: 'The page shows the agent as it is now.',
}

export function toldOf(error: unknown): Told {
  if (!(error instanceof Problem))
    return {
      text: sentence(`the page has an error: ${(error as Error).message}`),
      next: ['Reload the page.'],
    }
  const { code, next, isTemporary } = error
  // The document of the API is for programs.
  const given = next?.includes('/v1/openapi.json') === true ? null : withoutFields(next)
  const advised = given?.startsWith('substrat ') === true ? `run at a terminal: ${given}` : given
  const step = STEPS[code] ?? advised ?? (isTemporary ? 'Try again in a moment.' : '')
  const [text = '', ...parts] = [error.message, ...sentence(step).split(/(\bsubstrat [^;)]+)/)].map(
    (part, index) => (index % 2 === 1 || index === 0 ? withLabels(withLocalTimes(part)) : part),
  )
  return { text: sentence(text), next: parts }
}

/** Fields of a request are for programs. */
function withoutFields(next: string | null): string | null {
  return (
    next
      ?.split('; ')
      .filter((part) => !/"[a-z_]+": /.test(part))
      .join('; ') || null
  )
}

const LABELS: Record<string, string> = {
  ...Object.fromEntries(OPTION_FIELDS.map(({ name, label }) => [name.replaceAll('_', '-'), label])),
  name: 'Name',
  provider: 'Provider',
  model: 'Model',
  workspace: 'Workspace',
  system: 'Instructions',
}

/** The messages of a command name its flags. The page has fields with labels. */
function withLabels(text: string): string {
  return text
    .replace(/--option ([\w.-]+)=(?:…|'[^']*'|\S*)/g, 'the option $1')
    .replace(/: [^;:]*--[\w-]+ [A-Z]+\b/g, '')
    .replace(/--([a-z][a-z-]*)\b(:?)/g, (flag, name: string, colon: string) =>
      LABELS[name] === undefined ? flag : `“${LABELS[name]}”${colon}`,
    )
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1)
  return text === '' || /[.!?…]$/.test(text) || /substrat [^;)]+$/.test(text) ? begun : `${begun}.`
}

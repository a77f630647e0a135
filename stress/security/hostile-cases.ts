/** The hostile outputs, for every plugin or for some of them. */

export const PLUGINS = ['claude-code', 'codex', 'acp', 'opencode'] as const
export type Plugin = (typeof PLUGINS)[number]

export interface Hostile {
  values?: Record<string, unknown>
  trick?: string
  at?: number
  by?: unknown
}

export interface Case {
  name: string
  hostile: Hostile
  plugins?: readonly Plugin[]
  /** It never ends by itself: only the time limit stops it. */
  isEndless?: boolean
}

const STEER = '\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b31m\rall is well\b\u202egpj\u2066x\u007f\u0000end'
const IDS = [
  '../../x',
  '/etc/passwd',
  '--help',
  '',
  '.',
  'a/b?c#d',
  `s${STEER}`,
  's\0x',
  '@half',
  '@megabyte',
  '__proto__',
  'e\nf',
]
export const VALUES = [
  null,
  true,
  -1,
  '@large',
  '@infinity',
  '',
  '@half',
  [],
  {},
  '@keys',
  '@deep',
  '@megabyte',
]
const WIDE = ['input', 'output', 'reply', 'text']

const ENDLESS = [
  'an endless line',
  'endless lines that are not JSON',
  'endless text',
  'endless tools',
  'endless tools that never end',
  'endless notes',
  'endless messages of unknown kinds',
  'endless questions',
  'endless stderr',
]
const TRICKS = [
  'a line of 60 MB',
  'very many objects',
  'very many levels of nesting',
  'NULs',
  'no reply',
  'an answer before the prompt',
  'two ends',
  'no exit',
  'a question',
]
const ROUTES = ['POST /session', 'message', 'prompt_async']
const OF_SERVER = [
  'a redirect',
  'a gzip bomb',
  'an endless body',
  'a body that never arrives',
  'a body that breaks off',
  'endless headers',
  'no HTTP',
]

export function* cases(): Iterable<Case> {
  for (const trick of ENDLESS) yield { name: trick, hostile: { trick }, isEndless: true }
  for (const trick of TRICKS) yield { name: trick, hostile: { trick } }
  for (const id of IDS)
    for (const what of ['session', 'call', 'message', 'permission'])
      yield {
        name: `${what} ${JSON.stringify(id).slice(0, 20)}`,
        hostile: { values: { [what]: id }, ...(what === 'permission' && { trick: 'a question' }) },
      }
  for (const what of ['text', 'tool', 'note', 'output', 'reply', 'input'])
    for (const value of [STEER, '@half', '@keys', '@deep', '@megabyte', '@megabytes'])
      for (const trick of [undefined, 'a question'])
        if (trick === undefined || what === 'tool' || what === 'input')
          yield {
            name: `${what} ${JSON.stringify(value).slice(0, 20)}${trick === undefined ? '' : ', asked about'}`,
            hostile: {
              values: { [what]: what === 'input' ? { [STEER]: value, __proto: value } : value },
              ...(trick !== undefined && { trick }),
            },
          }
  for (const what of WIDE) yield { name: `${what} @wide`, hostile: { values: { [what]: { x: '@wide' } } } }
  for (const tokens of [-5, '@large', '@huge', '@infinity', 0.5])
    yield { name: `tokens ${tokens}`, hostile: { values: { tokens } } }
  yield { name: '__proto__ in every message', hostile: { values: { more: { x: '@keys' }, input: '@keys' } } }
  yield {
    name: 'complaints that steer',
    hostile: { trick: 'no reply, and words on stderr', values: { complaint: STEER } },
  }
  const plugins = ['opencode'] as const
  for (const trick of OF_SERVER)
    for (const route of ROUTES)
      yield { name: `${trick}: ${route}`, hostile: { trick, values: { route } }, plugins }
  for (const trick of ['it closes in the middle of an event', 'an endless event of many lines'])
    yield { name: trick, hostile: { trick }, plugins }
  for (const url of [
    'http://',
    'http://127.0.0.1:1',
    'http://[',
    `http://x${STEER}`,
    'http://127.0.0.1:99999',
  ])
    yield { name: `its address ${JSON.stringify(url)}`, hostile: { values: { url } }, plugins }
}

/**
 * Secrets that only the environment has. No byte of the home may contain one after any turn, and no command may print
 * one. The model repeats the key in each way that an API can.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptedAnswer } from '../../test/support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../../test/support/model-server/server.js'
import { usePlugin } from '../machine/commands.js'
import type { MachineLab } from '../machine/lab.js'
import { repository } from '../support/lab.js'
import type { Findings } from './finding.js'

const KIND = 'secret'

const VARIABLES = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'GEMINI_API_KEY',
  'OPENROUTER_API_KEY',
  'GITHUB_TOKEN',
  'GH_TOKEN',
  'NPM_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'DATABASE_URL',
  'PGPASSWORD',
  'SSH_AUTH_SOCK',
  'SUBSTRAT_CANARY',
]

/** Not of a known form: `sk-…` would be masked because of its form. */
const secretOf = (variable: string): string => `canary/${variable.toLowerCase()}+9f2c-${variable.length}=x`

interface Variant {
  provider: string
  api: string
  key: string
  options(url: string): string[]
}

const VARIANTS: Variant[] = [
  {
    provider: 'anthropic',
    api: 'messages',
    key: 'ANTHROPIC_API_KEY',
    options: (url) => ['--option', `base_url=${url}`],
  },
  ...['chat', 'responses'].map((api) => ({
    provider: 'openai',
    api,
    key: 'OPENAI_API_KEY',
    options: (url: string) => ['--option', `base_url=${url}/v1`, '--option', `api=${api}`],
  })),
]

/** The model's answers with the key in them. The text of a 401 belongs to the server, which knows another key. */
const ANSWERS: [name: string, answer: (key: string) => ScriptedAnswer][] = [
  ['a reply', () => ({ text: 'well' })],
  ['a shell that runs', () => ({ tool_calls: [{ name: 'shell', input: { command: 'true' } }] })],
  ...(['authentication', 'permission', 'invalid', 'not_found', 'quota', 'server_error'] as const).map(
    (error): [string, (key: string) => ScriptedAnswer] => [
      `an error (${error}) that repeats the key`,
      (key) => ({ fault: { error, message: `no: ${key} ${encodeURIComponent(key)} "${key}"` } }),
    ],
  ),
  [
    'an error in mid-stream that repeats the key',
    (key) => ({
      text: 'half of a reply',
      fault: { error: 'overloaded', message: `no: ${key}`, after_events: 2 },
    }),
  ],
  [
    'an event that is not JSON and contains the key',
    (key) => ({ text: 'half of a reply', fault: { raw_event: `{"key": ${key}`, after_events: 2 } }),
  ],
  ['a wrong key that the server repeats', () => ({ text: 'never' })],
]

export async function lookForSecrets(lab: MachineLab, findings: Findings): Promise<void> {
  const before = { ...process.env }
  const server = await startModelServer()
  try {
    for (const variable of VARIABLES) process.env[variable] = secretOf(variable)
    process.env.SUBSTRAT_RETRY_DELAYS = '1ms'
    await usePlugins()
    writeFileSync(join(lab.workspace, 'key'), `${secretOf('KEY_FILE')}\n`)
    let count = 0
    for (const variant of VARIANTS) {
      for (const [name, answer] of ANSWERS) {
        count += 1
        if (findings.begin(KIND, `${variant.api}: ${name}`))
          await ask(lab, server, { variant, name, answer, agent: `a${count}` }, findings)
      }
    }
    if (findings.begin(KIND, 'key file')) await askWithKeyFile(lab, server, findings)
    if (findings.begin(KIND, 'programs')) await runPrograms(lab, findings)
    if (findings.begin(KIND, 'token')) await park(lab, findings)
    if (findings.begin(KIND, 'the search itself')) await control(lab, findings)
  } finally {
    await server.close()
    delete process.env.SUBSTRAT_RETRY_DELAYS
    for (const variable of VARIABLES)
      if (before[variable] === undefined) delete process.env[variable]
      else process.env[variable] = before[variable]
  }
}

async function usePlugins(): Promise<void> {
  for (const name of ['anthropic', 'openai']) {
    const root = join(repository, 'plugins', `provider-${name}`)
    const pjson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      name: string
      version: string
      substrat?: unknown
    }
    await usePlugin({ name: pjson.name, version: pjson.version, root, pjson })
  }
}

interface Asked {
  variant: Variant
  name: string
  answer: (key: string) => ScriptedAnswer
  agent: string
}

async function ask(lab: MachineLab, server: ModelServer, asked: Asked, findings: Findings): Promise<void> {
  const { variant, name, answer, agent } = asked
  const key = secretOf(variant.key)
  const isKnown = !name.includes('wrong')
  server.setScenario({
    responses: Array.from({ length: 3 }, () => answer(key)),
    ...(isKnown ? {} : { key: 'another' }),
  })
  const flags = ['--provider', variant.provider, '--model', 'm', ...variant.options(server.url)]
  const spawn = ['spawn', '--name', agent, ...flags]
  const said = await outputOf(lab, [
    spawn,
    ['send', agent, '--allow', 'all', '--max-steps', '2', 'hello', '--stream'],
    ['send', agent, 'hello again', '--json'],
    ['show', agent],
    ['log', agent, '--json'],
    ['log', agent],
    ['doctor', '--all', '--json'],
  ])
  const requests = server.requests.length
  server.requests.length = 0
  if (requests === 0)
    findings.add(KIND, `${variant.api}: ${name}`, spawn, `the model was not asked: ${said.slice(0, 300)}`)
  tell(lab, `${variant.api}: ${name}`, spawn, said, VARIABLES.map(secretOf), findings)
}

async function askWithKeyFile(lab: MachineLab, server: ModelServer, findings: Findings): Promise<void> {
  server.setScenario({ responses: [], key: 'another' })
  const spawn = ['spawn', '--name', 'kf', '--provider', 'openai', '--model', 'm', '--option', 'key_file=key']
  const said = await outputOf(lab, [
    [...spawn, '--option', `base_url=${server.url}/v1`],
    ['send', 'kf', 'hello'],
  ])
  tell(lab, 'key file', spawn, said, [secretOf('KEY_FILE')], findings)
}

function spawnExec(name: string, command: string): string[] {
  return ['spawn', '--name', name, '--provider', 'exec', '--option', `command=${command}`]
}

/** An agent program, and a tool of a model, that fail and print, but not what they were given. */
async function runPrograms(lab: MachineLab, findings: Findings): Promise<void> {
  const spawn = spawnExec('program', 'echo to >&2; exit 3')
  const said = await outputOf(lab, [spawn, ['send', 'program', 'hello'], ['show', 'program']])
  tell(lab, 'programs', spawn, said, VARIABLES.map(secretOf), findings)
}

/** The secret of a token is printed once. The home has only its hash, and a tool's environment does not have it. */
async function park(lab: MachineLab, findings: Findings): Promise<void> {
  const shell = (command: string): object => ({ tools: [{ name: 'shell', input: { command } }] })
  const responses = [shell('true'), shell('env'), { say: 'done' }]
  writeFileSync(join(lab.workspace, 'parks.json'), JSON.stringify({ responses }))
  await lab.do('spawn', '--name', 'parks', '--option', 'scenario=parks.json')
  const parked = await lab.run(['send', 'parks', 'hello'])
  const token = /st_[\w-]{36}_[\w-]{32}/.exec(parked.stderr)?.[0]
  if (token === undefined)
    return findings.add(KIND, 'token', ['send'], `no token was printed: ${parked.stderr}`)
  const wrong = `${token.slice(0, -4)}AAAA`
  const refused = await lab.run(['resume', 'parks', '--token', wrong, '--approve', '--json'])
  if (refused.status !== 13 || refused.stdout.includes(token))
    findings.add(KIND, 'token', ['resume'], `a wrong secret: exit ${refused.status}`)
  process.env.SUBSTRAT_TOKEN = token
  const resumed = await lab.run(['resume', 'parks', '--approve', '--json'])
  delete process.env.SUBSTRAT_TOKEN
  await lab.run(['approve', 'parks'])
  const said = refused.stdout + refused.stderr + resumed.stdout.replaceAll(token, '') + resumed.stderr
  // The log has the output of `env`: the whole environment except the token.
  tell(lab, 'token', ['resume', 'parks'], said, [token, wrong, token.slice(-32)], findings)
}

/** If a program prints its environment, the log has it: this shows that the search can find a secret. */
async function control(lab: MachineLab, findings: Findings): Promise<void> {
  const spawn = spawnExec('prints', 'printenv SUBSTRAT_CANARY')
  await lab.run(spawn)
  await lab.run(['send', 'prints', 'hello'])
  if (leaksIn(lab, [secretOf('SUBSTRAT_CANARY')]).length === 0)
    findings.add(KIND, 'the search itself', spawn, 'it does not find the output of a program')
}

/** The output of the commands, one after the other. */
async function outputOf(lab: MachineLab, commands: string[][]): Promise<string> {
  const outputs: string[] = []
  for (const command of commands) {
    const { stdout, stderr } = await lab.run(command)
    outputs.push(stdout + stderr)
  }
  return outputs.join('\n')
}

function tell(
  lab: MachineLab,
  name: string,
  command: string[],
  said: string,
  secrets: string[],
  findings: Findings,
): void {
  for (const { where, secret } of leaksIn(lab, secrets))
    findings.add(KIND, name, command, `${secret} is in ${where}`)
  for (const secret of secrets)
    if (formsOf(secret).some((form) => said.includes(form)))
      findings.add(KIND, name, command, `${secret} is printed`)
}

function leaksIn(lab: MachineLab, secrets: string[]): { where: string; secret: string }[] {
  return filesBelow(lab.home).flatMap((file) => {
    const text = `${file}\n${readFileSync(file, 'latin1')}`
    return secrets
      .filter((secret) => formsOf(secret).some((form) => text.includes(form)))
      .map((secret) => ({ where: file, secret }))
  })
}

/** The secret in plain and in other encodings. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    // Without the end, which depends on the bytes that follow.
    bytes.toString('base64').slice(0, 24),
    bytes.toString('base64url').slice(0, 24),
  ]
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

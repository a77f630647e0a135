/** The agent CLIs of the comparison. In an argv the first word `substrat` or the name of the executable stands for its path. */
import { join } from 'node:path'
import { claudeCode } from '../real/claude-code.js'
import { codex, codexAcp } from '../real/codex.js'
import { opencode } from '../real/opencode.js'
import { pi } from '../real/pi.js'
import { repository } from '../support/lab.js'
import type { Cli } from './cli.js'

const KEY = 'job-1'
const SESSION_ID = '11111111-2222-4333-8444-555555555555'

const claudePinned = { '@anthropic-ai/claude-code': '2.1.330' }

/** substrat itself is the build of this repository. */
const substratShared: Pick<
  Cli,
  'version' | 'ask' | 'askGuarded' | 'approve' | 'next' | 'again' | 'help' | 'keyed'
> = {
  version: ['substrat', '--version'],
  ask: (prompt: string) => ['substrat', 'send', 'a', '--key', KEY, '--allow', 'shell', prompt],
  askGuarded: (prompt: string) => ['substrat', 'send', 'a', prompt],
  approve: ['substrat', 'approve', 'a'],
  next: ['substrat', 'resume', 'a'],
  again: (prompt: string) => ['substrat', 'send', 'a', '--key', KEY, '--allow', 'shell', prompt],
  help: [['substrat', 'send', '--help']],
  keyed: (prompt: string) => ['substrat', 'send', 'a', '--key', KEY, prompt],
}

const substratModel: Cli = {
  ...substratShared,
  name: 'substrat',
  with: 'an OpenAI model',
  packages: {},
  executable: 'substrat',
  runCall: (command) => ({ name: 'shell', input: { command } }),
  configure: ({ home }) => ({ SUBSTRAT_HOME: join(home, '.substrat'), OPENAI_API_KEY: 'sk-loopback' }),
  prepare: ({ modelUrl }) => [
    ['substrat', 'plugins', 'link', join(repository, 'plugins/provider-openai')],
    [
      ...['substrat', 'spawn', '--name', 'a', '--provider', 'openai', '--model', 'm'],
      ...['--option', `base_url=${modelUrl}/v1`],
    ],
  ],
  store: ({ home }) => join(home, '.substrat'),
}

const substratClaude: Cli = {
  ...substratShared,
  name: 'substrat',
  with: `claude ${claudePinned['@anthropic-ai/claude-code']}`,
  packages: claudePinned,
  executable: 'claude',
  runCall: claudeCode.runCall,
  configure: (place) => ({
    ...claudeCode.configure(place),
    SUBSTRAT_HOME: join(place.home, '.substrat'),
    SUBSTRAT_WARM_MAX: '0',
  }),
  prepare: ({ program }) => [
    ['substrat', 'plugins', 'link', join(repository, 'plugins/provider-claude-code')],
    ['substrat', 'spawn', '--name', 'a', '--provider', 'claude-code', '--option', `command=${program}`],
  ],
  store: ({ home }) => join(home, '.substrat'),
}

/** The packages of acpx need a newer Node than this machine may have, as do those of pi. */
const acpx: Cli = {
  name: 'acpx',
  with: 'codex-acp 0.16.0',
  packages: { acpx: '0.19.1', node: '22.13.1', ...codexAcp.packages },
  executable: 'acpx',
  runCall: codexAcp.runCall,
  configure: codexAcp.configure,
  prepare: () => [['acpx', '--agent', 'codex-acp', 'sessions', 'new', '--name', 's']],
  version: ['acpx', '--version'],
  store: ({ home }) => join(home, '.acpx'),
  ask: (prompt) => [
    'acpx',
    '--agent',
    'codex-acp',
    '--approve-all',
    '--ttl',
    '1',
    'prompt',
    '-s',
    's',
    prompt,
  ],
  askGuarded: (prompt) => [
    ...['acpx', '--agent', 'codex-acp', '--non-interactive-permissions', 'fail', '--ttl', '1'],
    ...['prompt', '-s', 's', prompt],
  ],
  next: ['acpx', '--agent', 'codex-acp', '--approve-all', '--ttl', '1', 'prompt', '-s', 's'],
  again: (prompt) => acpx.ask(prompt),
  help: [
    ['acpx', '--help'],
    ['acpx', 'prompt', '--help'],
    ['acpx', 'exec', '--help'],
  ],
}

const claude: Cli = {
  name: 'claude',
  packages: claudePinned,
  executable: 'claude',
  runCall: claudeCode.runCall,
  configure: claudeCode.configure,
  version: ['claude', '--version'],
  store: ({ home }) => join(home, '.claude'),
  ask: (prompt) => ['claude', '-p', prompt, '--allowedTools', 'Bash'],
  askGuarded: (prompt) => ['claude', '-p', prompt],
  next: ['claude', '-p', '--continue', '--allowedTools', 'Bash'],
  again: (prompt) => ['claude', '-p', '--continue', prompt, '--allowedTools', 'Bash'],
  help: [['claude', '--help']],
  keyed: (prompt) => ['claude', '-p', '--session-id', SESSION_ID, prompt],
}

/** A hook that makes claude end at a tool call, and run the call later. */
const DEFER = JSON.stringify({
  hooks: {
    PreToolUse: [
      {
        matcher: 'Bash',
        hooks: [
          {
            type: 'command',
            command: `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } })}'`,
          },
        ],
      },
    ],
  },
})

/** The variable is not in its help. With plain text as input it has no effect. */
const claudeDeferring: Cli = {
  ...claude,
  with: 'a hook and a variable',
  askGuarded: (prompt) => ['claude', '-p', prompt, '--settings', DEFER],
  approve: ['claude', '-p', '--continue', '--allowedTools', 'Bash'],
  next: [
    ...['CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1', 'claude', '-p', '--continue', '--allowedTools', 'Bash'],
    ...['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
  ],
}

const CODEX_FREE = '--dangerously-bypass-approvals-and-sandbox'

const codexExec: Cli = {
  name: 'codex',
  packages: codex.packages,
  executable: 'codex',
  runCall: codex.runCall,
  configure: codex.configure,
  version: ['codex', '--version'],
  store: ({ home }) => join(home, '.codex'),
  ask: (prompt) => ['codex', 'exec', '--skip-git-repo-check', CODEX_FREE, prompt],
  askGuarded: (prompt) => ['codex', 'exec', '--skip-git-repo-check', prompt],
  next: ['codex', 'exec', '--skip-git-repo-check', CODEX_FREE, 'resume', '--last'],
  again: (prompt) => ['codex', 'exec', '--skip-git-repo-check', CODEX_FREE, 'resume', '--last', prompt],
  help: [
    ['codex', 'exec', '--help'],
    ['codex', 'exec', 'resume', '--help'],
  ],
}

const opencodeRun: Cli = {
  name: 'opencode',
  packages: opencode.packages,
  executable: 'opencode',
  runCall: opencode.runCall,
  configure: opencode.configure,
  version: ['opencode', '--version'],
  store: ({ data }) => join(data, 'opencode'),
  ask: (prompt) => ['opencode', 'run', '--auto', prompt],
  askGuarded: (prompt) => ['opencode', 'run', prompt],
  next: ['opencode', 'run', '--auto', '--continue'],
  again: (prompt) => ['opencode', 'run', '--auto', '--continue', prompt],
  help: [['opencode', 'run', '--help']],
}

const PI_MODEL = ['--provider', 'loop', '--model', 'm']

const piPrint: Cli = {
  name: 'pi',
  packages: { '@earendil-works/pi-coding-agent': '0.87.1', node: '22.22.0' },
  executable: 'pi',
  runCall: (command) => ({ name: 'bash', input: { command } }),
  configure: pi.configure,
  version: ['pi', '--version'],
  store: ({ home }) => join(home, '.pi'),
  ask: (prompt) => ['pi', '-p', ...PI_MODEL, prompt],
  askGuarded: (prompt) => ['pi', '-p', ...PI_MODEL, prompt],
  next: ['pi', '-p', ...PI_MODEL, '--continue'],
  again: (prompt) => ['pi', '-p', ...PI_MODEL, '--continue', prompt],
  help: [['pi', '--help']],
  keyed: (prompt) => ['pi', '-p', ...PI_MODEL, '--session-id', KEY, prompt],
}

/** In the order of the table. */
export const CLIS: Cli[] = [
  substratModel,
  substratClaude,
  acpx,
  claude,
  claudeDeferring,
  codexExec,
  opencodeRun,
  piPrint,
]

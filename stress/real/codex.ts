import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Place, RealProgram } from './program.js'

const CANNOT_ASK = 'codex exec cannot ask for permission: its sandbox decides'

export const codex: RealProgram = {
  name: 'codex',
  provider: 'codex',
  packages: { '@openai/codex': '0.169.0' },
  executable: 'codex',
  configure: (place) => configure(place, []),
  flags: ({ program }) => ['--option', `command=${program}`],
  runCall: (cmd) => ({ name: 'exec_command', input: { cmd } }),
  vanish: ({ home }) => rmSync(join(home, '.codex/sessions'), { recursive: true }),
  bare: {
    argv: ({ program }, prompt) => [program, 'exec', '--json', '--skip-git-repo-check', prompt],
    ratioMax: 1.3,
  },
  cannot: { permission: CANNOT_ASK, denial: CANNOT_ASK },
}

/** Codex behind Zed's adapter, which contains its own Codex. */
export const codexAcp: RealProgram = {
  ...codex,
  name: 'codex-acp',
  provider: 'acp',
  packages: { '@zed-industries/codex-acp': '0.16.0' },
  executable: 'codex-acp',
  // It asks about every command, and uses no sandbox.
  configure: (place) =>
    configure(place, ['approval_policy = "untrusted"', 'sandbox_mode = "danger-full-access"']),
  cannot: {},
}

function configure({ home, modelUrl }: Place, more: string[]): Record<string, string> {
  mkdirSync(join(home, '.codex'), { recursive: true })
  const config = [
    ...more,
    'model = "loopback"',
    'model_provider = "loopback"',
    '[model_providers.loopback]',
    'name = "loopback"',
    `base_url = "${modelUrl}/v1"`,
    'wire_api = "responses"',
    'env_key = "LOOPBACK_KEY"',
  ]
  writeFileSync(join(home, '.codex/config.toml'), `${config.join('\n')}\n`)
  return { LOOPBACK_KEY: 'sk-loopback' }
}

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RealProgram } from './program.js'

export const claudeCode: RealProgram = {
  name: 'claude',
  provider: 'claude-code',
  packages: { '@anthropic-ai/claude-code': '2.1.197' },
  executable: 'claude',
  configure: ({ modelUrl }) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-loopback',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
  }),
  flags: ({ program }) => ['--option', `command=${program}`],
  runCall: (command) => ({ name: 'Bash', input: { command, description: 'Makes a file' } }),
  vanish: ({ home }) => rmSync(join(home, '.claude/projects'), { recursive: true }),
  bare: {
    argv: ({ program }, prompt) => [program, '-p', '--output-format', 'stream-json', '--verbose', prompt],
    ratioMax: 1.2,
  },
}

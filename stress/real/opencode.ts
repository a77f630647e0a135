import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RealProgram } from './program.js'

/** Through its own server. */
export const opencode: RealProgram = {
  name: 'opencode',
  provider: 'opencode',
  packages: { 'opencode-ai': '1.18.33' },
  executable: 'opencode',
  isWarm: true,
  configure({ config, modelUrl }) {
    const provider = {
      loop: {
        npm: '@ai-sdk/openai-compatible',
        name: 'loop',
        options: { baseURL: `${modelUrl}/v1`, apiKey: 'loopback' },
        models: { m: { name: 'M' } },
      },
    }
    // By default it asks about nothing in its own directory.
    const permission = { edit: 'ask', bash: 'ask' }
    const settings = { model: 'loop/m', provider, permission, disabled_providers: ['opencode'] }
    mkdirSync(join(config, 'opencode'), { recursive: true })
    writeFileSync(join(config, 'opencode/opencode.json'), JSON.stringify(settings))
    return {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    }
  },
  flags: ({ program }) => ['--option', `command=${program}`, '--model', 'loop/m'],
  runCall: (command) => ({ name: 'bash', input: { command, description: 'Makes a file' } }),
  vanish: ({ data }) => rmSync(join(data, 'opencode'), { recursive: true }),
  bare: { argv: ({ program }, prompt) => [program, 'run', '--format', 'json', '-m', 'loop/m', prompt] },
}

/** The same program through ACP. */
export const opencodeAcp: RealProgram = {
  ...opencode,
  name: 'opencode-acp',
  provider: 'acp',
  isWarm: false,
  flags: ({ program }) => ['--option', `command=${program} acp`, '--model', 'loop/m'],
}

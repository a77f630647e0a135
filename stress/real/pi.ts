import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RealProgram } from './program.js'

/** Only for the comparison of times: substrat has no provider for it. */
export const pi: Pick<RealProgram, 'name' | 'packages' | 'executable' | 'configure' | 'bare'> = {
  name: 'pi',
  packages: { '@mariozechner/pi-coding-agent': '0.73.1' },
  executable: 'pi',
  configure({ home, modelUrl }) {
    const provider = {
      baseUrl: `${modelUrl}/v1`,
      api: 'openai-completions',
      apiKey: 'loopback',
      models: [
        {
          id: 'm',
          name: 'M',
          reasoning: false,
          input: ['text'],
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          contextWindow: 128_000,
          maxTokens: 4096,
        },
      ],
    }
    mkdirSync(join(home, '.pi/agent'), { recursive: true })
    writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { loop: provider } }))
    return { PI_OFFLINE: '1', PI_SKIP_VERSION_CHECK: '1' }
  },
  bare: { argv: ({ program }, prompt) => [program, '-p', '--provider', 'loop', '--model', 'm', prompt] },
}

/** docs/openai-endpoint.md: each configuration and each program on the page is used as it is there. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { sectionsOf } from '../support/markdown.js'

const ROOT = path.join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(path.join(ROOT, 'docs', 'openai-endpoint.md'), 'utf8')

/** The code block of that language in a section. */
function block(heading: string, language: string): string {
  const text = sectionsOf(PAGE)
    .find((section) => section.heading === heading)
    ?.lines.join('\n')
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text ?? '') ?? []
  if (code === undefined) throw new Error(`${heading} has no block of ${language}`)
  return code
}

interface Site {
  house: House
  served: Served
  id: string
  /** Runs a shell script from the page, with the address of this server. */
  sh(script: string): string
}

async function site(): Promise<Site> {
  const house = new House()
  const id = await house.spawn('notes')
  const served = await Served.start(house)
  // The page names the directory that is used if XDG_STATE_HOME is not set.
  const state = path.join(house.env.HOME as string, '.local', 'state')
  mkdirSync(path.dirname(state), { recursive: true })
  symlinkSync(house.env.XDG_STATE_HOME as string, state)
  const sh = (script: string): string => {
    const text = script.replaceAll('http://127.0.0.1:4777', served.url)
    const { status, stdout, stderr } = spawnSync('sh', ['-ec', text], {
      cwd: house.workspace,
      env: { PATH: process.env.PATH, HOME: house.env.HOME },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    return stdout
  }
  return { house, served, id, sh }
}

/** The variables of the section with curl. */
const VARIABLES = block('curl', 'sh').split('\n').slice(0, 2).join('\n')

describe.concurrent('the page about OpenAI clients has', () => {
  test('a request for curl that is answered with the reply', async () => {
    const { served, sh } = await site()
    const { choices } = JSON.parse(sh(block('curl', 'sh')))
    expect(choices[0].message.content).toBe('echo: What is open?')
    await served.stop()
  })

  test('a program for the SDK in JavaScript that prints the reply, and repeated sends no second message', async () => {
    const { house, served, id, sh } = await site()
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(house.workspace, 'node_modules'))
    writeFileSync(path.join(house.workspace, 'ask.mjs'), block("OpenAI's SDK", 'js'))
    const run = `${VARIABLES}\n'${process.execPath}' ask.mjs`
    expect([sh(run), sh(run)]).toEqual(['echo: What is open?\n', 'echo: What is open?\n'])
    expect(house.count(id, 'run.started')).toBe(1)
    await served.stop()
  })

  test('variables with which Open WebUI lists the agents and streams a reply', async () => {
    const { served, sh } = await site()
    const lines = block('Open WebUI', 'sh').split('\n')
    expect(lines.at(-2)).toBe('open-webui serve')
    const variables = sh(`${lines.slice(0, -2).join('\n')}\nenv`)
    const variable = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(variables)?.[1]
    const url = variable('OPENAI_API_BASE_URL')
    // Its requests: openai.py of Open WebUI.
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${variable('OPENAI_API_KEY')}`,
    }
    const { data } = (await (await fetch(`${url}/models`, { headers })).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['notes'])
    const body = JSON.stringify({
      model: 'notes',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
    })
    const text = await (await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })).text()
    const chunks = text.split('\n\n').filter((event) => /^data: \{/.test(event))
    const deltas = chunks.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '')
    expect(deltas.join('')).toBe('echo: hi')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    await served.stop()
  })

  test('a model for llm whose base, name and key reach the agent', async () => {
    const { served, sh } = await site()
    const model = Object.fromEntries(
      [...block('llm', 'yaml').matchAll(/(\w+): (\S+)/g)].map(([, name, value]) => [name, value]),
    )
    const [, key] =
      /--value "(.*)"\n/.exec(
        sectionsOf(PAGE)
          .find(({ heading }) => heading === 'llm')
          ?.lines.join('\n') ?? '',
      ) ?? []
    const body = JSON.stringify({ model: model.model_name, messages: [{ role: 'user', content: 'hi' }] })
    const answer = sh(
      `curl -s ${model.api_base}/chat/completions -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '${body}'`,
    )
    expect(JSON.parse(answer).choices[0].message.content).toBe('echo: hi')
    await served.stop()
  })
})

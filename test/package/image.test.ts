/** The files of the image, without building it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { House } from '../support/cli.js'

const repository = path.join(import.meta.dirname, '..', '..')
const dockerfile = readFileSync(path.join(repository, 'Dockerfile'), 'utf8')
const script = (name: string): string => path.join(repository, 'container', name)

interface Service {
  entrypoint?: string[]
  command?: string[]
  hostname?: string
  volumes?: string[]
  secrets?: string[]
  depends_on?: Record<string, unknown>
}
interface Compose {
  services: Record<string, Service>
  volumes: Record<string, unknown>
  secrets: Record<string, unknown>
}

test('each file that the Dockerfile copies from the repository exists', () => {
  const copies = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )*(.+) \S+$/gm)]
  const sources = copies.flatMap(([, files = '']) => files.split(' '))
  expect(sources).toContain('container/worker')
  expect(sources.filter((file) => !existsSync(path.join(repository, file)))).toEqual([])
})

describe('compose.yaml', () => {
  const { services, volumes, secrets }: Compose = parse(
    readFileSync(path.join(repository, 'compose.yaml'), 'utf8'),
    { merge: true },
  )
  const ours = Object.entries(services).filter(([name]) => name !== 'database')

  test('runs only scripts of the image and commands of substrat', () => {
    const commands = Object.keys(
      JSON.parse(readFileSync(path.join(repository, 'oclif.manifest.json'), 'utf8')).commands,
    )
    expect(ours.length).toBeGreaterThan(3)
    for (const [name, { entrypoint: [first = '', second = ''] = [], command = [] }] of ours) {
      expect(existsSync(script(first)), name).toBe(true)
      if (second !== 'substrat') expect(existsSync(script(second)), name).toBe(true)
      else
        expect([command[0] ?? '', command.slice(0, 2).join(':')].some((id) => commands.includes(id))).toBe(
          true,
        )
    }
  })

  test('names only volumes, secrets and services that it has, and each worker once', () => {
    for (const service of Object.values(services)) {
      const used = (service.volumes ?? []).map((volume) => volume.split(':')[0] as string)
      expect(used.filter((name) => !(name in volumes))).toEqual([])
      expect((service.secrets ?? []).filter((name) => !(name in secrets))).toEqual([])
      expect(Object.keys(service.depends_on ?? {}).filter((name) => !(name in services))).toEqual([])
    }
    const hosts = ours.flatMap(([, { hostname }]) => hostname ?? [])
    expect(new Set(hosts).size).toBe(hosts.length)
  })
})

test('with-secrets turns a file with the name of a variable into that variable, and no other file', () => {
  const house = new House()
  const directory = path.join(house.workspace, 'secrets')
  mkdirSync(directory)
  writeFileSync(path.join(directory, 'OPENAI_API_KEY'), 'sk-1 "$x"\n')
  writeFileSync(path.join(directory, 'notes.txt'), 'no')
  const text = readFileSync(script('with-secrets'), 'utf8').replaceAll('/run/secrets', directory)
  const env = { PATH: process.env.PATH }
  const printed = execFileSync('sh', ['-c', text, 'with-secrets', 'env'], { encoding: 'utf8', env })
  expect(printed).toContain('OPENAI_API_KEY=sk-1 "$x"\n')
  expect(printed).not.toContain('notes')
})

test.each(['with-secrets', 'worker'])('%s is a script that the shell can parse', (name) => {
  expect(spawnSync('sh', ['-n', script(name)], { encoding: 'utf8' }).stderr).toBe('')
})

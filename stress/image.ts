/**
 * Builds the image of the Dockerfile and runs it: `npm run test:image`. Needs root, buildah, Debian's mmdebstrap and the registries
 * of Debian and npm. IMAGE_BASE names another base image.
 *
 * buildah runs it in a chroot, which works where no container runtime does. A container's limits, its network and its pid namespace
 * are the engine's, so that nothing here tests them.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const IMAGE = 'localhost/substrat-test'
const BASE = 'localhost/substrat-test-base'
const PACKAGES = 'nodejs,npm,ca-certificates,passwd,procps'
const ISOLATION = ['--isolation', 'chroot']
/** The certificates of a network whose proxy has its own. */
const CERTIFICATES = ['--volume', '/etc/ssl/certs:/etc/ssl/certs:ro']

let [passed, failed] = [0, 0]

function report(name: string, why: string | undefined): void {
  if (why === undefined) passed += 1
  else failed += 1
  console.log(`${why === undefined ? 'ok  ' : 'FAIL'} ${name}${why === undefined ? '' : `\n${why}`}`)
}

function buildah(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('buildah', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`buildah ${args.join(' ')}: ${error ?? stderr.slice(-1000)}`)
  return stdout.trim()
}

function hasImage(name: string): boolean {
  return spawnSync('buildah', ['inspect', '--type', 'image', name], { stdio: 'ignore' }).status === 0
}

/** Debian with Node and npm, as a stranger's base image has them. */
function makeBase(): void {
  if (hasImage(BASE)) return
  const container = buildah('from', 'scratch')
  try {
    const root = buildah('mount', container)
    const made = spawnSync('mmdebstrap', ['--variant=minbase', `--include=${PACKAGES}`, 'trixie', root])
    if (made.status !== 0) throw new Error(`mmdebstrap: ${made.error ?? made.stderr}`)
    buildah('umount', container)
    buildah('config', '--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', container)
    buildah('commit', container, BASE)
  } finally {
    buildah('rm', container)
  }
}

interface Ran {
  status: number | null
  text: string
}

class Container {
  private readonly name = buildah('from', '--pull-never', IMAGE)
  /** As open as a new volume of an engine, which has the mode of the directory in the image. buildah's own has not. */
  private readonly volume = mkdtempSync(path.join(tmpdir(), 'substrat-volume-'))

  constructor() {
    chmodSync(this.volume, 0o1777)
  }

  /** The command with the entry point of the image before it, as an engine runs it. */
  substrat(...args: string[]): Promise<Ran> {
    return this.run(['substrat', ...args])
  }

  shell(script: string, ...options: string[]): Promise<Ran> {
    return this.run(['sh', '-ec', script], options)
  }

  remove(): void {
    buildah('rm', this.name)
    rmSync(this.volume, { recursive: true, force: true })
  }

  private async run(argv: string[], options: string[] = []): Promise<Ran> {
    const home = ['--volume', `${this.volume}:/home/substrat`]
    const child = spawn('buildah', ['run', ...ISOLATION, ...home, ...options, this.name, '--', ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
    const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { status, text }
  }
}

function expect(name: string, { status, text }: Ran, words: (string | RegExp)[], exit = 0): void {
  const missing = words.filter((each) => (typeof each === 'string' ? !text.includes(each) : !each.test(text)))
  const isRight = status === exit && missing.length === 0
  report(name, isRight ? undefined : `exit ${status}; missing ${missing}\n${text}`)
}

interface Config {
  User: string
  Volumes: Record<string, object>
  Healthcheck?: { Test: string[] }
}

/** Kills a send during the turn of a program. The worker of the image continues it, and ends at a signal. */
const KILLED = `
substrat spawn --name killed --provider exec \\
  --option command='[ ! -e /work/began ] || { echo done; exit; }; touch /work/began; sleep 100'
substrat send killed hi & sender=$!
timeout 60 sh -c 'until [ -e /work/began ]; do sleep 0.1; done'
kill -9 $sender
worker 1 & worker=$!
timeout 60 sh -c 'until substrat log killed | grep -q done; do sleep 0.5; done'
kill -TERM $worker
wait $worker
substrat log killed
substrat doctor --all`

const SERVED = `
substrat serve --listen 127.0.0.1:4777 >/work/serve.log 2>&1 & server=$!
timeout 60 sh -c 'until grep -q listening /work/serve.log; do sleep 0.1; done'
"$@"
kill $server; wait $server`

async function main(): Promise<void> {
  const base = process.env.IMAGE_BASE ?? BASE
  if (base === BASE) makeBase()
  const args = ['--pull-never', '--format', 'docker', '--build-arg', `BASE=${base}`, '--tag', IMAGE]
  buildah('build', ...ISOLATION, ...CERTIFICATES, ...args, repository)
  const { OCIv1, Docker } = JSON.parse(buildah('inspect', '--type', 'image', IMAGE)) as {
    OCIv1: { config: Config }
    Docker: { config: Config }
  }
  const { User, Volumes } = OCIv1.config
  const health = Docker.config.Healthcheck?.Test ?? []
  report(
    'the image has its user, its volume and its health check',
    User === 'substrat' && '/home/substrat' in Volumes && health[0] === 'CMD'
      ? undefined
      : JSON.stringify(OCIv1),
  )
  const container = new Container()
  try {
    expect('its command is substrat', await container.substrat('--version'), [/^substrat\/\d/m])
    const agent = 'substrat spawn --name a --provider scripted && substrat send a hi'
    expect('its user spawns and sends', await container.shell(agent), ['echo: hi'])
    const stranger = ['--user', '4242:4242', '--env', 'SUBSTRAT_HOME=/work/other']
    expect('so does a user without an entry in passwd', await container.shell(agent, ...stranger), [
      'echo: hi',
    ])
    expect('a killed turn is continued', await container.shell(KILLED), ['done'])
    const tested = await container.substrat('selftest', '--kills', '10')
    expect('the kills of selftest lose and repeat nothing', { ...tested, status: 0 }, [
      /a killed send loses and repeats nothing +holds/,
      /a killed holder loses its lock +holds/,
    ])
    const probe = health.slice(1).map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    expect(
      'its health check finds the server',
      await container.shell(`set -- ${probe.join(' ')}${SERVED}`),
      [],
    )
    expect('and no server after its end', await container.shell(`! ${probe.join(' ')}`), [])
    const bytes = await container.shell('du -s --apparent-size -B1 /usr/local/lib/node_modules | cut -f1')
    console.log(`bytes in node_modules: ${bytes.text.trim()}`)
  } finally {
    await sleep(100)
    container.remove()
    buildah('rmi', IMAGE)
  }
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

await main()

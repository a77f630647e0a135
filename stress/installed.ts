/**
 * Installs the packed package as a stranger does, and follows the pages: `npm run test:installed`. Needs root, Debian's mmdebstrap
 * and the registries of Debian and npm.
 *
 * The package is served by verdaccio. The machine is a chroot of Debian's packages with Node and npm, without git, a clone or a
 * writable /usr. The user is unprivileged: once with an entry in /etc/passwd, once without.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startModelServer } from '../test/support/model-server/server.js'
import { PAGES, type Plan } from './installed/pages.js'

const SUITE = 'trixie'
const PACKAGES = ['nodejs', 'npm', 'ca-certificates', 'curl', 'cron', 'postgresql', 'procps']
const VERDACCIO = 'verdaccio@6.1.6'
const USER = 'stranger'
const ROOT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const cache = process.env.INSTALLED_CACHE ?? path.join(tmpdir(), 'substrat-installed')
const root = path.join(cache, 'machine')

let [passed, failed] = [0, 0]

function report(name: string, why?: string): void {
  if (why === undefined) passed += 1
  else failed += 1
  console.log(`${why === undefined ? 'ok  ' : 'FAIL'} ${name}${why === undefined ? '' : `\n${why}`}`)
}

/** Runs a program and throws if it fails. */
function sh(command: string, args: string[], options: { cwd?: string } = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...options })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? stderr}`)
  return stdout
}

interface Ran {
  status: number | null
  text: string
}

interface Inside {
  uid: number
  env?: Record<string, string>
  /** Commands that root runs before, such as the start of a server. */
  prelude?: string
  /** Whether /usr can be written. */
  isWritable?: boolean
}

/** Runs the script in the chroot, as that user. All its processes end with it. */
async function inside(script: string, { uid, env = {}, prelude = 'true', isWritable }: Inside): Promise<Ran> {
  const file = `/tmp/script-${process.hrtime.bigint()}.sh`
  writeFileSync(path.join(root, file), script)
  const usr = isWritable ? 'true' : 'mount --bind "$1/usr" "$1/usr" && mount -o remount,bind,ro "$1/usr"'
  const mounts = `mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && ${usr}`
  const user = `setpriv --reuid ${uid} --regid ${uid} --clear-groups env -i "$@" bash -e ${file}`
  const enter = `${mounts} && exec chroot "$1" /bin/bash -c '${prelude} && exec ${user}' "\${@:1}"`
  const variables = Object.entries({ PATH: ROOT_PATH, ...env }).map(([name, value]) => `${name}=${value}`)
  const args = [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    'bash',
    '-c',
    enter,
    'enter',
    root,
    ...variables,
  ]
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: ROOT_PATH } })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  rmSync(path.join(root, file), { force: true })
  return { status, text }
}

function makeMachine(): void {
  if (existsSync(path.join(root, 'usr/bin/npm'))) return
  mkdirSync(cache, { recursive: true })
  rmSync(root, { recursive: true, force: true })
  sh('mmdebstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, SUITE, root])
  sh('chroot', [root, 'useradd', '--create-home', '--shell', '/bin/bash', '--uid', '1000', USER])
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** Verdaccio with the packed package, and with npm's registry behind it for the packages that it needs. */
async function startRegistry(directory: string, tarball: string): Promise<{ url: string; stop(): void }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const tools = path.join(cache, 'tools')
  mkdirSync(tools, { recursive: true })
  if (!existsSync(path.join(tools, 'node_modules/verdaccio'))) {
    // It asks for a tag that mirrors of the registry do not have.
    const manifest = { private: true, overrides: { 'node-fetch': '2.7.0' } }
    writeFileSync(path.join(tools, 'package.json'), JSON.stringify(manifest))
    sh('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', VERDACCIO], { cwd: tools })
  }
  const config = `storage: ${directory}/storage
auth: { htpasswd: { file: ${directory}/htpasswd } }
uplinks: { npmjs: { url: https://registry.npmjs.org/ } }
packages:
  'substrat': { access: $all, publish: $all }
  '**': { access: $all, proxy: npmjs }
log: { type: file, path: ${directory}/log, level: warn }
`
  writeFileSync(path.join(directory, 'config.yaml'), config)
  const server = spawn(
    process.execPath,
    [
      path.join(tools, 'node_modules/verdaccio/bin/verdaccio'),
      '--config',
      path.join(directory, 'config.yaml'),
      '--listen',
      `127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const answers = (): Promise<boolean> =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await answers())) {
    if (server.exitCode !== null) throw new Error(`verdaccio ended with ${server.exitCode}`)
    await sleep(100)
  }
  writeFileSync(path.join(directory, '.npmrc'), `//127.0.0.1:${port}/:_authToken=anyone\n`)
  sh('npm', ['publish', tarball, '--registry', url, '--userconfig', path.join(directory, '.npmrc')], {
    cwd: directory,
  })
  return { url, stop: () => server.kill() }
}

/** The code blocks of a page that are commands: without a language, or for the shell. */
function blocksOf(page: string): string[] {
  const text = readFileSync(path.join(repository, page), 'utf8')
  return [...text.matchAll(/^```(sh)?\n([\s\S]*?)^```$/gm)]
    .filter(
      ([, language, block = '']) =>
        language === 'sh' || /^(\$ )?(substrat|npm|export|\(crontab) /.test(block),
    )
    .map(([, , block = '']) => block)
}

async function followPage(page: string, plans: Plan[], env: Record<string, string>): Promise<void> {
  for (const block of blocksOf(page)) {
    const [first = ''] = block.split('\n')
    const name = `${page}: ${first}`
    const plan = plans.find(({ starts }) => block.startsWith(starts))
    if (plan === undefined) report(name, 'no plan in stress/installed/pages.ts runs this block')
    else if ('left' in plan) console.log(`left ${name} (${plan.left})`)
    else {
      const typed = (plan.replace ?? []).reduce((text, [from, to]) => text.replace(from, to), block)
      const home = `/home/${USER}`
      // Each block begins with an empty home, as a new user has it.
      await inside(
        `rm -rf ${home}/.substrat ${home}/work ${home}/.local/state; su ${USER} -c 'crontab -r' || true`,
        { uid: 0 },
      )
      const script = [plan.before, typed, plan.after].filter((part) => part !== undefined).join('\n')
      const { status, text } = await inside(script, {
        uid: 1000,
        env,
        ...(plan.prelude === undefined ? {} : { prelude: plan.prelude }),
      })
      const missing = plan.says.filter((words) => !text.includes(words))
      const why = status === 0 ? missing.map((words) => `it does not print: ${words}`) : [`exit ${status}`]
      report(name, why.length === 0 ? undefined : `${why.join('\n')}\n${script}\n${text}`)
    }
  }
}

async function main(): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'substrat-registry-'))
  makeMachine()
  const [{ filename }] = JSON.parse(
    sh('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], { cwd: repository }),
  ) as [{ filename: string }]
  const registry = await startRegistry(directory, path.join(directory, filename))
  const model = await startModelServer({ responses: [{ text: 'You wrote a README.' }] })
  const stop = (): void => {
    registry.stop()
    void model.close()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const home = `/home/${USER}`
    const env = {
      HOME: home,
      USER,
      PATH: `${home}/.local/bin:/usr/bin:/bin`,
      npm_config_registry: registry.url,
      OPENAI_BASE_URL: `${model.url}/v1`,
    }
    await inside(`rm -rf ${home} && mkdir ${home} && chown 1000:1000 ${home}`, { uid: 0 })
    const expect = async (
      name: string,
      script: string,
      words: string[],
      options = { uid: 1000, env: env as Record<string, string> },
    ): Promise<string> => {
      const { status, text } = await inside(script, options)
      const missing = words.filter((each) => !text.includes(each))
      report(
        name,
        status === 0 && missing.length === 0 ? undefined : `exit ${status}; missing ${missing}\n${text}`,
      )
      return text
    }
    await expect(
      'the machine has neither git nor a writable /usr',
      '! command -v git; ! touch /usr/x 2>/dev/null; node --version',
      ['v2'],
    )
    const install = await expect(
      'npm installs it for an unprivileged user',
      'npm install --global --prefix ~/.local substrat && substrat --version',
      ['substrat/'],
    )
    report('npm warns of nothing', /warn/i.test(install) ? install : undefined)
    await expect('npx runs it from the registry', 'npx --yes substrat --version', ['substrat/'])
    const modules = path.join(root, home, '.local/lib/node_modules')
    const bytes = Number(sh('du', ['-s', '--apparent-size', '-B1', modules]).split('\t')[0])
    const packages = sh('find', [modules, '-path', '*node_modules/*', '-name', 'package.json']).split('\n')
    const names = new Set(packages.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]))
    names.delete(undefined)
    console.log(`installed: ${bytes} bytes, ${names.size} packages`)
    report('it takes at most 10 MB', bytes <= 10_000_000 ? undefined : `${bytes} bytes`)
    report('it takes at most 45 packages', names.size <= 45 ? undefined : [...names].join(' '))
    const nobody = { ...env, HOME: '/tmp/nobody' }
    await inside(
      'rm -rf /tmp/nobody && mkdir /tmp/nobody && chown 4242 /tmp/nobody && cp -r /home/stranger/.local /tmp/nobody/ && chown -R 4242 /tmp/nobody',
      { uid: 0 },
    )
    await expect(
      'a user without an entry in passwd spawns and sends',
      '/tmp/nobody/.local/bin/substrat spawn --name a --provider scripted && /tmp/nobody/.local/bin/substrat send a hi',
      ['echo: hi'],
      { uid: 4242, env: nobody },
    )
    await expect(
      'a person gets from nothing to a reply over the server',
      `cd ~; substrat spawn --name notes --provider openai --model gpt-5.1
substrat serve >serve.log 2>&1 & until grep -q listening serve.log; do sleep 0.1; done
curl -s -H "Authorization: Bearer $(cat .local/state/substrat/serve-*.token)" -H 'Content-Type: application/json' -H 'Prefer: wait' -d '{"content": "What did I do?"}' http://127.0.0.1:4777/v1/agents/notes/messages
kill %1; wait || true`,
      ['You wrote a README.'],
      { uid: 1000, env: { ...env, OPENAI_API_KEY: 'sk-x' } },
    )
    // The pages assume git and a server of PostgreSQL, which a person has for other reasons.
    await inside('apt-get install -y --no-install-recommends git >/dev/null 2>&1', {
      uid: 0,
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      isWritable: true,
    })
    for (const [page, plans] of Object.entries(PAGES)) await followPage(page, plans, env)
  } finally {
    stop()
  }
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

await main()

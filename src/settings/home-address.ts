/**
 * The home that SUBSTRAT_HOME names. The password of a URL leaves the environment at once: programs that an agent starts inherit
 * the environment, and messages name the home.
 */
import { createRequire } from 'node:module'
import { homedir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'
import { describeFailure } from '../provider/failure.js'
import type { PluginFacts } from '../provider/registry.js'
import { loadModule } from '../start/plugin-modules.js'
import { openUrlsWith, prepareHome, type StorePlugin, schemeOf } from '../storage/open.js'

/** `plugins` is called only for a URL. */
export function homeAddress(plugins: () => Iterable<PluginFacts>): string {
  const given = process.env.SUBSTRAT_HOME || defaultHome()
  const scheme = schemeOf(given)
  return scheme === undefined ? resolve(given) : urlOf(given, plugins)
}

function defaultHome(): string {
  const directory = homedir()
  if (directory === '/' && isUnknownUser())
    throw new SubstratError(
      'HOME_UNUSABLE',
      `the user with the id ${process.getuid?.()} has no home directory`,
      {
        hint: 'set SUBSTRAT_HOME to a directory of that user, or HOME',
      },
    )
  return join(directory, '.substrat')
}

/** Whether the user is not root, and has no entry in the password database. */
function isUnknownUser(): boolean {
  try {
    userInfo()
    return false
  } catch {
    return process.getuid?.() !== 0
  }
}

const passwords = new Map<string, string>()

function urlOf(given: string, plugins: () => Iterable<PluginFacts>): string {
  const { url, password = process.env.PGPASSWORD } = withoutPassword(given)
  if (password !== undefined) passwords.set(url, password)
  process.env.SUBSTRAT_HOME = url
  delete process.env.PGPASSWORD
  openUrlsBy(homeAccess(plugins))
  return url
}

/** A home that an argument names. Its password comes from elsewhere: other users can read the arguments of a process. */
export function givenAddress(given: string, plugins: () => Iterable<PluginFacts>): string {
  if (given === '')
    throw new SubstratError('USAGE', 'the address of the home is empty', {
      hint: 'name a directory or a URL; is a variable in the command line not set?',
    })
  if (schemeOf(given) === undefined) return resolve(given)
  const { url, password } = withoutPassword(given)
  if (password !== undefined)
    throw new SubstratError('USAGE', 'a password in an argument is visible to other users', {
      hint: 'leave it out, and put it into ~/.pgpass or PGPASSWORD',
    })
  if (process.env.PGPASSWORD !== undefined) passwords.set(url, process.env.PGPASSWORD)
  openUrlsBy(homeAccess(plugins))
  return url
}

/** The means by which another copy of this code, in the bundle of a server, opens the same home. */
export interface HomeAccess {
  plugins(): Iterable<PluginFacts>
  passwordOf(url: string): string | undefined
}

/** Call `homeAddress` first. */
export function homeAccess(plugins: () => Iterable<PluginFacts>): HomeAccess {
  return { plugins, passwordOf: (url) => passwords.get(url) }
}

export function openUrlsBy({ plugins, passwordOf }: HomeAccess): void {
  const loaded = (url: string): StorePlugin => loadStore(schemeOf(url) ?? '', plugins)
  openUrlsWith({
    open: (kit, url) => loaded(url).open(kit, url, passwordOf(url)),
    transfer: (kit, url) => loaded(url).transfer(kit, url, passwordOf(url)),
    prepare: (kit, url) => loaded(url).prepare?.(kit, url, passwordOf(url)),
  })
}

/** Connects to a home on another machine while the command is parsed. The command reports what is wrong with it. */
export function connectEarly(plugins: () => Iterable<PluginFacts>): void {
  try {
    prepareHome(homeAddress(plugins))
  } catch {}
}

/** The URL in SUBSTRAT_HOME, if it is one, for the command that creates such a home. */
export function homeUrl(): { url: string | undefined; password: string | undefined } {
  const given = process.env.SUBSTRAT_HOME ?? ''
  return schemeOf(given) === undefined ? { url: undefined, password: undefined } : withoutPassword(given)
}

/** Not by Node's URL, which refuses a user without a host, as in postgres://USER@/DATABASE?host=/run/postgresql. */
const URL_PARTS = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^@/?#:]*)(?::([^@/?#]*))?@)?([^?#]*)(?:\?([^#]*))?$/

function withoutPassword(given: string): { url: string; password: string | undefined } {
  const parts = isEncoded(given) ? URL_PARTS.exec(given) : null
  if (parts === null) {
    throw new SubstratError('HOME_UNUSABLE', 'the URL of the home cannot be parsed', {
      hint: 'write it as postgres://USER@HOST/DATABASE, and encode special characters as %XX',
    })
  }
  const [, scheme, user, password, rest, query = ''] = parts
  const parameters = query.split('&').filter((parameter) => parameter !== '')
  const isSecret = (parameter: string): boolean => parameter.startsWith('password=')
  const others = parameters.filter((parameter) => !isSecret(parameter)).join('&')
  const found = password ?? parameters.find(isSecret)?.slice('password='.length)
  return {
    url: `${scheme}${user === undefined ? '' : `${user}@`}${rest}${others === '' ? '' : `?${others}`}`,
    password: found === undefined ? undefined : decodeURIComponent(found),
  }
}

/** Whether each `%` begins an encoded character. */
function isEncoded(url: string): boolean {
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

function loadStore(scheme: string, plugins: () => Iterable<PluginFacts>): StorePlugin {
  for (const plugin of plugins()) {
    const { substrat } = plugin.pjson
    const stores = isPlainObject(substrat) && isPlainObject(substrat.stores) ? substrat.stores : {}
    const file = Object.hasOwn(stores, scheme) ? stores[scheme] : undefined
    if (typeof file === 'string') return loadFrom(plugin, join(plugin.root, file))
  }
  throw new SubstratError('HOME_UNUSABLE', `no installed plugin opens a home at ${scheme}://`, {
    hint:
      scheme === 'postgres' || scheme === 'postgresql'
        ? 'install substrat again; in a clone: npm run build'
        : 'set SUBSTRAT_HOME to a directory, or to a URL that begins with postgres://',
  })
}

function loadFrom(plugin: PluginFacts, module: string): StorePlugin {
  try {
    return (module.endsWith('.cjs') ? loadModule(module) : createRequire(module)(module)) as StorePlugin
  } catch (error) {
    throw new SubstratError(
      'HOME_UNUSABLE',
      `the plugin ${plugin.name} cannot be loaded: ${describeFailure(error).message}`,
      { hint: 'install the plugin, or substrat, again; in a clone: npm run build', cause: error },
    )
  }
}

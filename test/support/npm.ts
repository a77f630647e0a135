/** npm as a user has it, and a local registry. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'

/**
 * Uses the settings of the user who runs the tests: the cache filled by `npm ci`, the registry and its certificates.
 */
export async function npm(cwd: string, ...args: string[]): Promise<string> {
  const options = { cwd, env: { npm_config_logs_max: '0', npm_config_update_notifier: 'false' } }
  return (await execa('npm', args, options)).stdout
}

/** The npm settings of all users; with --prefix npm would look for them inside the prefix. */
export async function npmGlobalConfig(): Promise<string> {
  return (await npm('/', 'config', 'get', 'globalconfig')).trim()
}

/** The tarball of the package in that directory. */
export async function pack(directory: string, destination: string): Promise<string> {
  const output = await npm(directory, 'pack', '--json', '--pack-destination', destination)
  // The output of its scripts comes first.
  const [{ filename }] = JSON.parse(output.slice(output.search(/^\[/m))) as [{ filename: string }]
  return path.join(destination, filename)
}

/** The tarballs of built packages. One npm packs all of them, because its start takes most of the time. */
export async function packBuilt(directories: string[], destination: string): Promise<string[]> {
  const flags = ['--json', '--ignore-scripts', '--pack-destination', destination]
  const packed: { filename: string }[] = JSON.parse(await npm(destination, 'pack', ...flags, ...directories))
  return packed.map(({ filename }) => path.join(destination, filename))
}

export interface Package {
  name: string
  version: string
  tarball: string
}

/** Serves only these packages on the loopback interface until the test is over; returns the address. */
export async function serveRegistry(packages: Package[]): Promise<string> {
  const server = createServer((request, response) => {
    const found = packages.find(({ name }) => request.url?.split('/')[1] === name)
    const end = (status: number, body: string | Buffer): void => void response.writeHead(status).end(body)
    if (found === undefined) end(404, '{}')
    else if (request.url?.endsWith('.tgz')) end(200, readFileSync(found.tarball))
    else end(200, JSON.stringify(packument(found, `http://${request.headers.host}`)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function packument({ name, version, tarball }: Package, registry: string): object {
  const bytes = readFileSync(tarball)
  const dist = {
    tarball: `${registry}/${name}/-/${name}-${version}.tgz`,
    integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
    shasum: createHash('sha1').update(bytes).digest('hex'),
  }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, dist } } }
}

/** Which certificates https trusts, with real servers. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { certificate } from '../support/model-server/certificate.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { tempDirectory } from '../support/temp.js'
import { buildPlugin } from './built.js'
import { collect, failureOf, KEY, requestFor, textOf, VARIANTS } from './support.js'

const run = promisify(execFile)

describe.skipIf(certificate === undefined)('with a certificate made by openssl', () => {
  const tls = certificate as NonNullable<typeof certificate>
  let server: ModelServer
  beforeAll(async () => {
    server = await startModelServer({ responses: [] }, { tls })
  })
  afterAll(() => server.close())
  afterEach(() => vi.unstubAllEnvs())

  describe.each(VARIANTS)('$api', ({ provider, options }) => {
    const ask = () => collect(provider, requestFor(options(server.url)))

    test('an untrusted certificate is rejected as misconfigured', async () => {
      const { failure, message } = await failureOf(ask)
      expect(failure).toEqual({ type: 'misconfigured' })
      expect(message).toContain('NODE_EXTRA_CA_CERTS')
    })

    test('SSL_CERT_FILE makes it trusted, also on a kept connection', async () => {
      vi.stubEnv('SSL_CERT_FILE', tls.file)
      expect(textOf(await ask())).toBe('echo: hello')
      expect(textOf(await ask())).toBe('echo: hello')
      vi.unstubAllEnvs()
      expect((await failureOf(ask)).failure.type).toBe('misconfigured')
    })

    test('a missing file is named', async () => {
      vi.stubEnv('SSL_CERT_FILE', '/nonexistent/ca.pem')
      const { failure, message } = await failureOf(ask)
      expect(failure.type).toBe('misconfigured')
      expect(message).toContain('/nonexistent/ca.pem')
    })

    test('a certificate for another host is rejected', async () => {
      vi.stubEnv('SSL_CERT_FILE', tls.file)
      const url = server.url.replace('127.0.0.1', 'localhost')
      const { failure, message } = await failureOf(() => collect(provider, requestFor(options(url))))
      expect(failure.type).toBe('misconfigured')
      expect(message).toContain('ALTNAME')
    })
  })

  test('NODE_EXTRA_CA_CERTS makes it trusted, even with another SSL_CERT_FILE', async () => {
    const file = await buildPlugin('provider-anthropic')
    const request = { ...requestFor({ base_url: server.url }), messages: undefined }
    const script = `
      const { default: provider } = await import(${JSON.stringify(file)})
      const request = { ...${JSON.stringify(request)}, messages: () => [{ role: 'user', content: 'hello' }] }
      for await (const event of provider.complete(request, { signal: new AbortController().signal })) {
        if (event.type === 'text') process.stdout.write(event.text)
      }`
    const other = otherAuthority()
    for (const more of [{}, { SSL_CERT_FILE: other }]) {
      const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: KEY, NODE_EXTRA_CA_CERTS: tls.file, ...more }
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
      expect(stdout).toBe('echo: hello')
    }
  })
})

/** A root certificate that has signed nothing here. */
function otherAuthority(): string {
  const file = join(tempDirectory(), 'ca.pem')
  writeFileSync(file, String(rootCertificates[0]))
  return file
}

/** The files of the page, and what the server says about them. test/servers/page*.test.ts open them in a browser. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { PLUGIN, Served } from './support.js'

/** XML namespaces, and schemes that the parser adds to a text. */
const NOT_REQUESTED = ['http://www.w3.org/', 'http://${']

const BUILT = path.join(PLUGIN, 'dist', 'page')
/** The parser of Markdown has 75 kB of them. */
const BYTES_MAX = 240_000

test('the page has at most 240 kB, and names no other server', () => {
  const files = readdirSync(BUILT)
  const bytes = files.map((name) => statSync(path.join(BUILT, name)).size)
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BYTES_MAX)
  for (const name of files) {
    // Licences name their authors.
    const code = readFileSync(path.join(BUILT, name), 'utf8').replaceAll(/\/\*!.*?\*\//gs, '')
    const addresses = code.match(/https?:\/\/[^"'` )]+/g) ?? []
    expect(addresses.filter((address) => !NOT_REQUESTED.some((begin) => address.startsWith(begin)))).toEqual(
      [],
    )
  }
})

test('the page needs no token, and its policy allows only scripts and styles of the server', async () => {
  const served = await Served.start(new House())
  for (const [at, type] of [
    ['/', 'text/html'],
    ['/page.js', 'text/javascript'],
    ['/style.css', 'text/css'],
    ['/icon.svg', 'image/svg+xml'],
  ]) {
    const { status, headers } = await fetch(`${served.url}${at}`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain(type)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  }
  const html = readFileSync(path.join(BUILT, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<script>|<style|style=|\son\w+=/)
  await served.stop()
})

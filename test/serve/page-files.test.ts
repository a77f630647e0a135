/** The files of the page: only those that the build made, with headers that let them run nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Page } from '../../plugins/serve/src/page.js'
import { tempDirectory } from '../support/temp.js'

function pageIn(root: string): Page {
  mkdirSync(path.join(root, 'page', 'assets'), { recursive: true })
  writeFileSync(path.join(root, 'secret.js'), 'secret')
  writeFileSync(path.join(root, 'page', 'index.html'), '<!doctype html>')
  writeFileSync(path.join(root, 'page', 'notes.txt'), 'of the build')
  writeFileSync(path.join(root, 'page', 'assets', 'a.js'), 'let a')
  return new Page(path.join(root, 'page'))
}

const get = (page: Page, at: string, headers = {}): Response | undefined =>
  page.answer(new Request(`http://localhost${at}`, { headers }))

test('the page is its files, and no path leads to another', async () => {
  const page = pageIn(tempDirectory())
  expect(await get(page, '/')?.text()).toBe('<!doctype html>')
  expect(await get(page, '/assets/a.js?v=1')?.text()).toBe('let a')
  for (const at of [
    '/../secret.js',
    '/%2e%2e/secret.js',
    '/assets/..%2f..%2fsecret.js',
    '/notes.txt',
    '/assets',
    '//',
    '/a.js\0',
  ])
    expect([at, get(page, at)]).toEqual([at, undefined])
})

test('a page may run only its own scripts, and no site may show it in a frame', () => {
  const page = pageIn(tempDirectory())
  const headers = get(page, '/')?.headers
  const policy = headers?.get('content-security-policy')
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
    expect(policy?.split('; ')).toContain(rule)
  expect(policy).not.toMatch(/unsafe|\*|https?:/)
  expect(headers?.get('content-type')).toBe('text/html; charset=utf-8')
  expect(headers?.get('referrer-policy')).toBe('no-referrer')
})

test('a file that the browser has is not sent again', () => {
  const page = pageIn(tempDirectory())
  const etag = get(page, '/assets/a.js')?.headers.get('etag') as string
  expect(get(page, '/assets/a.js', { 'if-none-match': etag })?.status).toBe(304)
  expect(get(page, '/', { 'if-none-match': etag })?.status).toBe(200)
})

test('a page that was not built has no files', () => {
  expect(get(new Page(path.join(tempDirectory(), 'none')), '/')).toBeUndefined()
})

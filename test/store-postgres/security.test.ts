import { afterEach, describe, expect, test, vi } from 'vitest'
import { assertSafe } from '../../plugins/store-postgres/src/security.js'
import { SubstratError } from '../../src/errors.js'

const check = (url: string) => () => assertSafe({ SubstratError }, url)
const AWAY = 'db.example.com'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('a connection', () => {
  test.each([
    'postgres:///home',
    'postgres://me@/home?host=/run/postgresql',
    'postgres://me@%2Frun%2Fpostgresql/home',
    'postgres://me@localhost:5433/home',
    'postgres://127.0.0.1/home',
    'postgres://[::1]:5432/home',
    `postgres://me@${AWAY}/home?sslmode=verify-full`,
  ])('to this machine, or with verify-full, is allowed: %s', (url) => {
    expect(check(url)).not.toThrow()
  })

  test.each([
    `postgres://me@${AWAY}/home`,
    `postgres://me@${AWAY}:5432/home?sslmode=require`,
    `postgres://me@localhost/home?host=${AWAY}`,
    `postgres:///home?host=/run/postgresql&host=${AWAY}`,
    `postgres://me@${AWAY}/home?sslmode=verify-full&sslmode=disable`,
    'postgres://127.0.0.1.example.com/home',
    'postgres://0.0.0.0/home',
  ])('to another machine is refused below verify-full: %s', (url) => {
    expect(check(url)).toThrow(/would not be safe: its sslmode is not verify-full/)
    vi.stubEnv('SUBSTRAT_INSECURE', '1')
    expect(check(url)).not.toThrow()
  })

  test('to the host that PGHOST names is refused, if the URL names none', () => {
    vi.stubEnv('PGHOST', AWAY)
    expect(check('postgres:///home')).toThrow(AWAY)
    expect(check('postgres://localhost/home')).not.toThrow()
    expect(check('postgres:///home?sslmode=verify-full')).not.toThrow()
  })
})

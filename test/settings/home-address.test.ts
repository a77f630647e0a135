import { afterEach, describe, expect, test, vi } from 'vitest'
import { homeAddress } from '../../src/settings/home-address.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Returns the address of the home. */
function addressOf(home: string): string {
  vi.stubEnv('SUBSTRAT_HOME', home)
  return homeAddress(() => [])
}

describe('a URL in SUBSTRAT_HOME', () => {
  test.each([
    ['postgres://me:secret@db.example.com/home', 'postgres://me@db.example.com/home'],
    ['postgres://me@/home?host=/run/postgresql&password=p%25', 'postgres://me@/home?host=/run/postgresql'],
    ['postgres:///home', 'postgres:///home'],
  ])('loses its password, also in the environment: %s', (given, address) => {
    expect(addressOf(given)).toBe(address)
    expect(process.env.SUBSTRAT_HOME).toBe(address)
  })

  test.each(['postgres://me:p%@localhost/home', 'postgres://%zz/home', 'postgres:///home?host=%E0%A4'])(
    'with a % that begins no character is refused, with the way to write it: %s',
    (given) => {
      expect(() => addressOf(given)).toThrow(/the URL of the home cannot be parsed/)
    },
  )
})

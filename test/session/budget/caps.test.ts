import { describe, expect, test } from 'vitest'
import { formatCaps, parseAmounts, parseCaps } from '../../../src/session/budget/caps.js'

describe('a budget', () => {
  test('is read from units, numbers and periods', () => {
    expect(parseCaps('tokens=2M/day,usd=5,time=90m/hour,turns=3,requests=1.5k/month')).toEqual([
      { unit: 'tokens', max: 2_000_000, per: 'day' },
      { unit: 'usd', max: 5 },
      { unit: 'time', max: 5_400_000, per: 'hour' },
      { unit: 'turns', max: 3 },
      { unit: 'requests', max: 1500, per: 'month' },
    ])
  })

  test('that is empty has no caps', () => {
    expect(parseCaps('')).toEqual([])
  })

  test('is printed as a person would write it', () => {
    const text = 'tokens=2M/day,usd=0.5,time=30m,requests=1500/week'
    expect(formatCaps(parseCaps(text) as [])).toBe(text.replace('1500', '1.5k'))
    expect(formatCaps(parseCaps('time=90s,tokens=12345') as [])).toBe('time=90s,tokens=12345')
  })

  test.each([
    ['tokens', 'is not UNIT=NUMBER'],
    ['words=5', 'the units are tokens'],
    ['tokens=5/year', 'the periods are hour'],
    ['tokens=-5', 'larger than 0'],
    ['tokens=0', 'larger than 0'],
    ['usd=0', 'larger than 0'],
    ['tokens=0.5', 'whole number'],
    ['tokens=9999999G', 'too large'],
    ['usd=1e9', 'a number is written'],
    ['time=5', 'a time has a unit'],
    ['tokens=5,tokens=6', 'two caps'],
    ['tokens=5,', 'is not UNIT=NUMBER'],
  ])('such as %s is refused', (text, why) => {
    expect(parseCaps(text)).toContain(why)
  })

  test('allows one unit in several periods', () => {
    expect(parseCaps('tokens=5,tokens=6/day')).toHaveLength(2)
  })
})

describe('an amount', () => {
  test('has no period', () => {
    expect(parseAmounts('tokens=200k,time=1m')).toEqual({ tokens: 200_000, time_ms: 60_000 })
    expect(parseAmounts('tokens=5/day')).toContain('no period')
    expect(parseAmounts('')).toContain('empty')
  })
})

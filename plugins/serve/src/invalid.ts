/** Why a body or a query is not valid, in a sentence about its field. */
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

export function invalidText({ path, ...issue }: Issue, place: string): string {
  const name = path.join('.')
  if (issue.code === 'unrecognized_keys') return `the ${place} has no field ${listed(issue.keys)}`
  return `${name === '' ? `the ${place}` : name} ${reason(issue as Issue)}`
}

function reason(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? 'is missing'
        : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be one of ${listed(issue.values.map(String))}`
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'is empty or too short'
        : `must be at least ${issue.minimum}`
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array'
        ? `is longer than ${issue.maximum}`
        : `must be at most ${issue.maximum}`
    case 'invalid_format':
      return issue.format === 'starts_with'
        ? `must begin with ${JSON.stringify((issue as z.core.$ZodIssueStringStartsWith).prefix)}`
        : `is not in the form ${issue.format}`
    default:
      return `is not valid: ${issue.message}`
  }
}

const TYPES: Record<string, string> = {
  string: 'a text',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function listed(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(', ')
}

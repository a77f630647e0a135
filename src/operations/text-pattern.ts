/** Patterns to search for: a text in smart case, or a regular expression. */
import { SubstratError } from '../errors.js'

export interface TextPattern {
  /** The first match at or after `from`. */
  find(text: string, from?: number): Match | undefined
}

export interface Match {
  start: number
  end: number
}

const EXPRESSION = /^\/(.+)\/(i?)$/s

/**
 * `/…/` and `/…/i` are regular expressions of JavaScript. Any other text is searched as it is: in every case if it has no
 * capital letter, else in this one. Throws USAGE for an invalid expression.
 */
export function parsePattern(written: string): TextPattern {
  const [, source, flags] = EXPRESSION.exec(written) ?? []
  return source === undefined ? literalPattern(written) : expressionPattern(written, source, flags ?? '')
}

/** Whether a text is searched in every case. */
export function ignoresCase(text: string): boolean {
  return text === text.toLowerCase()
}

export function literalPattern(text: string): TextPattern {
  if (text === '')
    throw new SubstratError('USAGE', 'the text to search for is empty', {
      hint: 'write the text, or an expression of JavaScript between slashes: /fail(ed|ure)/i',
    })
  const escaped = text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return matchesOf(new RegExp(escaped, ignoresCase(text) ? 'gi' : 'g'))
}

function expressionPattern(written: string, source: string, flags: string): TextPattern {
  try {
    return matchesOf(new RegExp(source, `gm${flags}`))
  } catch (error) {
    const [, why = ''] = /: ([^:]*)$/.exec((error as Error).message) ?? []
    throw new SubstratError(
      'USAGE',
      `${JSON.stringify(written)} is not a regular expression${why && `: ${why}`}`,
      {
        hint: 'write a text, or an expression of JavaScript between slashes: /fail(ed|ure)/i',
      },
    )
  }
}

function matchesOf(expression: RegExp): TextPattern {
  return {
    find(text, from = 0) {
      expression.lastIndex = from
      const found = expression.exec(text)
      return found === null ? undefined : { start: found.index, end: found.index + found[0].length }
    },
  }
}

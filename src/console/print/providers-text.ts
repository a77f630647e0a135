/** The output of `providers`: a line for each provider, with its keys and options below. */
import type { ProviderListing } from '../../schema/output-home.js'
import { oneLine } from '../output.js'
import { displayWidth, paddedTo } from './width.js'

const HEAD = ['NAME', 'KIND', 'FROM']
const INDENT = '    '

/** `columns`: the width to fit. Infinity breaks no line, for a pipe. `isSet`: whether the environment has that variable. */
export function providersText(
  providers: ProviderListing[],
  columns: number,
  isSet: (variable: string) => boolean,
): string {
  const rows = providers.map(({ name, kind, plugin, version }) => [
    name,
    kind,
    version === null ? plugin : `${plugin} ${version}`,
  ])
  const widths = HEAD.map((_, column) => widest([HEAD, ...rows].map((row) => row[column] as string)))
  const lineOf = (cells: string[], description: string): string => {
    const start = cells.map((cell, column) => paddedTo(cell, widths[column] as number)).join('  ')
    return hanging(`${start}  `, description, columns)
  }
  const blocks = providers.map((provider, index) => [
    lineOf(rows[index] as string[], provider.description),
    ...detailsOf(provider, isSet).map(([label = '', text = '']) => hanging(label, text, columns)),
  ])
  return [lineOf(HEAD, 'DESCRIPTION'), ...blocks.flat()].join('\n')
}

/** The labels are padded to one width. */
function detailsOf({ keys, options }: ProviderListing, isSet: (variable: string) => boolean): string[][] {
  const variables = keys.map((name) => `${name} (${isSet(name) ? 'set' : 'not set'})`)
  const details = [
    ...(keys.length === 0 ? [] : [['keys', `from the environment: ${variables.join(', ')}`]]),
    ...Object.entries(options),
  ]
  const width = widest(details.map(([label]) => label as string))
  return details.map(([label, text]) => [`${INDENT}${paddedTo(label as string, width)}  `, text as string])
}

/** Breaks the text between words. Its further lines begin below it, or further left if that leaves too little room. */
function hanging(start: string, text: string, columns: number): string {
  const below = displayWidth(start) > columns / 2 ? `${INDENT}${INDENT}` : ' '.repeat(displayWidth(start))
  const lines: string[] = []
  let line = start
  for (const word of oneLine(text).split(' ')) {
    if (line.trim() !== '' && line !== start && displayWidth(`${line}${word}`) > columns) {
      lines.push(line.trimEnd())
      line = below
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()].join('\n')
}

function widest(texts: string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0)
}

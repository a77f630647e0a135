/** The options of the reader's message: fields of the composer, from the table of substrat (src/schema/message.ts). */
import { rowsWithFlag } from 'substrat/message'
import type { BodyOf } from '../api/types.js'
import { entriesOf } from './new-agent.js'

/** The text of each field that the reader filled in. */
export type OptionTexts = Record<string, string>

export interface OptionField {
  name: string
  label: string
  hint: string
  isNumber: boolean
  isSwitch: boolean
}

export const OPTION_FIELDS: OptionField[] = rowsWithFlag().map(([, { type, flag, help }]) => ({
  name: flag.replaceAll('-', '_'),
  label: flag === 'allow' ? 'Runs without approval' : sentenceCase(flag.replaceAll('-', ' ')),
  hint: help,
  isNumber: type === 'count',
  isSwitch: type === 'switch',
}))

function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const KINDS = new Map(rowsWithFlag().map(([, { type, flag }]) => [flag.replaceAll('-', '_'), type]))

/** The fields of the body. The server says which value it cannot take. */
export function optionsBody(texts: OptionTexts): Partial<BodyOf<'sendMessage'>> {
  const filled = Object.entries(texts).filter(([, text]) => text.trim() !== '')
  return Object.fromEntries(filled.map(([name, text]) => [name, jsonOf(KINDS.get(name), text.trim())]))
}

function jsonOf(type: string | undefined, text: string): string | number | boolean | string[] {
  if (type === 'count') return Number(text)
  if (type === 'switch') return text === 'true'
  return type === 'tools' ? entriesOf(text) : text
}

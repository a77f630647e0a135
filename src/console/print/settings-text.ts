/** The output of `config list`. */
import { hanging } from './hanging.js'
import { table } from './table.js'
import { displayWidth } from './width.js'

interface Setting {
  key: string
  value: string | null
  source: string
  default: string | null
  env: string
  help: string
}

const INDENT = '    '

/** `columns`: of a terminal. If the table is wider, the description is below its setting. */
export function settingsText(settings: Setting[], columns = Number.POSITIVE_INFINITY): string {
  const head = ['KEY', 'VALUE', 'FROM', 'DEFAULT', 'VARIABLE', 'DESCRIPTION']
  const text = table(head, settings, (setting) => {
    const { key, value, source, env, help } = setting
    return [key, value ?? '-', source, setting.default ?? '-', env, help]
  })
  if (text.split('\n').every((line) => displayWidth(line) <= columns)) return text
  const [first = '', ...lines] = table(['KEY', 'FROM', 'VALUE'], settings, ({ key, source, value }) => [
    key,
    source,
    value ?? '-',
  ]).split('\n')
  const below = settings.map((setting) => {
    const isOther = setting.default !== null && setting.source !== 'default'
    const facts = `${isOther ? `default: ${setting.default}; ` : ''}${setting.env}`
    return hanging(`${INDENT}${setting.help} (${facts})`, columns, () => INDENT.length)
  })
  return [first, ...lines.flatMap((line, at) => [line, below[at]])].join('\n')
}

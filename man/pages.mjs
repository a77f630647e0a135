// Writes dist/man: one page for each command from oclif.manifest.json, the overview, and two pages from docs/. package.json lists
// the pages in `man`, because npm links only what that list names; test/package/man.test.ts compares the two.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { marked } from 'marked'
import {
  example,
  flagName,
  heading,
  item,
  literal,
  markdown,
  paragraph,
  prose,
  subtitle,
  title,
  valueName,
} from './roff.mjs'

/** The pages from docs/, with the words of their NAME. */
const DOCUMENTS = {
  format: { section: '5', about: 'files on disk of a substrat home' },
  durability: { section: '7', about: 'promises of substrat about your data' },
}

/** Variables without a setting. */
const VARIABLES = {
  SUBSTRAT_HOME: 'directory of the home, or the URL of a home in PostgreSQL; default: ~/.substrat',
  SUBSTRAT_TOKEN: 'resume token, instead of --token',
  SUBSTRAT_ACTOR: 'the person or job that the command acts for: a claim, which the log has',
  SUBSTRAT_AGENT: 'set for tools and agent programs: the id of the agent, which is then the caller',
  SUBSTRAT_LOG: 'set for tools and agent programs: the path of the log of the agent',
  DEBUG: '1: add stack traces to errors',
  NO_COLOR: 'set: no colours',
  TZ: 'time zone of the times in text for people',
}

export async function writeManPages(root) {
  const pages = await manPages(root)
  const directory = path.join(root, 'dist', 'man')
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of pages) writeFileSync(path.join(directory, name), text)
  const names = new Set(pages.keys())
  for (const name of readdirSync(directory)) if (!names.has(name)) rmSync(path.join(directory, name))
}

async function manPages(root) {
  const read = (name) => readFileSync(path.join(root, name), 'utf8')
  const { version } = JSON.parse(read('package.json'))
  const { commands } = JSON.parse(read('oclif.manifest.json'))
  const shown = Object.values(commands).filter(({ hidden }) => hidden !== true)
  const words = await helpWords(root)
  const context = { version, words, shown, read }
  return new Map([
    ['substrat.1', overview(context)],
    ...shown.map((command) => [`${pageName(command.id)}.1`, commandPage(command, context)]),
    ...Object.entries(DOCUMENTS).map(([name, facts]) => [
      `substrat-${name}.${facts.section}`,
      documentPage(name, facts, context),
    ]),
  ])
}

function overview({ version, words, shown, read }) {
  const summaries = new Map(shown.map(({ id, summary }) => [id.replaceAll(':', ' '), summary]))
  const summaryOf = (id) => words.SUMMARIES[id] ?? summaries.get(id) ?? ''
  const [what, forWhom] = marked.lexer(read('README.md')).filter(({ type }) => type === 'paragraph')
  const [files] = marked.lexer(read('docs/upgrade.md')).filter(({ type }) => type === 'table')
  const environment = Object.values(words.SETTINGS).map(({ env, help, default: value }) => [
    env,
    `setting: ${help}${value === null ? '' : `; default: ${value}`}`,
  ])
  return page([
    heading('substrat', '1', version),
    name('substrat', 'run LLM agents from the shell as crash-safe sessions'),
    title('SYNOPSIS'),
    synopsis('COMMAND [ARGUMENTS] [FLAGS]'),
    title('DESCRIPTION'),
    paragraph(prose(what.text)),
    paragraph(prose(forWhom.text)),
    title('QUICK START'),
    ...words.QUICK_START.map(([line, about]) => item(flagName(line), about)),
    title('COMMANDS'),
    paragraph(prose('The page of the command config set is substrat-config-set(1), and so on.')),
    ...Object.entries(words.GROUPS).flatMap(([group, ids]) => [
      subtitle(group),
      ...ids.map((id) => item(flagName(id), summaryOf(id))),
    ]),
    title('EXIT STATUS'),
    ...[...words.EXIT_MEANINGS].map(([code, meaning]) => item(flagName(String(code)), meaning)),
    paragraph(
      prose('After a nonzero exit, one line on stderr says what happened and which command to run next.'),
    ),
    title('ENVIRONMENT'),
    ...[...Object.entries(VARIABLES), ...environment].map(([variable, about]) =>
      item(flagName(variable), about),
    ),
    title('FILES'),
    // The markup of the cells is not needed here.
    ...files.rows.map(([file, content]) => item(flagName(bare(file)), bare(content))),
    title('SEE ALSO'),
    seeAlso(['substrat-durability(7)', 'substrat-format(5)']),
    paragraph(
      prose('All pages of the documentation are in docs/ of the package. This command prints the path:'),
    ),
    example('echo "$(npm root --global)/substrat/docs"'),
  ])
}

const bare = ({ text }) => text.replaceAll('`', '')

function commandPage(command, { version, words, shown }) {
  const { id, summary, description, args, flags, examples = [] } = command
  const command_ = id.replaceAll(':', ' ')
  const entries = Object.values(args).filter(({ hidden }) => hidden !== true)
  const listed = Object.values(flags).filter(({ hidden }) => hidden !== true)
  const [own, global] = [false, true].map((isGlobal) =>
    listed.filter(({ helpGroup }) => (helpGroup === 'GLOBAL') === isGlobal).map(words.describedFlag),
  )
  const said = description ?? summary
  const topic = id.split(':')[0]
  const siblings = shown.filter((other) => other.id !== id && other.id.split(':')[0] === topic)
  return page([
    heading(pageName(id), '1', version),
    name(pageName(id), summary),
    title('SYNOPSIS'),
    synopsis(words.usageOf({ ...command, id: command_ })),
    title('DESCRIPTION'),
    ...said.split('\n').map((text) => paragraph(prose(filled(text)))),
    ...section('ARGUMENTS', entries.map(argument)),
    ...section('OPTIONS', own.map(flag)),
    ...section('GLOBAL OPTIONS', global.map(flag)),
    ...section(
      'EXAMPLES',
      examples.map((line) => example(filled(line).replace(/^\$ /, ''))),
    ),
    title('EXIT STATUS'),
    paragraph('\\fBsubstrat\\fR(1) lists the exit statuses, the environment and the files of all commands.'),
    title('SEE ALSO'),
    seeAlso([
      'substrat(1)',
      ...siblings.map((other) => `${pageName(other.id)}(1)`),
      'substrat-durability(7)',
    ]),
  ])
}

function documentPage(name_, { section, about }, { version, read }) {
  const named = new Set()
  const text = markdown(read(`docs/${name_}.md`), (escaped, href) => {
    const [file] = href.split('#')
    if (/^https?:/.test(href)) return `${escaped} (${literal(href)})`
    if (file !== '') named.add(file)
    return escaped
  })
  const own = (file) => DOCUMENTS[path.basename(file, '.md')]
  const [pages, documents] = [true, false].map((isPage) =>
    [...named].sort().filter((file) => (own(file) !== undefined) === isPage),
  )
  const references = pages.map((file) => `substrat-${path.basename(file, '.md')}(${own(file).section})`)
  return page([
    heading(`substrat-${name_}`, section, version),
    name(`substrat-${name_}`, about),
    title('DESCRIPTION'),
    text,
    title('SEE ALSO'),
    seeAlso(['substrat(1)', ...references]),
    paragraph(prose(`In docs/ of the package: ${documents.join(', ')}.`)),
  ])
}

/** A paragraph that follows a heading needs no request of its own. */
const page = (parts) => `${parts.join('\n').replace(/^(\.S[HS] .*)\n\.PP$/gm, '$1')}\n`
const pageName = (id) => `substrat-${id.replaceAll(':', '-')}`
const filled = (text) => text.replaceAll('<%= config.bin %>', 'substrat')
const section = (title_, items) => (items.length === 0 ? [] : [title(title_), ...items])

/** One line, with one dash between blanks: mandb(8) reads it. */
function name(page_, summary) {
  const about = summary.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase())
  return `${title('NAME')}\n${literal(page_)} \\- ${prose(about)}`
}

function synopsis(usage) {
  const marked_ = literal(usage).replace(/[A-Z][A-Z_]+/g, (word) => `\\fI${word}\\fR`)
  return `\\fBsubstrat\\fR ${marked_}`
}

function argument({ name: name_, description, options }) {
  const choices = options === undefined ? '' : ` (${options.join(', ')})`
  return item(valueName(name_.toUpperCase()), `${description ?? ''}${choices}`)
}

function flag({ char, name: name_, type, allowNo, options, helpValue, description, env, default: value }) {
  const long = allowNo === true ? `--[no-]${name_}` : `--${name_}`
  const choice = options === undefined ? valueName(helpValue ?? 'VALUE') : options.map(flagName).join('|\\:')
  const names = [...(char === undefined ? [] : [`-${char}`]), long].map(flagName).join(', ')
  const facts = [
    filled(description ?? ''),
    ...(value === undefined || type === 'boolean' ? [] : [`default: ${value}`]),
    ...(env === undefined ? [] : [`variable: ${env}`]),
  ]
  return item(`${names}${type === 'option' ? `=${choice}` : ''}`, facts.join('; '))
}

const seeAlso = (references) =>
  paragraph(
    references
      .map((text) => text.replace(/^(.*)(\(\d\))$/, (_, page_, n) => `\\fB${literal(page_)}\\fR${n}`))
      .join(', '),
  )

/** The words that only the TypeScript sources have. */
async function helpWords(root) {
  const { outputFiles } = await build({
    stdin: {
      contents: [
        `export * from './src/command/help-words.js'`,
        `export { EXIT_MEANINGS } from './src/console/exit-codes.js'`,
        `export { SETTINGS } from './src/schema/settings.js'`,
      ].join('\n'),
      resolveDir: root,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  })
  return await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
}

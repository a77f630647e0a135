/** The sentences of a file, by the kind of their reader. */
import { parseSync } from 'oxc-parser'

const CODE = 'CODE'

/** Nothing for files of other kinds. */
export function textsOf(file, text) {
  if (file.endsWith('.md')) return isPage(file) ? pageTexts(text) : []
  return isSource(file) ? sourceTexts(file, text) : []
}

function isSource(file) {
  return /\.(ts|mts|mjs|js)$/.test(file) && !/^(test\/(formats|cases)|lint)\//.test(file)
}

function isPage(file) {
  return !file.startsWith('stress/results/') && !file.startsWith('test/')
}

function pageTexts(text) {
  const texts = []
  let isFence = false
  let block = []
  let start = 0
  const flush = () => {
    if (block.length > 0) texts.push(...sentencesOf('docs', block.join(' '), start))
    block = []
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(```|~~~)/.test(line)) {
      flush()
      isFence = !isFence
      continue
    }
    if (isFence || /^\s*$/.test(line) || /^#/.test(line) || /^\s*\|?\s*:?-{3,}/.test(line)) {
      flush()
      continue
    }
    if (/^\s*\|/.test(line)) {
      flush()
      for (const cell of line.split('|')) texts.push(...sentencesOf('docs', cell, index + 1))
      continue
    }
    if (/^\s*([-*+]|\d+\.)\s/.test(line)) flush()
    if (block.length === 0) start = index + 1
    block.push(line.replace(/^\s*([-*+]|\d+\.|>)\s/, '').trim())
  }
  flush()
  return texts
}

function sentencesOf(kind, text, line) {
  const plain = text
    .replace(/`[^`]*`/g, CODE)
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*|__/g, '')
    .replace(/\$\{[^}]*\}/g, CODE)
    .replace(/\s+/g, ' ')
    .trim()
  return plain
    .split(/(?<=[.!?])\)?\s+(?=[A-Z`(“"]|substrat\b)/)
    .filter((sentence) => /\p{L}/u.test(sentence))
    .map((sentence) => ({ kind, line, sentence }))
}

function sourceTexts(file, source) {
  const { program, comments } = parseSync(file, source, { astType: 'ts' })
  const lineOf = lineCounter(source)
  const texts = commentTexts(comments, source, lineOf)
  visit(program, [], (node, parents) => texts.push(...nodeTexts(file, node, parents, lineOf)))
  return texts
}

function commentTexts(comments, source, lineOf) {
  const texts = []
  let run
  const flush = () => {
    if (run !== undefined && !/biome-ignore|@ts-|^!|eslint/.test(run.text))
      texts.push(...sentencesOf('comment', run.text, lineOf(run.start)))
    run = undefined
  }
  for (const { type, value, start, end } of comments) {
    const text = value.replace(/^\s*\*+/gm, ' ').trim()
    const isNext =
      run !== undefined &&
      type === 'Line' &&
      /^\s*$/.test(source.slice(run.end, start)) &&
      run.type === 'Line'
    if (isNext) {
      run.text += ` ${text}`
      run.end = end
    } else {
      flush()
      run = { type, text, start, end }
    }
  }
  flush()
  return texts
}

const HELP = ['summary', 'description']

function nodeTexts(file, node, parents, lineOf) {
  const text = textIn(node)
  if (text === undefined || !/\s\S+\s/.test(text)) return []
  const kind = kindOf(file, parents)
  if (kind === undefined) return []
  return text.split(/\n/).flatMap((part) => sentencesOf(kind, part, lineOf(node.start)))
}

function textIn(node) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join(CODE)
  return undefined
}

function kindOf(file, parents) {
  const parent = parents.at(-1)
  if (parent?.type === 'ImportDeclaration' || parent?.type === 'ImportExpression') return undefined
  if (file.startsWith('test/') || file.startsWith('stress/')) {
    const callee = parent?.type === 'CallExpression' && parent.callee
    const name = callee && (callee.name ?? callee.object?.name ?? callee.callee?.object?.name)
    return ['it', 'test', 'describe'].includes(name) ? 'title' : undefined
  }
  if (
    file.startsWith('commands/') &&
    parents.some(({ type, key }) => /Property/.test(type) && HELP.includes(key?.name))
  )
    return 'help'
  return 'message'
}

function visit(node, parents, seen) {
  if (node === null || typeof node !== 'object') return
  if (Array.isArray(node)) {
    for (const item of node) visit(item, parents, seen)
    return
  }
  if (typeof node.type !== 'string') return
  seen(node, parents)
  const inner = [...parents, node]
  for (const [key, value] of Object.entries(node)) if (key !== 'type') visit(value, inner, seen)
}

function lineCounter(source) {
  return (offset) => source.slice(0, offset).split('\n').length
}

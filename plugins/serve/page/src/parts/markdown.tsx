/**
 * Markdown that others wrote, as elements. The parser only gives tokens and preact makes each element, so no text is ever markup.
 *
 * Invariants: HTML stays text. A link leads only to http, https or mailto, and shows its host. Nothing is loaded from elsewhere: an
 * image is a link. Nothing of the text is hidden: what the parser would leave out makes the whole plain text.
 */
import MarkdownIt, { type Token } from 'markdown-it'
import type { ComponentChildren, VNode } from 'preact'
import { Code } from './code.js'

/** The parser leaves out blocks that are nested deeper, and very deep elements would be too much for the browser. */
const NESTING_MAX = 40

const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: NESTING_MAX })
// A definition of a link would disappear.
parser.disable('reference')
// Only whole addresses: `notes.md` is the name of a file.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

/** The control characters of the text are visible already. */
export function Markdown({ text }: { text: string }) {
  const tokens = parser.parse(text, {})
  return <>{isFlat(tokens) ? elementsOf(tokens) : <p>{text}</p>}</>
}

function isFlat(tokens: readonly Token[]): boolean {
  return tokens.every(
    ({ nesting, level, children }) =>
      (nesting !== 1 || level + 1 < NESTING_MAX) && (children === null || isFlat(children)),
  )
}

function elementsOf(tokens: readonly Token[]): ComponentChildren[] {
  const open: { token?: Token; children: ComponentChildren[] }[] = [{ children: [] }]
  const add = (child: ComponentChildren): void => void open.at(-1)?.children.push(child)
  for (const token of tokens) {
    if (token.nesting === 1) open.push({ token, children: [] })
    else if (token.nesting === 0) add(leafOf(token))
    else {
      const { token: begun, children } = open.pop() as { token: Token; children: ComponentChildren[] }
      add(elementOf(begun, children))
    }
  }
  return open[0]?.children ?? []
}

function leafOf(token: Token): ComponentChildren {
  switch (token.type) {
    case 'inline':
      return elementsOf(token.children ?? [])
    case 'code_inline':
      return <code>{token.content}</code>
    case 'fence':
    case 'code_block':
      return <Code text={token.content.replace(/\n$/, '')} language={token.info.trim()} />
    case 'softbreak':
    case 'hardbreak':
      return '\n'
    case 'hr':
      return <hr />
    case 'image':
      return <Link to={attribute(token, 'src')}>{`image: ${token.content}`}</Link>
    default:
      return token.content
  }
}

function elementOf(token: Token, children: ComponentChildren[]): ComponentChildren {
  const draw = ELEMENTS[token.tag]
  if (token.hidden || draw === undefined) return children
  return draw(children, token)
}

/** A heading of the text is none of the page, whose headings have an order of their own. */
const heading = (children: ComponentChildren[]): VNode => <p class="heading">{children}</p>

const ELEMENTS: Record<string, (children: ComponentChildren[], token: Token) => VNode> = {
  p: (children) => <p>{children}</p>,
  strong: (children) => <strong>{children}</strong>,
  em: (children) => <em>{children}</em>,
  s: (children) => <s>{children}</s>,
  blockquote: (children) => <blockquote>{children}</blockquote>,
  ul: (children) => <ul>{children}</ul>,
  ol: (children, token) => <ol start={Number(attribute(token, 'start') || 1)}>{children}</ol>,
  li: (children) => <li>{children}</li>,
  table: (children) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
    <section class="scroll" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  thead: (children) => <thead>{children}</thead>,
  tbody: (children) => <tbody>{children}</tbody>,
  tr: (children) => <tr>{children}</tr>,
  th: (children) => <th scope="col">{children}</th>,
  td: (children) => <td>{children}</td>,
  a: (children, token) => <Link to={attribute(token, 'href')}>{children}</Link>,
  h1: heading,
  h2: heading,
  h3: heading,
  h4: heading,
  h5: heading,
  h6: heading,
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '')
}

const PROTOCOLS = ['http:', 'https:', 'mailto:']

/** A link to another place than the web, such as a file of the workspace, is its text and its target. */
function Link({ to, children }: { to: string; children: ComponentChildren }) {
  const url = urlOf(to)
  if (url === undefined || !PROTOCOLS.includes(url.protocol))
    return <>{[children, to === '' ? '' : ` (${to})`]}</>
  const place = url.host === '' ? url.pathname : url.host
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow" title={url.href}>
        {children}
      </a>
      {!textOf(children).includes(place) && <span class="hint"> ({place})</span>}
    </>
  )
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function textOf(children: ComponentChildren): string {
  if (Array.isArray(children)) return children.map(textOf).join('')
  return typeof children === 'string' ? children : ''
}

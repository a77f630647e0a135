/** The page: the files that the build put beside the bundle. A request names one of them or nothing, so no path leads elsewhere. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** Scripts, styles and connections only of this server; no other site may show the page in a frame. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // The page never makes markup of a text, and the browser refuses it.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // The browser asks each time whether the file has changed.
  'cache-control': 'no-cache',
}

export class Page {
  /** By the path of the request. */
  private readonly files = new Map<string, string>()

  /** `root`: a folder that only the build writes. It can be missing in a clone that was not built. */
  constructor(root: string) {
    for (const name of namesIn(root))
      if (TYPES[path.extname(name)] !== undefined) this.files.set(`/${name}`, path.join(root, name))
    const start = this.files.get('/index.html')
    if (start !== undefined) this.files.set('/', start)
  }

  /** Undefined if there is no such file. */
  answer(request: Request): Response | undefined {
    const file = this.files.get(new URL(request.url).pathname)
    if (file === undefined) return undefined
    const bytes = readFileSync(file)
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    const headers = { ...HEADERS, etag }
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
    return new Response(bytes, {
      headers: { ...headers, 'content-type': TYPES[path.extname(file)] as string },
    })
  }
}

function namesIn(root: string): string[] {
  try {
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

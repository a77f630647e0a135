/** A self-signed certificate for 127.0.0.1 and model.test; undefined if openssl is missing. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export interface Certificate {
  key: string
  cert: string
  /** The path of the certificate. */
  file: string
}

export const certificate: Certificate | undefined = make()

function make(): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'substrat-certificate-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const [keyFile, file] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=model.test', '-addext', 'subjectAltName=DNS:model.test,IP:127.0.0.1']
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  try {
    execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', keyFile, '-out', file], { stdio: 'pipe' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file }
}

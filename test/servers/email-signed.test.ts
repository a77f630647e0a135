/** Mail from outside, which OpenDKIM and OpenDMARC judge: a signed one is taken, and a forged one is not. */
import type { Email } from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MailHouse } from './email-house.js'
import { DOMAIN } from './mail-server-files.js'
import { AGENT, ANN, MailServers } from './mail-servers.js'
import { Milters, SELECTOR } from './milters.js'

const STRANGER = 'example.net'
const FORGED = `mail.${DOMAIN}; auth=pass smtp.auth=${ANN}; dkim=pass header.d=${DOMAIN}; dmarc=pass header.from=${DOMAIN}`
const UNSIGNED = `neither dmarc=pass nor dkim=pass for ${DOMAIN}`

/** The verdict of the topmost field, for each mail. */
const OF_DKIM = {
  unsigned: 'dkim=none',
  'with a forged field': 'dkim=none',
  'signed by a stranger': `dkim=pass header.d=${STRANGER}`,
  'signed with the key of a stranger': `dkim=fail header.d=${DOMAIN}`,
  signed: `dkim=pass header.d=${DOMAIN}`,
}
const OF_DMARC = {
  unsigned: `dmarc=fail header.from=${DOMAIN}`,
  'with a forged field': `dmarc=fail header.from=${DOMAIN}`,
  'signed by a stranger': `dmarc=fail header.from=${DOMAIN}`,
  'signed with the key of a stranger': `dmarc=fail header.from=${DOMAIN}`,
  signed: `dmarc=pass header.from=${DOMAIN}`,
}

function verdictOf({ headers }: Email): string | undefined {
  const field = headers.find(({ key }) => key === 'authentication-results')?.value
  return field?.match(/(dkim|dmarc)=\w+|header\.(d|from)=[^\s;]+/g)?.join(' ')
}

describe.each([
  ['OpenDKIM', ['dkim'] as const, OF_DKIM, UNSIGNED],
  ['OpenDKIM and OpenDMARC', ['dkim', 'dmarc'] as const, OF_DMARC, `dmarc=fail for ${DOMAIN}`],
])('a mail from outside, judged by %s,', (_, judges, verdicts, why) => {
  const servers = new MailServers()
  servers.milters = [...judges]
  const milters = new Milters(servers)
  let keys = new Map<string, string>()

  beforeAll(async () => {
    await servers.start()
    for (const address of [AGENT, ANN]) servers.addUser(address)
    keys = await milters.start([DOMAIN, STRANGER])
  })

  afterAll(async () => {
    await servers.close()
    milters.close()
  })

  const signatureOf = (domainName: string) => ({
    dkim: { domainName, keySelector: SELECTOR, privateKey: keys.get(domainName) as string },
  })

  test('is taken if the domain of its sender has signed it, and ignored if not', async () => {
    const house = new MailHouse(servers, [{ say: 'first reply' }])
    await house.set({})
    await house.runOnce()
    await servers.sendFromOutside({ from: ANN, text: 'unsigned' })
    await servers.sendFromOutside({
      ...{ from: ANN, text: 'with a forged field' },
      headers: { 'Authentication-Results': FORGED },
    })
    await servers.sendFromOutside({ from: ANN, text: 'signed by a stranger', ...signatureOf(STRANGER) })
    await servers.sendFromOutside({
      ...{ from: ANN, text: 'signed with the key of a stranger' },
      dkim: { ...signatureOf(DOMAIN).dkim, privateKey: keys.get(STRANGER) as string },
    })
    await servers.waitForMail(AGENT, 4)
    const notes = await house.runOnce()
    expect(notes.match(/ignored a message from .*/g)).toEqual(
      Array(4).fill(`ignored a message from ${ANN}: its sender is not authenticated: ${why}`),
    )
    expect(await house.agentIds()).toEqual([])

    await servers.sendFromOutside({ from: ANN, text: 'signed', ...signatureOf(DOMAIN) })
    await servers.waitForMail(AGENT, 5)
    const mails = await servers.mailOf(AGENT)
    expect(Object.fromEntries(mails.map((mail) => [mail.text?.trim(), verdictOf(mail)]))).toEqual(verdicts)
    await house.runOnce()
    const [reply] = await servers.waitForMail(ANN, 1)
    expect([await house.turns(), reply?.text?.trim()]).toEqual([1, 'first reply'])
  })
})

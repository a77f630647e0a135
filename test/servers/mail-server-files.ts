/** The files of dovecot and postfix, in a scratch directory. */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export const DOMAIN = 'example.org'
export const AUTHSERV_ID = `mail.${DOMAIN}`

export interface Place {
  directory: string
  ports: Record<'imaps' | 'imap' | 'smtps' | 'submission' | 'smtp' | 'quota' | 'policy', number>
  /** The ports of milters for mail from outside. They add the Authentication-Results, instead of postfix. */
  milters: number[]
}

function file({ directory }: Place, ...names: string[]): string {
  return path.join(directory, ...names)
}

export function makeCertificate(place: Place): void {
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const files = ['-keyout', file(place, 'tls.key'), '-out', file(place, 'tls.crt')]
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...key, ...names, ...files], { stdio: 'ignore' })
}

export function writeDovecot(place: Place): void {
  const { imap, imaps } = place.ports
  writeFileSync(file(place, 'users'), '')
  writeFileSync(file(place, 'mailboxes'), '')
  mkdirSync(file(place, 'mail'))
  own(file(place, 'mail'), 'nobody')
  mkdirSync(file(place, 'sieve'))
  writeFileSync(
    file(place, 'sieve', 'duplicate.sieve'),
    'require ["duplicate"];\nif duplicate { discard; }\n',
  )
  own(file(place, 'sieve'), 'nobody')
  writeFileSync(
    file(place, 'dovecot.conf'),
    `
base_dir = ${file(place, 'run')}
state_dir = ${file(place, 'state')}
instance_name = ${path.basename(place.directory)}
log_path = ${file(place, 'dovecot.log')}
hostname = ${AUTHSERV_ID}
protocols = imap lmtp
listen = 127.0.0.1
ssl = yes
ssl_cert = <${file(place, 'tls.crt')}
ssl_key = <${file(place, 'tls.key')}
disable_plaintext_auth = no
auth_mechanisms = plain login
mail_location = maildir:~/Maildir
mail_plugins = quota
mail_fsync = never
passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%u ${file(place, 'users')}
}
userdb {
  driver = passwd-file
  args = username_format=%u ${file(place, 'users')}
  default_fields = uid=nobody gid=nogroup home=${file(place, 'mail')}/%u
}
service imap-login {
  inet_listener imap {
    port = ${imap}
  }
  inet_listener imaps {
    port = ${imaps}
    ssl = yes
  }
}
service lmtp {
  unix_listener ${file(place, 'lmtp')} {
    mode = 0666
  }
}
service auth {
  unix_listener ${file(place, 'login')} {
    mode = 0666
  }
}
service stats {
  unix_listener stats-writer {
    mode = 0666
  }
}
service quota-status {
  executable = quota-status -p postfix
  inet_listener {
    port = ${place.ports.quota}
  }
  client_limit = 1
}
plugin {
  quota = maildir:User quota
  quota_rule = *:storage=1G
  quota_grace = 0
  quota_status_success = DUNNO
  quota_status_nouser = DUNNO
  quota_status_overquota = 552 5.2.2 Mailbox is full
  sieve_before = ${file(place, 'sieve', 'duplicate.sieve')}
}
protocol imap {
  mail_plugins = quota
}
protocol lmtp {
  mail_plugins = quota sieve
}
`,
  )
}

export function writePostfix(place: Place): void {
  const { smtp, smtps, submission } = place.ports
  for (const folder of ['postfix', 'spool', 'data']) mkdirSync(file(place, folder))
  own(file(place, 'data'), 'postfix')
  const docs = postfixInDocs(file(place, 'postfix'))
  writeFileSync(file(place, 'postfix', 'auth_results'), docs.logins)
  writeFileSync(
    file(place, 'postfix', 'main.cf'),
    `
compatibility_level = 3.6
queue_directory = ${file(place, 'spool')}
data_directory = ${file(place, 'data')}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = ${file(place, 'postfix.log')}
maillog_file_prefixes = ${place.directory}
myhostname = ${AUTHSERV_ID}
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
virtual_mailbox_domains = ${DOMAIN}
virtual_mailbox_maps = texthash:${file(place, 'mailboxes')}
virtual_transport = lmtp:unix:${file(place, 'lmtp')}
default_transport = error:no mail leaves this machine
smtpd_sasl_type = dovecot
smtpd_sasl_path = ${file(place, 'login')}
smtpd_tls_cert_file = ${file(place, 'tls.crt')}
smtpd_tls_key_file = ${file(place, 'tls.key')}
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
smtpd_client_connection_count_limit = 0
`,
  )
  const ofUsers = [
    '  -o smtpd_sasl_auth_enable=yes',
    docs.users,
    `  -o { smtpd_recipient_restrictions = check_policy_service inet:127.0.0.1:${place.ports.policy}, check_policy_service inet:127.0.0.1:${place.ports.quota}, permit_sasl_authenticated, reject }`,
    `  -o { smtpd_end_of_data_restrictions = check_policy_service inet:127.0.0.1:${place.ports.policy} }`,
  ].join('\n')
  const milters = place.milters.map((port) => `inet:127.0.0.1:${port}`).join(', ')
  const service = (name: string, type: string, command: string): string =>
    `${name} ${type} ${name.includes(':') ? 'n' : '-'} - n - - ${command}`
  const internal = [
    ...['pickup unix n - n 60 1 pickup', 'cleanup unix n - n - 0 cleanup', 'qmgr unix n - n 300 1 qmgr'],
    ...[
      'tlsmgr unix - - n 1000? 1 tlsmgr',
      'rewrite unix - - n - - trivial-rewrite',
      'bounce unix - - n - 0 bounce',
    ],
    ...['defer unix - - n - 0 bounce', 'trace unix - - n - 0 bounce', 'verify unix - - n - 1 verify'],
    ...['flush unix n - n 1000? 0 flush', 'proxymap unix - - n - - proxymap', 'error unix - - n - - error'],
    ...['retry unix - - n - - error', 'lmtp unix - - n - - lmtp', 'anvil unix - - n - 1 anvil'],
    ...[
      'scache unix - - n - 1 scache',
      'postlog unix-dgram n - n - 1 postlogd',
      'showq unix n - n - - showq',
    ],
  ]
  writeFileSync(
    file(place, 'postfix', 'master.cf'),
    `
${service(`127.0.0.1:${smtp}`, 'inet', 'smtpd')}
${milters === '' ? docs.outside : `  -o { smtpd_milters = ${milters} }`}
${service(`127.0.0.1:${smtps}`, 'inet', 'smtpd')}
  -o smtpd_tls_wrappermode=yes
${ofUsers}
${service(`127.0.0.1:${submission}`, 'inet', 'smtpd')}
  -o smtpd_tls_security_level=may
${ofUsers}
${internal.join('\n')}
`,
  )
}

/** The settings of postfix that docs/email.md tells its readers to paste. */
function postfixInDocs(directory: string): { logins: string; outside: string; users: string } {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/email.md'), 'utf8')
  const [logins, outside, users] = [
    /^\/.*PREPEND.*$/m,
    /^ {2}-o .*static:.*$/m,
    /^ {2}-o .*check_sasl_access.*$/m,
  ].map((line) => line.exec(page)?.[0].replaceAll('/etc/postfix', directory))
  return { logins: `${logins}\n`, outside: outside as string, users: users as string }
}

export function own(name: string, user: string): void {
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  if (process.geteuid?.() === 0) chownSync(name, id('-u'), id('-g'))
}

/** Only the owner may read and write stored files; other users' files and links are not followed. */
import type { Mutant } from '../mutant.js'

export const OWNER_ALONE: Mutant[] = [
  {
    name: 'new files are readable by other users',
    edits: [['fs.openSync(path, flags, 0o600)', 'fs.openSync(path, flags, 0o644)']],
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'new directories are readable by other users',
    edits: [['fs.mkdirSync(path, 0o700)', 'fs.mkdirSync(path, 0o755)']],
    suites: ['host/disk/io', 'storage/home'],
  },
  {
    name: 'a read in the home follows a symlink',
    edits: [['O_RDONLY | O_NOFOLLOW | O_NONBLOCK', 'O_RDONLY | O_NONBLOCK']],
    suites: ['host/disk/io'],
  },
  {
    name: 'a write in the home follows a symlink',
    edits: [['write: O_RDWR | O_NOFOLLOW', 'write: O_RDWR']],
    suites: ['host/disk/io'],
  },
  {
    name: 'creating a file in the home follows a symlink',
    edits: [['O_RDWR | O_CREAT | O_NOFOLLOW', 'O_RDWR | O_CREAT']],
    suites: ['host/disk/io'],
  },
  {
    name: 'an append in the home follows a symlink',
    edits: [['O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW', 'O_WRONLY | O_CREAT | O_APPEND']],
    suites: ['host/disk/io'],
  },
  {
    name: 'a FIFO in the home blocks a command',
    edits: [['O_RDONLY | O_NOFOLLOW | O_NONBLOCK', 'O_RDONLY | O_NOFOLLOW']],
    suites: ['host/disk/io'],
  },
  {
    name: 'a new file replaces an existing one',
    edits: [['O_RDWR | O_CREAT | O_EXCL', 'O_RDWR | O_CREAT']],
    suites: ['host/disk/io', 'host/disk/replace'],
  },
  {
    name: 'a command writes to the home of another user',
    edits: [['refuseForeign(paths)', ';']],
    suites: ['storage/home'],
  },
  {
    name: 'the socket of a turn is open to other users',
    edits: [['process.umask(0o177)', 'process.umask(0o022)']],
    suites: ['files/socket'],
  },
  {
    name: 'a symlink in place of a home directory is followed',
    edits: [['if (isLink) throw exposedError(path)', ';']],
    suites: ['host/disk/io', 'host/disk/confinement'],
  },
  {
    name: 'a workspace file replaced by a symlink between check and use is followed',
    edits: [
      [
        "return readPlain(io.open('workspace.open', file, 'read'), path, bytesMax)",
        "return readPlain(io.open('workspace.open', realPath('workspace.open', file), 'read'), path, bytesMax)",
      ],
    ],
    suites: ['files/workspace'],
  },
  {
    name: 'AGENTS.md may be a symlink to a file outside the repository',
    edits: [['isBelow(root, path)', 'isBelow(root, root)']],
    suites: ['turn/prompt/prompt'],
  },
  {
    name: 'a tool accepts a path outside the workspace',
    edits: [['if (!isInside(root, real)) throw new Error(`${path} is outside the workspace`)', ';']],
    suites: ['files/workspace'],
  },
  {
    name: 'a broken symlink in the workspace counts as a missing file',
    edits: [
      ['if (readLinkIfThere(path) !== undefined) throw new Error(`${path} is a broken symbolic link`)', ';'],
    ],
    suites: ['files/workspace'],
  },
  {
    name: "a program receives the operator's token",
    edits: [["'SUBSTRAT_TOKEN',\n  'SUBSTRAT_SERVER',", "'SUBSTRAT_SERVER',"]],
    suites: ['turn/drive-tools#keeps to itself'],
  },
  {
    name: "a tool receives the provider's secrets",
    edits: [
      ['withheld = provider.secrets?.(settings) ?? []', 'withheld = provider.secrets === null ? [""] : []'],
    ],
    suites: ['turn/drive-tools#keeps to itself'],
  },
]

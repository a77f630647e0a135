/**
 * Rule 3: the directory of a new name is synced before anything is acknowledged, even if another process created the
 * name.
 */
import type { Mutant } from '../mutant.js'

export const NAMES_ON_DISK: Mutant[] = [
  {
    name: 'the name of a replaced file is not fsynced',
    edits: [['if (options.durableName) io.syncDirectory(`${point}.sync_directory`, dirname(path))', ';']],
    suites: ['host/disk/replace'],
  },
  {
    name: 'the name of a new file is not fsynced',
    edits: [
      [
        `}
         io.syncDirectory(\`\${point}.sync_directory\`, dirname(path))`,
        '}',
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: 'a name that another process created is not fsynced before use',
    edits: [
      [
        `}
         io.syncDirectory(\`\${point}.sync_directory\`, dirname(path))`,
        `}
         if (created) io.syncDirectory(\`\${point}.sync_directory\`, dirname(path))`,
      ],
    ],
    suites: ['host/disk/replace'],
  },
  {
    name: 'the directory of a new agent is not fsynced',
    step: 'spawn.sync_directory',
    suites: ['storage/create-agent'],
  },
  {
    name: 'the rename of a new agent is not fsynced',
    step: 'spawn.sync_agents',
    suites: ['storage/create-agent'],
  },
  {
    name: 'a new agent is fsynced after its rename, not before',
    edits: [
      [
        "io.syncDirectory('spawn.sync_directory', staging.root)",
        `io.rename('spawn.rename', staging.root, agent.root)
         io.syncDirectory('spawn.sync_directory', agent.root)`,
      ],
      ['files.assertNameHeld?.()', ';'],
      ["io.rename('spawn.rename', staging.root, agent.root)", ';'],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'the name of a recreated blob directory is not fsynced',
    step: 'blob.sync_directory',
    suites: ['storage/log/blobs'],
  },
  {
    name: 'the name of a recreated inbox is not fsynced',
    edits: [
      [
        "if (io.mkdir('mail.mkdir', directory)) io.syncDirectory('mail.sync_directory', dirname(directory))",
        "io.mkdir('mail.mkdir', directory)",
      ],
    ],
    suites: ['storage/maildir'],
  },
  {
    name: 'the name of the new directory taken/ is not fsynced',
    edits: [
      [
        "if (io.mkdir('mail.mkdir', operatorTaken)) io.syncDirectory('mail.sync_directory', operator)",
        "io.mkdir('mail.mkdir', operatorTaken)",
      ],
    ],
    suites: ['storage/mailboxes'],
  },
  {
    name: 'the rename of a damaged message is not fsynced',
    step: 'mail.sync_aside',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'an agent is deleted before its rename aside is fsynced',
    step: 'remove.sync_agents',
    suites: ['storage/store'],
  },
  {
    name: 'a damaged log is replaced before its second name is fsynced',
    step: 'aside.sync_directory',
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'the name of a replacement log is not fsynced',
    edits: [
      [
        "replace('aside.log', agent.log, bytes, { durableName: true })",
        "replace('aside.log', agent.log, bytes, { durableName: false })",
      ],
    ],
    suites: ['storage/aside'],
  },
  {
    name: 'an entry of the name index is not durable',
    edits: [
      [
        'frame({ name, agent_id: agentId }), { durableName: true',
        'frame({ name, agent_id: agentId }), { durableName: false',
      ],
    ],
    suites: ['storage/names'],
  },
  {
    name: 'the completeness mark of an index is not fsynced',
    step: 'names.sync_directory',
    suites: ['storage/names'],
  },
  {
    name: 'the raised format of a home is not fsynced',
    edits: [
      [
        "replace('home.upgrade', paths.homeFile, frame(factsOf(now)), { durableName: true })",
        "replace('home.upgrade', paths.homeFile, frame(factsOf(now)), { durableName: false })",
      ],
    ],
    suites: ['storage/home'],
  },
  {
    name: 'a home keeps its older format',
    edits: [
      ["replace('home.upgrade', paths.homeFile, frame(factsOf(now)), { durableName: true })", 'undefined'],
    ],
    suites: ['storage/home', 'commands/upgrade'],
  },
  {
    name: 'a log is upgraded before the raised format of its home is fsynced',
    edits: [['if (isUpgrade) this.parts.homeFormat.raise()', ';']],
    suites: ['storage/home'],
  },
  {
    name: 'a home that cannot be raised is closed to every command',
    edits: [["if (error instanceof SubstratError && error.code === 'STORAGE_FAILED') return facts", ';']],
    suites: ['storage/home'],
  },
  {
    name: 'the directories of a new home are not fsynced',
    edits: [["io.syncDirectory('home.sync_directory', directory)", 'void directory']],
    suites: ['storage/home'],
  },
  {
    name: 'a home is created among other files',
    edits: [
      [
        `throw new SubstratError(
           'HOME_UNUSABLE',
           \`\${paths.root} is not a substrat home, and has other files, such as \${shellWord(other)}\`,
           { hint: 'set SUBSTRAT_HOME to a new or an empty directory', facts: { path: paths.root } },
         )`,
        ';',
      ],
    ],
    suites: ['storage/home'],
  },
  {
    name: 'a command that reads takes other files for a home without agents',
    edits: [
      [
        `export function refuseWithoutFacts(paths: HomePaths): void {
         refuseOccupied(paths)`,
        'export function refuseWithoutFacts(paths: HomePaths): void {',
      ],
    ],
    suites: ['commands/bad-input#other files'],
  },
  {
    name: "the operator's inbox is not fsynced",
    edits: [['[paths.operator, paths.roots, paths.root]', '[paths.roots, paths.root]']],
    suites: ['storage/home'],
  },
  {
    name: 'the name of a new home is not fsynced',
    edits: [["io.syncDirectory('home.sync_directory', dirname(root))", ';']],
    suites: ['storage/home'],
  },
  {
    name: 'the directories above a new home are not fsynced',
    edits: [["io.syncDirectory('home.sync_directory', dirname(directory))", ';']],
    suites: ['storage/home'],
  },
  {
    name: 'a home is marked ready before its names are fsynced',
    edits: [
      [
        "for (const directory of directoriesOf(paths)) io.mkdir('home.mkdir', directory)",
        `io.mkdir('home.ready', paths.boots)
         for (const directory of directoriesOf(paths)) io.mkdir('home.mkdir', directory)`,
      ],
    ],
    suites: ['storage/home'],
  },
  {
    name: 'an agent is opened before its name is fsynced',
    edits: [
      [
        `: this.leaseOf(agentId, lock, () => {
             this.visits.syncNameOf(agentId)`,
        ': this.leaseOf(agentId, lock, () => {',
      ],
    ],
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a message is stored before the name of its recipient is fsynced',
    edits: [['this.markers.syncNameOf(to)', ';']],
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a child is created before the name of its parent is fsynced',
    edits: [['this.visits.syncNameOf(parentId)', ';']],
    suites: ['tree/create-agent-below'],
  },
  {
    name: 'an existing agent is reported before its name is fsynced',
    edits: [
      [
        `): Promise<void> {
         ctx.store.makeDurable(agentId)`,
        '): Promise<void> {',
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a marked agent counts as having a durable name',
    step: 'agents.sync_directory',
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'the name of a user file is not fsynced',
    edits: [
      [
        "syncName(replaceAt(path, typeof content === 'string' ? Buffer.from(content) : content, mode))",
        "replaceAt(path, typeof content === 'string' ? Buffer.from(content) : content, mode)",
      ],
    ],
    suites: ['files/user-files'],
  },
]
